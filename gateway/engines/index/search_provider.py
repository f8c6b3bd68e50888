"""The local search provider: finds pages that this gateway fetched before. Implements ports.SearchProvider."""

import re
import sqlite3
from collections.abc import Sequence

from gateway.domain import Json, SearchRequest, WebCall
from gateway.engines.index.page_rows import SHARED
from gateway.engines.index.port import Index
from gateway.engines.index.query import IndexHit, IndexQuery, is_english
from gateway.engines.index.ranking import FITTING_SCORE
from gateway.engines.index.spelling import corrected
from gateway.engines.index.vectors import PassageVectors
from gateway.engines.words.excerpt import GAP, best_within
from gateway.engines.words.sections import MOST_CHARS, Passage, closing, open_fences
from gateway.errors import UpstreamUnavailable
from gateway.resilience.slices import Steps, in_slices

_QUOTED = re.compile(r'"([^"]{1,200})"')
_NOTHING = (
    "Nothing was found among the pages this gateway has read for you: the local index knows only pages that "
    "websearch-extract or websearch-crawl fetched before, or that the operator added with `gateway index add`."
)
_PASSAGES = 10
_LONG_EXCERPTS = 3
_EXCERPT_CHARS = 4_500
_LONG_DEPTHS = ("basic", "advanced")
"""The first three results show up to 4,500 characters of their ten best passages, the others one passage. Measured
(`bench.search_quality`, 80 questions): the passage that answers is among the first three results' excerpts for .44 of
the questions with one passage each, .58 with three, .66 so; from 7 passages .63, from whole pages .68 at five times the
CPU; the right page itself is among the first three for .79. The depths that promise speed show one passage of every
result."""
_READ_CHARS = _PASSAGES * MOST_CHARS + 2_000
"""Text of a page from which an excerpt is cut: its ten passages and the headings above them. 10 ms of CPU for ordinary
text, in slices of the event loop: in the parse processes the same would wait for pages that are read, and for a process
to start (.22 s of CPU up to its first answer, measured 2026-11-22)."""

_NOTHING_FITS = (
    "nothing found fits the query well: the results share few of its words. The local index knows only pages that were "
    "read before; try other words, or read the page you mean by websearch-extract."
)
CAPABILITIES = frozenset(
    {
        "search_depth", "max_results", "include_domains", "exclude_domains", "time_range", "start_date", "end_date",
        "include_raw_content", "include_favicon", "exact_match",
    }
)  # fmt: skip


class LocalSearch:
    """Finds the pages of the caller's own key, and shared pages; by words, and with `vectors` by meaning as well."""

    name = "local"
    capabilities = CAPABILITIES
    results_are_per_key = True

    def __init__(self, index: Index, vectors: PassageVectors | None = None) -> None:
        self._index = index
        self._vectors = vectors

    async def search(self, request: SearchRequest, call: WebCall) -> Json:
        """`{results: [{title, url, content, score, other_urls?, published_date?, raw_content?, favicon?}], images: [],
        note?}`.

        Results are best first; `content` joins the page's best pieces, `note` says why there is no result or
        none that fits, and which words were searched for instead of misspelt ones.
        Raises UpstreamUnavailable.
        """
        start, end = request.days()
        query = IndexQuery(
            request.query,
            (call.owner, SHARED),
            request.max_results,
            phrases=_phrases(request),
            include_domains=request.include_domains,
            exclude_domains=request.exclude_domains,
            start=start,
            end=end,
            passages=_PASSAGES if request.search_depth in _LONG_DEPTHS else 1,
            near=await self._near(request, call),
        )
        try:
            hits = await self._index.search(query)
        except (sqlite3.Error, OSError) as error:
            raise UpstreamUnavailable(
                "the local search index cannot be read at present; ask again later, or see the gateway's status"
            ) from error
        if not hits:
            return {"results": [], "images": [], "note": _NOTHING}
        respelt = dict(hits[0].respelt)
        asked = corrected(query, respelt).text
        results = []
        for place, hit in enumerate(hits):
            content = await in_slices(_content(hit, place, asked, request.search_depth))
            results.append(_search_result(hit, content, request))
        answer: Json = {"results": results, "images": []}
        notes = [_NOTHING_FITS] if results[0]["score"] < FITTING_SCORE else []
        if respelt:
            instead = " and ".join(f'"{meant}" instead of "{word}"' for word, meant in respelt.items())
            notes.append(f"Searched for {instead}, which no page has.")
        return {**answer, "note": " ".join(notes)} if notes else answer

    async def stats(self) -> Json:
        """As `Index.stats`, and why vectors cannot be made at present as `error` of `vectors`. Never raises."""
        stats = await self._index.stats()
        if self._vectors is not None and "vectors" in stats:
            stats["vectors"]["error"] = self._vectors.problem
        return stats

    async def _near(self, request: SearchRequest, call: WebCall) -> tuple[tuple[int, float], ...]:
        """Passages near the query by their vectors; none for a query in another language than English, which the model
        cannot read, for an exact phrase, and at the depths that promise speed."""
        is_wanted = request.search_depth in _LONG_DEPTHS and not request.exact_match
        if self._vectors is None or not is_wanted or not is_english(request.query):
            return ()
        return tuple(await self._vectors.nearest(request.query, (call.owner, SHARED), call.owner))

    async def probe(self) -> str | None:
        """None when the index can be read, else a sentence on what is wrong. Never raises."""
        error: str | None = (await self._index.stats())["error"]
        return error


def _search_result(hit: IndexHit, content: str, request: SearchRequest) -> Json:
    result: Json = {"title": hit.title, "url": hit.url, "content": content, "score": hit.score}
    if hit.others:
        result["other_urls"] = list(hit.others)
    if hit.published:
        result["published_date"] = hit.published
    if request.include_raw_content:
        result["raw_content"] = hit.content
    if request.include_favicon:
        result["favicon"] = hit.favicon
    return result


def _content(hit: IndexHit, place: int, asked: str, depth: str) -> Steps[str]:
    """What of the page answers what is asked: the best passage, and for the best pages others after it."""
    if not hit.passages:
        return hit.content[:MOST_CHARS]
    best = hit.passages[0]
    lead = "\n\n".join(filter(None, (" > ".join(best.headings), *_texts(hit.content, [best]))))
    if place >= _LONG_EXCERPTS or depth not in _LONG_DEPTHS:
        return lead
    if len(hit.passages) == 1 or len(lead) > 2 * MOST_CHARS:
        return (yield from best_within(_joined(hit, hit.passages), asked, _EXCERPT_CHARS))
    rest = yield from best_within(_joined(hit, hit.passages[1:]), asked, _EXCERPT_CHARS - len(lead) - len(GAP))
    return f"{lead}{GAP}{rest}" if rest.strip() else lead


def _joined(hit: IndexHit, passages: Sequence[Passage]) -> str:
    """Passages of a page in its order, each below its headings, as a page of its own, cut to `_READ_CHARS`."""
    parts: list[str] = []
    headings: tuple[str, ...] = ()
    ordered = sorted(passages, key=lambda passage: passage.start)
    for each, text in zip(ordered, _texts(hit.content, ordered), strict=True):
        if each.headings != headings:
            headings = each.headings
            parts += [f"{'#' * min(level, 6)} {title}" for level, title in enumerate(headings, 1)]
        parts.append(text)
    return "\n\n".join(parts)[:_READ_CHARS]


def _texts(content: str, ordered: Sequence[Passage]) -> list[str]:
    """The passages' texts; code that a passage begins or ends within is opened and closed again."""
    openings = open_fences(content, [each.start for each in ordered])
    texts = [
        f"{opening}\n{content[each.start : each.end]}" if opening else content[each.start : each.end]
        for each, opening in zip(ordered, openings, strict=True)
    ]
    return [text + closing(text) for text in texts]


def _phrases(request: SearchRequest) -> tuple[str, ...]:
    if not request.exact_match:
        return ()
    return tuple(_QUOTED.findall(request.query)) or (request.query,)
