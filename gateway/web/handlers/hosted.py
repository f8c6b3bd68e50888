"""Hosted tools for the handlers of chat, responses and messages: scopes, servers, the loop.

`HostedSearch` answers with web search, `HostedMcp` has the MCP servers, and `HostedResponses` says which of both a
responses request wants. All yield the events of `wire.hosted_answer`.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial

from gateway.domain import OWN_TOOLS_LABEL, Caller, Json
from gateway.errors import Forbidden, InvalidRequest
from gateway.ports import ToolServer
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.service import CompletionService
from gateway.services.hosted_tools.call_memory import CallMemory
from gateway.services.hosted_tools.citations import Sources
from gateway.services.hosted_tools.forced_search import search_once
from gateway.services.hosted_tools.loop import (
    HostedLoop,
    HostedTool,
    LoopLimits,
    LoopRequest,
    message_text,
)
from gateway.services.hosted_tools.mcp_tool import McpGrant, McpTool, OwnTools
from gateway.services.hosted_tools.search_options import SearchOptions, of_tool, with_defaults
from gateway.services.hosted_tools.tool_search import ToolSearch
from gateway.services.hosted_tools.web_calls import ToolCaller, WebCalls
from gateway.services.hosted_tools.web_search import WebSearchTool
from gateway.services.websearch.tools import Tool
from gateway.web.middleware.sanitize import clean_tool_texts
from gateway.web.state import RequestContext
from gateway.wire.chat.kept import NO_CARRIER, Carrier
from gateway.wire.hosted_answer import CallPhase, HostedEvent
from gateway.wire.responses.hosted_items import HostedItems, hosted_items
from gateway.wire.responses.hosted_request import WEB_SEARCH, SearchWish, finds_tools, loop_body, search_wish
from gateway.wire.responses.mcp import (
    ApprovalRule,
    McpWish,
    approved_calls,
    demands_any_call,
    found_tools,
    known_lists,
    mcp_wishes,
    refuse_unserved,
    replayed,
)
from gateway.wire.responses.request import ChatRequest, to_chat

WEB_SEARCH_SCOPE = "web-search"
_SEARCHED_ONCE = "this model makes no tool calls: the last question was searched once, before it answered"


@dataclass(frozen=True, slots=True)
class HostedSettings:
    """`tools`: the web tools by name; `index_tools`: the same over the local index alone. `results`: how many a search
    has, by `search_context_size`. `passes_native`: models
    whose upstreams speak /responses themselves search for themselves."""

    tools: Mapping[str, Tool]
    index_tools: Mapping[str, Tool]
    limits: LoopLimits
    results: Mapping[str, int]
    passes_native: bool = False


@dataclass(frozen=True, slots=True)
class HostedRequest:
    """`loop`: the chat body and its limits. `options`: of web search, None without it. `sources`: pages shown earlier
    in the turn. `is_kept`: calls may be remembered for the rest of the turn, where the interface has ids to recall them
    by. `others`: other kinds of hosted tools."""

    loop: LoopRequest
    options: SearchOptions | None
    sources: Sources = field(default_factory=Sources)
    is_kept: bool = True
    others: Sequence[HostedTool] = field(default=())


class HostedSearch:
    """One for the whole server."""

    def __init__(self, completions: CompletionService, settings: HostedSettings) -> None:
        self._completions = completions
        self._settings = settings
        self._memory = CallMemory()
        self.passes_native = settings.passes_native

    def require_scope(self, caller: Caller, param: str) -> None:
        """Raises Forbidden, naming the scope, unless the key may use the web tools. Call it before an answer begins."""
        if WEB_SEARCH_SCOPE not in caller.scopes:
            message = f"this key may not search the web; it needs the scope '{WEB_SEARCH_SCOPE}'"
            raise Forbidden(message, param=param)

    def recall(self, owner: str, items: Sequence[Json], sources: Sources) -> list[Json]:
        """See `CallMemory.recall`."""
        return self._memory.recall(owner, items, sources)

    def answer(
        self, context: RequestContext, entry: ModelEntry, request: HostedRequest
    ) -> AsyncGenerator[list[HostedEvent], None]:
        """The events of an answer; they raise GatewayError, also after the first ones."""
        sources, stats = request.sources, context.stats
        search = self._search_tool(context, request) if request.options is not None else None
        limits = self._settings.limits
        if search is not None and search.searches and not entry.has_tools and not request.others:
            stats.warnings.append(_SEARCHED_ONCE)
            events = search_once(self._completions, search, sources, limits, request.loop, stats)
        else:
            tools = [*([search] if search is not None else []), *request.others]
            events = HostedLoop(self._completions, tools, sources, limits).run(request.loop, stats)
        return self._remembered(context.caller.key_id, events) if request.is_kept else events

    def _search_tool(self, context: RequestContext, request: HostedRequest) -> WebSearchTool:
        assert request.options is not None
        settings = self._settings
        calls = WebCalls(settings.tools if request.options.external else settings.index_tools, tool_caller(context))
        texts = [message_text(message) for message in request.loop.body["messages"]]
        return WebSearchTool(calls, request.options, settings.results, request.sources, texts)

    async def _remembered(
        self, owner: str, events: AsyncGenerator[list[HostedEvent], None]
    ) -> AsyncGenerator[list[HostedEvent], None]:
        """The events, whose completed calls are remembered."""
        async with aclosing(events) as batches:
            async for batch in batches:
                for event in batch:
                    if isinstance(event, CallPhase) and _is_searched(event):
                        self._memory.put(owner, event.call)
                yield batch


def _is_searched(event: CallPhase) -> bool:
    """Whether a web search has ended well."""
    return event.phase == "completed" and event.call.kind == WebSearchTool.kind


@dataclass(frozen=True, slots=True)
class McpServerEntry:
    """A configured server. `session` makes what serves one answer. `allowed` empty = all its tools."""

    session: Callable[[], ToolServer]
    allowed: frozenset[str]
    needs_approval: bool
    max_result_chars: int


class HostedMcp:
    """The MCP servers of the responses route. `own_tools`: the web tools by name, for the label `gateway`."""

    def __init__(self, servers: Mapping[str, McpServerEntry], own_tools: Mapping[str, Tool]) -> None:
        self._servers = servers
        self._own_tools = own_tools

    def check(self, caller: Caller, wishes: Iterable[McpWish]) -> None:
        """Raises Forbidden where the key lacks the scope of a server, whether or not there is one with that label;
        InvalidRequest for an unknown label. Call it before an answer begins."""
        for wish in wishes:
            scope = WEB_SEARCH_SCOPE if wish.label == OWN_TOOLS_LABEL else f"mcp:{wish.label}"
            where = f"{wish.where}.server_label"
            if scope not in caller.scopes:
                raise Forbidden(f"this key may not use this MCP server; it needs the scope '{scope[:80]}'", param=where)
            if wish.label != OWN_TOOLS_LABEL and wish.label not in self._servers:
                raise InvalidRequest("no MCP server with this server_label is configured", param=where)

    def tools(
        self, context: RequestContext, wishes: "HostedWishes", items: Sequence[Json], messages: list[Json]
    ) -> list[McpTool]:
        """The tools of the checked wishes that may be called. `items`: the conversation; `messages`: the same as chat,
        to which approved calls are added. Raises InvalidRequest for an approved call of a server that the request does
        not name."""
        approved, listed = approved_calls(items), known_lists(items)
        offered = [wish for wish in wishes.mcp if wish.is_offered]
        refuse_unserved(approved, {wish.label for wish in offered})
        return [
            self._tool(
                context,
                wish,
                McpGrant(
                    wish.label,
                    wish.allowed,
                    wish.approval or ApprovalRule("never"),
                    wish.forced_tool,
                    found_tools(items, wish.label) if wish.is_deferred and wishes.finds_tools else None,
                    wish.label in listed,
                    [call for call in approved if call.label == wish.label],
                    messages,
                ),
            )
            for wish in offered
        ]

    def _tool(self, context: RequestContext, wish: McpWish, grant: McpGrant) -> McpTool:
        """The tool within what the operator allows."""
        caller = tool_caller(context)
        if wish.label == OWN_TOOLS_LABEL:
            own = OwnTools(self._own_tools, WebCalls(self._own_tools, caller))
            return McpTool(own, replace(grant, cleans=False), caller)
        entry = self._servers[wish.label]
        allowed = grant.allowed
        if entry.allowed:
            allowed = entry.allowed if allowed is None else allowed & entry.allowed
        approval = ApprovalRule() if entry.needs_approval else grant.approval
        bounded = replace(grant, allowed=allowed, approval=approval, max_result_chars=entry.max_result_chars)
        return McpTool(entry.session(), bounded, caller)


def tool_caller(context: RequestContext) -> ToolCaller:
    """For whom the tools of a request are called."""
    owner = context.caller.key_id
    return ToolCaller(owner, context.request_id, context.charge, partial(clean_tool_texts, context))


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
        approved_calls(everything)  # an approval of nothing is refused before the items are translated
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
        servers = self._mcp.tools(context, wishes, everything, chat.body["messages"])
        others: list[HostedTool] = [*servers]
        if wishes.finds_tools:
            others.append(ToolSearch(chat.deferred, servers))
        asked = HostedRequest(
            LoopRequest(_loop_body(chat.body, body, wishes), _forced(wishes), body.get("max_tool_calls")),
            wishes.options if search is not None and search.choice != "none" else None,
            sources,
            is_kept=body.get("store") is not False,
            others=others,
        )
        return HostedAnswer(chat, self._search.answer(context, entry, asked), hosted_items(body.get("include")))


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
