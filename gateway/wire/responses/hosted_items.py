"""The items and events of hosted tools in a response: searches, tool searches, and MCP's lists, calls and approvals.

Source: OpenAI API reference (Responses), openai-python 3.52 and recorded streams of OpenAI's API, read 2026-11-22.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gateway.domain import Json
from gateway.wire.hosted_answer import HostedCall
from gateway.wire.responses.object import new_id

Events = list[tuple[str, Json]]
"""The type of each event, and its fields beside the item's position."""


@dataclass(frozen=True, slots=True)
class HostedItems:
    """How calls of one kind of hosted tool are written. `added`: the item when it is opened, `{id, type, status?, …}`;
    `done`: what an item has besides, once its call has ended. `events`: those of a phase. `after`: an item that
    follows."""

    added: Callable[[HostedCall], Json]
    done: Callable[[HostedCall], Json] = lambda call: {"status": call.status}
    events: Callable[[HostedCall, str], Events] = lambda call, phase: []
    after: Callable[[HostedCall], Json] | None = None


def hosted_items(include: object) -> Mapping[str, HostedItems]:
    """The items of each kind of call. `include`: the request's; asks for sources and results of searches."""
    wanted = include if isinstance(include, list) else ()

    def searched(call: HostedCall) -> Json:
        action = dict(call.action)
        if "web_search_call.action.sources" in wanted and action.get("type") == "search":
            action["sources"] = [{"type": "url", "url": source.url} for source in call.sources]
        results = {"results": call.results} if "web_search_call.results" in wanted else {}
        return {"status": call.status, "action": action, **results}

    return {
        "web_search": HostedItems(
            lambda call: _item(call, "web_search_call"),
            searched,
            lambda call, phase: [] if phase == "failed" else [(f"response.web_search_call.{phase}", {})],
        ),
        "tool_search": HostedItems(
            lambda call: _item(call, "tool_search_call", call_id=None, execution="server", arguments=call.action),
            after=_found_tools,
        ),
        "mcp_list_tools": HostedItems(
            lambda call: {"id": call.item_id, "type": "mcp_list_tools", **call.action, "tools": []},
            lambda call: {"tools": call.results, **({"error": call.error} if call.error else {})},
            lambda call, phase: [(f"response.mcp_list_tools.{phase}", {})],
        ),
        "mcp_call": HostedItems(_mcp_call, _mcp_result, _mcp_events),
        "mcp_approval_request": HostedItems(
            lambda call: {
                "id": call.item_id, "type": "mcp_approval_request", **call.action,
                "name": call.name, "arguments": call.arguments,
            },
            lambda call: {},
        ),
    }  # fmt: skip


def _item(call: HostedCall, kind: str, **more: object) -> Json:
    return {"id": call.item_id, "type": kind, "status": "in_progress", **more}


def _found_tools(call: HostedCall) -> Json:
    """The tools that were found, as their caller declared them."""
    item = {"id": new_id("tso"), "type": "tool_search_output", "status": "completed", "call_id": None}
    return {**item, "execution": "server", "tools": call.results}


def _mcp_call(call: HostedCall) -> Json:
    item = _item(call, "mcp_call", approval_request_id=None)
    return {**item, **call.action, "name": call.name, "arguments": "", "output": None, "error": None}


def _mcp_result(call: HostedCall) -> Json:
    result: Json = {"status": call.status, "arguments": call.arguments}
    if call.status == "failed":
        content = [{"type": "text", "text": call.error}]
        return {**result, "error": {"type": "mcp_tool_execution_error", "content": content}}
    return {**result, "output": call.output}


def _mcp_events(call: HostedCall, phase: str) -> Events:
    """The arguments in one delta; `response.mcp_call.PHASE` for any other phase."""
    if phase != "arguments":
        return [(f"response.mcp_call.{phase}", {})]
    return [
        ("response.mcp_call_arguments.delta", {"delta": call.arguments}),
        ("response.mcp_call_arguments.done", {"arguments": call.arguments}),
    ]
