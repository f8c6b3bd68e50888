"""The table of web tools: name, schema, how arguments become a request, which service method runs it.

Descriptions and schemas are in schemas/tools/*.json: a file is the input schema, its title and description are the
tool's, and `$defs.output` is the output schema.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, Protocol

import orjson

from gateway import schemas
from gateway.domain import CrawlRequest, ExtractRequest, Json, SearchRequest, WebCall
from gateway.services.websearch.arguments import (
    Arguments,
    Rule,
    calendar_dates,
    images_for_descriptions,
    known_country,
    not_blank,
    parse_date,
    raw_content_formats,
)
from gateway.services.websearch.tool_calls import ToolCall
from gateway.texts import ScanToken
from gateway.wire.preencoded import snug

_DATES = frozenset({"start_date", "end_date"})
_LISTS = frozenset({"include_domains", "exclude_domains"})
_NOT_INPUT = frozenset({"$schema", "$defs", "title", "description"})
"""Members of a tool's file that are not part of its `inputSchema`."""


class WebTools(Protocol):
    """The service behind the tools. Each method returns the tool's `data` object, or raises GatewayError.

    Times are seconds. The full shapes are in schemas/tools/*.json under `$defs.output`.
    """

    async def search(self, request: SearchRequest, call: WebCall) -> Json:
        """`{query, results: [{title, url, content, score, published_date?, raw_content?, favicon?, images?}], images,
        response_time, provider, request_id, ignored_parameters?, truncated?, note?}`."""
        ...

    async def extract(self, request: ExtractRequest, call: WebCall) -> Json:
        """`{results: [{url, title, raw_content, images?, favicon?}], failed_results: [{url, error}], response_time,
        truncated?, note?}`."""
        ...

    async def crawl(self, request: CrawlRequest, call: WebCall) -> Json:
        """As `extract`, with `base_url`, and a `depth` in each result."""
        ...

    async def map(self, request: CrawlRequest, call: WebCall) -> Json:
        """`{base_url, results: [url], response_time, note?}`."""
        ...

    async def status(self, call: WebCall) -> Json:
        """`{server_version, search_provider: {name, healthy, error}, guardrail: {enabled, status, endpoint, model},
        sanitization: {requests, responses}, index, last_error}`."""
        ...


Searched = Literal["web", "local"]
"""What websearch-search searches: the web by a provider, or the pages that the gateway has read."""

Run = Callable[[Any, WebCall], Awaitable[Json]]
"""A method of WebTools: (request, call) -> the tool's `data`."""

AsRequest = Callable[[Json], Any]
"""Makes of checked arguments the request that Run takes. Never fails."""

_MAX_REMEMBERED = 256
_MAX_REMEMBERED_BYTES = 2048
"""Bounds of each tool's remembered calls: half a megabyte of keys at most. Longer arguments (twenty addresses) are
seldom sent twice."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `as_request` makes what `run` takes from checked arguments. `from_web`: the answer holds text from the
    web, so it is sanitized.

    Calls whose arguments held nothing sensitive are remembered. The naive form is `prepare` without that memory:
    coerce, check, make the request, scan. With it a keyed, sanitized, cached search takes 35 % more instructions: 14 %
    for the first three, 21 % for the scan that a shared `scan_token` saves (cachegrind over 1,500 requests in one
    process, 2026-11-22).
    """

    name: str
    arguments: Arguments
    descriptor: Json
    as_request: AsRequest
    run: Run
    from_web: bool = True
    _remembered: dict[bytes, tuple[Json, Any, ScanToken]] = field(default_factory=dict)

    def prepare(self, arguments: Json) -> ToolCall:
        """The call for `params.arguments`; its `error` (InvalidRequest) names every wrong argument."""
        cache_key = orjson.dumps(arguments)
        known = self._remembered.get(cache_key)
        if known is not None:
            arguments, request, scan_token = known
            return ToolCall(self.name, arguments, scan_token, request, cache_key, is_shared=True)
        arguments = self.arguments.coerce(arguments)
        error = self.arguments.check(arguments)
        request = self.as_request(arguments) if error is None else None
        return ToolCall(self.name, arguments, ScanToken(), request, cache_key, error=error)

    def remember(self, call: ToolCall) -> None:
        """Share this call's checked arguments with later equal calls. Only for calls in which nothing was masked."""
        if len(call.cache_key) <= _MAX_REMEMBERED_BYTES:
            self._remembered[snug(call.cache_key)] = (call.arguments, call.request, call.scan_token)
            if len(self._remembered) > _MAX_REMEMBERED:
                del self._remembered[next(iter(self._remembered))]


def tool_table(service: WebTools, searched: Searched = "web") -> Mapping[str, Tool]:
    """The five tools over a service by name (`websearch-search`), in the order they are listed.

    `searched` says in the search tool's description what is searched.
    """
    search_rules = (not_blank("query"), calendar_dates, images_for_descriptions, raw_content_formats, _country())
    tools = (
        _searching(searched, _tool("search", search_request, service.search, search_rules)),
        _tool("extract", lambda arguments: ExtractRequest(**_tuples(arguments)), service.extract),
        _tool("crawl", _crawl_request, service.crawl, (not_blank("url"),)),
        _tool("map", _crawl_request, service.map, (not_blank("url"),)),
        _tool("search_status", lambda arguments: None, lambda _, call: service.status(call), from_web=False),
    )
    return {tool.name: tool for tool in tools}


@cache
def _country() -> Rule:
    """Made once: a gateway has three tables, and the names of all countries take 20 ms."""
    return known_country(schemas.load("country"))


def search_request(arguments: Json) -> SearchRequest:
    """The request of checked arguments (schemas/tools/search.json). Either date drops `time_range`."""
    fields: dict[str, Any] = arguments.copy()
    for name in _LISTS.intersection(fields):
        fields[name] = tuple(fields[name])
    for name in _DATES.intersection(fields):
        fields[name] = parse_date(fields[name])
        fields.pop("time_range", None)
    return SearchRequest(**fields)


def _crawl_request(arguments: Json) -> CrawlRequest:
    return CrawlRequest(**_tuples(arguments))


def _tool(word: str, as_request: AsRequest, run: Run, rules: tuple[Rule, ...] = (), *, from_web: bool = True) -> Tool:
    schema = schemas.load(f"tools/{word}")
    name = f"websearch-{word}"
    accepted = {key: value for key, value in schema.items() if key not in _NOT_INPUT}
    descriptor = {
        "name": name,
        "title": schema["title"],
        "description": schema["description"],
        "inputSchema": accepted,
        "outputSchema": schema["$defs"]["output"],
        "annotations": {
            "title": schema["title"],
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": from_web,
        },
    }
    return Tool(name, Arguments(name, accepted, rules), descriptor, as_request, run, from_web)


def _searching(searched: Searched, tool: Tool) -> Tool:
    """The search tool with the title and the first sentence that `$defs.searched` has for what it searches."""
    words = schemas.load("tools/search")["$defs"]["searched"][searched]
    text = f"{words['description']} {tool.descriptor['description']}"
    annotations = {**tool.descriptor["annotations"], "title": words["title"]}
    descriptor = {**tool.descriptor, "title": words["title"], "description": text, "annotations": annotations}
    return replace(tool, descriptor=descriptor)


def _tuples(arguments: Json) -> dict[str, Any]:
    return {name: tuple(value) if type(value) is list else value for name, value in arguments.items()}
