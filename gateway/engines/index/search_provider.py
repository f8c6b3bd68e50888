"""The local search provider: finds pages that this gateway fetched before. Implements ports.SearchProvider.

Knows no ranking (engines.index.query) and no network.
"""

import asyncio
import re
import sqlite3

from gateway.domain import Json, SearchRequest, WebCall
from gateway.engines.extract import chunks
from gateway.engines.index.query import IndexHit, IndexQuery
from gateway.engines.index.schema import SHARED
from gateway.engines.index.store import PageIndex
from gateway.errors import UpstreamUnavailable

_QUOTED = re.compile(r'"([^"]{1,200})"')
_NOTHING = (
    "Nothing was found among the pages this gateway has read for you: the local index knows only pages that "
    "websearch-extract or websearch-crawl fetched before, or that the operator added with `gateway index add`."
)
_CHUNKS = {"advanced": 3, "basic": 3, "fast": 2, "ultra-fast": 1}
_DEFAULT_CHUNKS = 3
"""Pieces of a page in a result's `content`. Three, as Tavily's `chunks_per_source` has it; chosen fewer for the depths
that promise speed, whose results are shorter to read."""
_EXCERPTED_CHARS = 60_000
"""Beginning of a page that is searched for its best pieces. Chosen: ten results cost about 0.25 s of a thread then (21
to 24 ms each, measured on a page of short lines, 2026-11-22); at half the pieces miss the end of long pages, at double
a search takes twice as long."""
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
        )
        try:
            hits = await self._index.search(query)
        except (sqlite3.Error, OSError) as error:
            raise UpstreamUnavailable("the local search index cannot be read; see the gateway's status") from error
        results = await asyncio.to_thread(lambda: [_search_result(hit, request) for hit in hits])
        answer: Json = {"results": results, "images": []}
        return answer if results else {**answer, "note": _NOTHING}

    async def probe(self) -> str | None:
        """None when the index can be read, else a sentence on what is wrong. Never raises."""
        error: str | None = (await self._index.stats())["error"]
        return error


def _search_result(hit: IndexHit, request: SearchRequest) -> Json:
    best = chunks.best(
        hit.content[:_EXCERPTED_CHARS], request.query, _CHUNKS.get(request.search_depth, _DEFAULT_CHUNKS)
    )
    result: Json = {"title": hit.title, "url": hit.url, "content": " [...] ".join(best), "score": hit.score}
    if hit.published:
        result["published_date"] = hit.published
    if request.include_raw_content:
        result["raw_content"] = hit.content
    if request.include_favicon:
        result["favicon"] = hit.favicon
    return result


def _phrases(request: SearchRequest) -> tuple[str, ...]:
    if not request.exact_match:
        return ()
    return tuple(_QUOTED.findall(request.query)) or (request.query,)
