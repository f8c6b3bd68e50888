"""The model's tool calls as items of a response and as events: the way back of `call_kinds`.

Source: OpenAI API reference (Responses streaming) and openai-python 3.52, read 2026-11-22. Knows no response.

Theory of operation. A model calls functions, with arguments that are JSON text. `function_call` and `custom_tool_call`
items are opened at once and get deltas. The other kinds have no usable deltas and may not be half made, so they are
`held` and opened when they are whole; one whose arguments do not fit its tool becomes a `function_call`, which the
caller refuses as it refuses any wrong call.
"""

import json
import re
from typing import Any

from gateway.domain import Json
from gateway.wire.responses.call_kinds import CALL_KINDS, built_in_argument
from gateway.wire.responses.object import call_item, new_id
from gateway.wire.responses.tool_names import ToolNames, ToolRef

_INPUT_HEAD = re.compile(r'\s{0,64}+\{\s{0,64}+"input"\s{0,64}+:\s{0,64}+"')
_MAX_HEAD_CHARS = 300
"""Longest beginning of arguments that is waited for. The pattern above matches at most 264 characters."""
_WHOLE_UNITS = re.compile(
    r"(?:[^\"\\]|\\[\"\\/bfnrt]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4})*+"
)
"""Characters and whole escapes of a JSON string; a pair of surrogates is one unit."""
_MAX_ESCAPE_CHARS = 12
"""Characters of the longest escape: a pair of surrogates."""


def call_items(names: ToolNames, calls: list[Json]) -> list[Json]:
    """The items of whole chat tool calls, `{id, function: {name, arguments}}`."""
    return [_item(names, call) for call in calls]


def _item(names: ToolNames, call: Json) -> Json:
    function = call.get("function") or {}
    streamed = StreamedCall(names.ref_of(function.get("name") or ""), call.get("id"))
    streamed.take(function.get("arguments") or "")
    streamed.end()
    streamed.item["status"] = "completed"
    return streamed.item


class StreamedCall:
    """One call. `item` is its item so far; `take` and `end` return events as `(type, fields)` without their position.

    Call `take` for every piece of arguments, then `end` once.
    """

    def __init__(self, ref: ToolRef, call_id: str | None) -> None:
        self._ref = ref
        self._call_id = call_id or new_id("call")
        self._arguments: list[str] = []
        self._input = _InputText()
        self.held = ref.kind not in ("function", "custom")
        self.item = self._function_item("") if ref.kind != "custom" else self._custom_item()

    def take(self, arguments: str) -> list[tuple[str, Json]]:
        """The events of a piece of arguments."""
        self._arguments.append(arguments)
        if self._ref.kind == "function":
            return [("response.function_call_arguments.delta", {"delta": arguments})]
        if self._ref.kind == "custom" and (text := self._input.take(arguments)):
            return [("response.custom_tool_call_input.delta", {"delta": text})]
        return []

    def end(self) -> list[tuple[str, Json]]:
        """Completes the item; the events that end its argument."""
        arguments = "".join(self._arguments) or "{}"
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
        whole, sent = _custom_input(arguments), self._input.sent
        rest = whole[len(sent) :] if whole.startswith(sent) else ""
        self.item["input"] = sent + rest
        deltas = [("response.custom_tool_call_input.delta", {"delta": rest})] if rest else []
        return [*deltas, ("response.custom_tool_call_input.done", {"input": self.item["input"]})]

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
    """The free text of a custom call: the string `input`, else the only string, else the text as it is."""
    try:
        decoded = _lenient(arguments)
    except (ValueError, RecursionError):
        return arguments
    if isinstance(decoded, dict):
        values = [decoded["input"]] if "input" in decoded else list(decoded.values())
        decoded = values[0] if len(values) == 1 else (None if values else "")
    return _whole_characters(decoded) if isinstance(decoded, str) else arguments


class _InputText:
    """Decodes the string of `{"input": "…"}` piece by piece. `sent` is the text so far.

    The naive form is to decode the whole arguments at their end; what has another form is left to that.
    """

    def __init__(self) -> None:
        self._undecoded = ""
        self._is_inside = self._is_over = False
        self._texts: list[str] = []

    @property
    def sent(self) -> str:
        return "".join(self._texts)

    def take(self, piece: str) -> str:
        """The text that this piece completes."""
        if self._is_over:
            return ""
        self._undecoded += piece
        if not self._is_inside:
            head = _INPUT_HEAD.match(self._undecoded)
            if head is None:
                self._is_over = len(self._undecoded) > _MAX_HEAD_CHARS
                return ""
            self._is_inside, self._undecoded = True, self._undecoded[head.end() :]
        whole = _WHOLE_UNITS.match(self._undecoded)
        end = whole.end() if whole else 0
        text = self._decoded(self._undecoded[:end])
        self._undecoded = self._undecoded[end:]
        self._is_over |= self._undecoded[:1] == '"' or len(self._undecoded) >= _MAX_ESCAPE_CHARS
        self._texts.append(text)
        return text

    def _decoded(self, units: str) -> str:
        return _whole_characters(_lenient(f'"{units}"'))


def _lenient(text: str) -> Any:
    """Decoded JSON whose strings may hold line feeds as they are. Raises ValueError, RecursionError."""
    return json.loads(text, strict=False)


def _whole_characters(text: str) -> str:
    """The text with U+FFFD for each surrogate without its other half, which no encoder takes."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
