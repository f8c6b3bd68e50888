"""Reads fields of decoded JSON from others in the expected type; a missing field or another type gives an empty value.

`holder` may be any decoded JSON value. Nothing here raises.
"""

import re
from collections.abc import Generator
from typing import Any, TypeGuard

import orjson

from gateway.domain import Json

MAX_COUNT = 10**9
"""The most tokens that an answer may say it has; a larger or a negative number counts as none."""

MOST_RESULTS = 1_000
"""Most results, and most images, of a provider that are read."""


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a value can be a number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


def words_of(value: Any) -> str:
    """A text of somebody else for people and models: a string as it is, nothing for null, any other value as JSON. The
    rule for all of them, or Python's own notation would reach callers."""
    if isinstance(value, str):
        return value
    return "" if value is None else orjson.dumps(value).decode()


def count_in(holder: Any, name: str) -> int:
    """A number of tokens; 0 for anything else."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if is_count(value) else 0


def table_in(holder: Any, name: str) -> Json:
    """An object; a new empty one for anything else."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}


def list_in(holder: Any, name: str) -> list[Any]:
    """A list; a new empty one for anything else."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, list) else []


def tables_in(holder: Any, name: str) -> list[Json]:
    """The objects of a list; its other members are left out."""
    return [item for item in list_in(holder, name) if isinstance(item, dict)]


def texts_in(holder: Any, name: str) -> list[str]:
    """The strings of a list; its other members are left out."""
    return [item for item in list_in(holder, name) if isinstance(item, str)]


def utf8_size(text: str) -> int:
    """Bytes of a text in UTF-8; half a pair of surrogates counts as one."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


# --- repaired json ---
# Decodes JSON that is right but for a character: servers cut characters in two where they cut texts.
#
# Half a character becomes U+FFFD: bytes that are no UTF-8, and an escaped surrogate without its other half (`\ud83d` of
# an emoji, whose rest comes with the next event). A byte-order mark is left out. Only where the plain decoder has
# failed.

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


# --- thinking ---
# The thoughts that some models write into their answers, between `<think>` and `</think>`.

_OPEN, _CLOSE = "<think>", "</think>"


def without_thinking(text: str) -> str:
    """The text without its thoughts; one that has no end stays. Linear, which `<think>.*?</think>` is not: where there
    is no end, that searches for it again from each beginning."""
    kept, at = [], 0
    while (start := text.find(_OPEN, at)) >= 0 and (end := text.find(_CLOSE, start)) >= 0:
        kept.append(text[at:start])
        at = end + len(_CLOSE)
    return "".join((*kept, text[at:]))
