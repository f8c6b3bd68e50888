"""Escapes undone: percent (`%34`, UTF-8 too), HTML (`&#52;`), `\\u0034`, `\\x34`, `\\064`, quoted-printable (`=34`).

A word without its escapes is a text of its own, with a way back to the places its characters came from.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from html.entities import html5

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


class Unescaped:
    """A word without its escapes. `hides`: they stood for more than the usual punctuation of addresses."""

    __slots__ = ("_at", "_froms", "_steps", "hides", "text")

    def __init__(self, raw: bytes) -> None:
        self._at: list[int] = []
        self._froms: list[int] = []
        self._steps: list[int] = []
        self.hides = False
        parts: list[str] = []
        size = place = 0
        for escape in _ESCAPE.finditer(raw):
            begin, end = escape.span()
            if begin > place:
                parts.append(raw[place:begin].decode())
                size = self._segment(size, place, 1, begin - place)
            for piece, step in _decoded(escape):
                parts.append(piece)
                size = self._segment(size, begin, step, len(piece))
                begin += step * len(piece)
                self.hides = self.hides or len(piece) > 1 or piece > "\x7f" or piece.isalnum() or piece in _HIDDEN
            place = end
        parts.append(raw[place:].decode())
        self._segment(size, place, 1, 0)
        self.text = "".join(parts)

    def _segment(self, size: int, place: int, step: int, length: int) -> int:
        self._at.append(size)
        self._froms.append(place)
        self._steps.append(step)
        return size + length

    def place(self, index: int) -> int:
        """Where the character `index` of the text comes from, in the raw word; behind the last: its end."""
        number = bisect_right(self._at, index) - 1
        return self._froms[number] + (index - self._at[number]) * self._steps[number]


def _decoded(escape: re.Match[bytes]) -> Iterator[tuple[str, int]]:
    """What an escape stands for: pieces of one width, in bytes a character."""
    kind, value = escape.lastindex, escape.group(escape.lastindex or 0)
    if kind == _ROW:
        yield from _decoded_row(bytes.fromhex(value.replace(b"%", b"").decode()))
        return
    if kind == _NAME:
        piece = html5[f"{value.decode()};"][:1]
    elif kind == _PAIR:
        high, low = int(escape.group(_PAIR - 1), 16), int(value, 16)
        piece = chr(0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF))
    else:
        number = int(value, 10 if kind == _DECIMAL else 8 if kind == _OCTAL else 16)
        piece = chr(number) if number < 0xD800 or 0xE000 <= number < 0x110000 else "?"
    yield piece, escape.end() - escape.start()


def _decoded_row(row: bytes) -> Iterator[tuple[str, int]]:
    if row.isascii():
        yield row.decode(), 3
        return
    try:
        for char in row.decode():
            yield char, 3 * len(char.encode())
    except UnicodeDecodeError:
        yield row.decode("latin-1"), 3
