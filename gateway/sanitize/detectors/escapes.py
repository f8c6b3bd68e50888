"""Escapes undone: percent (`%34`, UTF-8 too), HTML (`&#52;`), `\\u0034`, `\\x34`, `\\064`, quoted-printable (`=34`).

A word without its escapes is a text of its own, with a way back to the places its characters came from.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from html.entities import html5
from sys import maxsize
from typing import TypeAlias

import re2

_NAMED = (
    rb"&(commat|period|lowbar|hyphen|dash|nbsp|sol|colon|equals|amp|num|plus|percnt|comma"
    rb"|ensp|emsp|thinsp|shy|zwj|zwnj|ZeroWidthSpace|NoBreak);"
)
_HEX = rb"[0-9A-Fa-f]"
_SINGLE = (
    rb"&#([0-9]{1,10});?",
    _NAMED,
    rb"\\([01][0-7]{2})",
    rb"\\u[dD]([89abAB]H{2})\\u[dD]([c-fC-F]H{2})".replace(b"H", _HEX),
    *(
        form.replace(b"H", _HEX)
        for form in (rb"&#[xX](H{1,10});?", rb"[\\%]u(H{4})", rb"\\u\{(H{1,6})\}", rb"\\U(H{8})", rb"\\x(H{2})")
    ),
    rb"=([0-9A-F]{2})",
)
_ESCAPE = re.compile(rb"((?:%[0-9A-Fa-f]{2})+)|" + b"|".join(_SINGLE))
_ROW, _DECIMAL, _NAME, _OCTAL, _PAIR = 1, 2, 3, 4, 6
_WORD = re2.compile(rb"[^\s\"'<>]*(?:%[0-9A-Fa-f]{2}|" + b"|".join(_SINGLE) + rb")[^\s\"'<>]*")
_HIDDEN = frozenset("@._- ")


def escaped_words(text: bytes) -> Iterator[tuple[int, int]]:
    """[start, end) of every word with an escape in it."""
    for word in _WORD.finditer(text):
        yield word.span()


def cost_of(raw: bytes) -> int:
    """What it takes at most to undo a word's escapes; percent escapes in a row are undone at once."""
    percents = raw.count(b"%")
    rows = min(percents, len(raw) - 3 * percents + 1)
    return 4 + (raw.count(b"&") + raw.count(b"\\") + raw.count(b"=") + rows) * 5 // 4 + percents // 5


class Unescaped:
    """A word without its escapes. `hides`: they stood for more than the usual punctuation of addresses."""

    __slots__ = ("_segments", "hides", "text")

    def __init__(self, raw: bytes) -> None:
        # (where it begins in the text, where in the word, bytes of the word a character)
        segments: list[tuple[int, int, int]] = []
        parts: list[str] = []
        hides, size, place = False, 0, 0
        for escape in _ESCAPE.finditer(raw):
            begin, end = escape.span()
            if begin > place:
                parts.append(raw[place:begin].decode())
                segments.append((size, place, 1))
                size += begin - place
            for piece, step in _decoded(escape):
                parts.append(piece)
                segments.append((size, begin, step))
                size += len(piece)
                begin += step * len(piece)
                hides = hides or len(piece) > 1 or piece > "\x7f" or piece.isalnum() or piece in _HIDDEN
            place = end
        parts.append(raw[place:].decode())
        segments.append((size, place, 1))
        self._segments, self.hides, self.text = segments, hides, "".join(parts)

    def place(self, index: int) -> int:
        """Where the character `index` of the text comes from, in the raw word; behind the last: its end."""
        begin, place, step = self._segments[bisect_right(self._segments, (index, maxsize)) - 1]
        return place + (index - begin) * step


_Pieces: TypeAlias = Iterable[tuple[str, int]]


def _decoded(escape: re.Match[bytes]) -> _Pieces:
    """What an escape stands for: pieces of one width, in bytes a character."""
    kind, value = escape.lastindex, escape.group(escape.lastindex or 0)
    if kind == _ROW:
        return _decoded_row(bytes.fromhex(value.replace(b"%", b"").decode()))
    if kind == _NAME:
        piece = html5[f"{value.decode()};"][:1]
    elif kind == _PAIR:
        high, low = int(escape.group(_PAIR - 1), 16), int(value, 16)
        piece = chr(0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF))
    else:
        number = int(value, 10 if kind == _DECIMAL else 8 if kind == _OCTAL else 16)
        piece = chr(number) if number < 0xD800 or 0xE000 <= number < 0x110000 else "?"
    return ((piece, escape.end() - escape.start()),)


def _decoded_row(row: bytes) -> _Pieces:
    if row.isascii():
        return ((row.decode(), 3),)
    try:
        return [(char, 3 * len(char.encode())) for char in row.decode()]
    except UnicodeDecodeError:
        return ((row.decode("latin-1"), 3),)
