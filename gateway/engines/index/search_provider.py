"""The local search provider: finds pages that this gateway fetched before. Implements ports.SearchProvider.

Knows no ranking (engines.index.query) and no network.
"""

import asyncio
import re
import sqlite3

from gateway.domain import Json, SearchRequest, WebCall
from gateway.engines.index.query import IndexHit, IndexQuery
from gateway.engines.index.ranking import FITTING_SCORE
from gateway.engines.index.schema import SHARED
from gateway.engines.index.store import PageIndex
from gateway.engines.text.passages import MOST_CHARS
from gateway.errors import UpstreamUnavailable

_QUOTED = re.compile(r'"([^"]{1,200})"')
_NOTHING = (
    "Nothing was found among the pages this gateway has read for you: the local index knows only pages that "
    "websearch-extract or websearch-crawl fetched before, or that the operator added with `gateway index add`."
)
_PASSAGES = {"advanced": 3, "basic": 2, "fast": 1, "ultra-fast": 1}
_DEFAULT_PASSAGES = 2
"""Passages of a page in a result's `content`. Measured (`bench.search_quality`): the passage that answers is among the
excerpts of the first three results for .44 of the questions with one, .54 with two, .58 with three."""

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
    """Finds the pages of the caller's own key, and shared pages."""

    name = "local"
    capabilities = CAPABILITIES
    results_are_per_key = True

    def __init__(self, index: PageIndex) -> None:
        self._index = index

    async def search(self, request: SearchRequest, call: WebCall) -> Json:
        """`{results: [{title, url, content, score, published_date?, raw_content?, favicon?}], images: [], note?}`.

        Results are best first; `content` joins the page's best pieces, `note` says why there is no result.
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
            feedback=request.search_depth in ("basic", "advanced"),
            passages=_PASSAGES.get(request.search_depth, _DEFAULT_PASSAGES),
        )
        try:
            hits = await self._index.search(query)
        except (sqlite3.Error, OSError) as error:
            raise UpstreamUnavailable("the local search index cannot be read; see the gateway's status") from error
        results = await asyncio.to_thread(lambda: [_search_result(hit, request) for hit in hits])
        answer: Json = {"results": results, "images": []}
        if not results:
            return {**answer, "note": _NOTHING}
        return {**answer, "note": _NOTHING_FITS} if results[0]["score"] < FITTING_SCORE else answer

    async def probe(self) -> str | None:
        """None when the index can be read, else a sentence on what is wrong. Never raises."""
        error: str | None = (await self._index.stats())["error"]
        return error


def _search_result(hit: IndexHit, request: SearchRequest) -> Json:
    result: Json = {"title": hit.title, "url": hit.url, "content": _excerpt(hit), "score": hit.score}
    if hit.published:
        result["published_date"] = hit.published
    if request.include_raw_content:
        result["raw_content"] = hit.content
    if request.include_favicon:
        result["favicon"] = hit.favicon
    return result


def _excerpt(hit: IndexHit) -> str:
    """The page's best passages, best first, each below its headings; the page's beginning where there is no passage."""
    if not hit.passages:
        return hit.content[:MOST_CHARS]
    return " [...] ".join(
        "\n\n".join(filter(None, (" > ".join(each.headings), hit.content[each.start : each.end])))
        for each in hit.passages
    )


def _phrases(request: SearchRequest) -> tuple[str, ...]:
    if not request.exact_match:
        return ()
    return tuple(_QUOTED.findall(request.query)) or (request.query,)
