"""Hosted tools on the responses route: which of them a request wants, and its answer as neutral events.

Knows no HTTP and no store. `HostedSearch` and `HostedMcp` hold the tools.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.ports import ToolServer
from gateway.services.completion.attempts import ModelEntry
from gateway.services.hosted_tools.citations import Sources
from gateway.services.hosted_tools.loop import LoopRequest
from gateway.services.hosted_tools.mcp_tool import McpTool
from gateway.services.hosted_tools.tool_search import ToolSearch
from gateway.services.hosted_tools.web_search import SearchOptions, of_tool, with_defaults
from gateway.web.context import RequestContext
from gateway.web.handlers.hosted_search import HostedMcp, HostedRequest, HostedSearch, McpConversation
from gateway.wire.chat.kept import NO_CARRIER, Carrier
from gateway.wire.hosted_answer import HostedEvent
from gateway.wire.responses.hosted_items import HostedItems, hosted_items
from gateway.wire.responses.mcp import (
    McpWish,
    approved_calls,
    demands_any_call,
    known_lists,
    mcp_wishes,
    replayed,
)
from gateway.wire.responses.request import ChatRequest, to_chat
from gateway.wire.responses.tools import WEB_SEARCH, SearchWish, finds_tools, loop_body, search_wish


@dataclass(frozen=True, slots=True)
class HostedWishes:
    """The hosted tools of a request. `options` are those of `search`. `may_pass`: a native upstream may run them.
    `finds_tools`: the model may search for deferred tools."""

    search: SearchWish | None
    options: SearchOptions | None
    mcp: list[McpWish]
    may_pass: bool
    finds_tools: bool = False


@dataclass(frozen=True, slots=True)
class HostedAnswer:
    """`chat`: the translated request. `kinds`: how the calls of each kind are written."""

    chat: ChatRequest
    events: AsyncGenerator[list[HostedEvent], None]
    kinds: Mapping[str, HostedItems]


class HostedResponses:
    """One for the whole server."""

    def __init__(self, search: HostedSearch, mcp: HostedMcp) -> None:
        self._search = search
        self._mcp = mcp

    def wishes(self, context: RequestContext) -> HostedWishes | None:
        """What a request wants, None for no hosted tool. Raises InvalidRequest, and Forbidden where the key may not
        use it."""
        search, mcp = search_wish(context.body), mcp_wishes(context.body)
        searches_tools = finds_tools(context.body)
        if search is None and not mcp and not searches_tools:
            return None
        if search is not None:
            self._search.require_scope(context.caller, search.where)
        self._mcp.check(context.caller, mcp)
        options = of_tool(search.tool, search.where) if search is not None else None
        may_pass = not mcp and (search is None or self._search.passes_native)
        return HostedWishes(search, options, mcp, may_pass, searches_tools)

    def answer(
        self,
        context: RequestContext,
        entry: ModelEntry,
        earlier: list[Json],
        wishes: HostedWishes,
        carrier: Carrier = NO_CARRIER,
        *,
        first: int = 0,
    ) -> HostedAnswer:
        """The answer to a request whose history is `earlier`; fills in the defaults of its search tool. `first`: as in
        `to_chat`.
        Raises InvalidRequest; its events raise GatewayError."""
        body, sources, search = context.body, Sources(), wishes.search
        everything = [*earlier, *body["input"]]
        approved, known = approved_calls(everything), known_lists(everything)
        past, recent = (
            self._search.recall(context.caller.key_id, list(replayed(items, everything)), sources)
            for items in (earlier, body["input"])
        )
        hosted = {"mcp", *([search.tool["type"]] if search is not None else ())}
        if wishes.finds_tools:
            hosted.add("tool_search")
        try:
            chat = to_chat({**body, "input": recent}, past, hosted, carrier, first=first)
        except InvalidRequest:
            to_chat(body, earlier, hosted, first=first)  # names the item by its place in what the caller sent
            raise
        context.stats.warnings += chat.warnings
        if search is not None:
            body["tools"] = [with_defaults(tool) if tool is search.tool else tool for tool in body["tools"]]
        talk = McpConversation(chat.body["messages"], approved, known)
        others: list[tuple[McpTool, ToolServer]] = self._mcp.tools(context, wishes.mcp, talk)
        asked = HostedRequest(
            LoopRequest(_loop_body(chat.body, body, wishes), _forced(wishes), body.get("max_tool_calls")),
            wishes.options if search is not None and search.choice != "none" else None,
            sources,
            is_kept=body.get("store") is not False,
            others=[*(tool for tool, _ in others), *([ToolSearch(chat.deferred)] if chat.deferred else [])],
        )
        events = self._search.answer(context, entry, asked)
        if others:
            events = _closing(events, [server for _, server in others])
        return HostedAnswer(chat, events, hosted_items(body.get("include")))


async def _closing(
    events: AsyncGenerator[list[HostedEvent], None], servers: Sequence[ToolServer]
) -> AsyncGenerator[list[HostedEvent], None]:
    """The events; at their end the sessions with the servers are closed."""
    try:
        async with aclosing(events) as batches:
            async for batch in batches:
                yield batch
    finally:
        for server in servers:
            await server.close()


def _loop_body(chat: Json, body: Json, wishes: HostedWishes) -> Json:
    """The translated chat body with a tool choice that counts the hosted tools too."""
    if wishes.mcp and demands_any_call(body.get("tool_choice")):
        return {**chat, "tool_choice": "required"}
    return loop_body(chat, wishes.search) if wishes.search is not None else chat


def _forced(wishes: HostedWishes) -> str:
    """The kind of hosted tool that must be called first; empty for none."""
    if wishes.search is not None and wishes.search.choice == "forced":
        return WEB_SEARCH
    return next((f"mcp:{wish.label}" for wish in wishes.mcp if wish.forced), "")
