"""What is kept of a text that holds too much to be judged: rows of plain words that can be part of no value.

Nothing is judged here. A word is kept only where no detector's candidate, whatever it turned out to be, could cover it:
it has letters alone, stands between what ends every candidate, and whatever may chain words together (an account
number's groups, an id's tokens) is too far away. Linear, and a tenth of what judging costs.
"""

import re
from collections.abc import Iterator
from itertools import islice

from gateway.sanitize.detectors.email import is_any_spelt
from gateway.sanitize.detectors.escapes import has_escapes
from gateway.sanitize.detectors.named_secrets import has_names
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View

_MOST_KEPT = 400
"""Rows kept of one text: each parts two masks."""
_LEAST_KEPT = 12
_CHAIN = 68
"""Characters of a row that a chain beside it may reach: 34 letters and digits, each with a joint."""


def _table(ends: bytes) -> bytes:
    """w a small letter, W a capital, n what ends every candidate, p and f what may follow a word, j what may join it to
    the next, x anything else."""
    table = bytearray(b"x" * 256)
    for marks, kind in (
        (b"abcdefghijklmnopqrstuvwxyz", b"w"),
        (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"W"),
        (b"0123456789/_-", b"j"),
        (b".", b"f"),
        (b",:;?", b"p"),
        (b" ", b" "),
        (b"\t\n\r\f<>" + ends, b"n"),
    ):
        for mark in marks:
            table[mark] = kind[0]
    return bytes(table)


_TABLES = {
    (quotes, commas): _table(b'"' * quotes + b"," * commas) for quotes in (False, True) for commas in (False, True)
}
_ROW_SIGNS = bytes(0x72 if code in b"wWpf " else 0x78 for code in range(256))
_LEAST_SIGNS = b"r" * _LEAST_KEPT
_WORD = rb"[wW]w{1,14}(?![wW])"
_ROW = re.compile(rb"(?<![^n ])" + _WORD + rb"(?:[pf]? (?:w )?" + _WORD + rb")*(?=[n ]|[pf][n ]|\Z)")
_JOINED_BEFORE = frozenset((b"w ", b"W ", b"j ", b"f ", b"  "))
_JOINED_BEHIND = frozenset((b" w", b" W", b" j", b" f", b"  "))

_PROSE_CLASS = bytes(
    0x77 if code == 0x02 or (chr(code).isascii() and chr(code).isalpha()) else 0x20 if code in b" ,.;!?\n" else 0x78
    for code in range(256)
)
_PROSE = re.compile(rb"(?<![w ])[w ]{80,}+")
_NOT_PROSE = re.compile(rb"w{16}|(?<!w)w +w(?!w)")
"""Words too long for prose, or letters one by one."""
_EDGE_WORDS = 4
"""Words at the ends of a row that may belong to what stands beside it."""


def all_but_words(view: View) -> Iterator[Finding]:
    """Everything but plain words, as secret. It covers whatever any detector could find."""
    text, place = view.folded, 0
    opening = text.find(b"-----BEGIN")
    size = opening if opening >= 0 else len(text)
    kept = _prose(view, size) if is_any_spelt(view.lower) else islice(_rows(text, size), _MOST_KEPT)
    for start, end in kept:
        if place < start:
            yield Finding(place, start, "SECRET")
        place = end
    if place < len(text):
        yield Finding(place, len(text), "SECRET")


def _rows(text: bytes, size: int) -> Iterator[tuple[int, int]]:
    """[start, end) of rows of plain words. Quotation marks and commas end a candidate only where none reaches past."""
    if b"AQE" in text:
        return  # one maker's keys hold any sign
    reaching = (b"://" in text and b"@" in text) or has_escapes(text)
    classes = text.translate(_TABLES[not has_names(text), not reaching])
    for start, end in _words(classes, size):
        if end - start >= _LEAST_KEPT and classes[start - 2 : start] in _JOINED_BEFORE:
            gap = classes.find(b" ", start + _CHAIN, end)
            start = gap + 1 if gap >= 0 else end
        if end - start >= _LEAST_KEPT and _is_joined_behind(classes, end):
            end = classes.rfind(b" ", start, max(start, end - _CHAIN))
        if end - start >= _LEAST_KEPT:
            yield start, end


def _is_joined_behind(classes: bytes, end: int) -> bool:
    full_stop = classes[end : end + 1] == b"f"
    return classes[end + full_stop : end + full_stop + 2] in _JOINED_BEHIND


def _words(classes: bytes, size: int) -> Iterator[tuple[int, int]]:
    """Rows of words, sought only where enough signs that rows are made of stand together."""
    signs = classes.translate(_ROW_SIGNS)
    start = signs.find(_LEAST_SIGNS, 0, size)
    while start >= 0:
        end = signs.find(b"x", start, size)
        end = end if end >= 0 else size
        while end - start >= _LEAST_KEPT and (match := _ROW.search(classes, start, min(end + 1, size))):
            yield match.span()
            start = match.end()
        start = signs.find(_LEAST_SIGNS, end, size)


def _prose(view: View, size: int) -> Iterator[tuple[int, int]]:
    """Where addresses are spelt out, only long rows of prose, without the words at their ends."""
    for match in _PROSE.finditer(view.folded.translate(_PROSE_CLASS), 0, size):
        row = match.group()
        if _NOT_PROSE.search(row) or b"dot" in view.lower[match.start() : match.end()]:
            continue  # a key, or an address spelt out
        start = match.end() - len(row.split(None, _EDGE_WORDS)[-1])
        end = match.start() + len(row.rsplit(None, _EDGE_WORDS)[0])
        if start < end:
            yield start, end
