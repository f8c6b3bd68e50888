"""Repairs streamed tool calls: each call's index, id, type and name are sent once, and then argument text alone.

Clients concatenate the deltas they receive, so that a repeated name or id would come out doubled. The deltas of a call
wait until its name is known. Knows one choice of one stream. Source: OpenAI API reference and the deltas of vLLM,
Ollama, llama.cpp (facts read 2026-11-21).
"""

from typing import Any

from gateway.domain import Json
from gateway.errors import UpstreamError
from gateway.wire.chat.answer import MAX_CALLS, TOO_MANY_CALLS, arguments_text, new_id
from gateway.wire.untrusted_json import words_of


class _Call:
    """One tool call. `announced`: its first delta was sent. `waiting`: argument text that came before its name."""

    __slots__ = ("announced", "call_id", "name", "waiting")

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.name = ""
        self.announced = False
        self.waiting: list[str] = []


class CallDeltas:
    """The tool calls of one choice. Call `take` for every delta that has calls, and `flush` once at the choice's end.

    `legacy`: the caller declared `functions`; deltas are `{function_call}` and hold the first call only.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, int] = {}

    @property
    def any(self) -> bool:
        """Whether the choice has made a tool call."""
        return bool(self._calls)

    def take(self, incoming: list[Any], *, legacy: bool) -> list[Json]:
        """Our deltas for the `tool_calls` of one of theirs: `{tool_calls: [{index, id?, type?, function}]}` each.

        `function` is `{name, arguments: ""}` in a call's first delta and `{arguments}` in the others. Raises
        UpstreamError for a call that is not an object, and for more than MAX_CALLS.
        """
        deltas: list[Json] = []
        for position, each in enumerate(incoming):
            if not isinstance(each, dict):
                raise UpstreamError("the upstream sent a tool call that is not valid")
            deltas += self._call_deltas(each, position, len(incoming), legacy)
        return deltas

    def flush(self, *, legacy: bool) -> list[Json]:
        """The deltas of calls whose name never came, sent with an empty name at the choice's end."""
        deltas: list[Json] = []
        for number, call in enumerate(self._calls):
            if not call.announced:
                deltas += self._announce(number, call, legacy)
        return deltas

    def _call_deltas(self, incoming: Json, position: int, count: int, legacy: bool) -> list[Json]:
        inner = incoming.get("function")
        function: Json = inner if isinstance(inner, dict) else incoming
        identity = incoming.get("id") if isinstance(incoming.get("id"), str) else ""
        number = self._call_number(incoming, identity or "", words_of(function.get("name") or ""), position, count)
        call = self._calls[number]
        name = function.get("name")
        if isinstance(name, str) and name and not call.name:
            call.name = name
        arguments = function.get("arguments")
        text = arguments_text(arguments) if arguments is not None else ""
        if not call.announced:
            if text:
                call.waiting.append(text)
            return self._announce(number, call, legacy) if call.name else []
        return [delta] if text and (delta := _delta(number, {"arguments": text}, legacy)) else []

    def _call_number(self, incoming: Json, identity: str, name: str, position: int, count: int) -> int:
        """Which call a delta belongs to: by its index; without one, a new id or a second name starts a new call."""
        index = incoming.get("index")
        if isinstance(index, int):
            if index not in self._by_index:
                self._by_index[index] = self._add_call(identity)
            known = self._by_index[index]
            call = self._calls[known]
            if identity and call.call_id and identity != call.call_id and name and call.announced:
                self._by_index[index] = known = self._add_call(identity)  # this upstream sends index 0 for every call
            elif identity and not call.call_id:
                call.call_id = identity
            return known
        for number, call in enumerate(self._calls):
            if identity and call.call_id == identity:
                return number
        if not self._calls or (identity and self._calls[-1].call_id) or (name and self._calls[-1].name):
            return self._add_call(identity)
        return len(self._calls) - 1 if count == 1 else min(position, len(self._calls) - 1)

    def _add_call(self, identity: str) -> int:
        if len(self._calls) >= MAX_CALLS:
            raise UpstreamError(TOO_MANY_CALLS)
        self._calls.append(_Call(identity))
        return len(self._calls) - 1

    def _announce(self, number: int, call: _Call, legacy: bool) -> list[Json]:
        call.announced = True
        call.call_id = call.call_id or new_id("call_")
        first: Json = {"name": call.name, "arguments": ""}
        deltas = [_delta(number, first, legacy, call.call_id)]
        if call.waiting:
            deltas.append(_delta(number, {"arguments": "".join(call.waiting)}, legacy))
            call.waiting.clear()
        return [delta for delta in deltas if delta]


def _delta(number: int, function: Json, legacy: bool, identity: str = "") -> Json:
    if legacy:
        return {"function_call": function} if number == 0 else {}
    call: Json = {"index": number}
    if identity:
        call |= {"id": identity, "type": "function"}
    return {"tool_calls": [{**call, "function": function}]}
