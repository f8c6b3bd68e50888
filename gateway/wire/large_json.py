"""JSON whose bulk is a few data URLs, decoded without the JSON parser looking through them.

A request with an image of 20 MB is 26 MB of base64 in one string. A JSON parser takes 23 ms over it, while nobody else
on the event loop is served; cutting it out and copying it takes 4. Deliberately lenient in one point: control
characters inside such a string, which JSON forbids, are let pass; whoever decodes the base64 judges them.
"""

import os
from typing import Any

import orjson

LARGE_BYTES = 1 << 20
LONG_STRING_BYTES = 1 << 18
MAX_STRINGS = 64
OPENING = b'"data:'


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


def fragment(data_url: str) -> Any:
    """A data URL as it stands in JSON, for `orjson.dumps`; the string itself when it holds what JSON escapes."""
    if not data_url.isascii() or '"' in data_url or "\\" in data_url or not data_url.startswith("data:"):
        return data_url
    return orjson.Fragment(b'"%b"' % data_url.encode("ascii"))


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
        if is_long and raw[at - 1 : at] != b"\\" and raw.find(b"\\", start, end) < 0:
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
