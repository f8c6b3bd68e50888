"""What the adapters of remote search providers share: one site with one key, a probe, and queries with operators.

An adapter names its `site` and its `probe_request`, and implements `_search`; `search` of ports.SearchProvider
puts what it found into the one form. Knows no provider's fields and no HTTP beyond `SearchHttp`.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gateway.domain import Json, SearchRequest, WebCall
from gateway.errors import GatewayError, UpstreamError
from gateway.providers.egress import DIRECT, Egress
from gateway.providers.result_shape import in_shape
from gateway.providers.search_http import ProviderRequest, ProviderSite, SearchHttp
from gateway.wire.untrusted_json import tables_in

PROBE_TIMEOUT_S = 5
_PROBE_LIMIT_S = 10
"""Of one request of a probe, and of a probe with its repeat. Chosen: status is shown to people, who wait; a slower
provider is as good as down."""


@dataclass(frozen=True, slots=True)
class PublicSite:
    """A provider's public address (empty when every operator has one of his own), the header that carries the key with
    what stands before it there, and the hints of `ProviderSite`."""

    base_url: str
    key_header: str
    key_prefix: str = ""
    status_hints: Mapping[int, str] = field(default_factory=dict)


class SearchAdapter:
    """`key` is the API key; an empty `base_url` means the public service; `timeout_s` is for searches; `egress`: how
    requests leave for it."""

    name: ClassVar[str]
    capabilities: ClassVar[frozenset[str]]
    results_are_per_key = False
    site: ClassVar[PublicSite]
    probe_request: ClassVar[ProviderRequest]
    """The cheapest request that needs the key."""

    def __init__(self, key: str, base_url: str = "", timeout_s: float = 15.0, egress: Egress = DIRECT) -> None:
        site = self.site
        headers = {"Accept": "application/json"} | ({site.key_header: f"{site.key_prefix}{key}"} if key else {})
        self._http = SearchHttp(
            ProviderSite(self.name, base_url or site.base_url, headers, timeout_s, site.status_hints, egress)
        )

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.close()

    async def probe(self) -> str | None:
        """See ports.SearchProvider."""
        try:
            async with asyncio.timeout(_PROBE_LIMIT_S):
                await self._ask(self.probe_request)
        except GatewayError as error:
            return error.message
        except TimeoutError:
            return f"the search provider {self.name} did not answer in time"
        return None

    async def search(self, request: SearchRequest, call: WebCall) -> Json:
        """See ports.SearchProvider."""
        return in_shape(await self._search(request))

    async def _search(self, request: SearchRequest) -> Json:
        """`{results, images, ignored?, note?}`, with fields as the provider sent them. Raises as `_ask` does."""
        raise NotImplementedError

    def _listed(self, answer: Json, field: str, *, is_optional: bool = False) -> list[Json]:
        """The objects of a list in the answer. Raises UpstreamError when there is no such list: it is another kind of
        answer then, which says nothing of what could be found. `is_optional`: providers that leave out empty lists."""
        value = answer.get(field)
        if isinstance(value, list) or (is_optional and value is None and "error" not in answer):
            return tables_in(answer, field)
        raise UpstreamError(
            f"the search provider {self.name} answered without a list of results; the operator should check "
            "search.base_url"
        )

    async def _ask(self, request: ProviderRequest) -> Json:
        """As SearchHttp.ask."""
        return await self._http.ask(request)


def phrase_or_words(request: SearchRequest) -> str:
    """The query, as one phrase in quotation marks for an exact match that has none of its own."""
    return f'"{request.query}"' if request.exact_match and '"' not in request.query else request.query


def with_sites(query: str, request: SearchRequest, fits: Callable[[str], bool]) -> str:
    """The query with the request's domains as operators behind it, those of them with which it still `fits`."""
    operators = [" OR ".join(f"site:{name}" for name in request.include_domains)] if request.include_domains else []
    for operator in (*operators, *(f"-site:{name}" for name in request.exclude_domains)):
        longer = f"{query} {operator}"
        if fits(longer):
            query = longer
    return query


def image(url: Any, title: Any, request: SearchRequest) -> Any:
    """An image as the web tools show it: its address, with its description when the request asks for it."""
    return {"url": url, "description": title} if request.include_image_descriptions else url
