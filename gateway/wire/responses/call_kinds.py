"""The kinds of tools that the caller runs itself: their call and output items, and the function that represents each.

The one table of these kinds is schemas/call_kinds.json; all that translates them reads it. Built-in tools have no
schema in a request, so theirs are there. Source: OpenAI API reference (Responses), openai-python 3.52, read 2026-11-22.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.domain import Json
from gateway.schemas import load
from gateway.wire.responses.tool_names import ToolRef
from gateway.wire.untrusted_json import object_in


@dataclass(frozen=True, slots=True)
class CallKind:
    """One kind of tool.

    `call`, `output`: the types of its items. `argument`: the field of the call item that holds the arguments.
    `id_prefix`: of the ids of its items. `parameters`: the JSON Schema of a built-in tool, and `description` for the
    model. `fixed`: what the argument holds besides the model's arguments; `extra`: further fields of the call item.
    """

    call: str
    output: str
    argument: str
    id_prefix: str
    description: str = ""
    parameters: Json | None = None
    fixed: Json = field(default_factory=dict)
    extra: Json = field(default_factory=dict)


CALL_KINDS: Mapping[str, CallKind] = {
    name: CallKind(**fields) for name, fields in load("call_kinds")["x-kinds"].items()
}
"""{type of the tool: its calls}. `computer` is read in histories only: a model must be trained for it."""

KIND_OF_CALL: Mapping[str, str] = {kind.call: name for name, kind in CALL_KINDS.items()} | {"tool_call": "function"}
KIND_OF_OUTPUT: Mapping[str, str] = {kind.output: name for name, kind in CALL_KINDS.items()} | {
    "tool_call_output": "function"
}
"""The kind of an item's type. `tool_call` and `tool_call_output` are the names of this service's specification."""


def arguments_of(item: Json, kind: str) -> str:
    """The arguments of a call item as the JSON text that chat has."""
    value: Any = item.get(CALL_KINDS[kind].argument)
    if kind == "custom":
        return orjson.dumps({"input": value or ""}).decode()
    if kind == "computer":
        value = value or {"actions": item.get("actions")}
    if isinstance(value, str):
        return value or "{}"
    return orjson.dumps(value or {}).decode()


def built_in_argument(kind: str, arguments: str) -> Json | None:
    """The object for a built-in call's `argument` field; None where the model's arguments lack what the tool needs."""
    decoded, table = object_in(arguments), CALL_KINDS[kind]
    required = (table.parameters or {}).get("required", ()) if kind != "tool_search" else ()
    if decoded is None or any(decoded.get(name) is None for name in required):
        return None
    return {**table.fixed, **decoded}


def ref_of_call(item: Json, kind: str) -> ToolRef:
    """The tool that a call item names; a built-in tool's name is its type."""
    if kind in ("function", "custom"):
        return ToolRef(kind, str(item.get("name") or ""), str(item.get("namespace") or ""))
    return ToolRef(kind, kind)
