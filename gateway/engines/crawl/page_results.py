"""The results of the tools made from pages, and the options with which the pages are read."""

from collections.abc import Iterable, Sequence

from gateway.domain import CrawlRequest, ExtractRequest, Json
from gateway.engines.crawl.crawler import CrawlOutcome
from gateway.engines.crawl.page_loader import LoadedPage
from gateway.engines.documents.parse_pool import ExtractOptions
from gateway.engines.fetch.urls import from_caller, parse_url
from gateway.errors import GatewayError

_NAMED_PARTS = 5
NO_MATCH = "No page read matches the instructions; use other words, or leave them out."


def explain(outcome: CrawlOutcome, request: CrawlRequest, any_result: bool) -> str:
    """A note on what was left out, or why there is no result; empty when there is nothing to say."""
    parts: list[str] = []
    if outcome.timed_out:
        parts.append("The time budget ended before the crawl did; what was read is here.")
    if outcome.too_much:
        parts.append("The crawl was ended early because its pages are too large together; crawl a part of the site.")
    if outcome.failed > len(outcome.failures):
        parts.append(f"{outcome.failed - len(outcome.failures)} more pages could not be read.")
    if outcome.reasons["trap"]:
        parts.append(f"{outcome.reasons['trap']} links into what looks endless (calendars, loops) were left alone.")
    if outcome.cut_pages and len(outcome.visits or outcome.pages) < request.limit:
        parts.append(
            f"{outcome.cut_pages} of the pages read have more links than max_breadth ({request.max_breadth}), which "
            "were not followed; raise max_breadth for more."
        )
    if any_result and request.instructions and outcome.waiting and len(outcome.pages) >= request.limit:
        parts.append(
            f"{request.limit} pages (the limit) were read, {outcome.waiting} that they link to were not; raise limit "
            "or begin at a page nearer to the subject for more."
        )
    if not any_result:
        parts.append(_why_nothing(outcome, request))
    return " ".join(parts)


def describe_pages(pages: Iterable[Json]) -> str:
    """What was taken out of pages, or left in, because people cannot see it, and of what the end is missing; empty when
    there is nothing to say. `pages`: results of engines.documents.page, with `ended_early` if the site's answer did."""
    invisible = shown = ended = left_out = guessed = 0
    missing: list[str] = []
    for page in pages:
        left_out += page.get("left_out", 0)
        missing += page.get("missing_parts", ())
        invisible += page.get("invisible", 0)
        shown += bool(page.get("styles_ignored"))
        guessed += bool(page.get("encoding_guessed"))
        ended += bool(page.get("ended_early"))
    parts = [f"{invisible} invisible characters were taken out."] if invisible else []
    if left_out:
        parts.append(f"{left_out} characters of text that people do not see were left out of documents.")
    if missing:
        named = ", ".join(missing[:_NAMED_PARTS]) + (", …" if len(missing) > _NAMED_PARTS else "")
        parts.append(f"{len(missing)} parts of documents are missing or damaged ({named}); the rest is here.")
    if shown:
        parts.append(f"{shown} of the pages hide most of their text until a script runs; that text is here.")
    if guessed:
        parts.append(f"{guessed} of the pages are not in the encoding that they say; the likeliest one was taken.")
    if ended:
        parts.append(f"{ended} of the pages came incomplete: the site's answer ended early, so their end is missing.")
    return " ".join(parts)


def _why_nothing(outcome: CrawlOutcome, request: CrawlRequest) -> str:
    if (outcome.pages or outcome.reasons["refused"]) and request.instructions:
        return NO_MATCH
    if outcome.failures:
        url, failure = outcome.failures[0]
        return f"Nothing could be read: {url}: {failure.message}."
    if outcome.reasons["filtered"]:
        return "Pages were found, but select_paths, select_domains or allow_external left none of them."
    return "The site has no page to read there."


MOST_SECTIONS = 60
_LEAST_SECTIONS = 8
"""Sections listed of the long pages of one call, and the least of one. Eight say which part to ask for."""


def options_for(raw: str, request: ExtractRequest, budget_chars: int) -> ExtractOptions:
    """What to read at `raw`, an address as the caller wrote it. Raises SkippedUrl.

    `budget_chars` is for all pages of the request together; 0 means any number.
    """
    shares = len(request.urls)
    return ExtractOptions(
        str(parse_url(from_caller(raw))),
        depth=request.extract_depth,
        format=request.format,
        query=request.query,
        fragment=raw.strip().partition("#")[2].partition(":~:")[0],
        most_chars=max(1, budget_chars // shares) if budget_chars else 0,
        most_sections=max(_LEAST_SECTIONS, MOST_SECTIONS // shares),
        images=request.include_images,
    )


def extract_result(page: LoadedPage, request: ExtractRequest, raw: str) -> Json:
    """`{url, final_url?, title, raw_content, rendered?, note?, sections?, images?, favicon?}`, as in the schema."""
    data = page.data
    result: Json = {"url": raw, "title": data["title"], "raw_content": data.get("part", data["content"])}
    if page.rendered:
        result["rendered"] = True
    if page.url.partition("#")[0] != str(parse_url(from_caller(raw))):
        result["final_url"] = page.url
    if note := describe_pages([data]):
        result["note"] = note
    if "sections" in data:
        result["sections"] = _sections(raw, data["sections"])
    if request.include_images:
        result["images"] = [image["url"] for image in data.get("images", [])]
    if request.include_favicon:
        result["favicon"] = data.get("favicon")
    return result


def _sections(raw: str, sections: Iterable[Json]) -> list[Json]:
    address = raw.strip().partition("#")[0]
    return [
        {"url": f"{address}#{each['fragment']}", "heading": each["heading"], "chars": each["chars"]}
        for each in sections
    ]


def crawl_result(depth: int, page: LoadedPage, include_favicon: bool) -> Json:
    """`{url, title, raw_content, depth, rendered?, favicon?}`."""
    result: Json = {
        "url": page.address,
        "title": page.data["title"],
        "raw_content": page.data["content"],
        "depth": depth,
    }
    if page.rendered:
        result["rendered"] = True
    if include_favicon:
        result["favicon"] = page.data.get("favicon")
    return result


def failed_result(raw: str, failure: GatewayError) -> Json:
    """`{url, error, retry_after_s?}`."""
    result: Json = {"url": raw, "error": failure.message}
    if failure.retry_after_s is not None:
        result["retry_after_s"] = round(failure.retry_after_s, 3)
    return result


def unread_result(raw: str, pages: int, budget_s: float) -> Json:
    """The result for a page that the time budget left unread, of so many `pages`."""
    advice = "ask for fewer pages at once" if pages > 1 else "try again later, or with a progress token for more time"
    return {"url": raw, "error": f"not read within {budget_s:g} s; {advice}"}


def lacking_note(lacking: Sequence[str]) -> str | None:
    """A sentence on addresses whose fragments name no section of their pages; None when there are none."""
    if not lacking:
        return None
    return f"No section of that name is on the page, so the whole page is given: {', '.join(lacking)}."


def ocr_note(pages: Iterable[LoadedPage]) -> str:
    """Sentences on what was read by OCR, what was left and what could not be drawn; "" when there is nothing to say."""
    notes = []
    for page in pages:
        data = page.data
        if read := data.get("by_ocr"):
            unsure = f"; page {_numbers(data['uncertain'])} may be misread" if data.get("uncertain") else ""
            notes.append(f"Page {_numbers(read)} of {page.url} was read by OCR{unsure}.")
        if (left := data.get("scanned")) and data.get("content"):
            reason = data.get("unread") or "OCR does not run here"
            notes.append(f"Page {_numbers(left)} of {page.url} shows pictures that were not read: {reason}.")
            if data.get("by_ocr") and data["kind"] == "pdf":
                notes.append(f"Ask for {page.url}#page={left[0]}-{left[-1]} to have the rest read.")
        if data.get("undrawn") and data.get("content"):
            notes.append(f"Text that {page.url} draws as a picture, if any, is missing: {data['undrawn']}.")
    return " ".join(notes)


def unread_note(pages: Iterable[LoadedPage]) -> str:
    """Sentences on pages of long documents that were not read; "" when there are none."""
    unread = [(page.url, *page.data["unread_pages"]) for page in pages if page.data.get("unread_pages")]
    sentences = (f"{url} has more pages, which were not read: ask for {url}#page={a}-{b}." for url, a, b in unread)
    return " ".join(sentences)


def _numbers(numbers: Sequence[int]) -> str:
    """`1 to 4, 7` of page numbers in ascending order."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def without_twins(urls: Sequence[str], root_names: Iterable[str]) -> list[str]:
    """The URLs in order, each once, and the root once whatever it is called: as asked, as redirected, with or without
    a slash at its end."""
    names = {name.rstrip("/") for name in root_names}
    found: dict[str, str] = {}
    for url in urls:
        bare = url.rstrip("/")
        found.setdefault("the root" if bare in names else url, url)
    return list(found.values())
