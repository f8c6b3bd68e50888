"""Decodes JSON that is right but for a character: servers cut characters in two where they cut texts.

Half a character becomes U+FFFD: bytes that are no UTF-8, and an escaped surrogate without its other half (`\\ud83d` of
an emoji, whose rest comes with the next event). A byte-order mark is left out. Only where the plain decoder has failed.
"""

import re
from typing import Any

import orjson

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""A pair, half of one (group 1), any other escape: each is read as a whole, so that `\\\\ud83d` stays what it is."""
MAX_BYTES = 1_048_576
"""Longest text that is repaired, at once. Chosen: events and answers that are longer are decoded in slices; at half
long answers fail as before, at double the loop is held for twice the 10 ms."""


def loads(data: bytes) -> Any:
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
    """The text with U+FFFD for each half of a character."""
    text = data.decode("utf-8-sig", "replace").encode()
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match[1] else match[0], text)
