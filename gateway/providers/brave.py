"""Brave Search. Wire format: its API documentation (web, news and image search), read 2026-11-21.

Implements ports.SearchProvider. Brave sends no scores: a result's score is 1 divided by its rank. Domains go into the
query as operators, and the service filters again. Knows no HTTP beyond `SearchHttp`.
"""

import re
from datetime import UTC, datetime
from html import unescape
from typing import Any

from gateway.domain import Json, SearchRequest
from gateway.providers.search import (
    PROBE_TIMEOUT_S,
    ProviderRequest,
    PublicSite,
    SearchAdapter,
    alpha2,
    image,
    phrase_or_words,
    will_filter,
    with_images,
    with_sites,
)
from gateway.wire.untrusted_json import list_in, table_in, tables_in

BASE_URL = "https://api.search.brave.com"
CAPABILITIES = frozenset(
    {
        "max_results", "topic", "time_range", "start_date", "end_date", "country", "include_images",
        "include_image_descriptions", "include_favicon",
    }
)  # fmt: skip
MAX_QUERY_CHARS = 400
MAX_QUERY_WORDS = 50
"""Brave's own limits of a query (its documentation); it refuses longer ones."""
_WIDE_COUNT = "20"
"""Results requested when the service will filter them: the most that Brave sends."""
_MAX_SNIPPETS = 4
"""Snippets joined into `content`. Chosen: at double a search costs twice the tokens, at half it says less."""
_RANGES = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_COUNTRIES = frozenset((
    "ar", "au", "at", "be", "br", "ca", "cl", "cn", "dk", "fi", "fr", "de", "gr", "hk", "in", "id", "it", "jp", "my",
    "mx", "nl", "nz", "no", "ph", "pl", "pt", "ru", "sa", "za", "kr", "es", "se", "ch", "tw", "tr", "gb", "us",
))  # fmt: skip
"""The countries that Brave searches by."""
_TAGS = re.compile(r"<[^>]{1,100}>")
_HINTS = {
    401: "it does not know the gateway's key; the operator must set search.api_key",
    402: "the plan has no requests left; the operator must change it",
    403: "the plan does not allow this; the operator must check it",
    422: "it does not know the gateway's key or a parameter; the operator should check search.api_key",
}


class Brave(SearchAdapter):
    """See SearchAdapter. The probe, a search for one result, costs one request of the plan."""

    name = "brave"
    capabilities = CAPABILITIES
    site = PublicSite(BASE_URL, "X-Subscription-Token", status_hints=_HINTS)
    probe_request = ProviderRequest("/res/v1/web/search", params={"q": "test", "count": "1"}, timeout_s=PROBE_TIMEOUT_S)

    async def _search(self, request: SearchRequest) -> Json:
        """See SearchAdapter."""
        news = request.topic == "news"
        path = "/res/v1/news/search" if news else "/res/v1/web/search"
        answer = await self._ask(ProviderRequest(path, params=_params(request)))
        holder = answer if news or "web" not in answer else table_in(answer, "web")
        found = self._listed(holder, "results", is_optional=holder is answer)
        raw = [item for item in found if item.get("url")]
        results = [_result(rank, item, request) for rank, item in enumerate(raw, 1)]
        data: Json = {"results": results, "images": []}
        if request.country and country_code(request.country) is None:
            data["ignored"] = ["country"]
        return await with_images(data, self._images(request)) if request.include_images else data

    async def _images(self, request: SearchRequest) -> list[Any]:
        params = {"q": _query(request), "count": str(request.max_results), "safesearch": "strict"}
        answer = await self._ask(ProviderRequest("/res/v1/images/search", params=params))
        images = []
        for item in tables_in(answer, "results"):
            url = table_in(item, "properties").get("url")
            if url:
                images.append(image(url, _without_tags(item.get("title")), request))
        return images


def country_code(name: str | None) -> str | None:
    """Brave's code of two letters for a country's English name in lower case; None for countries it does not have."""
    code = alpha2(name)
    return code.upper() if code in _COUNTRIES else None


def _query(request: SearchRequest) -> str:
    """The query within Brave's limits; domain operators are appended as long as they fit."""
    query = " ".join(phrase_or_words(request)[:MAX_QUERY_CHARS].split()[:MAX_QUERY_WORDS])
    return with_sites(query, request, _is_accepted)


def _is_accepted(query: str) -> bool:
    return len(query) <= MAX_QUERY_CHARS and len(query.split()) <= MAX_QUERY_WORDS


def _params(request: SearchRequest) -> dict[str, str]:
    params = {"q": _query(request), "count": _WIDE_COUNT if will_filter(request) else str(request.max_results)}
    if request.topic != "news":
        params["result_filter"] = "web"
    if code := country_code(request.country):
        params["country"] = code
    if request.start_date or request.end_date:
        start = request.start_date.isoformat() if request.start_date else "1990-01-01"
        end = (request.end_date or datetime.now(UTC).date()).isoformat()
        params["freshness"] = f"{start}to{end}"
    if request.time_range:
        params["freshness"] = _RANGES[request.time_range]
    return params


def _result(rank: int, item: Json, request: SearchRequest) -> Json:
    snippets = [item.get("description"), *list_in(item, "extra_snippets")][:_MAX_SNIPPETS]
    result: Json = {
        "title": _without_tags(item.get("title")),
        "url": item["url"],
        "content": " [...] ".join(text for text in map(_without_tags, snippets) if text),
        "score": round(1 / rank, 4),
    }
    if item.get("page_age"):
        result["published_date"] = item["page_age"]
    if request.include_favicon:
        result["favicon"] = table_in(item, "meta_url").get("favicon")
    return result


def _without_tags(text: Any) -> str:
    return unescape(_TAGS.sub("", text)).strip() if isinstance(text, str) else ""
