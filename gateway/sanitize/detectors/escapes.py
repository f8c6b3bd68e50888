"""Escapes undone: percent (`%34`, UTF-8 too), HTML (`&#52;`), `\\u0034`, `\\x34`, `\\064`, quoted-printable (`=34`).

A word without its escapes is a text of its own, with a way back to the places its characters came from.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from html.entities import html5
from sys import maxsize
from typing import NamedTuple

from gateway.sanitize.text.work_budget import WorkBudget

_NAMED = (
    rb"(?:commat|period|lowbar|hyphen|dash|nbsp|sol|colon|equals|amp|num|plus|percnt|comma"
    rb"|ensp|emsp|thinsp|shy|zwj|zwnj|ZeroWidthSpace|NoBreak);"
)
_HEX = rb"[0-9A-Fa-f]"
_ESCAPE = re.compile(
    rb"[%&=\\](?:(?<=%)(?:H{2}(?:%H{2})*|uH{4})"
    rb"|(?<=\\)(?:uH{4}(?:\\uH{4})*|[01][0-7]{2}|u\{H{1,6}\}|UH{8}|xH{2})"
    rb"|(?<=&)(?:#(?:[0-9]{1,10}|[xX]H{1,10});?|".replace(b"H", _HEX) + _NAMED
    + rb")|(?<==)[2-7]H)".replace(b"H", _HEX)
)  # fmt: skip
"""Every one begins with the one class of signs, which is found at the speed of a search for a character."""
_GAPS = bytes(0x20 if code in b" \t\n\r\f\"'<>" else 0x78 for code in range(256))
_STRICT = re.compile(rb"=[2-7](?:[0-9](?![0-9])|[A-F])")
"""`=34` is an escape, but not where a number follows the sign, as in every other address and setting."""
_HIDDEN = frozenset("@._- %")
_UNIT_CHARS = 6


class _Meaning(NamedTuple):
    """What an escape stands for. `hides`: more than the usual punctuation of addresses."""

    text: str
    data: bytes
    hides: bool
    widths: tuple[int, ...]
    """Bytes of the escape for each character of the text; only the first when all are alike."""


class Unescaped:
    """A word that begins at `start` of a text, and what it is without its escapes."""

    __slots__ = ("_effort", "_known", "_segments", "start", "text", "word")

    def __init__(self, start: int, word: bytes, text: str, known: dict[bytes, _Meaning], budget: WorkBudget) -> None:
        self.start, self.word, self.text = start, word, text
        self._known, self._effort = known, budget
        # (where it begins in the text, where in the word, bytes of the word a character)
        self._segments: list[tuple[int, int, int]] | None = None

    def place(self, index: int) -> int:
        """Where the character `index` of the text comes from, in the raw word; behind the last: its end."""
        if self._segments is None:
            self._segments = self._read()
        begin, place, step = self._segments[bisect_right(self._segments, (index, maxsize)) - 1]
        return place + (index - begin) * step

    def _read(self) -> list[tuple[int, int, int]]:
        segments: list[tuple[int, int, int]] = []
        size = place = 0
        for escape in _ESCAPE.finditer(self.word):
            begin, end = escape.span()
            self._effort.spend(3)
            if begin > place:
                segments.append((size, place, 1))
                size += begin - place
            text, _, _, widths = self._known[escape.group()]
            if len(widths) == 1:
                segments.append((size, begin, widths[0]))
                size += len(text)
            else:
                for width in widths:
                    segments.append((size, begin, width))
                    size += 1
                    begin += width
            place = end
        segments.append((size, place, 1))
        return segments


def has_escapes(text: bytes) -> bool:
    return _ESCAPE.search(text) is not None


def unescaped_words(text: bytes, budget: WorkBudget) -> Iterator[Unescaped]:
    """Every word with an escape in it that hides something."""
    flat = text.translate(_GAPS)
    known: dict[bytes, _Meaning] = {}
    parts: list[bytes] = []
    start = end = place = -1
    hides = counts = False
    for escape in _ESCAPE.finditer(text):
        low, high = escape.span()
        if low >= end:
            if counts:
                yield from _word((start, text[start:end]), [*parts, text[place:end]], hides, known, budget)
            start, end = flat.rfind(b" ", 0, low) + 1, flat.find(b" ", high)
            end = end if end >= 0 else len(text)
            place, hides, counts, parts = start, False, False, []
            budget.spend(6)
        raw = text[low:high]
        meaning = known.get(raw)
        if meaning is None:
            budget.spend(10 + len(raw) // 16)
            meaning = known[raw] = _meaning_of(raw)
        budget.spend(3)
        parts += (text[place:low], meaning.data)
        place = high
        hides = hides or meaning.hides
        counts = counts or text[low] != 0x3D or _STRICT.match(text, low) is not None
    if counts:
        yield from _word((start, text[start:end]), [*parts, text[place:end]], hides, known, budget)


def _word(
    raw: tuple[int, bytes], parts: list[bytes], hides: bool, known: dict[bytes, _Meaning], budget: WorkBudget
) -> Iterator[Unescaped]:
    data = b"".join(parts)
    if hides or b"&#" in data:
        yield Unescaped(*raw, data.decode(), known, budget)


def _meaning_of(raw: bytes) -> _Meaning:
    text, widths = _decoded(raw)
    hides = len(text) > len(widths) or any(char > "\x7f" or char.isalnum() or char in _HIDDEN for char in text)
    return _Meaning(text, text.encode(), hides, widths)


def _decoded(raw: bytes) -> tuple[str, tuple[int, ...]]:
    """What an escape stands for, and the bytes for each of its characters, or for all when they are alike."""
    kind, form = raw[:1], raw[1:2]
    if kind == b"%" and form != b"u":
        return _decoded_row(bytes.fromhex(raw.translate(None, b"%").decode()))
    if kind == b"\\" and form == b"u" and raw[2:3] != b"{":
        text = bytes.fromhex(raw.translate(None, b"\\u").decode()).decode("utf-16-be", "replace")
        if _UNIT_CHARS * len(text) == len(raw):
            return text, (_UNIT_CHARS,)
        return text, tuple(2 * _UNIT_CHARS if char > "\uffff" else _UNIT_CHARS for char in text)
    if kind == b"&" and form != b"#":
        return html5[raw[1:].decode()][:1], (len(raw),)
    if kind == b"&" and raw[2:3] not in (b"x", b"X"):
        number = int(raw[2:].rstrip(b";"))
    elif kind == b"\\" and form in (b"0", b"1"):
        number = int(raw[1:], 8)
    else:
        number = int(raw.lstrip(b"&#%=\\uUxX{").rstrip(b";}"), 16)
    return (chr(number) if number < 0xD800 or 0xE000 <= number < 0x110000 else "?"), (len(raw),)


def _decoded_row(row: bytes) -> tuple[str, tuple[int, ...]]:
    if row.isascii():
        return row.decode(), (3,)
    try:
        text = row.decode()
    except UnicodeDecodeError:
        return row.decode("latin-1"), (3,)
    return text, tuple(3 * len(char.encode()) for char in text)
