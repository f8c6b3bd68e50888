"""Which hosted tools a responses request wants, and its answer with them."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass

from gateway.calls.call import Call
from gateway.domain import Json, Relay
from gateway.errors import InvalidRequest
from gateway.services.completion.attempts import ModelEntry
from gateway.services.hosted_tools.hosted_search import HostedRequest, HostedSearch
from gateway.services.hosted_tools.loop import HostedTool, LoopRequest
from gateway.services.hosted_tools.mcp_servers import HostedMcp
from gateway.services.hosted_tools.search_options import SearchOptions, of_tool, with_defaults
from gateway.services.hosted_tools.sources import Sources
from gateway.services.hosted_tools.tool_search import ToolSearch
from gateway.wire.chat.kept import NO_CARRIER, Carrier
from gateway.wire.hosted_answer import HostedEvent
from gateway.wire.responses.hosted_items import HostedItems, hosted_items
from gateway.wire.responses.hosted_request import WEB_SEARCH, SearchWish, finds_tools, search_wish
from gateway.wire.responses.mcp import McpWish, approved_calls, demands_any_call, mcp_wishes, replayed
from gateway.wire.responses.request import ChatRequest, to_chat


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

    def wishes(self, call: Call) -> HostedWishes | None:
        """What a request wants, None for no hosted tool. Raises InvalidRequest, and Forbidden where the key may not
        use it."""
        search, mcp = search_wish(call.body), mcp_wishes(call.body)
        searches_tools = finds_tools(call.body)
        if search is None and not mcp and not searches_tools:
            return None
        if search is not None:
            self._search.require_scope(call.caller, search.where)
        self._mcp.check(call.caller, mcp)
        options = of_tool(search.tool, search.where) if search is not None else None
        may_pass = not mcp and (search is None or self._search.passes_native)
        return HostedWishes(search, options, mcp, may_pass, searches_tools)

    def answer(
        self,
        call: Call,
        entry: ModelEntry,
        earlier: list[Json],
        wishes: HostedWishes,
        carrier: Carrier = NO_CARRIER,
        *,
        first: int = 0,
        relay: Relay | None = None,
    ) -> HostedAnswer:
        """The answer to a request whose history is `earlier`; fills in the defaults of its search tool. `first`: as in
        `to_chat`; `relay`: as in LoopRequest. Raises InvalidRequest; its events raise GatewayError."""
        body, sources, search = call.body, Sources(), wishes.search
        everything = [*earlier, *body["input"]]
        approved_calls(everything)  # an approval of nothing is refused before the items are translated
        past, recent = (
            self._search.recall(call.caller.key_id, list(replayed(items, everything)), sources)
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
        call.stats.warnings += chat.warnings
        if search is not None:
            body["tools"] = [with_defaults(tool) if tool is search.tool else tool for tool in body["tools"]]
        messages = chat.body["messages"]
        servers = self._mcp.tools(call, wishes.mcp, everything, messages, finds_tools=wishes.finds_tools)
        others: list[HostedTool] = [*servers]
        if wishes.finds_tools:
            others.append(ToolSearch(chat.deferred, servers))
        asked = HostedRequest(
            LoopRequest(_loop_body(chat.body, body, wishes), _forced(wishes), body.get("max_tool_calls"), relay),
            wishes.options if search is not None and search.choice != "none" else None,
            sources,
            is_kept=body.get("store") is not False,
            others=others,
        )
        return HostedAnswer(chat, self._search.answer(call, entry, asked), hosted_items(body.get("include")))


def _loop_body(chat: Json, body: Json, wishes: HostedWishes) -> Json:
    """The translated chat body with a tool choice that counts the hosted tools too."""
    is_any = wishes.search is not None and wishes.search.choice == "required"
    if is_any or (wishes.mcp and demands_any_call(body.get("tool_choice"))):
        return {**chat, "tool_choice": "required"}
    return chat


def _forced(wishes: HostedWishes) -> str:
    """The kind of hosted tool that must be called first; empty for none."""
    if wishes.search is not None and wishes.search.choice == "forced":
        return WEB_SEARCH
    return next((f"mcp:{wish.label}" for wish in wishes.mcp if wish.forced), "")
