"""Decodes request bodies within limits; pictures and files in base64 do not pass the JSON parser.

A request with an image of 20 MB is 26 MB of base64 in one string. What else a body holds is small, and bounded by
`JsonLimits`. So long base64 strings are cut out, the rest is measured and decoded by orjson, and the strings are put
back: `{"image_url": "data:image/png;base64,iVBOR…"}` is the same value as with `orjson.loads`.

A string is cut out where it has 64 KiB or more of base64, bare or in a data URL of an image, of audio or of a PDF, and
begins with bytes of such a file. Base64 of text counts as text, and so does a data URL of a text type.
"""

import asyncio
import binascii
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.errors import PayloadTooLarge

MAX_DEPTH = 100
"""Levels of nesting: generated schemas of tools nest a few dozen, and Python recurses over bodies."""
CUT_BYTES = 1 << 16
"""Shorter strings stay in the document."""
LARGE_BYTES = 1 << 18
"""Longer bodies are decoded in turns with other requests, and their values are charged to their sanitizing."""
_SLICE_BYTES = 1 << 17
"""Bytes whose values are counted exactly in one turn: 4 ms where they are nothing but quotes (measured)."""
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_="
_URLSAFE = bytes.maketrans(b"-_", b"+/")
_DATA_URL = re.compile(rb"data:(image|audio|application(?=/pdf;))/[a-z0-9.+-]{1,64};base64,", re.IGNORECASE)
_HEAD_CHARS = 1024
_SIGNATURES = {
    b"image": re.compile(
        rb"(?s:\x89PNG|\xff\xd8\xff|GIF8|BM|II\*\0|MM\0\*|RIFF....WEBP|....ftyp|\0\0\x01\0|\xff\x0a|\0\0\0\x0c[Jj])"
    ),
    b"audio": re.compile(rb"(?s:RIFF....WAVE|ID3|\xff[\xe0-\xff]|OggS|fLaC|....ftyp|\x1aE\xdf\xa3|FORM|#!AMR)"),
    b"application": re.compile(rb"%PDF-"),
}
"""First bytes of the formats of each type, by RFC 2083, JFIF, GIF89a, RFC 6386, ISO 14496-12 and their like."""
_WRITTEN_LEVELS = 254
_NOT_IN_TEXT = bytes(code for code in range(32) if code not in b"\t\n\r\x0c\x1b")


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """`text_bytes`: of JSON beside long base64. `values`: members, items, lists and objects."""

    text_bytes: int = 8 << 20
    values: int = 500_000


class BadJson(Exception):
    """What is wrong with a body, as the end of a sentence that begins with "the body"."""


class JsonBody:
    """A decoded body, or what is wrong with it. `size`: its bytes. `values`: how many JSON values it has at most; 0
    where it has less than LARGE_BYTES."""

    __slots__ = ("_problem", "_value", "size", "values")

    def __init__(self, raw: bytes | bytearray) -> None:
        """Decode a short body, or one whose limits were checked."""
        self.size, self.values = len(raw), 0
        self._value: Any = None
        self._problem = ""
        try:
            self._value = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            self._problem = "is empty; send a JSON object"
            if raw.strip():
                place = f"(line {error.lineno}, column {error.colno})"
                self._problem = f"is not valid JSON in UTF-8: {error.msg} {place}"
        else:
            if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and is_too_deep(self._value):
                self._value, self._problem = None, f"is nested more than {MAX_DEPTH} levels deep"

    @classmethod
    async def read(cls, raw: bytes | bytearray, limits: JsonLimits) -> "JsonBody":
        """The same for a body of any size. Others get turns meanwhile. Raises PayloadTooLarge, which names the
        setting."""
        size = len(raw)
        if size <= LARGE_BYTES and size <= min(limits.text_bytes, limits.values):
            return cls(raw)
        strings = await _cut(raw) if size > LARGE_BYTES else []
        rest = _without(raw, strings) if strings else raw
        values = await _checked(rest, limits)
        await asyncio.sleep(0)
        body = cls(rest)
        if strings and (body._problem or not _put_back(body._value, strings)):
            body = cls(raw)  # an error gives positions in the whole; a string that is a name stays where it is
        body.size = size
        body.values = values if size > LARGE_BYTES else 0
        return body

    def value(self) -> Any:
        """The decoded value. Raises BadJson."""
        if self._problem:
            raise BadJson(self._problem)
        return self._value


def is_too_deep(value: Any) -> bool:
    """Whether a decoded body is nested deeper than MAX_DEPTH.

    orjson writes no more than _WRITTEN_LEVELS, so the value is written within as many lists as there are too many.
    Walking it costs three times as much.
    """
    for _ in range(_WRITTEN_LEVELS - MAX_DEPTH):
        value = [value]
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return True
    return False


class TooManyValues(Exception):
    """A document has at least `values` JSON values, more than allowed."""

    def __init__(self, values: int) -> None:
        super().__init__(values)
        self.values = values


def value_count(raw: bytes | bytearray) -> int:
    """How many values a document has at most: one, and one for each comma and opening bracket, also in its strings."""
    return 1 + raw.count(b",") + raw.count(b"[") + raw.count(b"{")


@dataclass(frozen=True, slots=True)
class _Cut:
    """The long base64 string without its quotes at raw[start:end]: its text, and the name that stands for it."""

    start: int
    end: int
    name: str
    text: str


async def _cut(raw: bytes | bytearray) -> list[_Cut]:
    secret, cuts = os.urandom(16).hex(), list[_Cut]()
    for start, end in _long_strings(raw):
        if (text := _base64_text(raw[start:end])) is not None:
            cuts.append(_Cut(start, end, f"{secret}-{len(cuts)}", text))
        await asyncio.sleep(0)
    return cuts


def _long_strings(raw: bytes | bytearray) -> Iterator[tuple[int, int]]:
    """Start and end of what stands between two quotes and has CUT_BYTES or more.

    Naive form: look at each quote. A long string has half of CUT_BYTES without a quote at one of few places.
    """
    at, stretch = 0, CUT_BYTES // 2
    while at < len(raw):
        if raw.find(b'"', at, at + stretch) >= 0:
            at += stretch
            continue
        start, end = raw.rfind(b'"', 0, at) + 1, raw.find(b'"', at + stretch)
        if end < 0:
            return
        is_escaped = raw[start - 2 : start - 1] == b"\\"
        if start and not is_escaped and end - start >= CUT_BYTES:
            yield start, end
        at = end + 1


def _base64_text(string: bytes | bytearray) -> str | None:
    """The text of a JSON string that is cut out; None for one that stays."""
    if b"\\" in string[: 2 * _HEAD_CHARS]:
        if string.count(b"\\") != string.count(b"\\/"):
            return None
        string = string.translate(None, b"\\")
    url = _DATA_URL.match(string)
    start = url.end() if url is not None else 0
    head = string[start : start + _HEAD_CHARS].translate(_URLSAFE)
    if head.translate(None, _BASE64):  # most strings of text end here
        return None
    try:
        first = binascii.a2b_base64(head[: len(head) - len(head) % 4])
    except binascii.Error:
        return None
    if not _is_of(first, url[1].lower() if url is not None else b""):
        return None
    payload = memoryview(string)[start:] if start else string
    return None if bytes(payload).translate(None, _BASE64) else str(string, "ascii")


def _is_of(first: bytes, family: bytes) -> bool:
    """Whether a file begins as those of a family of media types do; of none, as binary files do."""
    if family:
        return _SIGNATURES[family].match(first) is not None
    if first.startswith(b"%PDF-") or first.translate(None, _NOT_IN_TEXT) != first:
        return True
    try:
        first[:-4].decode()
    except UnicodeDecodeError:
        return True
    return False


def _without(raw: bytes | bytearray, cuts: list[_Cut]) -> bytes:
    """The document with a name in the place of each string."""
    pieces, last = list[bytes | memoryview](), 0
    view = memoryview(raw)
    for cut in cuts:
        pieces += (view[last : cut.start], cut.name.encode())
        last = cut.end
    return b"".join((*pieces, view[last:]))


def _put_back(value: Any, cuts: list[_Cut]) -> bool:
    """Put the strings in the place of their names; whether all of them were found."""
    texts = {cut.name: cut.text for cut in cuts}
    missing, waiting = len(texts), [value]
    while waiting and missing:
        holder = waiting.pop()
        members = list(holder.items()) if type(holder) is dict else enumerate(holder) if type(holder) is list else ()
        for key, member in members:
            if type(member) is str:
                if member in texts:
                    holder[key] = texts[member]
                    missing -= 1
            elif type(member) is dict or type(member) is list:
                waiting.append(member)
    return missing == 0


async def _checked(raw: bytes | bytearray, limits: JsonLimits) -> int:
    """How many values a body has at most. Raises PayloadTooLarge."""
    if len(raw) > limits.text_bytes:
        raise PayloadTooLarge(
            f"the request body has {len(raw)} bytes of JSON beside files in base64; the limit is {limits.text_bytes} "
            "(server.max_text_bytes)"
        )
    values = value_count(raw)
    if values <= limits.values:
        return values
    try:
        for counted in _exact_counts(raw, limits.values):
            values = counted
            await asyncio.sleep(0)
    except TooManyValues as error:
        raise PayloadTooLarge(
            f"the request body has at least {error.values} JSON values; the limit is {limits.values} "
            "(server.max_json_values)"
        ) from None
    return values


def _exact_counts(raw: bytes | bytearray, most: int) -> Iterator[int]:
    """As `value_count` without what is in strings: how many there are so far, slice by slice. Raises TooManyValues.

    Of the values that may be there, each has at most a name and a string: more quotes belong to no JSON that passes.
    """
    values, quotes, is_inside, start = 1, 0, False, 0
    while start < len(raw):
        end = _end_of_slice(raw, start)
        pieces = bytes(raw[start:end]).replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        values += value_count(b"".join(pieces[is_inside::2])) - 1
        quotes += len(pieces) - 1
        if values > most or quotes > 4 * most:
            raise TooManyValues(max(values, quotes // 4))
        is_inside ^= len(pieces) % 2 == 0
        start = end
        yield values


def _end_of_slice(raw: bytes | bytearray, start: int) -> int:
    """The end of the slice that begins at `start`: never between a backslash and what it escapes."""
    end = start + _SLICE_BYTES
    if end >= len(raw) or raw[end - 1] != 0x5C:
        return end
    run_start = end - 1
    while run_start > start and raw[run_start - 1] == 0x5C:
        run_start -= 1
    return end + 1 if (end - run_start) % 2 else end
