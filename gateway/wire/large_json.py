"""Decodes and encodes JSON with large data URLs without passing these through the JSON library.

Naive forms: `decode(raw)` equals `orjson.loads(raw)`, and the pieces of `encode(value)` joined equal `orjson.dumps` of
the value with plain strings in place of LongText. Why: a request with an image of 20 MB is 26 MB of base64 in one
string. orjson decodes it in 23 ms, during which the event loop serves nobody else; cutting the string out and copying
it takes 6 ms. Encoding takes 13 ms and writing to a socket 30 ms; in pieces, other requests run in between.

Lenient in one point: of the control characters that JSON forbids inside a string, only those of wrapped base64 (line
ends, tabs) are looked for, since a search for all costs as much as parsing. The base64 decoder refuses the others.
"""

import gc
import os
import re
from collections.abc import Iterator
from typing import Any

import orjson

from gateway.resilience.freed_memory import give_back
from gateway.resilience.slices import Steps, all_steps
from gateway.wire.json_drain import EncodedJson
from gateway.wire.json_packing import Packer
from gateway.wire.json_pieces import decode_in_steps

LARGE_BYTES = 1 << 20
"""No more goes to orjson at once: 1 ms for plain text, 6 ms for escapes or letters of several bytes. At half ordinary
bodies are decoded at a third of the speed, at double the event loop is blocked twice as long."""
DENSE_BYTES, DENSE_VALUE_BYTES = 1 << 18, 48
"""Documents of the first size and more, with a value in less than the second on average, are decoded in pieces even
below LARGE_BYTES. Chosen: orjson needs half a megabyte for the first beside the values, and half as much as the
document for the second. At half more ordinary bodies are decoded at a third of the speed, at double less memory is
saved."""
LONG_STRING_BYTES = 1 << 18
"""Shorter strings stay in the document. Chosen: orjson takes about 0.2 ms for this size; at half more small images are
cut out for a smaller gain, at double each string that stays blocks the event loop twice as long."""
MAX_STRINGS = 64
"""More long strings than this and the document is decoded in pieces. Chosen: eight times the images that a request may
hold; bounds the work for a document made to have many."""
PIECE_CHARS = 1 << 18
"""Size of the pieces that are written. Chosen: copying one takes well under a millisecond; at double other requests
wait twice as long between pieces, at half there are twice as many writes."""
COPIED_BYTES = 1 << 21
"""Bytes of a long string copied, or of a document searched, in one step: a millisecond. At half there are twice as many
steps; at double others wait twice as long."""
_NO_VALUE = re.compile(rb"[ \t\r\n]*+(?![\[{\"\-0-9tfn])")
_CONTAINER = re.compile(rb"\A[ \t\r\n]*+[\[{]")
_HEAD_BYTES = 1 << 10
OPENING = b'"data:'
"""How a JSON string with a data URL begins."""
NOT_PLAIN = (b"\\", b"\n", b"\r", b"\t")
"""Bytes that keep a string from being cut out: JSON would decode or refuse them."""


class LongText:
    """A long string in a value for `encode`: ASCII without characters that JSON escapes, such as a data URL.

    Make it with `of`. Not a dataclass, since orjson would write one as an object.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    @staticmethod
    def of(text: str) -> "LongText | str":
        """A LongText for a long data URL; the string itself for any other."""
        is_plain = text.isascii() and '"' not in text and "\\" not in text
        return LongText(text) if len(text) >= LONG_STRING_BYTES and is_plain and text.startswith("data:") else text


class Pieces:
    """A JSON document in pieces of at most PIECE_CHARS bytes, `size` bytes in all. Can be iterated repeatedly."""

    def __init__(self, parts: list[bytes | str]) -> None:
        self._parts = parts
        self.size = sum(len(part) for part in parts)

    def __iter__(self) -> Iterator[bytes]:
        for part in self._parts:
            for start in range(0, len(part), PIECE_CHARS):
                piece = part[start : start + PIECE_CHARS]
                yield piece if isinstance(piece, bytes) else piece.encode("ascii")


def encode(value: Any) -> bytes | Pieces:
    """The document as bytes, or as Pieces when the value has a LongText or an EncodedJson. Raises TypeError when it
    cannot be JSON."""
    found: list[LongText | EncodedJson] = []
    secret = os.urandom(16).hex()

    def placeholder(item: Any) -> Any:
        if not isinstance(item, LongText | EncodedJson):
            raise TypeError(type(item).__name__)
        found.append(item)
        return secret if isinstance(item, LongText) else orjson.Fragment(secret)

    document = orjson.dumps(value, default=placeholder)
    if not found:
        return document
    around = document.split(secret.encode())
    parts: list[bytes | str] = [around[0]]
    for item, after in zip(found, around[1:], strict=True):
        if isinstance(item, LongText):
            parts.append(item.text)
        else:
            parts += item.parts
        parts.append(after)
    return Pieces(parts)


def decode(raw: bytes | bytearray) -> Any:
    """Equals `orjson.loads(raw)`, also in the errors that it raises (`orjson.JSONDecodeError`).

    A bytearray is empty afterwards: a large body is let go as soon as its values exist.
    """
    if type(raw) is bytes and len(raw) < DENSE_BYTES:
        return orjson.loads(raw)
    if isinstance(raw, DecodedBody):
        return raw.take()
    if len(raw) < DENSE_BYTES:
        value = orjson.loads(raw)
        if type(raw) is bytearray:
            raw.clear()
        return value
    return all_steps(_without_collections(_steps(raw)))


def decode_steps(raw: bytes | bytearray, packer: Packer | None = None) -> Steps["DecodedBody"]:
    """What `decode` takes in place of `raw`, made in steps of a few milliseconds.

    A document of many values is decoded as `packer` says; what that raises is raised.
    """
    size, steps = len(raw), _steps(raw, packer)
    del raw
    try:
        value = yield from _without_collections(steps)
    except orjson.JSONDecodeError as error:
        return DecodedBody(size, error=error)
    return DecodedBody(size, value)


class DecodedBody(bytearray):
    """A body that was decoded already, in the place of its bytes: `decode` returns its value, or raises what was wrong
    with it. Holds no bytes, but has the length that they had."""

    __slots__ = ("_error", "_size", "_value")

    def __init__(self, size: int, value: Any = None, error: orjson.JSONDecodeError | None = None) -> None:
        super().__init__()
        self._size, self._value, self._error = size, value, error

    def __len__(self) -> int:
        return self._size

    def take(self) -> Any:
        """The value, once; it is not kept."""
        value = self.peek()
        self._value = None
        return value

    def peek(self) -> Any:
        """The value, which is kept."""
        if self._error is not None:
            raise self._error
        return self._value


def _steps(raw: bytes | bytearray, packer: Packer | None = None) -> Steps[Any]:
    """Data URLs are cut out where what is left is small; else a large or dense document is decoded in pieces."""
    spans = (yield from _long_data_urls(raw)) if len(raw) >= LARGE_BYTES else []
    rest_bytes = len(raw) - sum(end - start for start, end in spans)
    if spans and rest_bytes <= LARGE_BYTES:
        try:
            value = yield from _decode_around(raw, spans)
            return _let_go(raw, value)
        except ValueError:  # not JSON, or a string cut wrongly: an error must give positions in the original
            pass
    is_dense = (packer is not None and packer.utf8_names) or len(raw) > LARGE_BYTES or _is_dense(raw)
    if is_dense and (space := _NO_VALUE.match(raw)):  # no JSON from the first character on: an error would copy it all
        return orjson.loads(raw[: space.end() + _HEAD_BYTES].decode(errors="ignore"))
    if not (is_dense and _CONTAINER.match(raw)):
        return _let_go(raw, orjson.loads(raw))
    yield
    if not isinstance(raw, bytearray):
        raw = bytearray(raw)
        give_back()  # else the bytes before it stay taken beside all values
    value = yield from decode_in_steps(raw, packer=packer)
    return value


def _is_dense(raw: bytes | bytearray) -> bool:
    return sum(map(raw.count, (b",", b"[", b"{"))) * DENSE_VALUE_BYTES > len(raw)


def _without_collections(steps: Steps[Any]) -> Steps[Any]:
    """The same steps without garbage collections in them, which would walk the growing value again and again: half of
    the time for many lists."""
    while True:
        collects = gc.isenabled()
        gc.disable()
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        finally:
            if collects:
                gc.enable()
        yield


def _let_go(raw: bytes | bytearray, value: Any) -> Any:
    if isinstance(raw, bytearray):
        raw.clear()
    return value


def _long_data_urls(raw: bytes | bytearray) -> Steps[list[tuple[int, int]]]:
    """Start and end of the long data URLs, without their quotes; empty when there are too many.

    Naive form: search for `OPENING`, which a document may have by the million. Whatever is as long as a long string has
    half of that without a quote, at one of few places.
    """
    spans: list[tuple[int, int]] = []
    at, stretch = 0, LONG_STRING_BYTES // 2
    while at < len(raw):
        if raw.find(b'"', at, at + stretch) >= 0:
            at += stretch
            yield
            continue
        start = raw.rfind(b'"', 0, at) + 1
        end = yield from _find(raw, b'"', at + stretch)
        if end < 0:
            break
        is_url = end - start >= LONG_STRING_BYTES and raw.startswith(OPENING, max(0, start - 1))
        is_plain = is_url and raw[start - 2 : start - 1] != b"\\"
        for each in NOT_PLAIN if is_plain else ():
            is_plain = is_plain and (yield from _find(raw, each, start, end)) < 0
        if is_plain:
            spans.append((start, end))
            if len(spans) > MAX_STRINGS:
                return []
        at = end + 1
    return spans


def _find(raw: bytes | bytearray, what: bytes, start: int, end: int | None = None) -> Steps[int]:
    """As `raw.find(what, start, end)`."""
    end = len(raw) if end is None else end
    while start < end:
        found = raw.find(what, start, min(start + COPIED_BYTES + len(what) - 1, end))
        if found >= 0:
            return found
        start += COPIED_BYTES
        yield
    return -1


def _text_of(view: memoryview) -> Steps[str]:
    """The ASCII text of some bytes. Python lets a string grow in place where nothing else refers to it: so no step
    copies more than a piece, nor waits for the memory of the whole (26 MB in one step took 12 ms, two thirds of it for
    fresh memory)."""
    text = ""
    for start in range(0, len(view), COPIED_BYTES):
        text += str(view[start : start + COPIED_BYTES], "ascii")
        yield
    return text


def _decode_around(raw: bytes | bytearray, spans: list[tuple[int, int]]) -> Steps[Any]:
    """Decodes with short placeholders for the strings, then replaces these. ValueError when one is not a value."""
    view = memoryview(raw)
    secret = os.urandom(16).hex()
    strings: dict[str, str] = {}
    pieces: list[bytes | memoryview] = []
    last = 0
    for number, (start, end) in enumerate(spans):
        name = f"{secret}-{number}"
        strings[name] = yield from _text_of(view[start:end])
        pieces += (view[last:start], name.encode())
        last = end
    yield
    value = orjson.loads(b"".join([*pieces, view[last:]]))
    missing = len(strings)
    waiting = [value]
    while waiting:
        container = waiting.pop()
        for place, item in list(container.items() if isinstance(container, dict) else enumerate(container)):
            if isinstance(item, str):
                if item in strings:
                    container[place] = strings[item]
                    missing -= 1
            elif isinstance(item, dict | list):
                waiting.append(item)
    if missing:  # one was a key, or a second key of the same name replaced it
        raise ValueError("a long string is not a value")
    return value
