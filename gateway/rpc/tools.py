"""The table of web tools: name, schema, how arguments become a request, which service does the work.

Descriptions and schemas stand in schemas/tools/*.json: a file is the input schema, its title and description are the
tool's, and `$defs.output` is the output schema. Knows no JSON-RPC and no revision of MCP.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gateway import schemas
from gateway.errors import InvalidRequest
from gateway.model import CrawlRequest, ExtractRequest, Json, SearchRequest, WebCall
from gateway.rpc.arguments import (
    Arguments,
    Rule,
    calendar_dates,
    images_for_descriptions,
    known_country,
    not_blank,
    parse_date,
)

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


Run = Callable[[Json, WebCall], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class Tool:
    """`from_web`: the answer holds text of others, so it is sanitized."""

    name: str
    arguments: Arguments
    descriptor: Json
    run: Run
    from_web: bool = True

    def prepare(self, given: Json) -> tuple[Json, InvalidRequest | None]:
        """The coerced arguments, and what is wrong with them."""
        taken = self.arguments.coerce(given)
        return taken, self.arguments.check(taken)


def tool_table(service: WebTools) -> Mapping[str, Tool]:
    """The five tools over a service, in the order they are listed."""
    country = known_country(schemas.load("country")["enum"])

    def search(given: Json, call: WebCall) -> Awaitable[Json]:
        return service.search(search_request(given), call)

    def extract(given: Json, call: WebCall) -> Awaitable[Json]:
        return service.extract(ExtractRequest(**_tuples(given)), call)

    def crawl(given: Json, call: WebCall) -> Awaitable[Json]:
        return service.crawl(CrawlRequest(**_tuples(given)), call)

    def map_(given: Json, call: WebCall) -> Awaitable[Json]:
        return service.map(CrawlRequest(**_tuples(given)), call)

    def status(given: Json, call: WebCall) -> Awaitable[Json]:
        return service.status(call)

    search_rules = (not_blank("query"), calendar_dates, images_for_descriptions, country)
    tools = (
        _tool("search", search, search_rules),
        _tool("extract", extract),
        _tool("crawl", crawl, (not_blank("url"),)),
        _tool("map", map_, (not_blank("url"),)),
        _tool("search_status", status, from_web=False),
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


def _tool(word: str, run: Run, rules: tuple[Rule, ...] = (), *, from_web: bool = True) -> Tool:
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
    return Tool(name, Arguments(name, accepted, rules), descriptor, run, from_web)


def _tuples(given: Json) -> dict[str, Any]:
    return {name: tuple(value) if type(value) is list else value for name, value in given.items()}
