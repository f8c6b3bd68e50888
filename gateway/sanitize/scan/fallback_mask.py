"""The mask of a text that holds too many candidates to check: everything but rows of plain words.

Naive form: mask the whole text. This one keeps the words that no detector's candidate can cover: letters only, between
characters that end every candidate, and beyond the reach of what chains words together (the groups of an account
number, the tokens of an id). Tests check that it covers whatever the detectors find. Linear; about a tenth of a scan's
cost. Does not check any value.
"""

import re
from collections.abc import Iterator
from itertools import islice

from gateway.sanitize.detectors.email import is_any_spelt
from gateway.sanitize.detectors.escapes import has_escapes
from gateway.sanitize.detectors.syntax_secrets import has_names
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View

_MAX_ROWS = 400
"""Chosen: rows of words kept in one text; each lies between two masks. At half more prose of a crowded text is lost, at
double a hostile text yields twice the findings."""
_MIN_ROW_CHARS = 12
"""Chosen: the shortest row worth two masks of 17 characters. At half masked tables are littered with single words, at
double short sentences are lost."""
_CHAIN_CHARS = 68
"""Characters at a row's end that a chain beside it may reach: 34 letters and digits (the longest account number), each
with a joint."""


def _class_table(ends: bytes) -> bytes:
    """Maps bytes to classes: w small letter, W capital, n what ends every candidate (`ends` are added), p and f what
    may follow a word, j what may join it to the next, blank, x anything else."""
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


_CLASS_TABLES = {
    (quotes, commas): _class_table(b'"' * quotes + b"," * commas)
    for quotes in (False, True)
    for commas in (False, True)
}
"""By whether quotation marks and whether commas end every candidate."""
_ROW_CLASSES = bytes(0x72 if code in b"wWpf " else 0x78 for code in range(256))
"""Maps the classes that rows are made of to `r`, all others to `x`."""
_MIN_ROW = b"r" * _MIN_ROW_CHARS
_WORD = rb"[wW]w{1,14}(?![wW])"
_ROW = re.compile(rb"(?<![^n ])" + _WORD + rb"(?:[pf]? (?:w )?" + _WORD + rb")*(?=[n ]|[pf][n ]|\Z)")
_JOINED_BEFORE = frozenset((b"w ", b"W ", b"j ", b"f ", b"  "))
_JOINED_AFTER = frozenset((b" w", b" W", b" j", b" f", b"  "))
"""Classes beside a row that may belong to a chain which goes on into the row."""

_PROSE_CLASSES = bytes(
    0x77 if code == 0x02 or (chr(code).isascii() and chr(code).isalpha()) else 0x20 if code in b" ,.;!?\n" else 0x78
    for code in range(256)
)
"""Maps letters to `w`, the marks of prose to a blank, all others to `x`."""
_PROSE = re.compile(rb"(?<![w ])[w ]{80,}+")
_NOT_PROSE = re.compile(rb"w{16}|(?<!w)w +w(?!w)")
"""Words of 16 letters (possibly a key), or single letters in a row (possibly a value spelt out)."""
_EDGE_WORDS = 4
"""Words dropped at each end of a row of prose: an address spelt out (`jane at example dot org`) may reach so far in."""


def mask_all_but_words(view: View) -> Iterator[Finding]:
    """Findings of the entity SECRET over everything but plain words, in order, in the folded text's offsets."""
    text, masked_from = view.folded, 0
    opening = text.find(b"-----BEGIN")
    size = opening if opening >= 0 else len(text)
    rows = _prose(view, size) if is_any_spelt(view.lower) else islice(_rows(text, size), _MAX_ROWS)
    for start, end in rows:
        if masked_from < start:
            yield Finding(masked_from, start, "SECRET")
        masked_from = end
    if masked_from < len(text):
        yield Finding(masked_from, len(text), "SECRET")


def _rows(text: bytes, size: int) -> Iterator[tuple[int, int]]:
    """[start, end) of rows of plain words. Quotation marks and commas end a row only where no candidate crosses
    them."""
    if b"AQE" in text:
        return  # Adyen's keys may contain any printable character
    crosses_commas = (b"://" in text and b"@" in text) or has_escapes(text)
    classes = text.translate(_CLASS_TABLES[not has_names(text), not crosses_commas])
    for start, end in _words(classes, size):
        if end - start >= _MIN_ROW_CHARS and classes[start - 2 : start] in _JOINED_BEFORE:
            gap = classes.find(b" ", start + _CHAIN_CHARS, end)
            start = gap + 1 if gap >= 0 else end
        if end - start >= _MIN_ROW_CHARS and _is_joined_after(classes, end):
            end = classes.rfind(b" ", start, max(start, end - _CHAIN_CHARS))
        if end - start >= _MIN_ROW_CHARS:
            yield start, end


def _is_joined_after(classes: bytes, end: int) -> bool:
    full_stop = classes[end : end + 1] == b"f"
    return classes[end + full_stop : end + full_stop + 2] in _JOINED_AFTER


def _words(classes: bytes, size: int) -> Iterator[tuple[int, int]]:
    """Matches of _ROW, searched only where _MIN_ROW_CHARS characters of the classes of rows are together."""
    row_classes = classes.translate(_ROW_CLASSES)
    start = row_classes.find(_MIN_ROW, 0, size)
    while start >= 0:
        end = row_classes.find(b"x", start, size)
        end = end if end >= 0 else size
        while end - start >= _MIN_ROW_CHARS and (match := _ROW.search(classes, start, min(end + 1, size))):
            yield match.span()
            start = match.end()
        start = row_classes.find(_MIN_ROW, end, size)


def _prose(view: View, size: int) -> Iterator[tuple[int, int]]:
    """[start, end) of long rows of prose without the words at their ends, for texts with addresses spelt out."""
    for match in _PROSE.finditer(view.folded.translate(_PROSE_CLASSES), 0, size):
        row = match.group()
        if _NOT_PROSE.search(row) or b"dot" in view.lower[match.start() : match.end()]:
            continue  # a key, or an address spelt out
        start = match.end() - len(row.split(None, _EDGE_WORDS)[-1])
        end = match.start() + len(row.rsplit(None, _EDGE_WORDS)[0])
        if start < end:
            yield start, end
