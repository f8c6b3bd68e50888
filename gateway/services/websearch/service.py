"""The web tools in the gateway's own terms: search over a chain of providers, extract, crawl, map, status.

Knows no MCP and no provider's wire format. Every answer is a tool's `data` object (schemas/tools/*.json). What a
provider cannot do is made up for here or named in `ignored_parameters`; what a budget cut is named in `note`.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gateway.domain import CrawlRequest, ExtractRequest, Json, SearchRequest, WebCall
from gateway.errors import EngineMissing, GatewayError, InvalidRequest, UpstreamError, UpstreamRefused
from gateway.ports import SearchProvider, WebEngine
from gateway.services.websearch import filters
from gateway.services.websearch.cache import SearchCache
from gateway.services.websearch.result_budget import fit
from gateway.wire.preencoded import PackedJson

PROBE_KEPT_S = 60.0
STATS_KEPT_S = 1.0
_ALL_DROPPED = "None of the {} results found fits the domains, dates or phrase asked for."
PER_KEY_PROVIDERS = frozenset({"local"})


@dataclass(frozen=True, slots=True)
class WebSearchDeps:
    """What the service stands on. `providers`, at least one, are asked in order; `reader` reads pages for results that
    lack them."""

    providers: Sequence[SearchProvider]
    engine: WebEngine
    reader: WebEngine
    index_stats: Callable[[], Awaitable[Json]]
    guardrail: Callable[[], Json]
    sanitization: Callable[[], Json]


@dataclass(frozen=True, slots=True)
class WebSearchSettings:
    """Figures from the configuration and the server's version."""

    server_version: str
    result_budget_chars: int = 80_000
    cache_ttl_s: float = 300.0


class WebSearchService:
    """One for the whole server."""

    def __init__(self, parts: WebSearchDeps, settings: WebSearchSettings) -> None:
        self._parts = parts
        self._settings = settings
        self._cache = SearchCache(settings.cache_ttl_s)
        self._probed: tuple[float, str | None] | None = None
        self._counted: tuple[float, Json] | None = None
        self._last_error: str | None = None
        self._probing = asyncio.Lock()

    async def search(self, request: SearchRequest, call: WebCall) -> Json:
        """`{query, results, images, provider, response_time, request_id, …}`; a remembered answer comes packed.

        Raises InvalidRequest, UpstreamError.
        """
        started = time.monotonic()
        request = _with_plain_domains(request)
        provider, failure = self._parts.providers[0], None
        data = self._cache.kept((provider.name, request))
        if data is None:
            data, provider, failure = await self._ask_chain(request, call)
        if request.include_raw_content or request.include_favicon:
            if isinstance(data, PackedJson):
                data.unpack()
            await self._complete(data["results"], request, provider, call)
            await self._cut(data, taken=_chars(data["results"], "content"))
        if failure is not None:
            _tell(data, f"{failure} These results come from {provider.name}.")
        data["response_time"] = int((time.monotonic() - started) * 1000) / 1000
        data["request_id"] = call.request_id
        return data

    async def extract(self, request: ExtractRequest, call: WebCall) -> Json:
        """`{results, failed_results, response_time, truncated?, note?}`."""
        data = await self._parts.engine.extract(request, call)
        self._titled(data)
        await self._cut(data)
        return data

    async def crawl(self, request: CrawlRequest, call: WebCall) -> Json:
        """The same and `base_url`; each result has its `depth`."""
        data = await self._parts.engine.crawl(request, call)
        self._titled(data)
        await self._cut(data)
        return data

    async def map(self, request: CrawlRequest, call: WebCall) -> Json:
        """`{base_url, results: [url], response_time, note?}`."""
        return await self._parts.engine.map(request, call)

    async def status(self, call: WebCall) -> Json:
        """What works and what does not; never raises for a provider's sake."""
        error = await self._health()
        return {
            "server_version": self._settings.server_version,
            "search_provider": {"name": self._parts.providers[0].name, "healthy": error is None, "error": error},
            "guardrail": self._parts.guardrail(),
            "sanitization": self._parts.sanitization(),
            "index": await self._index(),
            "last_error": self._last_error,
        }

    async def _ask_chain(self, request: SearchRequest, call: WebCall) -> tuple[Json, SearchProvider, str | None]:
        """The first provider's answer, and what was wrong with the first that failed before it."""
        failures: list[GatewayError] = []
        for provider in self._parts.providers:
            try:
                data = await self._ask(provider, request, call)
            except UpstreamRefused:
                raise
            except (UpstreamError, EngineMissing) as error:
                self._last_error = error.message
                self._probed = None  # what was healthy a moment ago is looked at again when somebody asks
                failures.append(error)
                continue
            if not failures and self._probed is not None and self._probed[1] is not None:
                self._probed = None
            return data, provider, failures[0].message if failures else None
        raise failures[0]

    def _ask(self, provider: SearchProvider, request: SearchRequest, call: WebCall) -> Awaitable[Json]:
        if provider.name in PER_KEY_PROVIDERS:
            return self._found(provider, request, call)
        return self._cache.get((provider.name, request), lambda: self._found(provider, request, call))

    async def _found(self, provider: SearchProvider, request: SearchRequest, call: WebCall) -> Json:
        """A provider's answer as the caller gets it, but for what differs from call to call."""
        answer = await provider.search(request, call)
        results = filters.apply(answer["results"], request, provider.capabilities)
        data: Json = {
            "query": request.query,
            "results": results,
            "images": answer.get("images", []),
            "provider": provider.name,
        }
        ignored = [*filters.ignored(request, provider.capabilities), *answer.get("ignored", [])]
        if ignored:
            data["ignored_parameters"] = ignored
        if answer.get("note"):
            _tell(data, answer["note"])
        if answer["results"] and not results:
            _tell(data, _ALL_DROPPED.format(len(answer["results"])))
        await self._cut(data, "content")  # here, so that what is remembered is cut already
        return data

    async def _complete(
        self, results: list[Json], request: SearchRequest, provider: SearchProvider, call: WebCall
    ) -> None:
        """Raw content and favicons from the gateway's own engine where the provider has none."""
        wants_text = request.include_raw_content and "include_raw_content" not in provider.capabilities
        wants_icon = request.include_favicon and "include_favicon" not in provider.capabilities
        lacking = [result for result in results if (wants_text and not result.get("raw_content")) or wants_icon]
        if not lacking:
            return
        urls = tuple(result["url"] for result in lacking)
        quiet = call._replace(progress=None)
        pages = await self._parts.reader.extract(ExtractRequest(urls, include_favicon=True), quiet)
        by_url = {page["url"]: page for page in pages["results"]}
        for result in lacking:
            page = by_url.get(result["url"], {})
            if wants_text:
                result["raw_content"] = page.get("raw_content")
            if wants_icon:
                result["favicon"] = result.get("favicon") or page.get("favicon")

    async def _cut(self, data: Json, field: str = "raw_content", taken: int = 0) -> None:
        results, budget = data["results"], self._settings.result_budget_chars
        if budget <= 0 or taken + _chars(results, field) <= budget:
            return
        shortened = await asyncio.to_thread(fit, results, budget, field, taken)  # odd pages take a tenth of a second
        if shortened is not None:
            data["truncated"] = True
            _tell(data, shortened)

    def _titled(self, data: Json) -> None:
        for result in data["results"]:
            result["title"] = result.get("title") or _title(result)

    async def _index(self) -> Json:
        """Figures of the index; counting takes a thread, so they are kept for a moment."""
        if self._counted is None or self._counted[0] < time.monotonic():
            self._counted = (time.monotonic() + STATS_KEPT_S, await self._parts.index_stats())
        return dict(self._counted[1])

    async def _health(self) -> str | None:
        probed = self._probed
        if probed is not None and probed[0] >= time.monotonic():
            return probed[1]
        async with self._probing:
            if self._probed is not None and self._probed[0] >= time.monotonic():
                return self._probed[1]  # somebody else has just asked
            error = await self._parts.providers[0].probe()
            self._probed = (time.monotonic() + PROBE_KEPT_S, error)
            if error is not None:
                self._last_error = error
            return error


def _tell(data: Json, text: str) -> None:
    data["note"] = f"{data['note']} {text}" if data.get("note") else text


def _chars(results: list[Json], field: str) -> int:
    return sum(len(result.get(field) or "") for result in results)


def _with_plain_domains(request: SearchRequest) -> SearchRequest:
    """The request with its domains in the form that providers and filters compare. `mcp.arguments` checks the rest."""
    if not (request.include_domains or request.exclude_domains):
        return request
    return request._replace(
        include_domains=_domains(request.include_domains, "include_domains"),
        exclude_domains=_domains(request.exclude_domains, "exclude_domains"),
    )


def _domains(names: tuple[str, ...], param: str) -> tuple[str, ...]:
    cleaned = tuple(dict.fromkeys(filters.domain_of(name) for name in names))
    if any(not name or " " in name for name in cleaned):
        raise InvalidRequest(f"{param} takes domains such as `docs.python.org`", param=param)
    return cleaned


def _title(result: Json) -> str:
    """The first heading, else the URL's last segment."""
    for line in (result.get("raw_content") or "").split("\n", 200):
        if line.startswith("#"):
            return str(line.lstrip("# ").strip())[:300]
    return str(result["url"]).rstrip("/").rpartition("/")[2] or str(result["url"])
