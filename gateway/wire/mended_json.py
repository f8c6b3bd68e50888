"""Decodes JSON that is right but for a character: servers cut characters in two where they cut texts.

Half a character becomes U+FFFD: bytes that are no UTF-8, and an escaped surrogate without its other half (`\\ud83d` of
an emoji, whose rest comes with the next event). A byte-order mark is left out. Only where the plain decoder has
failed.
"""

import re
from collections.abc import Generator
from typing import Any

import orjson

_SURROGATES = re.compile(
    rb"(?<!\\)((?:\\\\)*+)\\u(?:[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|([dD][89a-fA-F][0-9a-fA-F]{2}))"
)
"""A pair of escaped surrogates, or half of one, with the escaped backslashes before it."""
_REPAIRED_BYTES, _MAX_TO_CUT = 1 << 15, 1 << 12
_BETWEEN_ESCAPES = re.compile(rb"[^\\0-9a-zA-Z]")
"""A text is repaired in pieces of _REPAIRED_BYTES and at most _MAX_TO_CUT more, cut where no escape can be.
A piece of nothing but surrogates takes 3 ms."""
MAX_BYTES = 1 << 17
"""Most bytes of a text that is repaired at once; one of nothing but surrogates takes 12 ms."""


def mended_json(data: bytes) -> Any:
    """The value. Raises orjson.JSONDecodeError, the plain decoder's own."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if len(data) > MAX_BYTES:
            raise
        mended = repaired(data)
        if mended == data:
            raise
    return orjson.loads(mended)


def repaired(data: bytes) -> bytes:
    """The text in UTF-8, with U+FFFD for each half of a character."""
    steps = without_lone_surrogates(data.decode("utf-8-sig", "replace").encode())
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return bytes(end.value)


def without_lone_surrogates(raw: bytes) -> Generator[None, None, bytes]:
    """JSON with U+FFFD in place of each escaped half of a pair of surrogates without the other half, in steps
    (`resilience.slices`)."""
    mended = bytearray()
    start = 0
    while start < len(raw):
        end = start + _REPAIRED_BYTES
        cut = _BETWEEN_ESCAPES.search(raw, end, end + _MAX_TO_CUT)
        end = cut.start() if cut else end
        mended += _SURROGATES.sub(lambda found: found[0] if found[2] is None else found[1] + b"\\ufffd", raw[start:end])
        start = end
        yield
    return bytes(mended)
