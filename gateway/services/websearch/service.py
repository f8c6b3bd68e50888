"""The web tools: search over a chain of providers, extract, crawl, map, status.

Every answer is a tool's `data` object (schemas/tools/*.json).
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gateway import logs
from gateway.domain import CrawlRequest, ExtractRequest, Json, SearchRequest, WebCall
from gateway.errors import (
    EngineMissing,
    GatewayError,
    InvalidRequest,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from gateway.ports import SearchProvider, WebEngine
from gateway.resilience.circuit_breaker import BreakerPolicy, CircuitBreaker
from gateway.resilience.slices import in_slices
from gateway.services.websearch import filters
from gateway.services.websearch.fusion import fused
from gateway.services.websearch.results import ResultCutter, Shorten
from gateway.services.websearch.search_cache import SearchCache
from gateway.wire.preencoded import PackedJson
from gateway.wire.untrusted_json import MOST_RESULTS

PROBE_TTL_S = 60.0
"""Age at which a provider's health is probed again. A probe may cost a paid request. A failed search forgets it at
once."""
STATS_TTL_S = 1.0
"""Age at which the index is counted again. Counting takes a reader thread; nobody notices a second."""
_LEFT_ALONE = BreakerPolicy(60.0, first_rest_s=30.0, longest_rest_s=300.0, probe_limit_s=60.0, failures_in_a_row=3)
"""When one of several providers that are asked at once is not asked for a while: all wait for the slowest."""
_ALL_DROPPED = "None of the {} results found fits the domains, dates or phrase asked for."
_CUT_PAGE = (
    "these are {:,} of its {:,} characters: call websearch-extract with this URL for the rest, or with a query too for "
    "what matters of it"
)


@dataclass(frozen=True, slots=True)
class WebSearchDeps:
    """The service's dependencies.

    `providers`, at least one, are asked in order; those of `side_by_side` at once and before the others, each for so
    many seconds at most where they are several. `engine` serves extract, crawl and map; `reader` loads pages whose text
    or favicon a provider did not send. `shorten` cuts texts in another process. `index_stats` gives `{pages,
    bytes, oldest, newest, error, vectors?}`; `guardrail`, `sanitization`, `rendering` give their parts of the status.
    """

    providers: Sequence[SearchProvider]
    engine: WebEngine
    reader: WebEngine
    shorten: Shorten
    index_stats: Callable[[], Awaitable[Json]]
    guardrail: Callable[[], Json]
    sanitization: Callable[[], Json]
    rendering: Callable[[], Json] = dict
    side_by_side: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WebSearchSettings:
    """Figures from the configuration, and the server's version.

    A result budget of 0 cuts nothing; a time to live of 0 remembers no search.
    """

    server_version: str
    result_budget_chars: int = 80_000
    cache_ttl_s: float = 300.0


class WebSearchService:
    """The web tools for all callers of the server: one instance, which remembers recent searches."""

    def __init__(self, deps: WebSearchDeps, settings: WebSearchSettings) -> None:
        self._deps = deps
        self._settings = settings
        self.cache = SearchCache(settings.cache_ttl_s)
        together = [each for each in deps.providers if each.name in deps.side_by_side] or deps.providers[:1]
        self._groups = [together, *([each] for each in deps.providers if each not in together)]
        self._last_probe: tuple[float, Mapping[str, str | None]] | None = None
        self._last_stats: tuple[float, Json] | None = None
        self._last_error: str | None = None
        self._probing = asyncio.Lock()
        self._breakers = {name: CircuitBreaker(_LEFT_ALONE) for name in deps.side_by_side}
        self._cutter = ResultCutter(settings.result_budget_chars, deps.shorten)

    async def search(self, request: SearchRequest, call: WebCall) -> Json:
        """`{query, results, images, provider, response_time, request_id, ignored_parameters?, note?, truncated?}`.

        `results` are `{title, url, content, score, published_date?, raw_content?, favicon?}`. A remembered answer is a
        PackedJson, whose results are still encoded. Raises InvalidRequest, UpstreamError, EngineMissing.
        """
        started = time.monotonic()
        if request.include_domains or request.exclude_domains:
            request = _with_plain_domains(request)
        asked, failed = self._groups[0], ""
        data = self.cache.recall((asked[0].name, request)) if len(asked) == 1 else None
        if data is None:
            data, asked, failed = await self._ask_chain(request, call)
        if request.include_raw_content or request.include_favicon:
            if isinstance(data, PackedJson):
                data.unpack()
            await self._complete(data["results"], request, asked, call)
            await self._cut(data, call, spent=_chars(data["results"], "content"))
        if failed:
            _add_note(data, f"{failed} These results come from {data['provider']}.")
        data["response_time"] = int((time.monotonic() - started) * 1000) / 1000
        data["request_id"] = call.request_id
        return data

    async def extract(self, request: ExtractRequest, call: WebCall) -> Json:
        """As `WebEngine.extract`; raises also NothingRead when every page failed, UpstreamError, Overloaded."""
        data = await self._deps.engine.extract(request, call)
        if data["failed_results"] and not data["results"]:
            raise NothingRead(data)
        self._add_titles(data)
        sizes = [len(result.get("raw_content") or "") for result in data["results"]]
        await self._cut(data, call)
        for result, size in zip(data["results"], sizes, strict=True):
            if len(result.get("raw_content") or "") == size:
                result.pop("sections", None)  # it is whole after all, as others needed less than their share
        return data

    async def crawl(self, request: CrawlRequest, call: WebCall) -> Json:
        """As `extract`, and `base_url`; each result has its `depth`, 0 for the root."""
        data = await self._deps.engine.crawl(request, call)
        self._add_titles(data)
        sizes = [len(result.get("raw_content") or "") for result in data["results"]]
        await self._cut(data, call, whole_first=True)
        for result, size in zip(data["results"], sizes, strict=True):
            if (left := len(result.get("raw_content") or "")) < size:
                result["note"] = _CUT_PAGE.format(left, size)
        return data

    async def map(self, request: CrawlRequest, call: WebCall) -> Json:
        """`{base_url, results: [url], response_time, truncated?, note?}`; raises as `extract` does."""
        return await self._deps.engine.map(request, call)

    async def status(self, call: WebCall) -> Json:
        """`{server_version, search_provider: {name, healthy, error, engines?}, guardrail, sanitization, rendering,
        index, last_error}`.

        `engines`, where several providers are asked at once: `[{name, healthy, error}]`; one healthy one is enough.
        `last_error` is the latest failure of any provider, or None. A provider's failure is not raised.
        """
        errors = await self._health()
        provider: Json = {
            "name": ", ".join(errors),
            "healthy": not all(errors.values()),
            "error": _sentences(filter(None, errors.values())) or None,
        }
        if len(errors) > 1:
            provider["engines"] = [{"name": name, "healthy": not e, "error": e} for name, e in errors.items()]
        return {
            "server_version": self._settings.server_version,
            "search_provider": provider,
            "guardrail": self._deps.guardrail(),
            "sanitization": self._deps.sanitization(),
            "rendering": self._deps.rendering(),
            "index": await self._index(),
            "last_error": self._last_error,
        }

    async def _ask_chain(self, request: SearchRequest, call: WebCall) -> tuple[Json, Sequence[SearchProvider], str]:
        """(answer, the providers that gave it, the messages of those that failed before it or beside it, or "").

        After a failure an empty answer says nothing: the next provider is asked, and when none finds anything the
        first failure is raised.
        """
        failures: list[GatewayError] = []
        for group in self._groups:
            answers, failed = await self._ask_group(group, request, call)
            broken = [error for error in failed if not isinstance(error, UpstreamRefused)]
            if broken:
                self._last_error = broken[-1].message
                self._last_probe = None  # the next status call probes it again
            elif failed and not answers:
                failures = failed
                break
            failures += [*broken, *(error for error in failed if error not in broken)]
            if not answers or (failures and all(_is_empty(data) for _, data in answers)):
                continue
            if not failures and self._last_probe is not None and any(self._last_probe[1].values()):
                self._last_probe = None
            data = answers[0][1]
            if len(answers) > 1:
                data = fused([answer for _, answer in answers], request.max_results)
                await self._cut(data, call, "content")
            return data, [provider for provider, _ in answers], _sentences(error.message for error in failures)
        try:
            raise failures[0]
        finally:  # their tracebacks lead here: a circle for the garbage collector
            for errors in (failures, failed, broken):
                errors.clear()

    async def _ask_group(
        self, group: Sequence[SearchProvider], request: SearchRequest, call: WebCall
    ) -> tuple[list[tuple[SearchProvider, Json]], list[GatewayError]]:
        """The answers of providers that are asked at once, and the errors of those that gave none; a caller who leaves
        ends them all."""
        limits = self._deps.side_by_side if len(group) > 1 else {}
        waits = [self._outcome(each, request, call, limits.get(each.name)) for each in group]
        found = await asyncio.gather(*waits) if len(group) > 1 else [await waits[0]]
        answers = []
        for provider, outcome in zip(group, found, strict=True):
            if not isinstance(outcome, GatewayError):
                answers.append((provider, outcome))
            elif not isinstance(outcome, UpstreamRefused):
                failed = {"provider": provider.name, "error": outcome.message}
                logs.event("search_provider_failed", failed, level=logging.WARNING)
        return answers, [error for error in found if isinstance(error, GatewayError)]

    async def _outcome(
        self, provider: SearchProvider, request: SearchRequest, call: WebCall, limit_s: float | None
    ) -> Json | GatewayError:
        """The provider's answer, or why it gave none. `limit_s`: None where no other is asked at once."""
        breaker = self._breakers[provider.name] if limit_s is not None else None
        if breaker is not None and not breaker.take():
            wait_s = math.ceil(breaker.wait_s)
            return UpstreamUnavailable(
                f"the search provider {provider.name} keeps failing and is not asked for {wait_s} s"
            )
        told = "release"
        try:
            async with asyncio.timeout(limit_s):
                answer = await self._ask(provider, request, call)
            told = "succeeded"
            return answer
        except TimeoutError:
            told = "failed"
            return UpstreamTimeout(f"the search provider {provider.name} did not answer in time")
        except (UpstreamError, EngineMissing) as error:
            told = "failed" if isinstance(error, UpstreamTimeout | UpstreamUnavailable) else told
            return error.with_traceback(None)  # its frames lead to the list that will hold it: a circle
        finally:
            if breaker is not None:
                getattr(breaker, told)()

    def _ask(self, provider: SearchProvider, request: SearchRequest, call: WebCall) -> Awaitable[Json]:
        if provider.results_are_per_key:
            return self._ask_provider(provider, request, call)
        return self.cache.get((provider.name, request), lambda: self._ask_provider(provider, request, call))

    async def _ask_provider(self, provider: SearchProvider, request: SearchRequest, call: WebCall) -> Json:
        """A provider's answer as the caller gets it, without the fields that differ from call to call."""
        answer = await provider.search(request, call)
        del answer["results"][MOST_RESULTS:], answer.get("images", [])[MOST_RESULTS:]
        invisible = await in_slices(filters.without_invisible(answer))
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
            _add_note(data, answer["note"])
        if invisible:
            _add_note(data, f"{invisible} invisible characters were taken out.")
        if answer["results"] and not results:
            _add_note(data, _ALL_DROPPED.format(len(answer["results"])))
        await self._cut(data, call, "content")  # before the cache, so that it remembers the short form
        return data

    async def _complete(
        self, results: list[Json], request: SearchRequest, asked: Sequence[SearchProvider], call: WebCall
    ) -> None:
        """Adds raw content and favicons that the providers did not send, in place, by reading the pages."""
        by_all = frozenset.intersection(*(provider.capabilities for provider in asked))
        wanted = {"raw_content": request.include_raw_content, "favicon": request.include_favicon}
        fields = [name for name, is_wanted in wanted.items() if is_wanted and f"include_{name}" not in by_all]
        incomplete = [result for result in results if not all(result.get(name) for name in fields)]
        if not incomplete:
            return
        urls = tuple(result["url"] for result in incomplete)
        silent_call = call._replace(progress=None)
        pages = await self._deps.reader.extract(ExtractRequest(urls, include_favicon=True), silent_call)
        by_url = {page["url"]: page for page in pages["results"]}
        for result in incomplete:
            page = by_url.get(result["url"], {})
            for name in fields:
                result[name] = result.get(name) or page.get(name)

    async def _cut(
        self, data: Json, call: WebCall, field: str = "raw_content", spent: int = 0, *, whole_first: bool = False
    ) -> None:
        note = await self._cutter.cut(data["results"], call.owner, field, spent, whole_first=whole_first)
        if note is not None:
            data["truncated"] = True
            _add_note(data, note)

    def _add_titles(self, data: Json) -> None:
        for result in data["results"]:
            result["title"] = result.get("title") or _title(result)

    async def _index(self) -> Json:
        """The index's figures, at most STATS_TTL_S old."""
        if self._last_stats is None or self._last_stats[0] < time.monotonic():
            self._last_stats = (time.monotonic() + STATS_TTL_S, await self._deps.index_stats())
        return dict(self._last_stats[1])

    async def _health(self) -> Mapping[str, str | None]:
        """What is wrong with each of the providers that are asked first, by its name; None for nothing."""
        async with self._probing:  # another call may have just probed them
            if self._last_probe is None or self._last_probe[0] < time.monotonic():
                first = self._groups[0]
                errors = await asyncio.gather(*(provider.probe() for provider in first))
                self._last_error = next(filter(None, errors), self._last_error)
                named = {provider.name: error for provider, error in zip(first, errors, strict=True)}
                self._last_probe = (time.monotonic() + PROBE_TTL_S, named)
            return self._last_probe[1]


class NothingRead(InvalidRequest):
    """An extract whose every page failed. `partial` is its answer, with the reason of each."""

    def __init__(self, data: Json) -> None:
        failures = data["failed_results"]
        if len(failures) == 1:
            message = f"the page could not be read: {failures[0]['error']}"
        else:
            message = f"none of the {len(failures)} pages could be read; failed_results says why of each"
        waits = [failure["retry_after_s"] for failure in failures if failure.get("retry_after_s") is not None]
        super().__init__(message, param="urls", code="nothing_read", retry_after_s=min(waits, default=None))
        self.retryable = bool(waits)
        self.partial = data


def _add_note(data: Json, text: str) -> None:
    data["note"] = f"{data['note']} {text}" if data.get("note") else text


def _sentences(messages: Iterable[str]) -> str:
    """Messages, each once, as sentences of one note."""
    return " ".join(f"{message.rstrip('.')}." for message in dict.fromkeys(messages))


def _is_empty(data: Json) -> bool:
    whole = data.copy().unpack() if isinstance(data, PackedJson) else data
    return not whole["results"] and not whole["images"]


def _chars(results: list[Json], field: str) -> int:
    return sum(len(result.get(field) or "") for result in results)


def _with_plain_domains(request: SearchRequest) -> SearchRequest:
    """The request with its domains in the form that providers and filters compare. `arguments` checks the rest."""
    return request._replace(
        include_domains=_domains(request.include_domains, "include_domains"),
        exclude_domains=_domains(request.exclude_domains, "exclude_domains"),
    )


def _domains(names: tuple[str, ...], param: str) -> tuple[str, ...]:
    cleaned = tuple(dict.fromkeys(filters.domain_of(name) for name in names))
    if any(not name or " " in name for name in cleaned):
        raise InvalidRequest(f"{param} must have domains only, such as `docs.python.org`", param=param)
    return cleaned


def _title(result: Json) -> str:
    """The first heading in the first 200 lines, else the URL's last path segment."""
    for line in (result.get("raw_content") or "").split("\n", 200):
        if line.startswith("#"):
            return str(line.lstrip("# ").strip())[:300]
    return str(result["url"]).rstrip("/").rpartition("/")[2] or str(result["url"])
