"""Hosted web search for chat, responses and messages: who may have it, and the loop that answers with it.

Its answers are the events of `wire.hosted_answer`.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from gateway.calls.call import Call
from gateway.domain import WEB_SEARCH_SCOPE, Caller, Json
from gateway.errors import Forbidden
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.service import CompletionService
from gateway.services.hosted_tools.call_memory import CallMemory
from gateway.services.hosted_tools.loop import HostedLoop, HostedTool, LoopLimits, LoopRequest
from gateway.services.hosted_tools.model_round import message_text
from gateway.services.hosted_tools.model_without_calls import search_once
from gateway.services.hosted_tools.search_options import SearchOptions
from gateway.services.hosted_tools.sources import Sources
from gateway.services.hosted_tools.web_calls import WebCalls
from gateway.services.hosted_tools.web_search import WebSearchTool
from gateway.services.websearch.tool_runner import ToolCaller
from gateway.services.websearch.tools import Tool
from gateway.wire.hosted_answer import HostedEvent

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

    def answer(self, call: Call, entry: ModelEntry, request: HostedRequest) -> AsyncGenerator[list[HostedEvent], None]:
        """The events of an answer; they raise GatewayError, also after the first ones."""
        sources, stats = request.sources, call.stats
        search = self._search_tool(call, request) if request.options is not None else None
        limits = self._settings.limits
        if search is not None and search.searches and not entry.has_tools and not request.others:
            stats.warnings.append(_SEARCHED_ONCE)
            events = search_once(self._completions, search, sources, limits, request.loop, stats)
        else:
            tools = [*([search] if search is not None else []), *request.others]
            events = HostedLoop(self._completions, tools, sources, limits).run(request.loop, stats)
        return events

    def _search_tool(self, call: Call, request: HostedRequest) -> WebSearchTool:
        assert request.options is not None
        settings = self._settings
        calls = WebCalls(settings.tools if request.options.external else settings.index_tools, tool_caller(call))
        texts = [message_text(message) for message in request.loop.body["messages"]]
        keep = partial(self._memory.put, call.caller.key_id) if request.is_kept else None
        return WebSearchTool(calls, request.options, settings.results, request.sources, texts, keep)


def tool_caller(call: Call) -> ToolCaller:
    """For whom the tools of a request are called."""
    return ToolCaller(call.caller.key_id, call.request_id, call.charge, call.clean_tool_texts)
