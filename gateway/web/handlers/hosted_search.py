"""Hosted web search and hosted MCP for the handlers of chat, responses and messages: scopes, servers, the loop.

Knows no wire format: it yields the events of `wire.hosted_answer`.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial

from gateway.domain import OWN_TOOLS_LABEL, Caller, Json
from gateway.errors import Forbidden, InvalidRequest
from gateway.mcp.tools import Tool
from gateway.ports import ToolServer
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.service import CompletionService
from gateway.services.hosted_tools.citations import Sources
from gateway.services.hosted_tools.loop import (
    ForcedSearch,
    HostedLoop,
    HostedTool,
    LoopLimits,
    LoopRequest,
    message_text,
)
from gateway.services.hosted_tools.mcp_tool import McpGrant, McpTool, OwnTools
from gateway.services.hosted_tools.web_search import (
    CallMemory,
    SearchOptions,
    SearchSettings,
    ToolCaller,
    WebCalls,
    WebSearchTool,
)
from gateway.web.context import RequestContext
from gateway.web.middleware.sanitize import clean_tool_texts
from gateway.wire.hosted_answer import CallPhase, HostedEvent
from gateway.wire.responses.mcp import ApprovalRule, ApprovedCall, McpWish, refuse_unserved

WEB_SEARCH_SCOPE = "web-search"
_SEARCHED_ONCE = "this model makes no tool calls: the last question was searched once, before it answered"


@dataclass(frozen=True, slots=True)
class HostedSettings:
    """`tools`: the web tools by name; `index_tools`: the same over the local index alone. `passes_native`: models
    whose upstreams speak /responses themselves search for themselves."""

    tools: Mapping[str, Tool]
    index_tools: Mapping[str, Tool]
    limits: LoopLimits
    search: SearchSettings
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
            events = ForcedSearch(self._completions, search, sources, limits).run(request.loop, stats)
        else:
            tools = [*([search] if search is not None else []), *request.others]
            events = HostedLoop(self._completions, tools, sources, limits).run(request.loop, stats)
        return self._remembered(context.caller.key_id, events) if request.is_kept else events

    def _search_tool(self, context: RequestContext, request: HostedRequest) -> WebSearchTool:
        assert request.options is not None
        settings, owner = self._settings, context.caller.key_id
        caller = ToolCaller(owner, context.request_id, context.charge, partial(clean_tool_texts, context))
        calls = WebCalls(settings.tools if request.options.external else settings.index_tools, caller)
        texts = [message_text(message) for message in request.loop.body["messages"]]
        return WebSearchTool(calls, request.options, settings.search, request.sources, texts)

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


# Hosted MCP for the responses handler: the scope, the configured servers, and their tools for one request.
#
# Knows no wire format beyond the request's wishes, and no HTTP: a server is a `ports.ToolServer`.


@dataclass(frozen=True, slots=True)
class McpServerEntry:
    """A configured server. `session` makes what serves one answer. `allowed` empty = all its tools."""

    session: Callable[[], ToolServer]
    allowed: frozenset[str]
    needs_approval: bool
    max_result_chars: int


@dataclass(frozen=True, slots=True)
class McpConversation:
    """`messages`: the chat messages, to which approved calls are added. `known`: labels whose lists the caller has."""

    messages: list[Json]
    approved: Sequence[ApprovedCall]
    known: Collection[str]


class HostedMcp:
    """One for the whole server. `own_tools`: the web tools by name, for the label `gateway`."""

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
        self, context: RequestContext, wishes: Sequence[McpWish], talk: McpConversation
    ) -> list[tuple[McpTool, ToolServer]]:
        """The tools of the checked wishes that may be called; the caller closes their servers. Raises InvalidRequest
        for an approved call of a server that the request does not name."""
        offered = [wish for wish in wishes if wish.is_offered]
        refuse_unserved(talk.approved, {wish.label for wish in offered})
        return [self._tool(context, wish, talk) for wish in offered]

    def _tool(self, context: RequestContext, wish: McpWish, talk: McpConversation) -> tuple[McpTool, ToolServer]:
        owner = context.caller.key_id
        caller = ToolCaller(owner, context.request_id, context.charge, partial(clean_tool_texts, context))
        grant = McpGrant(
            wish.label,
            wish.allowed,
            wish.approval or ApprovalRule("never"),
            wish.forced_tool,
            wish.label in talk.known,
            [call for call in talk.approved if call.label == wish.label],
            talk.messages,
        )
        server: ToolServer
        if wish.label == OWN_TOOLS_LABEL:
            server, grant = OwnTools(self._own_tools, WebCalls(self._own_tools, caller)), replace(grant, cleans=False)
        else:
            entry = self._servers[wish.label]
            server, grant = entry.session(), _bounded(grant, entry)
        return McpTool(server, grant, caller), server


def _bounded(grant: McpGrant, entry: McpServerEntry) -> McpGrant:
    """The grant within what the operator allows."""
    allowed = grant.allowed
    if entry.allowed:
        allowed = entry.allowed if allowed is None else allowed & entry.allowed
    approval = ApprovalRule() if entry.needs_approval else grant.approval
    return replace(grant, allowed=allowed, approval=approval, max_result_chars=entry.max_result_chars)
