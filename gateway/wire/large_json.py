"""JSON whose bulk is a few data URLs, decoded and encoded without the JSON library looking through them.

A request with an image of 20 MB is 26 MB of base64 in one string. A JSON parser takes 23 ms over it, while nobody else
on the event loop is served; cutting it out and copying it takes 6. Encoding takes 13, and writing it all to a socket
30; in pieces nobody waits for it. Deliberately lenient in one point: of the control characters, which JSON forbids
inside a string, only those that wrapped base64 holds (line ends, tabs) are looked for, as looking for all would cost as
much as parsing; whoever decodes the base64 judges the others.
"""

import os
from collections.abc import Iterator
from typing import Any

import orjson

LARGE_BYTES = 1 << 20
LONG_STRING_BYTES = 1 << 18
MAX_STRINGS = 64
PIECE_CHARS = 1 << 18
OPENING = b'"data:'
NOT_PLAIN = (b"\\", b"\n", b"\r", b"\t")


class LongText:
    """Stands for a string of many megabytes in a body for `encode`: ASCII that JSON writes as it is, as data URLs are.

    `of` gives the string itself when it is short, or holds what JSON escapes. No dataclass: orjson would write it as
    an object.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    @staticmethod
    def of(text: str) -> "LongText | str":
        is_plain = text.isascii() and '"' not in text and "\\" not in text
        return LongText(text) if len(text) >= LONG_STRING_BYTES and is_plain and text.startswith("data:") else text


class Pieces:
    """A JSON document in pieces, `size` bytes in all. Can be gone through more than once."""

    def __init__(self, parts: list[bytes | str]) -> None:
        self._parts = parts
        self.size = sum(len(part) for part in parts)

    def __iter__(self) -> Iterator[bytes]:
        for part in self._parts:
            for start in range(0, len(part), PIECE_CHARS):
                piece = part[start : start + PIECE_CHARS]
                yield piece if isinstance(piece, bytes) else piece.encode("ascii")


def encode(value: Any) -> bytes | Pieces:
    """The document; in pieces when there is a LongText in it."""
    texts: list[str] = []
    secret = os.urandom(16).hex()

    def name(found: Any) -> str:
        if not isinstance(found, LongText):
            raise TypeError(type(found).__name__)
        texts.append(found.text)
        return secret

    document = orjson.dumps(value, default=name)
    if not texts:
        return document
    around = document.split(secret.encode())
    parts: list[bytes | str] = [around[0]]
    for text, after in zip(texts, around[1:], strict=True):
        parts += (text, after)
    return Pieces(parts)


def decode(raw: bytes) -> Any:
    """What `orjson.loads` gives, and raises."""
    if len(raw) < LARGE_BYTES:
        return orjson.loads(raw)
    spans = _long_data_urls(raw)
    rest_bytes = len(raw) - sum(end - start for start, end in spans)
    if not spans or rest_bytes > LARGE_BYTES:
        return orjson.loads(raw)
    try:
        return _decode_around(raw, spans)
    except ValueError:  # not JSON, or not what it seemed: the error must tell of the body as it came
        return orjson.loads(raw)


def _long_data_urls(raw: bytes) -> list[tuple[int, int]]:
    """Where the long data URLs stand, without their quotes. A quote behind a backslash opens no string."""
    spans: list[tuple[int, int]] = []
    at = raw.find(OPENING)
    while at >= 0:
        start = at + 1
        end = raw.find(b'"', start)
        if end < 0:
            break
        is_long = end - start >= LONG_STRING_BYTES
        if is_long and raw[at - 1 : at] != b"\\" and all(raw.find(each, start, end) < 0 for each in NOT_PLAIN):
            spans.append((start, end))
            if len(spans) > MAX_STRINGS:
                return []
        at = raw.find(OPENING, end if is_long else start)
    return spans


def _decode_around(raw: bytes, spans: list[tuple[int, int]]) -> Any:
    """Decode with short names in the strings' places, then put these in. Raises ValueError when that cannot be done."""
    view = memoryview(raw)
    secret = os.urandom(16).hex()
    strings: dict[str, str] = {}
    pieces: list[bytes | memoryview] = []
    last = 0
    for number, (start, end) in enumerate(spans):
        name = f"{secret}-{number}"
        strings[name] = str(view[start:end], "ascii")
        pieces += (view[last:start], name.encode())
        last = end
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
    if missing:  # one was a key, or written over by a second key of its name
        raise ValueError("a long string is no value")
    return value
