"""The items and events of hosted MCP: lists of tools, calls, and requests for approval.

Source: openai-python 3.52 and recorded streams of OpenAI's API, read 2026-11-22. Implements `HostedItems`.
"""

from gateway.domain import Json
from gateway.wire.hosted_answer import HostedCall


class McpListItems:
    """`mcp_list_tools`: `{id, type, server_label, tools, error?}`."""

    def added(self, call: HostedCall) -> Json:
        """The item without its tools."""
        return {"id": call.item_id, "type": "mcp_list_tools", **call.action, "tools": []}

    def item(self, call: HostedCall) -> Json:
        """The item with its tools, or the error."""
        item = {**self.added(call), "tools": call.results}
        return {**item, "error": call.error} if call.error else item

    def events(self, call: HostedCall, phase: str) -> list[tuple[str, Json]]:
        """`response.mcp_list_tools.in_progress`, `.completed` or `.failed`."""
        return [(f"response.mcp_list_tools.{phase}", {})]


class McpCallItems:
    """`mcp_call`: `{id, type, status, approval_request_id, server_label, name, arguments, output, error}`."""

    def added(self, call: HostedCall) -> Json:
        """The item without arguments."""
        item = {"id": call.item_id, "type": "mcp_call", "status": "in_progress", "approval_request_id": None}
        return {**item, **call.action, "name": call.name, "arguments": "", "output": None, "error": None}

    def item(self, call: HostedCall) -> Json:
        """The item of a call that has ended."""
        item = {**self.added(call), "status": call.status, "arguments": call.arguments}
        if call.status == "failed":
            content = [{"type": "text", "text": call.error}]
            return {**item, "error": {"type": "mcp_tool_execution_error", "content": content}}
        return {**item, "output": call.output}

    def events(self, call: HostedCall, phase: str) -> list[tuple[str, Json]]:
        """The arguments in one delta; `response.mcp_call.PHASE` for any other phase."""
        if phase != "arguments":
            return [(f"response.mcp_call.{phase}", {})]
        return [
            ("response.mcp_call_arguments.delta", {"delta": call.arguments}),
            ("response.mcp_call_arguments.done", {"arguments": call.arguments}),
        ]


class McpApprovalItems:
    """`mcp_approval_request`: `{id, type, server_label, name, arguments}`; it has no events of its own."""

    def added(self, call: HostedCall) -> Json:
        """The whole item."""
        item = {"id": call.item_id, "type": "mcp_approval_request", **call.action}
        return {**item, "name": call.name, "arguments": call.arguments}

    def item(self, call: HostedCall) -> Json:
        """The whole item."""
        return self.added(call)

    def events(self, call: HostedCall, phase: str) -> list[tuple[str, Json]]:
        """None."""
        return []
