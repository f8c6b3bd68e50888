"""What masking a long text may take: how its pieces are joined, which documents are not decoded. Knows no finding."""

import sys
from collections.abc import Iterable

LONG_CHARS = 1 << 16
"""Chosen: longer texts are masked without a second copy of them, and encoded in pieces of this size. At half ordinary
pages are encoded and decoded once more (20 µs), at double so much more memory is needed."""
_MAX_VALUES = 50_000
"""Chosen: documents of more commas and brackets are scanned as plain text: decoding holds Python's lock (5 ms for so
many), and each value costs a scan of 15 µs. At half large tables lose the meaning of their keys; at double one string
takes twice as long."""


def utf8(pieces: Iterable[str]) -> bytearray:
    """The pieces joined, in UTF-8. A text with many masks has so many pieces that they take more than the text."""
    joined = bytearray()
    for piece in pieces:
        for start in range(0, len(piece), LONG_CHARS):
            joined += piece[start : start + LONG_CHARS].encode("utf-8", "surrogatepass")
    return joined


def has_many_values(text: str) -> bool:
    """Whether a JSON document is scanned as plain text."""
    return sum(map(text.count, ",[{")) > _MAX_VALUES


def is_wide(text: str) -> bool:
    """Whether a long text takes four bytes a character, so that its decoded values would take four times its JSON."""
    return sys.getsizeof(text) > 3 * len(text)
