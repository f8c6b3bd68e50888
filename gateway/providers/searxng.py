"""SearXNG: an operator's own metasearch instance. Wire format: its search API documentation, read 2026-11-21.

It limits neither number of results nor domains nor dates; `site:` operators narrow what its engines are asked and the
service filters again. Implements ports.SearchProvider.
"""

import asyncio
from typing import Any

from gateway.domain import Json, SearchRequest, WebCall
from gateway.errors import GatewayError
from gateway.providers.search_http import ProviderRequest, ProviderSite, SearchHttp, will_filter, with_images
from gateway.wire.untrusted_json import tables_in

CAPABILITIES = frozenset({"max_results", "topic", "time_range", "include_images", "include_image_descriptions"})
_RANGES = {"day": "day", "week": "week", "month": "month", "year": "year"}
_MAX_PAGES = 3
_HINTS = {
    403: "the operator must add json to search.formats in its settings.yml and let this gateway past its limiter",
    429: "its limiter blocks this gateway; the operator must let it past",
}


class Searxng:
    """`base_url` is the instance, such as http://127.0.0.1:8888."""

    name = "searxng"
    capabilities = CAPABILITIES
    results_are_per_key = False

    def __init__(self, base_url: str, key: str = "", timeout_s: float = 15.0) -> None:
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._http = SearchHttp(ProviderSite(self.name, base_url, headers, timeout_s, _HINTS))

    async def close(self) -> None:
        await self._http.close()

    async def search(self, request: SearchRequest, call: WebCall) -> Json:
        """See ports.SearchProvider. Pages are asked until enough results are there, three at most."""
        results: dict[str, Json] = {}
        wanted = request.max_results * (3 if will_filter(request) else 1)
        for page in range(1, _MAX_PAGES + 1):
            answer = await self._http.ask(ProviderRequest("/search", params=_params(request, page)))
            raw = [item for item in tables_in(answer, "results") if item.get("url")]
            for item in raw:
                results.setdefault(str(item["url"]), item)
            if len(results) >= wanted or not raw:
                break
        made: Json = {"results": _scaled(list(results.values())), "images": []}
        return await with_images(made, self._images(request)) if request.include_images else made

    async def _images(self, request: SearchRequest) -> list[Any]:
        answer = await self._http.ask(
            ProviderRequest("/search", params={**_params(request, 1), "categories": "images"})
        )
        found = [item for item in tables_in(answer, "results") if item.get("img_src")]
        if request.include_image_descriptions:
            return [
                {"url": str(item["img_src"]), "description": str(item.get("title") or "")}
                for item in found[: request.max_results]
            ]
        return [str(item["img_src"]) for item in found[: request.max_results]]

    async def probe(self) -> str | None:
        """Asks for one result page."""
        try:
            async with asyncio.timeout(10):
                await self._http.ask(ProviderRequest("/search", params={"q": "test", "format": "json"}, timeout_s=8))
        except GatewayError as error:
            return error.message
        except TimeoutError:
            return "the search provider searxng did not answer in time"
        return None


def _params(request: SearchRequest, page: int) -> dict[str, str]:
    query = request.query
    if request.exact_match and '"' not in query:
        query = f'"{query}"'
    if 0 < len(request.include_domains) <= 8:
        query += " (" + " OR ".join(f"site:{name}" for name in request.include_domains) + ")"
    query += "".join(f" -site:{name}" for name in request.exclude_domains[:8])
    params = {
        "q": query,
        "format": "json",
        "pageno": str(page),
        "categories": "news" if request.topic == "news" else "general",
        "safesearch": "1",
    }
    if request.time_range and not (request.start_date or request.end_date):
        params["time_range"] = _RANGES[request.time_range]
    return params


def _scaled(raw: list[Json]) -> list[Json]:
    """Scores are made 0 to 1 by the best one; without scores the rank decides."""
    scores = [item["score"] if isinstance(item.get("score"), int | float) else 0.0 for item in raw]
    top = max(scores, default=0.0)
    results = []
    for rank, (item, score) in enumerate(zip(raw, scores, strict=True), 1):
        result: Json = {
            "title": str(item.get("title") or item["url"]),
            "url": str(item["url"]),
            "content": str(item.get("content") or ""),
            "score": round(score / top, 4) if top > 0 else round(1 / rank, 4),
        }
        if item.get("publishedDate"):
            result["published_date"] = str(item["publishedDate"])
        results.append(result)
    return sorted(results, key=lambda result: -result["score"])
