"""Exa. Wire format: its API reference, "Search" and "Error codes" (exa.ai/docs/reference), read 2026-11-22.

Never tried with a key: the answers in the tests are documented ones, not recorded ones.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from gateway.domain import Json, SearchRequest
from gateway.providers.search import COMMON, ProviderRequest, SearchAdapter, image
from gateway.wire.untrusted_json import texts_in

_WIDE_COUNT = 30
"""Results requested when the service will filter them by a phrase; Exa charges by the page."""
_EXCERPT_CHARS = 2_000
"""Most characters of a result's highlights: four pieces of 500, as other providers send."""


class Exa(SearchAdapter):
    """See SearchAdapter. Exa charges for the probe, a search for one result. Images are those that the pages name."""

    name = "exa"
    capabilities = COMMON | {
        "search_depth", "include_domains", "exclude_domains", "start_date", "end_date", "include_raw_content",
        "country", "include_favicon",
    }  # fmt: skip
    base_url = "https://api.exa.ai"
    key_header = "x-api-key"
    hints: ClassVar[Mapping[int, str]] = {
        402: "the account has no credits left, or the key's budget is spent; the operator must raise it",
        403: "the plan does not allow this; the operator must check it",
    }
    fields: ClassVar[Mapping[str, str]] = {"published_date": "publishedDate", "raw_content": "text"}
    depths: ClassVar[Mapping[str, str]] = {
        "basic": "auto", "advanced": "deep", "fast": "fast", "ultra-fast": "instant",
    }  # fmt: skip
    probe_request = ProviderRequest("/search", body={"query": "test", "numResults": 1, "type": "fast"})

    def request_for(self, request: SearchRequest) -> ProviderRequest:
        """See SearchAdapter."""
        contents: Json = {"highlights": {"query": request.query, "maxCharacters": _EXCERPT_CHARS}}
        if request.include_raw_content:
            contents["text"] = True
        body: Json = {
            "query": request.query,
            "type": self.depths.get(request.search_depth, "auto"),
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
        if code := self.country_of(request):
            body["userLocation"] = code.upper()
        return ProviderRequest("/search", body=body)

    def result(self, item: Json, request: SearchRequest) -> Json:
        """See SearchAdapter."""
        content = " [...] ".join(text.strip() for text in texts_in(item, "highlights") if text.strip())
        return super().result(item | {"content": content}, request)

    async def images(self, answer: Json, request: SearchRequest) -> list[Any]:
        """See SearchAdapter."""
        return [image(item.get("image"), item.get("title"), request) for item in self.items(answer, request)]
