"""Reads words that hide their text: escapes, base64, hex, and characters spelt one by one.

    pass%77ord: Kx7vQ2mn   ->  password: Kx7vQ2mn
    4 1 1 1 1 1 1 1 …      ->  41111111…

Each is a Spelling: a text of its own that maps the offsets of its characters back to the folded text. The scanner
scans it like any other text, and once more for what is encoded twice. Escapes are read with the line around them, which
says what they are. Sources: RFC 3986 2.1 (percent), RFC 2045 6.7 (quoted-printable), the HTML standard's named
characters as in `html.entities`.
"""

import binascii
import re
from binascii import a2b_base64
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from html.entities import html5
from typing import NamedTuple

import re2

from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import SPELT_OUT, View
from gateway.sanitize.re2_search import searcher
from gateway.sanitize.work_budget import WorkBudget


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


def spellings(view: View, budget: WorkBudget) -> Iterator[Spelling]:
    """All spellings in a text, in offsets of its folded bytes. Raises BudgetExceeded."""
    text = view.folded
    if view.may_be_spelt:
        yield from _unescaped(text, budget)
        yield from _spelt_out(text, budget)
    yield from _encoded(view, budget)


_PRINTABLE = bytes({*range(0x20, 0x100), *b"\t\n\r"} - {0x7F})
_STANDARD = bytes.maketrans(b"-_", b"+/")
_SPACE = 0x20
_H = rb"[0-9A-Fa-f]"
_ESCAPE = re.compile(
    rb"[%&=\\](?:(?<=%)(?:[2-7]H|[89A-Fa-f]H(?:%[89A-Fa-f]H)*|uH{4})"
    rb"|(?<=\\)(?:u[dD][89abAB]HH\\u[dD][c-fC-F]HH|uH{4}|[01][0-7]{2}|u\{H{1,6}\}|UH{8}|xH{2})"
    rb"|(?<=&)(?:#(?:[0-9]{1,10}|[xX]H{1,10});?"
    rb"|(?:commat|period|lowbar|hyphen|dash|nbsp|sol|colon|equals|amp|num|plus|percnt|comma|quot|apos"
    rb"|ensp|emsp|thinsp|shy|zwj|zwnj|ZeroWidthSpace|NoBreak);)"
    rb"|(?<==)[2-7](?:[0-9](?![0-9])|[A-F]))".replace(b"H", _H)
)
"""Each alternative begins with the same character class, so that the search skips from one such character to the next.
The digits of `=345` are a number of a query or setting, no quoted-printable."""
_ADDRESS_CHARS = frozenset("@._- %=\"':/")
"""Decoding matters only for these, which addresses and assignments have, letters, digits and what is not ASCII."""
_LINE_ENDS = bytes(0x0A if code in b"\n\r\f<>" else 0x78 for code in range(256))
_BEFORE_CHARS, _BEHIND_CHARS = 160, 240
"""How much of a line is read with an escape in it: the name before a value, and the value."""


def _unescaped(text: bytes, budget: WorkBudget) -> Iterator[Spelling]:
    """The lines, or as much of them as is near, in which escapes stand for something that matters."""
    lines = b""
    start = end = -1
    matters = False
    for escape in _ESCAPE.finditer(text):
        budget.spend(4)
        low, high = escape.span()
        if low >= end:
            if matters:
                yield from _unescaped_line(text, start, end, budget)
            lines = lines or text.translate(_LINE_ENDS)
            first = max(low - _BEFORE_CHARS, end, 0)
            start, matters = max(lines.rfind(b"\n", first, low) + 1, first), False
        if high + _BEHIND_CHARS > end:
            behind = lines.find(b"\n", high, high + _BEHIND_CHARS)
            end = behind if behind >= 0 else _word_end(text, high + _BEHIND_CHARS)
        matters = matters or _matters(escape.group()) or text[high : high + 1] == b"#"  # `&amp;#52;`
    if matters:
        yield from _unescaped_line(text, start, end, budget)


def _word_end(text: bytes, at: int) -> int:
    end = text.find(b" ", at, at + _BEHIND_CHARS)
    return end if end >= 0 else min(at + _BEHIND_CHARS, len(text))


def _unescaped_line(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Spelling]:
    line = text[start:end]
    budget.spend(8 + len(line) // 8)
    parts, places, escapes = list[str](), list[int](), list[tuple[int, int, int]]()
    size = at = 0
    for escape in _ESCAPE.finditer(line):
        begin, behind = escape.span()
        decoded = _decoded(escape.group())
        parts += (line[at:begin].decode(), decoded)
        places.append(size + begin - at)
        escapes.append((begin, behind, len(decoded)))
        size, at = size + begin - at + len(decoded), behind

    def offset_of(index: int) -> int:
        nearest = bisect_right(places, index) - 1
        if nearest < 0:
            return index
        (begin, behind, width), inside = escapes[nearest], index - places[nearest]
        return begin + inside * ((behind - begin) // width) if inside < width else behind + inside - width

    yield Spelling(start, end, "".join((*parts, line[at:].decode())), offset_of)


@lru_cache(1024)
def _matters(raw: bytes) -> bool:
    return any(char > "\x7f" or char.isalnum() or char in _ADDRESS_CHARS for char in _decoded(raw))


@lru_cache(1024)
def _decoded(raw: bytes) -> str:
    """The text of an escape: `%C3%A4` is `ä`, `\\u0034`, `&#52;` and `=34` are `4`."""
    kind, form = raw[:1], raw[1:2]
    if kind == b"%" and form != b"u":
        data = bytes.fromhex(raw.translate(None, b"%").decode())
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.decode("latin-1")
    if kind == b"\\" and len(raw) == _PAIR_CHARS:
        return bytes.fromhex(raw.translate(None, b"\\u").decode()).decode("utf-16-be", "replace")
    if kind == b"&" and form != b"#":
        return html5[raw[1:].decode()][:1]
    if kind == b"&" and raw[2:3] not in (b"x", b"X"):
        number = int(raw[2:].rstrip(b";"))
    elif kind == b"\\" and form in (b"0", b"1"):
        number = int(raw[1:], 8)
    else:
        number = int(raw.lstrip(b"&#%=\\uUxX{").rstrip(b";}"), 16)
    return chr(number) if number < 0xD800 or 0xE000 <= number < 0x110000 else "?"


_PAIR_CHARS = 12
"""Characters of two `\\ud83d`, which are one character beyond the first plane."""
_SPELT_OUT = re2.compile(SPELT_OUT)
_COLUMN = re.compile(rb"[\t\r\n]|  ")
"""What parts the cells of a table: digits in it, one a cell, are no number."""
_DECIMALS = re.compile(rb"[0-9]\.[0-9]{1,8}[, -][0-9-]{0,4}\.[0-9]")
"""Decimal numbers beside each other, as drawings have them."""


def _spelt_out(text: bytes, budget: WorkBudget) -> Iterator[Spelling]:
    for match in _SPELT_OUT.finditer(text):
        start, end = match.span(1)
        budget.spend(16 + (end - start) // 2)
        word = text[start:end]
        if len(set(word[1::2])) == 1:
            indexes = list(range(0, end - start, 2))
        else:
            indexes = [index for index, code in enumerate(word) if code not in b" *|,/\t\r\n"]
        joined = bytes([word[index] for index in indexes])
        if not (joined.isdigit() and _COLUMN.search(word)) and _DECIMALS.search(word) is None:
            yield Spelling(start, end, joined.decode(), [*indexes, end - start].__getitem__)


_MIN_ENCODED_CHARS = 16
"""The shortest word that is decoded: 8 bytes as hex, 12 as base64, about the shortest values."""
_ENCODED = searcher(re2.compile(rb"[A-Za-z0-9+/_-]{16,}"))
_ENCODED_WORD = re.compile(rb"[A-Za-z0-9+/_-]++={0,2}")
_ROWS = re.compile(rb"([A-Za-z0-9+/_-]{60,76})(?:\r?\n[ \t]{0,16}[A-Za-z0-9+/_-]{1,76}={0,2})+")
_HEX = re.compile(rb"(?:[0-9A-Fa-f]{2}|(?!)){8,}+")
_PROBE_CHARS = 64
"""The start of a longer base64 word is decoded first, and the rest only if this is text."""


def _encoded(view: View, budget: WorkBudget) -> Iterator[Spelling]:
    """Words that are base64 or hex of readable text, and rows of base64 as programs print it."""
    text, last_end = view.folded, 0
    texts_of: dict[bytes, tuple[str, ...]] = {}
    for start, _ in view.long_words.find(_ENCODED):
        if start < last_end:
            continue
        found = _ENCODED_WORD.match(text, start)
        last_end = end = found.end() if found else len(text)
        rows = _ROWS.match(text, start) if text[end : end + 1] in (b"\n", b"\r") else None
        block = _of_rows(rows, budget) if rows is not None else None
        if block is not None:
            yield block
            last_end = block.end
            continue
        word = text[start:end]
        budget.spend(1)
        if word not in texts_of:
            budget.spend(5 + len(word) // 16)
            texts_of[word] = _texts_of(word, is_cut=start == 0 or end == len(text))
        for decoded in texts_of[word]:
            yield Spelling(start, end, decoded)


def _of_rows(rows: re.Match[bytes], budget: WorkBudget) -> Spelling | None:
    """The text that rows of base64 are together: a value in it may begin in one row and end in another."""
    start, width = rows.start(), rows.end(1) - rows.start()
    spans = [word.span() for word in _ENCODED_WORD.finditer(rows.string, start, rows.end())]
    last = next((n for n, (low, high) in enumerate(spans) if high - low != width), len(spans) - 1)
    spans = [span for n, span in enumerate(spans[: last + 1]) if n == 0 or span[1] - span[0] <= width]
    body = b"".join([rows.string[low:high] for low, high in spans]).rstrip(b"=")
    budget.spend(5 + len(body) // 16)
    decoded = _as_text(_from_base64(body[: len(body) - (len(body) % 4 == 1)])) if width % 4 == 0 else ()
    if len(spans) < 2 or not decoded:
        return None
    text, end = decoded[0], spans[-1][1]

    def offset_of(index: int) -> int:
        row, column = divmod(min(-(-index * 4 // 3), len(body)), width)
        return (spans[row][0] + column if row < len(spans) else end) - start

    return Spelling(start, end, text, offset_of if text.isascii() else None)


def _texts_of(word: bytes, is_cut: bool) -> tuple[str, ...]:
    """The readable texts that a word is in hex or base64. `is_cut`: the text begins or ends with it, so that a part may
    be missing."""
    texts: tuple[str, ...] = ()
    for skipped in range(max(1, min(4, len(word) - _MIN_ENCODED_CHARS)) if is_cut else 1):
        rest = word[skipped:]
        if _HEX.fullmatch(rest) and not rest.isalpha():
            texts += _as_text(bytes.fromhex(rest.decode()))
        body = rest.rstrip(b"=")
        body = body[: len(body) - (is_cut and len(body) % 4 == 1)]
        if len(body) % 4 != 1 and (len(body) <= _PROBE_CHARS or _as_text(_from_base64(body[:_PROBE_CHARS]))):
            texts += _as_text(_from_base64(body))
    return texts


def _from_base64(body: bytes) -> bytes:
    """What base64 without its `=` decodes to, in either alphabet; nothing where it is none."""
    try:
        return a2b_base64(body.translate(_STANDARD) + b"=" * (-len(body) % 4))
    except binascii.Error:
        return b""


def _as_text(decoded: bytes) -> tuple[str, ...]:
    """(the text,) if the bytes are UTF-8 without control characters, else ()."""
    if not decoded or decoded.translate(None, _PRINTABLE):
        return ()
    text = decoded.decode("utf-8", "ignore")  # an exception would cost more than the rest of the function
    return (text,) if len(text) == len(decoded) or len(text.encode()) == len(decoded) else ()
