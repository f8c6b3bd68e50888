"""Decodes escapes: percent (`%34`, also UTF-8), HTML (`&#52;`), `\\u0034`, `\\x34`, `\\064`, quoted-printable (`=34`).

A decoded word is a text of its own that maps the offsets of its characters back to the escaped word. Decodes one level;
the scanner calls it again for the result. Sources: RFC 3986 2.1, RFC 2045 6.7, the HTML standard's named characters as
in `html.entities`.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from html.entities import html5
from sys import maxsize
from typing import NamedTuple

from gateway.sanitize.text.work_budget import WorkBudget

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
