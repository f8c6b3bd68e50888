"""Linkup. Wire format: its documentation, "/search", "/credits/balance", "Flash depth" and "Errors" (docs.linkup.so),
read 2026-11-29.

Never tried with a key: the answers in the tests are documented ones, not recorded ones.
Linkup sends no scores. It takes up to 100 domains; the service filters by domains and dates again.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from gateway.domain import Json, SearchRequest
from gateway.errors import UpstreamError, UpstreamRefused
from gateway.providers.search import COMMON, ProviderRequest, SearchAdapter, count_for, image, phrase_or_words
from gateway.wire.untrusted_json import table_in

_MAX_DOMAINS = 100
_WIDE_COUNT = 30
"""Results requested when the service will drop some; a search costs the same whatever their number."""
_NOTHING = "search_provider_found_nothing"
_SPENT = frozenset({"INSUFFICIENT_FUNDS_CREDITS", "EXCEED_BUDGET_LIMIT"})


class Linkup(SearchAdapter):
    """See SearchAdapter. The probe reads the balance, which costs nothing."""

    name = "linkup"
    capabilities = (COMMON - {"topic"}) | {"search_depth", "include_favicon"}
    base_url = "https://api.linkup.so"
    hints: ClassVar[Mapping[int, str]] = {
        403: "the key or this machine's address may not do this; the operator must check the account"
    }
    fields: ClassVar[Mapping[str, str]] = {"title": "name", "published_date": "date"}
    depths: ClassVar[Mapping[str, str]] = {
        "basic": "standard", "advanced": "deep", "fast": "fast", "ultra-fast": "flash",
    }  # fmt: skip
    probe_request = ProviderRequest("/v1/credits/balance")

    def request_for(self, request: SearchRequest) -> ProviderRequest:
        """See SearchAdapter."""
        body: Json = {
            "q": phrase_or_words(request),
            "depth": self.depths.get(request.search_depth, "standard"),
            "outputType": "searchResults",
            "maxResults": count_for(request, _WIDE_COUNT),
        }
        if request.include_images:
            body |= {"includeImages": True, "maxResults": body["maxResults"] + request.max_results}
        if 0 < len(request.include_domains) <= _MAX_DOMAINS:
            body["includeDomains"] = list(request.include_domains)
        if request.exclude_domains:
            body["excludeDomains"] = list(request.exclude_domains[:_MAX_DOMAINS])
        days = zip(("fromDate", "toDate"), request.days(), strict=True)
        return ProviderRequest("/v1/search", body=body | {name: day.isoformat() for name, day in days if day})

    async def find(self, request: SearchRequest) -> Json:
        """See SearchAdapter; that there is no result is an error of Linkup's."""
        try:
            return await super().find(request)
        except UpstreamRefused as error:
            if error.code != _NOTHING:
                raise
            return {"results": []}

    def items(self, answer: Json, request: SearchRequest) -> list[Json]:
        """See SearchAdapter; images are among them in the answer."""
        return [item for item in self.listed(answer, "results") if item.get("type") != "image"]

    async def images(self, answer: Json, request: SearchRequest) -> list[Any]:
        """See SearchAdapter."""
        found = [item for item in self.listed(answer, "results") if item.get("type") == "image"]
        return [image(item.get("url"), item.get("name"), request) for item in found[: request.max_results]]

    def failure(self, status: int, wait_s: float | None, body: Json) -> UpstreamError:
        """See SearchAdapter; a spent account is a 429 of Linkup's."""
        code = table_in(body, "error").get("code")
        if status == 400 and code == "SEARCH_QUERY_NO_RESULT":
            return UpstreamRefused("the search provider linkup found nothing.", status=400, code=_NOTHING)
        return self.spent() if code in _SPENT else super().failure(status, wait_s, body)
