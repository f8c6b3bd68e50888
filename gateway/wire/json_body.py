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
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from gateway.errors import PayloadTooLarge
from gateway.wire import json_counts

MAX_DEPTH = 100
"""Levels of nesting: generated schemas of tools nest a few dozen, and Python recurses over bodies."""
_COUNTED_BYTES = 1 << 12
"""Counting the brackets of a longer body takes longer than finding out how deep it is."""
CUT_BYTES = 1 << 16
"""Shorter strings stay in the document."""
LARGE_BYTES = 1 << 18
"""Longer bodies are decoded in turns with other requests."""
_MAX_NAMES = 400_000
"""Names of members that a body may have, where `JsonLimits.values` is no more. Each one that differs from the others
takes 0.2 µs to decode, which nothing interrupts: as many as 8 MiB have room for would hold the event loop for 200 ms.
"""
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
    """`text_bytes`: of JSON beside long base64. `values`: strings that are no names of members, lists and objects.
    `numbers`: these alone; true, false and null do not count."""

    text_bytes: int = 8 << 20
    values: int = 100_000
    numbers: int = 1_000_000

    @property
    def names(self) -> int:
        """Names of members: more than a body with all its values in members has, unless its operator raised those."""
        return max(self.values, _MAX_NAMES)


class BadJson(Exception):
    """What is wrong with a body, as the end of a sentence that begins with "the body"."""


class JsonBody:
    """A decoded body, or what is wrong with it. `size`: its bytes. `is_plain`: its check found that nothing in it needs
    to be changed before it goes to an upstream."""

    __slots__ = ("_may_be_deep", "_problem", "_value", "is_plain", "size")

    def __init__(self, raw: bytes | bytearray) -> None:
        """Decode a short body, or one whose limits were checked."""
        self.size = size = len(raw)
        self.is_plain = self._may_be_deep = False
        self._value: Any = None
        self._problem = ""
        try:
            self._value = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            self._problem = "is empty; send a JSON object"
            if raw.strip():
                place = f"(line {error.lineno}, column {error.colno})"
                # orjson reserves a place for each value that so many bytes can be expected to hold
                what = "too many brackets are open" if error.msg.startswith("failed to allocate") else error.msg
                self._problem = f"is not valid JSON in UTF-8: {what} {place}"
        else:
            self._may_be_deep = size > _COUNTED_BYTES or raw.count(b"[") + raw.count(b"{") > MAX_DEPTH

    @classmethod
    async def read(cls, raw: bytes | bytearray, limits: JsonLimits) -> "JsonBody":
        """The same for a body of any size. Others get turns meanwhile. Raises PayloadTooLarge, which names the
        setting."""
        size = len(raw)
        if size <= min(LARGE_BYTES, limits.text_bytes, 2 * limits.values, 2 * limits.numbers):
            return cls(raw)  # each value takes two bytes or more
        strings = await _cut(raw) if size > LARGE_BYTES else []
        rest = _without(raw, strings) if strings else raw
        await _check(rest, limits)
        await asyncio.sleep(0)
        body = cls(rest)
        if strings and (body._problem or not _put_back(body._value, strings)):
            body = cls(raw)  # an error gives positions in the whole; a string that is a name stays where it is
        body.size = size
        return body

    @property
    def is_large(self) -> bool:
        """Whether what is done to all of it takes milliseconds."""
        return self.size > LARGE_BYTES

    def value_of_any_depth(self) -> Any:
        """The decoded value, however deep it is. Raises BadJson."""
        if self._problem:
            raise BadJson(self._problem)
        return self._value

    def value(self) -> Any:
        """The decoded value. Raises BadJson."""
        value = self.value_of_any_depth()
        if self._may_be_deep and is_too_deep(value):
            raise BadJson(f"is nested more than {MAX_DEPTH} levels deep")
        return value


class _Nest(threading.local):
    """As many lists, each within the next, as orjson writes more levels than a body may have. One a thread: making
    them takes 6 µs, a twentieth of a small chat."""

    def __init__(self) -> None:
        self.innermost: list[Any] = [None]
        self.outermost = self.innermost
        for _ in range(_WRITTEN_LEVELS - MAX_DEPTH - 1):
            self.outermost = [self.outermost]


_nest = _Nest()


def is_too_deep(value: Any) -> bool:
    """Whether a decoded body is nested deeper than MAX_DEPTH.

    orjson writes no more than _WRITTEN_LEVELS, so the value is written within as many lists as there are too many.
    Walking it costs three times as much.
    """
    _nest.innermost[0] = value
    try:
        orjson.dumps(_nest.outermost)
    except orjson.JSONEncodeError:
        return True
    finally:
        _nest.innermost[0] = None
    return False


class _Cut(NamedTuple):
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
    """Start and end of each text between two quotes of CUT_BYTES or more.

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


async def _check(raw: bytes | bytearray, limits: JsonLimits) -> None:
    """Raises PayloadTooLarge."""
    if len(raw) > limits.text_bytes:
        raise PayloadTooLarge(
            f"the request body has {len(raw)} bytes of JSON beside files in base64; the limit is {limits.text_bytes} "
            "(server.max_text_bytes)"
        )
    if not _exceeded(json_counts.most(raw), limits):
        return
    for counts in json_counts.so_far(raw):
        if exceeded := _exceeded(counts, limits):
            raise PayloadTooLarge(f"the request body has at least {exceeded}")
        await asyncio.sleep(0)


def _exceeded(counts: json_counts.Counts, limits: JsonLimits) -> str:
    """The count that is above its limit, in words with both numbers and the setting; empty if none is."""
    if counts.values > limits.values:
        setting = "server.max_json_values"
        return f"{counts.values} strings, lists and objects; the limit is {limits.values} ({setting})"
    if counts.numbers > limits.numbers:
        return f"{counts.numbers} numbers; the limit is {limits.numbers} (server.max_json_numbers)"
    if counts.names > limits.names:
        setting = "server.max_json_values, where that is more"
        return f"{counts.names} names of members; the limit is {limits.names} ({setting})"
    return ""
