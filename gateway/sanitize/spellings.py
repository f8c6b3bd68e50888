"""Decodes escapes: percent (`%34`, also UTF-8), HTML (`&#52;`), `\\u0034`, `\\x34`, `\\064`, quoted-printable (`=34`).

A decoded word is a text of its own that maps the offsets of its characters back to the escaped word. Decodes one level;
the scanner calls it again for the result. Sources: RFC 3986 2.1, RFC 2045 6.7, the HTML standard's named characters as
in `html.entities`.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from html.entities import html5
from sys import maxsize
from typing import NamedTuple

import re2

from gateway.sanitize.text import (
    ENCODED_CLASS,
    PROBE_CHARS,
    REST_OF_ENCODED,
    Finding,
    WorkBudget,
    as_text,
    from_base64,
    rows_of,
    searcher,
)

_NAMED = (
    rb"(?:commat|period|lowbar|hyphen|dash|nbsp|sol|colon|equals|amp|num|plus|percnt|comma|quot|apos"
    rb"|ensp|emsp|thinsp|shy|zwj|zwnj|ZeroWidthSpace|NoBreak);"
)
_HEX = rb"[0-9A-Fa-f]"
_ESCAPE = re.compile(
    rb"[%&=\\](?:(?<=%)(?:H{2}(?:%H{2})*|uH{4})"
    rb"|(?<=\\)(?:uH{4}(?:\\uH{4})*|[01][0-7]{2}|u\{H{1,6}\}|UH{8}|xH{2})"
    rb"|(?<=&)(?:#(?:[0-9]{1,10}|[xX]H{1,10});?|".replace(b"H", _HEX) + _NAMED
    + rb")|(?<==)[2-7]H)".replace(b"H", _HEX)
)  # fmt: skip
"""Each alternative begins with the same character class, so that the search skips from one such character to the
next."""
_WORD_ENDS = bytes(0x20 if code in b" \t\n\r\f\"'<>" else 0x78 for code in range(256))
_CERTAIN_QUOTED_PRINTABLE = re.compile(rb"=[2-7](?:[0-9](?![0-9])|[A-F])")
"""Quoted-printable that is no assignment: in `=345` of a query or setting the digits are a number."""
_ADDRESS_CHARS = frozenset("@._- %=")
"""Characters of addresses: decoding a word matters only where one of these, a letter, digit or non-ASCII is escaped."""
_UNIT, _UNIT_CHARS = b"\\u", 6
"""Characters of `\\u0034`, one UTF-16 code unit."""


_QUOTES = frozenset((b"&quot;", b"&apos;", b"&#34;", b"&#39;", b"&#x27;", b"&#x22;", b"&#039;"))
"""Escapes of quotation marks: what they enclose is read with the line around it, which says what it is."""
_LINE_BEFORE_CHARS, _LINE_BEHIND_CHARS = 160, 240
"""Chosen: how much of a line is read with the quotation mark in it. At half a command before its password is cut; at
double each line of quotations costs more."""
_LINE_ENDS = bytes(0x20 if code in b"\n\r\f<>" else 0x78 for code in range(256))
_BEFORE_LABEL_CHARS = 24
"""Chosen: characters before a word in `\\u` escapes that are read with it: `mot de passe \\u00e9tait`. At half such a
name is cut; at double each escaped word costs more."""
_MAX_LABEL_CHARS = 480
"""Chosen: how long a row of words in `\\u` escapes may be: thirteen letters a word, six words. At half a label of four
words is cut off the value; at double texts in another script cost more."""
_BEHIND_LABEL_CHARS = 40
"""Chosen: characters behind a word in `\\u` escapes that are read with it. At half a password of 20 characters is cut;
at double each escaped word costs more."""


class _DecodedEscape(NamedTuple):
    """The text of an escape, also as UTF-8. `matters`: it has letters, digits or characters of addresses."""

    text: str
    data: bytes
    matters: bool
    widths: tuple[int, ...]
    """Bytes of the escape for each character of the text; a single number when all have the same."""


class Unescaped:
    """An escaped word at `start` of a text; `text` is the word decoded."""

    __slots__ = ("_budget", "_escapes", "_segments", "start", "text", "word")

    def __init__(
        self, start: int, word: bytes, text: str, escapes: dict[bytes, _DecodedEscape], budget: WorkBudget
    ) -> None:
        self.start, self.word, self.text = start, word, text
        self._escapes, self._budget = escapes, budget
        # (start in `text`, start in `word`, bytes of the word for each character)
        self._segments: list[tuple[int, int, int]] | None = None

    def offset_of(self, index: int) -> int:
        """The offset in the word of the character `index` of `text`; the word's end for the index behind the last."""
        if self._segments is None:
            self._segments = self._build_segments()
        begin, offset, step = self._segments[bisect_right(self._segments, (index, maxsize)) - 1]
        return offset + (index - begin) * step

    def _build_segments(self) -> list[tuple[int, int, int]]:
        segments: list[tuple[int, int, int]] = []
        size = place = 0
        for escape in _ESCAPE.finditer(self.word):
            begin, end = escape.span()
            self._budget.spend(3)
            if begin > place:
                segments.append((size, place, 1))
                size += begin - place
            text, _, _, widths = self._escapes[escape.group()]
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
    """Whether the folded text has any escape."""
    return _ESCAPE.search(text) is not None


def unescaped_words(text: bytes, budget: WorkBudget) -> Iterator[Unescaped]:
    """Every word with an escape that matters, in order. Raises BudgetExceeded."""
    gaps = text.translate(_WORD_ENDS)
    escapes: dict[bytes, _DecodedEscape] = {}
    parts: list[bytes] = []
    start = end = core_end = place = -1
    matters = is_certain = False
    for escape in _ESCAPE.finditer(text):
        low, high = escape.span()
        raw = text[low:high]
        if raw[:2] == _UNIT and low <= end + 1 and start >= 0 and core_end <= low < start + _MAX_LABEL_CHARS:
            core_end = gaps.find(b" ", high)  # the next word of the label
            core_end = core_end if core_end >= 0 else len(text)
            end = max(end, _end_behind_label(text, gaps, core_end))
        if low >= end:
            if is_certain:
                yield from _make_unescaped(
                    (start, text[start:end]), [*parts, text[place:end]], matters, escapes, budget
                )
            start, core_end, end = _word_around(text, gaps, (low, high), end)
            budget.spend((end - start) // 8)
            place, matters, is_certain, parts = start, raw in _QUOTES, False, []
            budget.spend(6)
        escaped = escapes.get(raw)
        if escaped is None:
            budget.spend(10 + len(raw) // 16)
            escaped = escapes[raw] = _decode_escape(raw)
        budget.spend(3)
        parts += (text[place:low], escaped.data)
        place = high
        matters = matters or escaped.matters
        is_certain = is_certain or text[low] != 0x3D or _CERTAIN_QUOTED_PRINTABLE.match(text, low) is not None
    if is_certain:
        yield from _make_unescaped((start, text[start:end]), [*parts, text[place:end]], matters, escapes, budget)


def _word_around(text: bytes, gaps: bytes, escape: tuple[int, int], least: int) -> tuple[int, int, int]:
    """(start, end, end of what is read with it) of the word around an escape, not before `least`. `gaps` has blanks for
    what ends words."""
    low, high = escape
    if text[low:high] in _QUOTES:
        first = max(0, low - _LINE_BEFORE_CHARS, least)
        line = text[first : high + _LINE_BEHIND_CHARS].translate(_LINE_ENDS)
        start, end = first + line.rfind(b" ", 0, low - first) + 1, line.find(b" ", high - first)
        end = first + end if end >= 0 else gaps.find(b" ", first + len(line))
        end = end if end >= 0 else len(text)
        return start, end, end
    start, end = gaps.rfind(b" ", 0, low) + 1, gaps.find(b" ", high)
    end = end if end >= 0 else len(text)
    if text[low : low + 2] != _UNIT:
        return start, end, end
    first = max(0, low - _BEFORE_LABEL_CHARS, least)
    quoted = text.rfind(b'"', first, low) + 1
    if quoted:
        start = quoted
    elif start > first:
        start = gaps.find(b" ", first, start) + 1  # the words before it may say what follows
    return start, end, _end_behind_label(text, gaps, end)  # a label in another script, and the number behind it


def _end_behind_label(text: bytes, gaps: bytes, end: int) -> int:
    """Where the short words behind the one that ends at `end` end, or the quotation; `end` if there is none."""
    closing = text.find(b'"', end, end + _BEHIND_LABEL_CHARS)
    if closing >= 0:
        return closing
    if len(gaps) - end <= _BEHIND_LABEL_CHARS:
        return len(gaps)
    return max(gaps.rfind(b" ", end + 1, end + _BEHIND_LABEL_CHARS), end)


def _make_unescaped(
    raw: tuple[int, bytes], parts: list[bytes], matters: bool, escapes: dict[bytes, _DecodedEscape], budget: WorkBudget
) -> Iterator[Unescaped]:
    data = b"".join(parts)
    if matters or b"&#" in data:
        yield Unescaped(*raw, data.decode(), escapes, budget)


def _decode_escape(raw: bytes) -> _DecodedEscape:
    text, widths = _decode_text(raw)
    matters = len(text) > len(widths) or any(char > "\x7f" or char.isalnum() or char in _ADDRESS_CHARS for char in text)
    return _DecodedEscape(text, text.encode(), matters, widths)


def _decode_text(raw: bytes) -> tuple[str, tuple[int, ...]]:
    """The text of an escape and its `widths` (see _DecodedEscape)."""
    kind, form = raw[:1], raw[1:2]
    if kind == b"%" and form != b"u":
        return _decode_percent(bytes.fromhex(raw.translate(None, b"%").decode()))
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


def _decode_percent(row: bytes) -> tuple[str, tuple[int, ...]]:
    if row.isascii():
        return row.decode(), (3,)
    try:
        text = row.decode()
    except UnicodeDecodeError:
        return row.decode("latin-1"), (3,)
    return text, tuple(3 * len(char.encode()) for char in text)


# ----------------------------------------------------------------------------------------------------
# Decodes words that hide their text: escapes (see `escapes`), base64, hex, and characters spelt one by one (`4 1 1
# 1`).
#
# Each decoded word is a Spelling: a text of its own that maps back to the word's offsets. The scanner scans it like
# any
# other text. Does not know what is searched in it.
_HEX_OBFUSCATION = re.compile(rb"(?:[0-9A-Fa-f]{2}){8,}+")
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
    if _HEX_OBFUSCATION.fullmatch(word) and not word.isalpha():
        texts = as_text(bytes.fromhex(word.decode()))
    body = word.rstrip(b"=")
    if len(body) % 4 == 1:
        if not cut:
            return texts
        body = body[:-1]
    if len(body) <= PROBE_CHARS or as_text(from_base64(body[:PROBE_CHARS])):
        texts += as_text(from_base64(body))
    return texts
