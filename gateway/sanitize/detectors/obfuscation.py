"""Decodes words that hide their text: escapes (see `escapes`), base64, hex, and characters spelt one by one (`4 1 1
1`).

Each decoded word is a Spelling: a text of its own that maps back to the word's offsets. The scanner scans it like any
other text. Does not know what is searched in it.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import re2

from gateway.sanitize.detectors.escapes import unescaped_words
from gateway.sanitize.detectors.re2_search import searcher
from gateway.sanitize.text.base64_rows import (
    ENCODED_CLASS,
    PROBE_CHARS,
    REST_OF_ENCODED,
    as_text,
    from_base64,
    rows_of,
)
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.work_budget import WorkBudget

_HEX = re.compile(rb"(?:[0-9A-Fa-f]{2}){8,}+")
_SPELT_LINK = rb"(?:[A-Za-z0-9@.+_-](?:[ \t\r\n]{1,3}|[._*/|,-]| [-.*|] ))"
SPELT_LINKS = _SPELT_LINK + rb"{9}"
"""Without these links no word is spelt character by character."""
_SPELT_OUT = re2.compile(rb"(?:^|[\s:=\"'(])(" + _SPELT_LINK + rb"{9,160}[A-Za-z0-9@])(?:[\s,;:.!?)\"']|$)")
_COLUMN = re.compile(rb"[\t\r\n]|  ")
"""What parts the cells of a table: digits in it, one a cell, are no number."""
_FIND_SPELT_OUT = searcher(_SPELT_OUT)
_MIN_ENCODED_CHARS = 16
"""The shortest word that is decoded: 8 bytes as hex, 12 as base64, about the shortest values. Chosen: at half most long
words of a text would be decoded; at double a card number in base64 (24 characters) is missed."""
_MIN_ENCODED = b"t" * _MIN_ENCODED_CHARS
_SPACE = 0x20


class Spelling(NamedTuple):
    """`text` is the decoded word at [start, end) of the folded text.

    `offset_of(index)` is the offset in the word of a character of `text`, or the word's length for the index behind the
    last one. Where it is None, a finding covers the whole word.
    """

    start: int
    end: int
    text: str
    offset_of: Callable[[int], int] | None = None


def in_outer_text(word: Spelling, finding: Finding, text: bytes) -> Iterator[Finding]:
    """A finding in a spelling as a finding in the text with the word: the same characters, or the whole word."""
    if word.offset_of is not None:
        last = word.start + word.offset_of(finding.end)
        while last > word.start and text[last - 1] == _SPACE:
            last -= 1
        yield finding._replace(start=word.start + word.offset_of(finding.start), end=last)
    elif finding.entity != "IP":  # text drawings and tables of single characters often read like one
        yield finding._replace(start=word.start, end=word.end)


def spellings(text: bytes, budget: WorkBudget) -> Iterator[Spelling]:
    """Words of the folded text with escapes, or with characters spelt one by one. Raises BudgetExceeded."""
    if b"%" in text or b"&" in text or b"\\" in text or b"=" in text:
        for decoded in unescaped_words(text, budget):
            yield Spelling(decoded.start, decoded.start + len(decoded.word), decoded.text, decoded.offset_of)
    for match in _SPELT_OUT.finditer(text) if _FIND_SPELT_OUT(text, 0)[0] >= 0 else ():
        start, end = match.span(1)
        budget.spend(16 + (end - start) // 2)
        word = text[start:end]
        if len(set(word[1::2])) == 1:
            indexes = list(range(0, end - start, 2))
        else:
            indexes = [index for index, code in enumerate(word) if code not in b" *|,/\t\r\n"]
        joined = bytes([word[index] for index in indexes])
        if joined.isdigit() and _COLUMN.search(word):
            continue
        yield Spelling(start, end, joined.decode(), [*indexes, end - start].__getitem__)


def decoded_words(text: bytes, budget: WorkBudget) -> Iterator[Spelling]:
    """Words of the folded text that are base64 or hex of readable text. Raises BudgetExceeded."""
    decoded_by_word: dict[bytes, tuple[str, ...]] = {}
    classes = text.translate(ENCODED_CLASS)
    start = classes.find(_MIN_ENCODED)
    while start >= 0:
        rest = REST_OF_ENCODED.match(classes, start + _MIN_ENCODED_CHARS)
        end = rest.end() if rest else start + _MIN_ENCODED_CHARS
        rows = rows_of(text, classes, start, end)
        if rows is not None:
            budget.spend(5 + (rows[-1].stop - start) // 16)
            block = _spelling_of_rows(text, rows)
            if block is not None:
                yield block
                start = classes.find(_MIN_ENCODED, rows[-1].stop)
                continue
        word = text[start:end]
        texts = decoded_by_word.get(word)
        budget.spend(1)
        if texts is None:
            budget.spend(5 + len(word) // 16)
            texts = decoded_by_word[word] = _decode(word, cut=start == 0 or end == len(text))
        for decoded in texts:
            yield Spelling(start, end, decoded)
        start = classes.find(_MIN_ENCODED, end)


def _spelling_of_rows(text: bytes, rows: list[range]) -> Spelling | None:
    """The text that rows of base64 are together: a value in it may begin in one row and end in another."""
    body = b"".join(text[row.start : row.stop] for row in rows).rstrip(b"=")
    decoded = as_text(from_base64(body[: len(body) - (len(body) % 4 == 1)]))
    if not decoded:
        return None
    width, (whole,) = len(rows[0]), decoded
    if not whole.isascii():
        return Spelling(rows[0].start, rows[-1].stop, whole)

    def offset_of(index: int) -> int:
        row, column = divmod(min(-(-index * 4 // 3), len(body)), width)
        return (rows[row].start + column if row < len(rows) else rows[-1].stop) - rows[0].start

    return Spelling(rows[0].start, rows[-1].stop, whole, offset_of)


def _decode(word: bytes, cut: bool) -> tuple[str, ...]:
    """The readable texts that a word is in hex or base64. `cut`: the text begins or ends with it, so a part may be
    missing."""
    if not cut:
        return _decode_word(word)
    texts: tuple[str, ...] = ()
    for skipped in range(max(1, min(4, len(word) - _MIN_ENCODED_CHARS))):
        texts += _decode_word(word[skipped:], cut=True)
    return texts


def _decode_word(word: bytes, cut: bool = False) -> tuple[str, ...]:
    texts: tuple[str, ...] = ()
    if _HEX.fullmatch(word) and not word.isalpha():
        texts = as_text(bytes.fromhex(word.decode()))
    body = word.rstrip(b"=")
    if len(body) % 4 == 1:
        if not cut:
            return texts
        body = body[:-1]
    if len(body) <= PROBE_CHARS or as_text(from_base64(body[:PROBE_CHARS])):
        texts += as_text(from_base64(body))
    return texts
