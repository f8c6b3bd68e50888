"""Answers with hosted web search for the handlers of chat, responses and messages: the scope, the caller, the loop.

Knows no wire format: it yields the events of `wire.hosted_answer`.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

from gateway.domain import Caller, Json
from gateway.errors import Forbidden
from gateway.mcp.tools import Tool
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
