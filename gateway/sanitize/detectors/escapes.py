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

from gateway.sanitize.crowd import Effort

_NAMED = (
    rb"&(commat|period|lowbar|hyphen|dash|nbsp|sol|colon|equals|amp|num|plus|percnt|comma"
    rb"|ensp|emsp|thinsp|shy|zwj|zwnj|ZeroWidthSpace|NoBreak);"
)
_HEX = rb"[0-9A-Fa-f]"
_SINGLE = (
    rb"&#([0-9]{1,10});?",
    _NAMED,
    rb"\\([01][0-7]{2})",
    *(
        form.replace(b"H", _HEX)
        for form in (rb"&#[xX](H{1,10});?", rb"%u(H{4})", rb"\\u\{(H{1,6})\}", rb"\\U(H{8})", rb"\\x(H{2})")
    ),
)
_ROWS = rb"((?:%H{2})+)|((?:\\uH{4})+)".replace(b"H", _HEX)
_ESCAPE = re.compile(_ROWS + b"|" + b"|".join(_SINGLE) + rb"|=([2-7][0-9A-Fa-f])")
_PERCENTS, _UNITS, _DECIMAL, _NAME, _OCTAL = 1, 2, 3, 4, 5
_WORD = re2.compile(
    rb"[^\s\"'<>]*(?:%H{2}|\\uH{4}|".replace(b"H", _HEX)
    + b"|".join(_SINGLE)
    + rb"|=[2-7](?:[0-9](?:[^0-9]|$)|[A-F]))[^\s\"'<>]*"
)
"""`=34` is one, but not where a number follows the sign, as in every other address and setting."""
_HIDDEN = frozenset("@._- %")


def escaped_words(text: bytes) -> Iterator[tuple[int, int]]:
    """[start, end) of every word with an escape in it."""
    for word in _WORD.finditer(text):
        yield word.span()


class Unescaped:
    """A word without its escapes. `hides`: they stood for more than the usual punctuation of addresses."""

    __slots__ = ("_segments", "hides", "text")

    def __init__(self, raw: bytes, effort: Effort) -> None:
        # (where it begins in the text, where in the word, bytes of the word a character)
        segments: list[tuple[int, int, int]] = []
        parts: list[str] = []
        hides, size, place = False, 0, 0
        for escape in _ESCAPE.finditer(raw):
            begin, end = escape.span()
            effort.spend(2)
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
        self._segments, self.text = segments, "".join(parts)
        self.hides = hides or "&#" in self.text

    def place(self, index: int) -> int:
        """Where the character `index` of the text comes from, in the raw word; behind the last: its end."""
        begin, place, step = self._segments[bisect_right(self._segments, (index, maxsize)) - 1]
        return place + (index - begin) * step


_Pieces: TypeAlias = Iterable[tuple[str, int]]


def _decoded(escape: re.Match[bytes]) -> _Pieces:
    """What an escape stands for: pieces of one width, in bytes a character."""
    kind, value = escape.lastindex, escape.group(escape.lastindex or 0)
    if kind == _PERCENTS:
        return _decoded_row(bytes.fromhex(value.replace(b"%", b"").decode()))
    if kind == _UNITS:
        text = bytes.fromhex(value.replace(b"\\u", b"").decode()).decode("utf-16-be", "replace")
        narrow = 6 * len(text) == len(value)
        return ((text, 6),) if narrow else [(char, 12 if char > "\uffff" else 6) for char in text]
    if kind == _NAME:
        piece = html5[f"{value.decode()};"][:1]
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
