"""SearXNG: an operator's own metasearch instance. Wire format: its search API documentation, read 2026-11-21.

SearXNG cannot limit the number of results, domains or dates: `site:` operators go into the query, and the service
filters again.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from gateway.domain import Json, SearchRequest
from gateway.providers.search import COMMON, ProviderRequest, SearchAdapter, count_for, image, phrase_or_words
from gateway.wire.untrusted_json import tables_in, words_of

_MAX_PAGES = 3
"""Most result pages requested for one search; each takes as long as a search."""
_WIDENING = 3
"""This many times the wanted results are collected when the service will filter them."""
_MAX_SITE_OPERATORS = 8
"""Most domains put into the query; search engines refuse or ignore long queries, and the service filters anyway."""
_PROBE_TIMEOUT_S = 8
"""Seconds; an instance waits for the search engines behind it, usually 3 s at most."""


class Searxng(SearchAdapter):
    """See SearchAdapter. `base_url` is the instance, such as http://127.0.0.1:8888; it may want no key."""

    name = "searxng"
    capabilities = COMMON
    fields: ClassVar[Mapping[str, str]] = {"published_date": "publishedDate"}
    hints: ClassVar[Mapping[int, str]] = {
        403: "the operator must add json to search.formats in its settings.yml and let this gateway past its limiter",
        429: "its limiter blocks this gateway; the operator must let it past",
    }
    probe_request = ProviderRequest("/search", params={"q": "test", "format": "json"}, timeout_s=_PROBE_TIMEOUT_S)

    async def find(self, request: SearchRequest) -> Json:
        """Requests result pages until there are enough results, at most _MAX_PAGES."""
        results: dict[str, Json] = {}
        wanted = count_for(request, _WIDENING * request.max_results)
        for page in range(1, _MAX_PAGES + 1):
            answer = await self.ask(ProviderRequest("/search", params=_params(request, page)))
            raw = [item for item in self.listed(answer, "results") if item.get("url")]
            for item in raw:
                results.setdefault(words_of(item["url"]), item)
            if len(results) >= wanted or not raw:
                break
        return {"results": _scaled(list(results.values()))}

    async def images(self, answer: Json, request: SearchRequest) -> list[Any]:
        """See SearchAdapter."""
        found = await self.ask(ProviderRequest("/search", params={**_params(request, 1), "categories": "images"}))
        raw = [item for item in tables_in(found, "results") if item.get("img_src")]
        return [image(item["img_src"], item.get("title"), request) for item in raw[: request.max_results]]


def _params(request: SearchRequest, page: int) -> dict[str, str]:
    query = phrase_or_words(request)
    if 0 < len(request.include_domains) <= _MAX_SITE_OPERATORS:
        query += " (" + " OR ".join(f"site:{name}" for name in request.include_domains) + ")"
    query += "".join(f" -site:{name}" for name in request.exclude_domains[:_MAX_SITE_OPERATORS])
    params = {
        "q": query,
        "format": "json",
        "pageno": str(page),
        "categories": "news" if request.topic == "news" else "general",
        "safesearch": "1",
    }
    if request.time_range:
        params["time_range"] = request.time_range
    return params


def _scaled(raw: list[Json]) -> list[Json]:
    """The results with scores from 0 to 1, relative to the best, and sorted by them; without scores as they came."""
    scores = [item["score"] if isinstance(item.get("score"), int | float) else 0.0 for item in raw]
    top = max(scores, default=0.0)
    if top <= 0:
        return raw
    scaled = [{**item, "score": round(score / top, 4)} for item, score in zip(raw, scores, strict=True)]
    return sorted(scaled, key=lambda item: -item["score"])
