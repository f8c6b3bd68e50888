"""Streamed tool calls, repaired: one index, id, type and name a call, sent once, then argument text alone.

Client accumulators concatenate what they get, so a repeated name or id would double. Deltas of a call wait until its
name is known. Source: OpenAI API reference and the deltas of vLLM, Ollama, llama.cpp (facts read 2026-11-21).
"""

from typing import Any

from gateway.domain import Json
from gateway.errors import UpstreamError
from gateway.wire.chat.answer import arguments_text, new_id

_MAX_CALLS = 128


class _Call:
    __slots__ = ("announced", "given_id", "name", "waiting")

    def __init__(self, given_id: str) -> None:
        self.given_id = given_id
        self.name = ""
        self.announced = False
        self.waiting: list[str] = []


class CallDeltas:
    """The calls of one choice."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, int] = {}

    @property
    def any(self) -> bool:
        return bool(self._calls)

    def take(self, given: list[Any], *, legacy: bool) -> list[Json]:
        """Our deltas for one list of theirs."""
        deltas: list[Json] = []
        for position, each in enumerate(given):
            if not isinstance(each, dict):
                raise UpstreamError("the upstream sent a tool call that is not valid")
            deltas += self._one(each, position, len(given), legacy)
        return deltas

    def flush(self, *, legacy: bool) -> list[Json]:
        """Calls whose name never came, announced as they are at the stream's end."""
        deltas: list[Json] = []
        for number, call in enumerate(self._calls):
            if not call.announced:
                deltas += self._announce(number, call, legacy)
        return deltas

    def _one(self, given: Json, position: int, count: int, legacy: bool) -> list[Json]:
        inner = given.get("function")
        function: Json = inner if isinstance(inner, dict) else given
        identity = given.get("id") if isinstance(given.get("id"), str) else ""
        number = self._number(given, identity or "", str(function.get("name") or ""), position, count)
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

    def _number(self, given: Json, identity: str, name: str, position: int, count: int) -> int:
        """Which call this is: by index; without one, a new id or a second name starts a call, the rest goes on."""
        index = given.get("index")
        if isinstance(index, int):
            if index not in self._by_index:
                self._by_index[index] = self._new(identity)
            known = self._by_index[index]
            call = self._calls[known]
            if identity and call.given_id and identity != call.given_id and name and call.announced:
                self._by_index[index] = known = self._new(identity)  # index 0 for every call
            elif identity and not call.given_id:
                call.given_id = identity
            return known
        for number, call in enumerate(self._calls):
            if identity and call.given_id == identity:
                return number
        if not self._calls or (identity and self._calls[-1].given_id) or (name and self._calls[-1].name):
            return self._new(identity)
        return len(self._calls) - 1 if count == 1 else min(position, len(self._calls) - 1)

    def _new(self, identity: str) -> int:
        if len(self._calls) >= _MAX_CALLS:
            raise UpstreamError("the upstream sent too many tool calls")
        self._calls.append(_Call(identity))
        return len(self._calls) - 1

    def _announce(self, number: int, call: _Call, legacy: bool) -> list[Json]:
        call.announced = True
        call.given_id = call.given_id or new_id("call_")
        first: Json = {"name": call.name, "arguments": ""}
        deltas = [_delta(number, first, legacy, call.given_id)]
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
