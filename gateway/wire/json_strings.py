"""Finds the end of a long JSON string and decodes it, piece by piece, so that a string of the size of a body holds
nobody up. Knows no document.

Naive form of the second: `orjson.loads(string)`, or `.encode()` of that. A string with one emoji takes four bytes for
each of its characters, beside the copy of its JSON in which orjson works.
"""

import re
from collections.abc import Iterator

import orjson

from gateway.long_texts import LONG_CHARS, MeasuredBytes, Utf8Text, text_of_utf8
from gateway.resilience.freed_memory import give_back
from gateway.resilience.slices import Steps, all_steps

_PIECES_A_STEP, _AT_ONCE_BYTES = 4, 1 << 17
"""Pieces that are decoded in one step, at most 4 ms where all of them are escapes; and bytes of a string that is
decoded at once, for which orjson takes a copy and more beside the text. Chosen: at half of the first twice as many
turns of the loop, at double others wait for twice as long; at half of the second ordinary pages are read in pieces for
nothing, at double twice as much memory is taken beside a text."""
_FIRST_PIECE_BYTES, _PIECE_BYTES = 1 << 10, 1 << 17
"""Of a string whose end is looked for, looked at at once: at first, since most are names, and at most. Each look is at
four times as much as the one before. Chosen: at half twice as many looks at a long string, at double twice the memory
for copies. With the second from the beginning a document of members just longer than a window takes five times as
long."""
_ESCAPE_BYTES = 12
"""Of the longest escape, a pair of surrogates."""
_WHOLE_UNITS = re.compile(
    rb"(?s:[^\\]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|\\[^u])*+"
)
"""Bytes and whole escapes; a pair of surrogates is one."""


def decoded_text(string: memoryview) -> str | Utf8Text:
    """The text of a JSON string with its quotes; a long one in UTF-8. Raises orjson.JSONDecodeError: it is none."""
    return all_steps(text_steps(string, keeps_utf8=True))


def text_steps(string: memoryview, *, keeps_utf8: bool) -> Steps[str | Utf8Text]:
    """The same in steps of some milliseconds; without `keeps_utf8` a string of Python, which is made in one step (55 ms
    for 30 MB with an emoji): one that grows is moved, so that there are two of it for a moment."""
    if len(string) <= _AT_ONCE_BYTES and not keeps_utf8:
        whole: str = orjson.loads(string)
        return whole
    utf8 = MeasuredBytes(len(string)) if keeps_utf8 else None
    for number, (at, piece) in enumerate(_pieces(string)):
        text = orjson.loads(b'"%b"' % piece)
        if utf8 is None and b"\\" in piece:
            utf8 = MeasuredBytes(len(string))
            utf8.add(string[1:at])
        if utf8 is not None:
            utf8.add(text.encode())
        if number % _PIECES_A_STEP == _PIECES_A_STEP - 1:
            yield
    give_back()  # glibc takes other holes of the heap for each piece; those would stay taken beside the text
    if utf8 is None:
        return str(string[1:-1], "utf-8")
    return text_of_utf8(utf8.take()) if keeps_utf8 else utf8.take().decode()


def end_of_string(raw: bytearray, start: int) -> Steps[int]:
    """Where the string at `start` ends, behind its quote. Escaped backslashes and quotes are blanked in a copy, piece
    by piece. Raises ValueError when there is none, or when it has no end.

    A look at each takes three times as long (8 MB: .4 s), a pattern holds Python's lock for the whole string.
    """
    at = start + 1 if raw[start : start + 1] == b'"' else len(raw)
    size = _FIRST_PIECE_BYTES
    while at < len(raw):
        piece = bytes(raw[at : at + size])
        backslashes = len(piece) - len(piece.rstrip(b"\\"))
        if backslashes % 2 and at + len(piece) < len(raw):
            piece = piece[:-1]  # what it escapes is in the next piece
        found = piece.replace(b"\\\\", b"  ").replace(b'\\"', b"  ").find(b'"')
        if found >= 0:
            return at + found + 1
        at += len(piece) or 1
        if size == _PIECE_BYTES:
            yield
        size = min(4 * size, _PIECE_BYTES)
    raise ValueError("a string is missing")


def _pieces(string: memoryview) -> Iterator[tuple[int, bytes]]:
    """Where each piece begins, and the piece."""
    at, end = 1, len(string) - 1
    while at < end:
        piece = bytes(string[at : min(at + LONG_CHARS, end)])
        if at + len(piece) < end:
            piece = piece[: _end_of_units(piece)]
        yield at, piece
        at += len(piece)


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
