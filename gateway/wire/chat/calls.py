"""The calls of a streamed answer, mended: each one's index, id, type, name and kept members once, then its arguments.

Clients join what comes twice. A call's pieces wait until its name is known. Source: OpenAI API reference and the deltas
of vLLM, Ollama, llama.cpp, Gemini, Kimi (facts read 2026-11-21 and 2026-11-28).
"""

import re
from typing import Any

from gateway.domain import Json
from gateway.errors import UpstreamError
from gateway.wire.chat.answer import MAX_CALLS, TOO_MANY_CALLS, arguments_text, new_id
from gateway.wire.chat.call_ids import CallIds
from gateway.wire.chat.kept import StateSoFar, call_extras
from gateway.wire.untrusted_json import words_of

_BRACKETS = re.compile(r'["\\{}\[\]]')


class JsonEnd:
    """The text of one call's arguments."""

    def __init__(self, *, keeps_text: bool = True) -> None:
        self._kept: list[str] | None = [] if keeps_text else None
        self._unread: list[str] = []
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._ended = self._has_begun = False

    def add(self, piece: str) -> None:
        """Add a piece; the next `is_complete` reads it."""
        self._has_begun = self._has_begun or bool(piece)
        self._unread.append(piece)
        if self._kept is not None:
            self._kept.append(piece)

    @property
    def has_begun(self) -> bool:
        """Whether there is any text."""
        return self._has_begun

    def text(self) -> str:
        """Everything so far, where it is kept."""
        return "".join(self._kept or ())

    def is_complete(self) -> bool:
        """Whether the first bracket has been closed again. False for an empty text."""
        for piece in self._unread:
            self._read_piece(piece)
        self._unread.clear()
        return self._ended

    def _read_piece(self, piece: str) -> None:
        skip = 0 if self._escaped and piece else -1  # the place of a letter behind a backslash
        self._escaped = self._escaped and not piece
        for mark in _BRACKETS.finditer(piece):
            at, letter = mark.start(), mark[0]
            if at == skip:
                continue
            if letter == "\\":
                if self._in_string:
                    skip, self._escaped = at + 1, at + 1 == len(piece)
            elif letter == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                self._depth += 1 if letter in "{[" else -1
                self._ended = self._ended or self._depth <= 0


class _Call:
    """One tool call. `own_id`: the upstream's; `given_id`: the client's, once it was announced. `waiting`: argument
    text that came before its name. `is_empty`: `{}` came as its arguments, and is held back: some servers begin so."""

    __slots__ = ("arguments", "extras", "given_id", "is_empty", "name", "own_id", "waiting")

    def __init__(self, own_id: str) -> None:
        self.own_id = own_id
        self.given_id = ""
        self.name = ""
        self.arguments = JsonEnd(keeps_text=False)
        self.extras: Json = {}
        self.waiting: list[str] = []
        self.is_empty = False


class CallDeltas:
    """The tool calls of one choice. Call `take` for every delta that has calls, and `flush` once at the choice's end.

    `legacy`: the caller declared `functions`; deltas are `{function_call}` and hold the first call only. `ids` makes
    their ids unique; `state` gets their kept members.
    """

    def __init__(self, ids: CallIds, state: StateSoFar, *, legacy: bool = False) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, int] = {}
        self._ids, self._state, self._legacy = ids, state, legacy

    @property
    def any(self) -> bool:
        """Whether the choice has made a tool call."""
        return bool(self._calls)

    def take(self, incoming: list[Any]) -> list[Json]:
        """Our deltas for the `tool_calls` of one of theirs: `{tool_calls: [{index, id?, type?, function, …}]}` each.

        `function` is `{name, arguments: ""}` in a call's first delta and `{arguments}` in the others. Raises
        UpstreamError for a call that is not an object, and for more than MAX_CALLS.
        """
        deltas: list[Json] = []
        for position, each in enumerate(incoming):
            if not isinstance(each, dict):
                raise UpstreamError("the upstream sent a tool call that is not valid")
            deltas += self._call_deltas(each, position, len(incoming))
        return deltas

    def flush(self) -> list[Json]:
        """The deltas of calls whose name never came, with an empty name, and `{}` where nothing else came."""
        deltas: list[Json] = []
        for number, call in enumerate(self._calls):
            if not call.given_id:
                deltas += self._announce(number, call)
            if call.is_empty:
                call.is_empty = False
                deltas += self._piece(number, "{}")
        return deltas

    def _call_deltas(self, incoming: Json, position: int, count: int) -> list[Json]:
        inner = incoming.get("function")
        function: Json = inner if isinstance(inner, dict) else incoming
        identity = incoming["id"] if isinstance(incoming.get("id"), str) else ""
        name, arguments = words_of(function.get("name") or ""), function.get("arguments")
        text = arguments_text(arguments) if arguments is not None else ""
        number = self._call_number(incoming.get("index"), (identity, name, text), position, count)
        call = self._calls[number]
        call.name = call.name or name
        extras = call_extras(incoming) if inner is not None else {}
        if text.strip() == "{}" and not call.arguments.has_begun:
            call.is_empty, text = True, ""
        elif text:
            call.is_empty = False
            call.arguments.add(text)
        if not call.given_id:
            call.extras |= extras
            call.waiting += [text] if text else []
            return self._announce(number, call) if call.name else []
        if extras:
            self._state.call(number, "", "", "", extras)
        late: list[Json] = [] if not extras or self._legacy else [_delta(number, {"arguments": ""}, **extras)]
        return late + (self._piece(number, text) if text else [])

    def _call_number(self, index: Any, piece: tuple[str, str, str], position: int, count: int) -> int:
        """Which call a piece `(id, name, arguments)` belongs to: by its index, else by its id, else to the last one.

        A piece that names a function begins another call where it has another id, or where the arguments so far are
        complete and it has some of its own: some servers send one index, or one id, for every call.
        """
        identity, name, _ = piece
        if isinstance(index, int):
            known = self._by_index.get(index)
            if known is None or _begins_another(self._calls[known], *piece):
                known = self._by_index[index] = self._add_call(identity)
            call = self._calls[known]
            call.own_id = call.own_id or identity
            return known
        for number in reversed(range(len(self._calls))):
            if identity and self._calls[number].own_id == identity:
                return self._add_call(identity) if _begins_another(self._calls[number], *piece) else number
        last = self._calls[-1] if self._calls else None
        if last is None or (identity and last.own_id) or (name and last.name):
            return self._add_call(identity)
        return len(self._calls) - 1 if count == 1 else min(position, len(self._calls) - 1)

    def _add_call(self, identity: str) -> int:
        if len(self._calls) >= MAX_CALLS:
            raise UpstreamError(TOO_MANY_CALLS)
        self._calls.append(_Call(identity))
        return len(self._calls) - 1

    def _announce(self, number: int, call: _Call) -> list[Json]:
        call.given_id = self._ids.unique(call.own_id or new_id("call_"))
        self._state.call(number, call.given_id, call.name, "", call.extras)
        first: Json = {"name": call.name, "arguments": ""}
        waiting = "".join(call.waiting)
        call.waiting.clear()
        if self._legacy:
            head: list[Json] = [{"function_call": first}] if number == 0 else []
        else:
            head = [_delta(number, first, id=call.given_id, type="function", **call.extras)]
        return head + (self._piece(number, waiting) if waiting else [])

    def _piece(self, number: int, text: str) -> list[Json]:
        self._state.call(number, "", "", text, {})
        if self._legacy:
            return [{"function_call": {"arguments": text}}] if number == 0 else []
        return [_delta(number, {"arguments": text})]


def _begins_another(call: _Call, identity: str, name: str, text: str) -> bool:
    if not name or not call.given_id:
        return False
    if identity and call.own_id and identity != call.own_id:
        return True
    if call.is_empty:
        return name != call.name
    return bool(text) and call.arguments.is_complete()


def _delta(number: int, function: Json, **more: Any) -> Json:
    return {"tool_calls": [{"index": number, **more, "function": function}]}
