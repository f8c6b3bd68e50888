"""Decodes a long JSON string piece by piece, to UTF-8. Knows no document.

Naive form: `orjson.loads(string).encode()`. A string with one emoji takes four bytes for each of its characters, beside
the copy of its JSON in which orjson works.
"""

import re

import orjson

from gateway.long_texts import LONG_CHARS, MeasuredBytes, Utf8Text, text_of_utf8

_ESCAPE_BYTES = 12
"""Of the longest escape, a pair of surrogates."""
_WHOLE_UNITS = re.compile(
    rb"(?s:[^\\]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|\\[^u])*+"
)
"""Bytes and whole escapes; a pair of surrogates is one."""


def decoded_text(string: memoryview) -> str | Utf8Text:
    """The text of a JSON string with its quotes; a long one in UTF-8. Raises orjson.JSONDecodeError: it is none."""
    utf8, at, end = MeasuredBytes(len(string)), 1, len(string) - 1
    while at < end:
        piece = bytes(string[at : min(at + LONG_CHARS, end)])
        if at + len(piece) < end:
            piece = piece[: _end_of_units(piece)]
        utf8.add(orjson.loads(b'"%b"' % piece).encode())
        at += len(piece)
    return text_of_utf8(utf8.take())


def _end_of_units(piece: bytes) -> int:
    """Where the piece may end: behind a whole character, and a whole escape. All of it if there is no such place, which
    is no JSON then."""
    end = len(piece)
    while end and piece[end - 1] & 0xC0 == 0x80:
        end -= 1
    end -= 1 if end and piece[end - 1] >= 0xC0 else 0
    if piece.find(b"\\", max(end - _ESCAPE_BYTES, 0), end) >= 0:
        whole = _WHOLE_UNITS.match(piece, 0, end)
        end = whole.end() if whole else end
    return end or len(piece)
