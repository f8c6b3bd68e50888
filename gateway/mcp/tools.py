"""The table of web tools: name, schema, how arguments become a request, which service does the work.

Descriptions and schemas stand in schemas/tools/*.json: a file is the input schema, its title and description are the
tool's, and `$defs.output` is the output schema. Knows no JSON-RPC and no revision of MCP.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from gateway import schemas
from gateway.domain import CrawlRequest, ExtractRequest, Json, ScanToken, SearchRequest, WebCall
from gateway.mcp.arguments import (
    Arguments,
    Rule,
    calendar_dates,
    images_for_descriptions,
    known_country,
    not_blank,
    parse_date,
)
from gateway.mcp.messages import ToolCall

_DATES = frozenset({"start_date", "end_date"})
_LISTS = frozenset({"include_domains", "exclude_domains"})
_NOT_INPUT = frozenset({"$schema", "$defs", "title", "description"})


class WebTools(Protocol):
    """The service behind the tools. Each answers the `data` object of the tool or raises GatewayError."""

    async def search(self, request: SearchRequest, call: WebCall) -> Json: ...

    async def extract(self, request: ExtractRequest, call: WebCall) -> Json: ...

    async def crawl(self, request: CrawlRequest, call: WebCall) -> Json: ...

    async def map(self, request: CrawlRequest, call: WebCall) -> Json: ...

    async def status(self, call: WebCall) -> Json: ...


Run = Callable[[Any, WebCall], Awaitable[Json]]
AsRequest = Callable[[Json], Any]

_MOST_KEPT = 256
_MOST_KEPT_BYTES = 2048


@dataclass(frozen=True, slots=True)
class Tool:
    """`as_request` makes of checked arguments what `run` takes. `from_web`: the answer holds text of others, so it is
    sanitized."""

    name: str
    arguments: Arguments
    descriptor: Json
    as_request: AsRequest
    run: Run
    from_web: bool = True
    _kept: dict[bytes, tuple[Json, Any, ScanToken]] = field(default_factory=dict)

    def prepare(self, given: Json) -> ToolCall:
        """The call; its `error` says what is wrong with the arguments. Those that were kept are known to be right."""
        packed = orjson.dumps(given)
        kept = self._kept.get(packed)
        if kept is not None:
            taken, request, scan_token = kept
            return ToolCall(self.name, taken, scan_token, request)
        taken = self.arguments.coerce(given)
        error = self.arguments.check(taken)
        request = self.as_request(taken) if error is None else None
        return ToolCall(self.name, taken, ScanToken(), request, packed, error=error)

    def keep(self, call: ToolCall) -> None:
        """Know the arguments of a call again whose texts may be kept in memory: nothing in them was masked."""
        if len(call.packed) <= _MOST_KEPT_BYTES:
            self._kept[call.packed] = (call.arguments, call.request, call.scan_token)
            if len(self._kept) > _MOST_KEPT:
                del self._kept[next(iter(self._kept))]


def tool_table(service: WebTools) -> Mapping[str, Tool]:
    """The five tools over a service, in the order they are listed."""
    country = known_country(schemas.load("country")["enum"])
    search_rules = (not_blank("query"), calendar_dates, images_for_descriptions, country)
    tools = (
        _tool("search", search_request, service.search, search_rules),
        _tool("extract", lambda taken: ExtractRequest(**_tuples(taken)), service.extract),
        _tool("crawl", _crawl_request, service.crawl, (not_blank("url"),)),
        _tool("map", _crawl_request, service.map, (not_blank("url"),)),
        _tool("search_status", lambda taken: None, lambda _, call: service.status(call), from_web=False),
    )
    return {tool.name: tool for tool in tools}


def search_request(given: Json) -> SearchRequest:
    """From checked arguments. Either date drops time_range."""
    fields: dict[str, Any] = given.copy()
    for name in _LISTS.intersection(fields):
        fields[name] = tuple(fields[name])
    for name in _DATES.intersection(fields):
        fields[name] = parse_date(fields[name])
        fields.pop("time_range", None)
    return SearchRequest(**fields)


def _crawl_request(given: Json) -> CrawlRequest:
    return CrawlRequest(**_tuples(given))


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


def _tuples(given: Json) -> dict[str, Any]:
    return {name: tuple(value) if type(value) is list else value for name, value in given.items()}
