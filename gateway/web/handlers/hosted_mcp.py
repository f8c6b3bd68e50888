"""Hosted MCP for the responses handler: the scope, the configured servers, and their tools for one request.

Knows no wire format beyond the request's wishes, and no HTTP: a server is a `ports.ToolServer`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from gateway.domain import OWN_TOOLS_LABEL, Caller, Json
from gateway.errors import Forbidden, InvalidRequest
from gateway.mcp.tools import Tool
from gateway.ports import ToolServer
from gateway.services.hosted_tools.mcp_tool import McpGrant, McpTool, OwnTools
from gateway.services.hosted_tools.web_search import ToolCaller, WebCalls
from gateway.web.context import RequestContext
from gateway.web.handlers.hosted_search import WEB_SEARCH_SCOPE
from gateway.web.middleware.sanitize import clean_tool_texts
from gateway.wire.responses.mcp_request import ApprovalRule, ApprovedCall, McpWish, refuse_unserved


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
