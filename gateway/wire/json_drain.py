"""Encodes a JSON value piece by piece, and empties its lists and objects meanwhile where nobody else needs them.

Naive form: `orjson.dumps(value)`, then letting the value go: for a moment its JSON, and the larger buffer in which
orjson writes it, stand beside all of its objects. A text that is not ASCII would keep its UTF-8 for as long as it
lives, too.
"""

import codecs
import json
from collections.abc import Iterator
from typing import Any

import orjson

from gateway.long_texts import LONG_CHARS, MeasuredBytes, Utf8Text
from gateway.resilience.slices import Steps, all_steps
from gateway.wire.json_default import as_json, string_parts
from gateway.wire.logprobs import PackedLogprobs

_RUN = 64
"""Members that are encoded at once. Chosen: at half twice as many calls of orjson (0.3 µs each), at double more of the
objects are left beside their JSON."""
_LEAST_WEIGHT, _CHARS_A_UNIT, _SHARE = 512, 128, 32
"""What is encoded at once has at most so many values, and a text is one for each so many characters (64 KB in all); or
that share of all values. Chosen: encoding the first takes 30 µs; at half small parts are opened (1 µs a member), at
double larger ones stay beside their JSON."""
_MAX_WEIGHED = 100_000
"""Values that are looked at for their weight; what comes after them is encoded at once. Chosen: they take 20 ms; at
half bodies of 2 MB of small values are emptied in part, at double a large body holds the loop twice as long."""
_KEPT_CHARS = 256
"""UTF-8 of so many characters may stay with a text. Chosen: a text in parts takes 2 µs more. At half histories of short
messages are encoded at half the speed, at double a body of 1 MB in 1,900 texts keeps all of it."""
_SCALARS = frozenset((int, float, bool, type(None)))
_LONG_VALUES = 2_000
"""Values of an answer whose lengths are added up. Chosen: this takes 60 µs. At half, answers of embeddings are encoded
in pieces, which is slower, for nothing; at double, the check of an answer of many small values takes twice as long."""
_PART_BYTES = 1 << 18
"""Bytes of JSON that are kept as one. Chosen: as long as what is written to a connection at once; at half twice as many
writes, at double twice as much is copied at a time."""


_BEYOND_ASCII, _INNER = bytes(range(0x80, 0x100)), bytes(range(0x80, 0xC0))
_NO_FOURTH = bytes(range(0xF0))
"""Bytes of UTF-8: of other characters than ASCII; those that begin none; those of no character beyond U+FFFF."""


def is_long(root: Any) -> bool:
    """Whether a value has more text than LONG_CHARS, or very many values: then it is encoded in pieces."""
    seen = [root]
    for value in seen:  # which grows meanwhile
        kind = type(value)
        if kind is dict or kind is list:
            members = value.values() if kind is dict else value
            if len(seen) + len(value) > _LONG_VALUES:
                if not _SCALARS.issuperset(map(type, members)):
                    return True
                break
            seen += members
        elif kind is Utf8Text:
            return True
    return sum([len(value) for value in seen if type(value) is str]) > LONG_CHARS


def json_pieces(value: Any) -> Iterator[bytes]:
    """The JSON of a value, which is not changed, in pieces of any size. Raises TypeError when it cannot be JSON."""
    return _Drain(_LEAST_WEIGHT, empties=False).pieces(value)


class EncodedJson:
    """The JSON of a value as bytes in order, in a value for `large_json.encode`, which does not copy it."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[bytes]) -> None:
        self.parts = parts

    @classmethod
    def of(cls, value: Any, *, is_owned: bool, values: int = 0) -> "EncodedJson":
        """The JSON of a value. `is_owned`: nobody else has it; it may be empty afterwards, and so may be all below it.
        `values`: how many it is one of, as far as that is known.

        Raises TypeError when it cannot be JSON.
        """
        return all_steps(cls.steps_of(value, is_owned=is_owned, values=values))

    @classmethod
    def steps_of(cls, value: Any, *, is_owned: bool, values: int = 0) -> Steps["EncodedJson"]:
        """As `of` in steps of at most some milliseconds, between which nobody may change the value."""
        parts: list[bytes] = []
        waiting = bytearray()  # not a list: orjson allocates a KB for the shortest piece
        for piece in _Drain(max(_LEAST_WEIGHT, values // _SHARE), empties=is_owned).pieces(value):
            waiting += piece
            if len(waiting) >= _PART_BYTES:
                parts.append(bytes(waiting))
                waiting.clear()
            yield
        return cls([*parts, bytes(waiting)])

    def text_steps(self) -> Steps[str]:
        """The JSON as a text, in steps as above; there are no parts afterwards. In ASCII where one emoji would make
        Python take four bytes for each of its many ASCII characters."""
        parts, self.parts = self.parts[::-1], []
        is_wide = _is_wide(parts)
        joined = MeasuredBytes(sum(map(_ascii_size if is_wide else len, parts)))
        while parts:
            for piece in _ascii_json(parts.pop()) if is_wide else (parts.pop(),):
                joined.add(piece)
                yield
        return joined.take().decode()

    def decoded(self) -> Any:
        """The value again, a new one each time."""
        return orjson.loads(b"".join(self.parts))


class _Drain:
    """One walk. `_left`: how many more values may be weighed."""

    def __init__(self, max_weight: int, *, empties: bool) -> None:
        self._max_weight = max_weight
        self._empties = empties
        self._left = _MAX_WEIGHED

    def pieces(self, value: Any) -> Iterator[bytes]:
        kind = type(value)
        if kind is str and len(value) > LONG_CHARS:
            yield from string_parts(_text_pieces(value, LONG_CHARS))
        elif kind is str and self._would_keep(value):
            yield from string_parts(_text_pieces(value, len(value) // 2 + 1))
        elif kind is Utf8Text:
            yield from string_parts(value.pieces())
        elif kind is PackedLogprobs:
            yield from value.parts
        elif (kind is not list and kind is not dict) or (len(value) <= _RUN and self._is_light(value)):
            yield orjson.dumps(value, default=as_json)
        elif kind is list:
            yield from self._list_pieces(value)
        else:
            yield from self._object_pieces(value)

    def _is_light(self, root: Any) -> bool:
        """Whether a value is small enough to be encoded at once, or too many were weighed already."""
        weight, stack = 0, [root]
        while stack and self._left > 0:
            value = stack.pop()
            kind = type(value)
            if kind is str:
                if self._would_keep(value):
                    return False
                weight += len(value) // _CHARS_A_UNIT
            elif kind is Utf8Text:
                weight += len(value.utf8) // _CHARS_A_UNIT
            elif kind is PackedLogprobs:
                weight += sum(map(len, value.parts)) // _CHARS_A_UNIT
            elif kind is dict or kind is list:
                weight += len(value)
                self._left -= len(value)
                if kind is dict and any(map(LONG_CHARS.__lt__, map(len, value))):
                    return False  # a name is a text, too
                if weight <= self._max_weight:
                    members = value.values() if kind is dict else value
                    stack += () if _SCALARS.issuperset(map(type, members)) else members
            if weight > self._max_weight:
                return False
        return True

    def _would_keep(self, text: str) -> bool:
        """Whether a text that is not let go would keep its UTF-8 if it were encoded as it is, and not in parts."""
        return len(text) > _KEPT_CHARS and not self._empties and not text.isascii()

    def _list_pieces(self, value: list[Any]) -> Iterator[bytes]:
        rest = value if self._empties else value.copy()
        rest.reverse()
        before = b"["
        while rest:
            run = rest[: -_RUN - 1 : -1]
            del rest[-_RUN:]
            yield before
            if self._is_light(run):
                yield orjson.dumps(run, default=as_json)[1:-1]
            else:
                yield from self._each(run)
            before = b","
        yield b"[]" if before == b"[" else b"]"

    def _each(self, run: list[Any]) -> Iterator[bytes]:
        run.reverse()
        while run:
            yield from self.pieces(run.pop())
            if run:
                yield b","

    def _object_pieces(self, value: dict[str, Any]) -> Iterator[bytes]:
        rest = value if self._empties else value.copy()
        names = list(rest)
        before = b"{"
        for start in range(0, len(names), _RUN):
            run = {name: rest.pop(name) for name in names[start : start + _RUN]}
            if self._is_light(run):
                yield before
                yield orjson.dumps(run, default=as_json)[1:-1]
            else:
                for name in list(run):
                    yield before
                    yield from self.pieces(name)
                    yield b":"
                    yield from self.pieces(run.pop(name))
                    before = b","
            before = b","
        yield b"{}" if before == b"{" else b"}"


def _text_pieces(text: str, chars: int) -> Iterator[str]:
    for start in range(0, len(text), chars):
        yield text[start : start + chars]


def _is_wide(parts: list[bytes]) -> bool:
    """Whether these take four bytes a character as a text, and at most half of that with escapes for all but ASCII."""
    if not any(part.translate(None, _NO_FOURTH) for part in parts):
        return False
    chars = sum(len(part.translate(None, _INNER)) for part in parts)
    plain = sum(len(part.translate(None, _BEYOND_ASCII)) for part in parts)
    return plain + 3 * (sum(map(len, parts)) - plain) < 2 * chars  # an escape: at most three times a character's bytes


def _ascii_size(part: bytes) -> int:
    """The bytes of JSON with escapes for all but ASCII: an escape has six, and there are two for a character beyond
    U+FFFF, which begins with a byte of its own."""
    begins = len(part.translate(None, _INNER))
    plain = len(part.translate(None, _BEYOND_ASCII))
    return plain + 6 * (begins - plain) + 6 * len(part.translate(None, _NO_FOURTH))


def _ascii_json(part: bytes) -> Iterator[bytes]:
    """JSON with escapes for all but ASCII, in pieces. A JSON string is made of each, and its own quotes and backslashes
    are restored: the standard library's C does that in 10 ms a megabyte, a pattern of alternating letters in 50 ms."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(part), LONG_CHARS):
        quoted = json.encoder.encode_basestring_ascii(decoder.decode(part[start : start + LONG_CHARS]))[1:-1]
        yield quoted.replace("\\\\", "\0").replace('\\"', '"').replace("\0", "\\").encode()
