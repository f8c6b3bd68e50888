"""Brave Search. Wire format: its API documentation (web, news and image search), read 2026-11-21.

Brave sends no scores. Domains go into the query as operators, and the service filters again.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from html import unescape
from typing import Any, ClassVar

from gateway.domain import Json, SearchRequest
from gateway.providers.search import (
    COMMON,
    ProviderRequest,
    SearchAdapter,
    count_for,
    image,
    phrase_or_words,
    with_sites,
)
from gateway.wire.untrusted_json import list_in, table_in, tables_in

MAX_QUERY_CHARS = 400
MAX_QUERY_WORDS = 50
"""Brave's own limits of a query (its documentation); it refuses longer ones."""
_WIDE_COUNT = 20
"""Results requested when the service will filter them: the most that Brave sends."""
_MAX_SNIPPETS = 4
"""Snippets joined into `content`."""
_RANGES = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_COUNTRIES = frozenset((
    "ar", "au", "at", "be", "br", "ca", "cl", "cn", "dk", "fi", "fr", "de", "gr", "hk", "in", "id", "it", "jp", "my",
    "mx", "nl", "nz", "no", "ph", "pl", "pt", "ru", "sa", "za", "kr", "es", "se", "ch", "tw", "tr", "gb", "us",
))  # fmt: skip
"""The countries that Brave searches by."""
_TAGS = re.compile(r"<[^>]{1,100}>")


class Brave(SearchAdapter):
    """See SearchAdapter. The probe, a search for one result, costs one request of the plan."""

    name = "brave"
    capabilities = COMMON | {"start_date", "end_date", "country", "include_favicon"}
    base_url = "https://api.search.brave.com"
    key_header = "X-Subscription-Token"
    hints: ClassVar[Mapping[int, str]] = {
        402: "the plan has no requests left; the operator must change it",
        403: "the plan does not allow this; the operator must check it",
        422: "it does not know the gateway's key or a parameter; the operator should check search.api_key",
    }
    fields: ClassVar[Mapping[str, str]] = {"published_date": "page_age"}
    probe_request = ProviderRequest("/res/v1/web/search", params={"q": "test", "count": "1"})

    def request_for(self, request: SearchRequest) -> ProviderRequest:
        """See SearchAdapter."""
        kind = "news" if request.topic == "news" else "web"
        params = {"q": _query(request), "count": str(count_for(request, _WIDE_COUNT))}
        if kind == "web":
            params["result_filter"] = kind
        if code := self.country_of(request):
            params["country"] = code
        if request.start_date or request.end_date:
            start = request.start_date.isoformat() if request.start_date else "1990-01-01"
            end = (request.end_date or datetime.now(UTC).date()).isoformat()
            params["freshness"] = f"{start}to{end}"
        if request.time_range:
            params["freshness"] = _RANGES[request.time_range]
        return ProviderRequest(f"/res/v1/{kind}/search", params=params)

    def items(self, answer: Json, request: SearchRequest) -> list[Json]:
        """See SearchAdapter."""
        holder = answer if request.topic == "news" or "web" not in answer else table_in(answer, "web")
        return self.listed(holder, "results", is_optional=holder is answer)

    def result(self, item: Json, request: SearchRequest) -> Json:
        """See SearchAdapter; texts without tags."""
        snippets = [item.get("description"), *list_in(item, "extra_snippets")][:_MAX_SNIPPETS]
        texts = {
            "title": _without_tags(item.get("title")),
            "content": " [...] ".join(text for text in map(_without_tags, snippets) if text),
            "favicon": table_in(item, "meta_url").get("favicon"),
        }
        return super().result(item | texts, request)

    async def images(self, answer: Json, request: SearchRequest) -> list[Any]:
        """See SearchAdapter."""
        params = {"q": _query(request), "count": str(request.max_results), "safesearch": "strict"}
        found = tables_in(await self.ask(ProviderRequest("/res/v1/images/search", params=params)), "results")
        urls = [(table_in(item, "properties").get("url"), item.get("title")) for item in found]
        return [image(url, _without_tags(title), request) for url, title in urls]

    def country_of(self, request: SearchRequest) -> str | None:
        """See SearchAdapter."""
        code = super().country_of(request)
        return code.upper() if code in _COUNTRIES else None


def _query(request: SearchRequest) -> str:
    """The query within Brave's limits; domain operators are appended as long as they fit."""
    query = " ".join(phrase_or_words(request)[:MAX_QUERY_CHARS].split()[:MAX_QUERY_WORDS])
    return with_sites(query, request, lambda it: len(it) <= MAX_QUERY_CHARS and len(it.split()) <= MAX_QUERY_WORDS)


def _without_tags(text: Any) -> str:
    return unescape(_TAGS.sub("", text)).strip() if isinstance(text, str) else ""
