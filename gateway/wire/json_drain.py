"""Encodes a JSON value piece by piece, and empties its lists and objects meanwhile where nobody else needs them.

Naive form: `orjson.dumps(value)`, then letting the value go: for a moment its JSON, and the larger buffer in which
orjson writes it, stand beside all of its objects. A text that is not ASCII would keep its UTF-8 for as long as it
lives, too.
"""

from collections.abc import Iterator
from typing import Any

import orjson

_RUN = 64
"""Members that are encoded at once. Chosen: at half twice as many calls of orjson (0.3 µs each), at double more of the
objects are left beside their JSON."""
_MAX_OPENED = 1_000
"""Chosen: containers of fewer members than a run that are opened to empty what is in them. At half bodies of many
middle-sized parts are emptied less evenly, at double the walk takes a millisecond more."""
_SCALARS = frozenset((int, float, bool, type(None)))
LONG_CHARS = 1 << 16
"""Longer texts are encoded in pieces of so many characters. Chosen: a piece takes 20 µs; at half twice as many calls,
at double texts of twice the length keep a copy of themselves."""
_TEXT_LEVELS = 4
"""How deep a member of a long list is searched for long texts. Chosen: a text of a part of a message is three levels
down, and so are the arguments of a call; at half these are not found, at double the search costs more than the rest."""
_PART_BYTES = 1 << 18
"""Bytes of JSON that are kept as one. Chosen: as long as what is written to a connection at once; at half twice as many
writes, at double twice as much is copied at a time."""


class EncodedJson:
    """The JSON of a value as bytes in order, in a value for `large_json.encode`, which does not copy it."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[bytes]) -> None:
        self.parts = parts

    @classmethod
    def of(cls, value: Any, *, is_owned: bool) -> "EncodedJson":
        """The JSON of a value. `is_owned`: nobody else has it; it is empty afterwards, and so may be all below it.

        Raises TypeError when it cannot be JSON.
        """
        parts: list[bytes] = []
        waiting: list[bytes] = []
        size = 0
        for piece in _Drain(empties=is_owned).pieces(value):
            waiting.append(piece)
            size += len(piece)
            if size >= _PART_BYTES:
                parts.append(b"".join(waiting))
                waiting, size = [], 0
        return cls([*parts, b"".join(waiting)])

    def decoded(self) -> Any:
        """The value again, a new one each time."""
        return orjson.loads(b"".join(self.parts))


class _Drain:
    """One walk. `_left`: how many more containers may be opened."""

    def __init__(self, *, empties: bool) -> None:
        self._empties = empties
        self._left = _MAX_OPENED

    def pieces(self, value: Any) -> Iterator[bytes]:
        kind = type(value)
        if kind is str and len(value) > LONG_CHARS:
            yield from _text_pieces(value)
        elif kind is list and self._may_open(value):
            yield from self._list_pieces(value)
        elif kind is dict and self._may_open(value):
            yield from self._object_pieces(value)
        else:
            yield orjson.dumps(value)

    def _may_open(self, value: list[Any] | dict[str, Any]) -> bool:
        if len(value) <= _RUN:
            self._left -= 1
        return self._left >= 0 or len(value) > _RUN

    def _list_pieces(self, value: list[Any]) -> Iterator[bytes]:
        is_opened = len(value) <= _RUN
        rest = value if self._empties else value.copy()
        rest.reverse()
        before = b"["
        while rest:
            yield before
            if is_opened:
                yield from self.pieces(rest.pop())
            else:
                run = rest[: -_RUN - 1 : -1]
                del rest[-_RUN:]
                yield from self._run_pieces(run)
            before = b","
        yield b"[]" if before == b"[" else b"]"

    def _run_pieces(self, run: list[Any]) -> Iterator[bytes]:
        """The members of a part of a long list: by themselves if there is a long text in one of them."""
        if _SCALARS.issuperset(map(type, run)) or not any(_holds_long_text(member, _TEXT_LEVELS) for member in run):
            yield orjson.dumps(run)[1:-1]
            return
        run.reverse()
        while run:
            yield from self.pieces(run.pop())
            if run:
                yield b","

    def _object_pieces(self, value: dict[str, Any]) -> Iterator[bytes]:
        is_opened = len(value) <= _RUN
        rest = value if self._empties else value.copy()
        names = list(rest)
        before = b"{"
        for start in range(0, len(names), 1 if is_opened else _RUN):
            yield before
            if is_opened:
                yield orjson.dumps(names[start]) + b":"
                yield from self.pieces(rest.pop(names[start]))
            else:
                run = {name: rest.pop(name) for name in names[start : start + _RUN]}
                yield orjson.dumps(run)[1:-1]
            before = b","
        yield b"{}" if before == b"{" else b"}"


def _holds_long_text(value: Any, levels: int) -> bool:
    kind = type(value)
    if kind is str:
        return len(value) > LONG_CHARS
    if not levels or (kind is not dict and kind is not list) or len(value) > _RUN:
        return False
    members = value.values() if kind is dict else value
    return not _SCALARS.issuperset(map(type, members)) and any(_holds_long_text(each, levels - 1) for each in members)


def _text_pieces(text: str) -> Iterator[bytes]:
    yield b'"'
    for start in range(0, len(text), LONG_CHARS):
        yield orjson.dumps(text[start : start + LONG_CHARS])[1:-1]
    yield b'"'
