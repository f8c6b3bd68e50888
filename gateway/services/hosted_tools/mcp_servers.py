"""The MCP servers whose tools the gateway runs for a model: who may use which, and what the operator allows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gateway.calls.call import Call
from gateway.domain import OWN_TOOLS_LABEL, WEB_SEARCH_SCOPE, Caller, Json
from gateway.errors import Forbidden, InvalidRequest
from gateway.ports import ToolServer
from gateway.services.hosted_tools.hosted_search import tool_caller
from gateway.services.hosted_tools.mcp_tool import McpGrant, McpTool, OwnTools
from gateway.services.hosted_tools.web_calls import WebCalls
from gateway.services.websearch.tools import Tool
from gateway.wire.responses.mcp import ApprovalRule, McpWish, approved_calls, found_tools, known_lists, refuse_unserved


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
        self, call: Call, mcp: Iterable[McpWish], items: Sequence[Json], messages: list[Json], *, finds_tools: bool
    ) -> list[McpTool]:
        """The tools of the checked wishes that may be called. `items`: the conversation; `messages`: the same as chat,
        to which approved calls are added. `finds_tools`: deferred tools wait until a search has found them. Raises
        InvalidRequest for an approved call of a server that the request does not name."""
        approved, listed = approved_calls(items), known_lists(items)
        offered = [wish for wish in mcp if wish.is_offered]
        refuse_unserved(approved, {wish.label for wish in offered})
        return [
            self._tool(
                call,
                wish,
                McpGrant(
                    wish.label,
                    wish.allowed,
                    wish.approval or ApprovalRule("never"),
                    wish.forced_tool,
                    found_tools(items, wish.label) if wish.is_deferred and finds_tools else None,
                    wish.label in listed,
                    [call for call in approved if call.label == wish.label],
                    messages,
                ),
            )
            for wish in offered
        ]

    def _tool(self, call: Call, wish: McpWish, grant: McpGrant) -> McpTool:
        """The tool within what the operator allows."""
        caller = tool_caller(call)
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
