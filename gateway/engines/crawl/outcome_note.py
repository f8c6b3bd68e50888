"""Words for a crawl's outcome: what was left out, and why nothing was found. Pure."""

from collections.abc import Iterable

from gateway.domain import CrawlRequest, Json
from gateway.engines.crawl.crawler import CrawlOutcome

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
    invisible = shown = ended = left_out = 0
    missing: list[str] = []
    for page in pages:
        left_out += page.get("left_out", 0)
        missing += page.get("missing_parts", ())
        invisible += page.get("invisible", 0)
        shown += bool(page.get("styles_ignored"))
        ended += bool(page.get("ended_early"))
    parts = [f"{invisible} invisible characters were taken out."] if invisible else []
    if left_out:
        parts.append(f"{left_out} characters of text that people do not see were left out of documents.")
    if missing:
        named = ", ".join(missing[:_NAMED_PARTS]) + (", …" if len(missing) > _NAMED_PARTS else "")
        parts.append(f"{len(missing)} parts of documents are missing or damaged ({named}); the rest is here.")
    if shown:
        parts.append(f"{shown} of the pages hide most of their text until a script runs; that text is here.")
    if ended:
        parts.append(f"{ended} of the pages came incomplete: the site's answer ended early, so their end is missing.")
    return " ".join(parts)


def _why_nothing(outcome: CrawlOutcome, request: CrawlRequest) -> str:
    if outcome.pages and request.instructions:
        return NO_MATCH
    if outcome.failures:
        url, failure = outcome.failures[0]
        return f"Nothing could be read: {url}: {failure.message}."
    if outcome.reasons["filtered"]:
        return "Pages were found, but select_paths, select_domains or allow_external left none of them."
    return "The site has no page to read there."
