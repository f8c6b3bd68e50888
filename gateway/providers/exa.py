"""Exa. Wire format: its API reference, "Search" and "Error codes" (exa.ai/docs/reference), read 2026-11-22.

Implements ports.SearchProvider. Written from that documentation, never tried with a key: the answers in the tests are
documented ones, not recorded ones. Knows no HTTP beyond `SearchHttp`.
"""

from typing import Any

from gateway.domain import Json, SearchRequest
from gateway.providers.search import PROBE_TIMEOUT_S, ProviderRequest, PublicSite, SearchAdapter, alpha2, image
from gateway.wire.untrusted_json import texts_in

BASE_URL = "https://api.exa.ai"
CAPABILITIES = frozenset(
    {
        "search_depth", "max_results", "include_domains", "exclude_domains", "topic", "time_range", "start_date",
        "end_date", "include_images", "include_image_descriptions", "include_raw_content", "country",
        "include_favicon",
    }
)  # fmt: skip
_TYPES = {"basic": "auto", "advanced": "deep", "fast": "fast", "ultra-fast": "instant"}
_WIDE_COUNT = 30
"""Results requested when the service will filter them by a phrase. Chosen: at half few are left of ten, at double a
search costs more, as Exa charges by the page."""
_EXCERPT_CHARS = 2_000
"""Of a result's highlights. Chosen: four pieces of 500 characters, as other providers send; at half answers are cut, at
double ten results take twice the tokens."""
_HINTS = {
    401: "it does not know the gateway's key; the operator must set search.api_key",
    402: "the account has no credits left, or the key's budget is spent; the operator must raise it",
    403: "the plan does not allow this; the operator must check it",
}


class Exa(SearchAdapter):
    """See SearchAdapter. Exa charges for the probe, a search for one result."""

    name = "exa"
    capabilities = CAPABILITIES
    site = PublicSite(BASE_URL, "x-api-key", status_hints=_HINTS)
    probe_request = ProviderRequest(
        "/search", body={"query": "test", "numResults": 1, "type": "fast"}, timeout_s=PROBE_TIMEOUT_S
    )

    async def _search(self, request: SearchRequest) -> Json:
        """See SearchAdapter. Images are those that the results' pages name as theirs."""
        answer = await self._ask(ProviderRequest("/search", body=search_body(request)))
        raw = [item for item in self._listed(answer, "results") if item.get("url")]
        data: Json = {
            "results": [_result(rank, item, request) for rank, item in enumerate(raw, 1)],
            "images": [each for item in raw for each in _images(item, request)],
        }
        if request.country and alpha2(request.country) is None:
            data["ignored"] = ["country"]
        return data


def search_body(request: SearchRequest) -> Json:
    """The body of POST /search. Optional fields are left out unless the caller set them."""
    contents: Json = {"highlights": {"query": request.query, "maxCharacters": _EXCERPT_CHARS}}
    if request.include_raw_content:
        contents["text"] = True
    body: Json = {
        "query": request.query,
        "type": _TYPES.get(request.search_depth, "auto"),
        "numResults": max(request.max_results, _WIDE_COUNT) if request.exact_match else request.max_results,
        "contents": contents,
    }
    if request.topic == "news":
        body["category"] = "news"
    if request.include_domains:
        body["includeDomains"] = list(request.include_domains)
    if request.exclude_domains:
        body["excludeDomains"] = list(request.exclude_domains)
    start, end = request.days()
    if start:
        body["startPublishedDate"] = f"{start.isoformat()}T00:00:00.000Z"
    if end:
        body["endPublishedDate"] = f"{end.isoformat()}T23:59:59.999Z"
    if code := alpha2(request.country):
        body["userLocation"] = code.upper()
    return body


def _result(rank: int, item: Json, request: SearchRequest) -> Json:
    score = item.get("score")
    result: Json = {
        "title": item.get("title"),
        "url": item["url"],
        "content": " [...] ".join(text.strip() for text in texts_in(item, "highlights") if text.strip()),
        "score": score if isinstance(score, int | float) and 0 <= score <= 1 else round(1 / rank, 4),
    }
    if item.get("publishedDate"):
        result["published_date"] = item["publishedDate"]
    if request.include_raw_content:
        result["raw_content"] = item.get("text")
    if request.include_favicon:
        result["favicon"] = item.get("favicon")
    return result


def _images(item: Json, request: SearchRequest) -> list[Any]:
    url = item.get("image")
    if not request.include_images or not isinstance(url, str) or not url:
        return []
    return [image(url, item.get("title"), request)]
