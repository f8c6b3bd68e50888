"""What a responses request asks of MCP servers: its `mcp` tools, the choices that mean them, and approvals.

Servers are named by their label alone: an address or a credential of the caller would let it choose a host. Source:
OpenAI API reference (Responses, remote MCP) and openai-python 3.52, read 2026-11-22.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.responses.tool_names import ToolNames, ToolRef
from gateway.wire.untrusted_json import list_in, table_in, tables_in, texts_in

_CALLERS_OWN = ("server_url", "headers", "authorization", "connector_id", "tunnel_id")
_MCP_ITEMS = ("mcp_call", "mcp_approval_response")
"""Items that a chat model is shown in another form."""
_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """Which tools need approval: `default` for those that neither `always` nor `never` names."""

    default: Literal["always", "never"] = "always"
    always: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    never_read_only: bool = False

    def is_needed(self, tool: Json) -> bool:
        """Whether a call of a tool, `{name, annotations?}`, must be approved."""
        if tool["name"] in self.always:
            return True
        is_read_only = table_in(tool, "annotations").get("readOnlyHint") is True
        if tool["name"] in self.never or (self.never_read_only and is_read_only):
            return False
        return self.default == "always"


class McpWish(NamedTuple):
    """An `mcp` tool at the path `where`. `allowed`: names of tools, None for all. `approval`: None where the request
    does not say. `is_offered`: the model may call it. `forced`: it must be called first; `forced_tool` by name.
    `is_deferred`: its tools wait until a search finds them."""

    label: str
    where: str
    allowed: frozenset[str] | None
    approval: ApprovalRule | None
    is_offered: bool
    forced: bool
    forced_tool: str
    is_deferred: bool = False


class ApprovedCall(NamedTuple):
    """A call that the caller has approved and that was not run yet."""

    request_id: str
    label: str
    name: str
    arguments: str


def mcp_wishes(body: Json) -> list[McpWish]:
    """The MCP tools of a checked request. Raises InvalidRequest naming the field that is wrong."""
    wishes: list[McpWish] = []
    for index, tool in enumerate(body.get("tools") or ()):
        if tool["type"] != "mcp":
            continue
        wish = _wish(tool, f"tools[{index}]", body.get("tool_choice"))
        if any(other.label == wish.label for other in wishes):
            raise InvalidRequest(f"server_label '{wish.label}' is named twice", param=f"{wish.where}.server_label")
        wishes.append(wish)
    return wishes


def _wish(tool: Json, where: str, choice: Any) -> McpWish:
    for name in _CALLERS_OWN:
        if tool.get(name) is not None:
            raise InvalidRequest(
                f"{name} is not taken from callers: send the server_label of a server that the operator has configured",
                param=f"{where}.{name}",
            )
    label = tool.get("server_label")
    if not isinstance(label, str) or not label:
        raise InvalidRequest("server_label is required", param=f"{where}.server_label")
    names = _allowed(tool.get("allowed_tools"), f"{where}.allowed_tools")
    approval = _approval(tool.get("require_approval"), where)
    is_offered, forced, forced_tool = _choice(choice, label)
    is_deferred = tool.get("defer_loading") is True and not forced
    return McpWish(label, where, names, approval, is_offered, forced, forced_tool, is_deferred)


def _allowed(value: Any, where: str) -> frozenset[str] | None:
    """The names of a filter of tools, None for all: one that is not understood must not allow more than was meant."""
    names = value.get("tool_names") if isinstance(value, dict) and set(value) <= {"tool_names"} else value
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidRequest("must be a list of names, or an object with tool_names alone", param=where)
    return frozenset(names)


def _approval(value: Any, where: str) -> ApprovalRule | None:
    if value is None or value == "always" or value == "never":
        return ApprovalRule(value) if value else None
    if not isinstance(value, dict):
        raise InvalidRequest(
            "must be always, never, or an object with lists of tools", param=f"{where}.require_approval"
        )
    never = table_in(value, "never")
    always, others = (frozenset(texts_in(each, "tool_names")) for each in (value.get("always"), never))
    return ApprovalRule("always", always, others, never.get("read_only") is True)


def _choice(choice: Any, label: str) -> tuple[bool, bool, str]:
    """Whether a server's tools may be called, must be called first, and which one."""
    if not isinstance(choice, dict):
        return choice != "none", False, ""
    if choice.get("type") == "allowed_tools":
        return any(_is_of(entry, label) for entry in list_in(choice, "tools")), False, ""
    forced = _is_of(choice, label)
    return True, forced, str(choice.get("name") or "") if forced else ""


def _is_of(entry: Any, label: str) -> bool:
    return isinstance(entry, dict) and entry.get("type") == "mcp" and entry.get("server_label") == label


def demands_any_call(choice: Any) -> bool:
    """Whether a tool_choice demands a call of whichever tool."""
    return choice == "required" or (
        isinstance(choice, dict) and choice.get("type") == "allowed_tools" and choice.get("mode") == "required"
    )


def approved_calls(items: Sequence[Json]) -> list[ApprovedCall]:
    """The calls of a conversation that were approved and not run yet. Raises InvalidRequest for an approval of no
    known request."""
    requests = {str(item.get("id")): item for item in items if item.get("type") == "mcp_approval_request"}
    done = {str(item.get("approval_request_id")) for item in items if item.get("type") == "mcp_call"}
    approved = []
    for item in items:
        if item.get("type") == "mcp_approval_response":
            request_id = str(item.get("approval_request_id"))
            request = requests.get(request_id)
            if request is None:
                shown = request_id[:_SHOWN_CHARS]
                raise InvalidRequest(f"there is no approval request '{shown}'", param="input.approval_request_id")
            if item.get("approve") is True and request_id not in done:
                done.add(request_id)  # an approval that is sent twice is one call
                label, name = str(request.get("server_label")), str(request.get("name"))
                approved.append(ApprovedCall(request_id, label, name, str(request.get("arguments") or "{}")))
    return approved


def refuse_unserved(approved: Sequence[ApprovedCall], labels: Collection[str]) -> None:
    """Raises InvalidRequest for an approved call of a server that no tool of the request names: nobody could run it."""
    for call in approved:
        if call.label not in labels:
            raise InvalidRequest(
                f"tools must name the server of the approved call: '{call.label[:_SHOWN_CHARS]}'", param="tools"
            )


def replayed(items: Sequence[Json], everything: Sequence[Json]) -> Iterator[Json]:
    """The items with calls of MCP tools, run or refused, as function calls with their outputs. The requests for
    approval are looked for in `everything`."""
    if not any(item.get("type") in _MCP_ITEMS for item in items):
        yield from items
        return
    requests = {str(item.get("id")): item for item in everything if item.get("type") == "mcp_approval_request"}
    for item in items:
        if item.get("type") == "mcp_call" and item.get("id"):
            yield from _pair(item, str(item["id"]), str(item.get("output") or _error_text(item.get("error"))))
        elif item.get("type") == "mcp_approval_response" and item.get("approve") is not True:
            request = requests.get(str(item.get("approval_request_id")))
            if request is not None:
                reason = f": {item['reason']}" if item.get("reason") else ""
                yield from _pair(request, str(request["id"]), f"The user did not approve this call{reason}")
        else:
            yield item


def known_lists(items: Sequence[Json]) -> Collection[str]:
    """Labels of the servers whose list of tools the caller has."""
    return {str(item.get("server_label")) for item in items if item.get("type") == "mcp_list_tools"}


def found_tools(items: Sequence[Json], label: str) -> set[str]:
    """Names of a server's tools that searches of earlier turns have found."""
    outputs = (item for item in items if item.get("type") in ("tool_search_output", "additional_tools"))
    found = (tool for item in outputs for tool in tables_in(item, "tools") if tool.get("server_label") == label)
    return {name for tool in found for name in texts_in(tool, "allowed_tools")}


def _error_text(error: Any) -> str:
    """The words of a call's error, which is a string or has content parts."""
    texts = [str(part.get("text") or "") for part in tables_in(error, "content")]
    return "\n".join(texts) or (error if isinstance(error, str) else "the call failed" if error else "")


def _pair(call: Json, call_id: str, output: str) -> Iterator[Json]:
    name = ToolNames().name_of(ToolRef("function", str(call.get("name")), str(call.get("server_label"))))
    arguments = str(call.get("arguments") or "{}")
    yield {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
    yield {"type": "function_call_output", "call_id": call_id, "output": output}
