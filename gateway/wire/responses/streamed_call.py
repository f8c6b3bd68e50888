"""The model's tool calls as items of a response and as events: the way back of `CallKind`.

Source: OpenAI API reference (Responses streaming) and openai-python 3.52, read 2026-11-22.

Theory of operation. A model calls functions, with arguments that are JSON text. `function_call` and
`custom_tool_call` items are opened at once; the text of a custom call comes in one delta when its JSON is whole. The
other kinds have no deltas and may not be half made, so they are `held` and opened when they are whole; one whose
arguments do not fit its tool becomes a `function_call`, which the caller refuses as it refuses any wrong call.
"""

import json
import re

import orjson

from gateway.domain import Json
from gateway.wire.mended_json import whole_characters
from gateway.wire.responses.call_kinds import CALL_KINDS, built_in_argument
from gateway.wire.responses.object import call_item, new_id
from gateway.wire.responses.tool_names import ToolRef

_CUT = re.compile(
    r'\A\s*+\{\s*+(?:"\w*+(?:"\s*+(?::\s*+(?:'
    r'"((?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|(?!))*+)(?:\\(?:u[0-9a-fA-F]{0,3})?)?)?)?)?)?'
)
"""The beginning of an object with one string, of which the first group is what there is of it."""


class StreamedCall:
    """One call. `item` is its item so far; `take` and `end` return events as `(type, fields)` without their position.
    `is_free`: the model's call is a custom one itself, whose text is no JSON.

    Call `take` for every piece of arguments, then `end` once.
    """

    def __init__(self, ref: ToolRef, call_id: str | None, *, is_free: bool = False) -> None:
        self._ref, self._is_free = ref, is_free
        self._call_id = call_id or new_id("call")
        self._arguments: list[str] = []
        self.held = ref.kind not in ("function", "custom")
        self.item = self._function_item("") if ref.kind != "custom" else self._custom_item()

    def take(self, arguments: str) -> list[tuple[str, Json]]:
        """The events of a piece of arguments."""
        self._arguments.append(arguments)
        if self._ref.kind == "function" and not self._is_free:
            return [("response.function_call_arguments.delta", {"delta": arguments})]
        return []

    def end(self) -> list[tuple[str, Json]]:
        """Completes the item; the events that end its argument."""
        arguments = "".join(self._arguments) or "{}"
        if self._is_free:
            arguments = orjson.dumps({"input": "".join(self._arguments)}).decode()
        if self._ref.kind == "custom":
            return self._end_custom(arguments)
        argument = built_in_argument(self._ref.kind, arguments) if self.held else None
        if argument is not None:
            self.item = self._built_in_item(argument)
            return []
        self.item["arguments"] = arguments
        done = {"name": self.item["name"], "arguments": arguments}
        return [("response.function_call_arguments.done", done)]

    def _end_custom(self, arguments: str) -> list[tuple[str, Json]]:
        text = self.item["input"] = _custom_input(arguments)
        deltas = [("response.custom_tool_call_input.delta", {"delta": text})] if text else []
        return [*deltas, ("response.custom_tool_call_input.done", {"input": text})]

    def _function_item(self, arguments: str) -> Json:
        fields = {"call_id": self._call_id, "name": self._ref.name, "arguments": arguments}
        if self._ref.namespace:
            fields["namespace"] = self._ref.namespace
        return call_item(new_id("fc"), "in_progress", fields)

    def _custom_item(self) -> Json:
        item = {"id": new_id("ctc"), "type": "custom_tool_call", "status": "in_progress", "call_id": self._call_id}
        item |= {"name": self._ref.name, "input": ""}
        return {**item, "namespace": self._ref.namespace} if self._ref.namespace else item

    def _built_in_item(self, argument: Json) -> Json:
        kind = CALL_KINDS[self._ref.kind]
        item = {"id": new_id(kind.id_prefix), "type": kind.call, "status": "in_progress", "call_id": self._call_id}
        return {**item, **kind.extra, kind.argument: argument}


def _custom_input(arguments: str) -> str:
    """The free text of a custom call: the string `input`, else the only string, else the text as it is. Of JSON that
    was cut the text so far."""
    try:
        decoded = json.loads(arguments, strict=False)  # strings may hold line feeds as they are
    except (ValueError, RecursionError):
        cut = _CUT.fullmatch(arguments)
        decoded = arguments if cut is None else json.loads(f'"{cut[1] or ""}"', strict=False)
    if isinstance(decoded, dict):
        values = [decoded["input"]] if "input" in decoded else list(decoded.values())
        decoded = values[0] if len(values) == 1 else (None if values else "")
    return whole_characters(decoded if isinstance(decoded, str) else arguments)
