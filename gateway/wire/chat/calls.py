"""The calls of a streamed answer, mended: each one's index, id, type, name and kept members once, then its arguments.

Clients join what comes twice. A call's pieces wait until its name is known. Source: OpenAI API reference and the deltas
of vLLM, Ollama, llama.cpp, Gemini, Kimi (facts read 2026-11-21 and 2026-11-28).
"""

import re
from typing import Any

from gateway.domain import Json
from gateway.errors import UpstreamError
from gateway.wire.chat.answer import MAX_CALLS, TOO_MANY_CALLS, new_id
from gateway.wire.chat.call_ids import CallIds
from gateway.wire.chat.kept import StateSoFar
from gateway.wire.chat.said import Called, called, place_of, plain_arguments

_TEXTS = {"function": "arguments", "custom": "input"}
"""The member with a call's text, by its kind."""
_MOST_HELD = 16_384
"""Characters of arguments that wait, as they may be encoded twice."""
_MAY_BE_EMPTY = re.compile(r"\s*(?:\{\s*(?:\}\s*)?)?")
_BRACKETS = re.compile(r'["\\{}\[\]]')


class JsonEnd:
    """The text of one call's arguments, of `size` characters."""

    def __init__(self) -> None:
        self._unread: list[str] = []
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._ended = False
        self.size = 0

    def add(self, piece: str) -> None:
        """Add a piece; the next `is_complete` reads it."""
        self.size += len(piece)
        self._unread.append(piece)

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
    text that came before its name. `held`: what may be an empty object before the true arguments, or a text that
    holds them."""

    __slots__ = ("arguments", "extras", "given_id", "held", "kind", "name", "own_id", "waiting")

    def __init__(self, own_id: str, kind: str) -> None:
        self.own_id, self.kind = own_id, kind
        self.given_id = ""
        self.name = ""
        self.arguments = JsonEnd()
        self.extras: Json = {}
        self.waiting: list[str] = []
        self.held = ""

    def begun(self, text: str) -> str:
        """The first piece of the arguments, made plain; empty while it is not known what it is."""
        text, self.held = text if _has_all(text, self.held) else self.held + text, ""
        made = plain_arguments(text)
        if len(text) <= _MOST_HELD and (made[:1] == '"' or _MAY_BE_EMPTY.fullmatch(text)):
            self.held, made = text, ""
        return made


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

    def take(self, incoming: list[Json]) -> list[Json]:
        """Our deltas for the `tool_calls` of one of theirs: `{tool_calls: [{index, id?, type?, function, …}]}` each.

        `function` is `{name, arguments: ""}` in a call's first delta and `{arguments}` in the others; of a custom call
        it is `custom`, `{name, input: ""}`. Raises UpstreamError for more than MAX_CALLS.
        """
        return [delta for at, each in enumerate(incoming) for delta in self._call_deltas(each, at, len(incoming))]

    def flush(self) -> list[Json]:
        """The deltas of calls whose name never came, with an empty name, and `{}` where no arguments came."""
        deltas: list[Json] = []
        for number, call in enumerate(self._calls):
            if not call.given_id:
                deltas += self._announce(number, call)
            if not call.arguments.size and call.kind == "function":
                deltas += self._piece(number, call, call.held or "{}")
        return deltas

    def _call_deltas(self, incoming: Json, position: int, count: int) -> list[Json]:
        piece, index = called(incoming), place_of(incoming, -1)
        text, kept = piece.text or "", piece.kept
        if not (self._calls or piece.identity or piece.name or text):
            return []  # some servers send one in each answer
        number = self._call_number(index, piece, position, count)
        call = self._calls[number]
        call.name = call.name or piece.name
        if call.kind == "function" and not call.arguments.size:
            text = call.begun(text)
        elif call.kind == "function" and text[:1] == "{" and len(text) >= call.arguments.size:
            known = self._state.calls.get(number)
            before = "".join(known["arguments"] if known is not None else call.waiting)
            text = text[len(before) :] if _has_all(text, before) else text
        if text:
            call.arguments.add(text)
        if not call.given_id:
            call.extras |= kept
            call.waiting += [text] if text else []
            return self._announce(number, call) if call.name else []
        if kept:
            self._state.call(number, "", "", "", kept)
        late: list[Json] = (
            [] if not kept or self._legacy else [_delta(number, call.kind, {_TEXTS[call.kind]: ""}, **kept)]
        )
        return late + (self._piece(number, call, text) if text else [])

    def _call_number(self, index: int, piece: Called, position: int, count: int) -> int:
        """Which call a piece belongs to: by its id and index, else by one of them, else to the last one.

        A piece that names a function begins another call where it has another id, or where the arguments so far are
        complete and it has some of its own: some servers send one index, or one id, for every call. One without a name
        and id goes on with a call that is not complete, whatever its index.
        """
        identity = piece.identity
        known = self._by_index.get(index)
        if identity and (known is None or self._calls[known].own_id not in ("", identity)):
            same = [number for number, call in enumerate(self._calls) if call.own_id == identity]
            known = same[-1] if same and not (piece.name and index >= 0) else known
        if known is None and index < 0:
            last = self._calls[-1] if self._calls else None
            if last is not None and not ((identity and last.own_id) or (piece.name and last.name)):
                known = len(self._calls) - 1 if count == 1 else min(position, len(self._calls) - 1)
        elif known is None and self._calls and not (identity or piece.name or self._calls[-1].arguments.is_complete()):
            known = len(self._calls) - 1
        if known is None or _begins_another(self._calls[known], piece):
            known = self._add_call(piece)
        if index >= 0:
            self._by_index[index] = known
        call = self._calls[known]
        call.own_id = call.own_id or identity
        return known

    def _add_call(self, piece: Called) -> int:
        if len(self._calls) >= MAX_CALLS:
            raise UpstreamError(TOO_MANY_CALLS)
        self._calls.append(_Call(piece.identity, piece.kind))
        return len(self._calls) - 1

    def _announce(self, number: int, call: _Call) -> list[Json]:
        call.given_id = self._ids.unique(call.own_id or new_id("call_"))
        self._state.call(number, call.given_id, call.name, "", call.extras)
        first: Json = {"name": call.name, _TEXTS[call.kind]: ""}
        waiting = "".join(call.waiting)
        call.waiting.clear()
        if self._legacy:
            head: list[Json] = [{"function_call": first}] if number == 0 else []
        else:
            head = [_delta(number, call.kind, first, id=call.given_id, type=call.kind, **call.extras)]
        return head + (self._piece(number, call, waiting) if waiting else [])

    def _piece(self, number: int, call: _Call, text: str) -> list[Json]:
        self._state.call(number, "", "", text, {})
        if self._legacy:
            return [{"function_call": {"arguments": text}}] if number == 0 else []
        return [_delta(number, call.kind, {_TEXTS[call.kind]: text})]


def _has_all(text: str, before: str) -> bool:
    """Whether a piece of arguments begins with all that came before it, as some servers send them in each delta, or at
    the end: no JSON object goes on with its own beginning."""
    return before[:1] == "{" and text.startswith(before)


def _begins_another(call: _Call, piece: Called) -> bool:
    if not piece.name or not call.given_id:
        return False
    if piece.identity and call.own_id and piece.identity != call.own_id:
        return True
    if call.held:
        return piece.name != call.name
    return bool(piece.text) and call.arguments.is_complete()


def _delta(number: int, kind: str, inner: Json, **more: Any) -> Json:
    return {"tool_calls": [{"index": number, **more, kind: inner}]}
