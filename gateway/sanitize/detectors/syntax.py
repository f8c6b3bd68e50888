"""Finds secrets by syntax other than a name: headers, commands and their options, logins, columns, webhooks.

`syntax.txt` has a row for each syntax: how it begins, where its values stand behind that, and how they are judged. One
search finds all beginnings. A value is a secret only if it looks like one (`named_secrets`).

    curl -u anna:tR4vel!ing https://…     ->  tR4vel!ing
    Cookie: theme=dark; sid=9f3bA71kQz0x  ->  9f3bA71kQz0x
    Authorization: Bearer 7f8e9d0c1b2a    ->  7f8e9d0c1b2a
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias, cast

import re2

from gateway.sanitize.detectors.harmless import is_published_basic, is_published_secret
from gateway.sanitize.detectors.key_material import BEGINNINGS, find_block
from gateway.sanitize.detectors.named_secrets import judged, line_end
from gateway.sanitize.detectors.tables import rows
from gateway.sanitize.detectors.value_forms import Naming, has_high_entropy, is_identifier, is_placeholder
from gateway.sanitize.detectors.value_spans import quote_before
from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View
from gateway.sanitize.re2_search import searcher, spans
from gateway.sanitize.work_budget import WorkBudget

Judge: TypeAlias = Literal["setting", "owned", "paired", "random", "hook", "digits"]
"""`setting`: any value but a word about it; `owned`, `paired`: what looks like a password or key; `random`: drawn at
random; `hook`: the same in the parts of a path; `digits`: a card's security code."""
_VALUE = r"[\"']?([^\s\"'`]{4,160})"


class Row(NamedTuple):
    """`begins`: RE2 pattern of the beginning. `values`: pattern of the text behind it, with the value as its group;
    searched for in the rest of the line where `in_line`, else right behind the beginning; `many`: each match counts."""

    kind: str
    begins: bytes
    values: bytes
    judge: Judge
    in_line: bool = False
    many: bool = False


def _row(line: str) -> Row:
    kind, begins, values, judge, where = (line + "\t" * 4).split("\t")[:5]
    if begins.startswith("command "):
        begins = r"(?:^|[\s`\"'(;|&/$])(?:" + begins[8:].replace(" ", "|") + r")(?:\.exe)?[\"']?,?[ \t]"
    pattern = values.replace("<value>", _VALUE).replace("<word>", r"[A-Za-z0-9_.@%+-]{1,64}")
    begins = BEGINNINGS.decode() if kind == "block" else begins
    return Row(kind, begins.encode(), pattern.encode(), cast(Judge, judge), where != "", where == "many")


ROWS = tuple(map(_row, rows("syntax.txt")))
_BY_KIND = {row.kind.replace(" ", "_"): row for row in ROWS}
_VALUES = {kind: re.compile(row.values) for kind, row in _BY_KIND.items()}
_MEMORY = re2.Options()
_MEMORY.max_mem = 24 << 20
_FIND = searcher(re2.compile(b"|".join(row.begins for row in ROWS), _MEMORY))
_BEGINNINGS = re.compile(
    b"|".join(b"(?P<" + kind.encode() + b">" + row.begins + b")" for kind, row in _BY_KIND.items())
)
_OWNED = Naming(strong=True, proves=True, link="assigned", quote=b"")
_PAIRED = _OWNED._replace(link="paired")
_NAMINGS = {"setting": _OWNED, "owned": _OWNED, "paired": _PAIRED}
_MAX_LINE_CHARS = 2_048
"""How far a line is read for options and cookies: browsers send up to 4 KB of these, commands are shorter."""
_EXAMPLE_CODES = (b"000", b"111", b"123", b"999", b"0000", b"1111", b"1234", b"4321", b"321")
_CARD_NUMBER = re.compile(rb"(?:[0-9][ -]?){11}[0-9]")
_PATH_PART = re.compile(rb"[A-Za-z0-9_~-]{20,200}")
_UUID = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CELL = re.compile(rb"[ \t]{0,40}[`\"]?([^\s`\"]{4,160})")
_MAX_ROWS = 40
_RULE = b"-+|:= \t\r"


def find_syntax_secrets(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entity SECRET, in folded offsets; not in order. Raises BudgetExceeded."""
    text, read_to = view.folded, -1
    for start, end in spans(_FIND, text):
        budget.spend(22)
        beginning = _BEGINNINGS.match(text, start, end)
        if beginning is None or beginning.lastgroup is None:
            continue
        kind = beginning.lastgroup
        row = _BY_KIND[kind]
        if row.in_line and end <= read_to:
            continue  # in the line of a command that was read
        if kind == "columns":
            yield from _below(text, start, end, budget)
            continue
        if kind == "block":
            yield from find_block(text, start, end, budget)
            continue
        high = line_end(text, end, _MAX_LINE_CHARS) if row.in_line else len(text)
        values = (
            _VALUES[kind].finditer(text, end - row.in_line, high) if row.in_line else [_VALUES[kind].match(text, end)]
        )
        budget.spend((high - end) // 32 if row.in_line else 2)
        for value in values:
            if value is not None:
                read_to = value.end()
                yield from _judge(text, value.span(1), row.judge, budget)
            if not row.many:
                break


def _judge(text: bytes, span: tuple[int, int], judge: Judge, budget: WorkBudget) -> Iterator[Finding]:
    start, end = span
    value = text[start:end]
    budget.spend(30 + len(value) // 4)
    if judge == "digits":
        if value not in _EXAMPLE_CODES:
            is_owned = text[start - 1 : start] in (b'"', b"'") or b":" in text[start - 3 : start]
            is_owned = is_owned or _CARD_NUMBER.search(text, max(0, start - 100), start) is not None
            yield Finding(start, end, "SECRET", is_owned)
    elif judge == "hook":
        parts = [part for part in _PATH_PART.finditer(text, start, end) if _is_drawn(part.group())]
        if parts:
            yield Finding(parts[0].start(), parts[-1].end(), "SECRET")
    elif judge == "random":
        value = value.rstrip(b".")
        is_harmless = is_placeholder(value.lower()) or is_published_secret(value) or is_published_basic(value)
        if _is_drawn(value) and not is_harmless:
            yield Finding(start, start + len(value), "SECRET")
    else:
        naming = _NAMINGS[judge]._replace(quote=quote_before(text, start))
        finding = judged(text, start, value, naming, budget)
        if finding is None and judge == "setting":
            finding = judged(text, start, value, naming._replace(any_word=True), budget)
            finding = finding and finding._replace(certain=False)
        if finding is not None and not is_published_basic(text[finding.start : finding.end]):
            at = text.find(b"@", finding.start, finding.end) if judge == "paired" else -1
            yield finding if at < finding.start + 4 else finding._replace(end=at)


def _is_drawn(value: bytes) -> bool:
    return has_high_entropy(value) and not is_identifier(value) and _UUID.fullmatch(value) is None


def _below(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """The secrets below a column's name in a table whose cells a comma, semicolon, tab or bar parts."""
    low = text.rfind(b"\n", 0, start + 1) + 1
    high = line_end(text, max(end - 1, low))
    line = text[low:high].strip(b"\t ")  # tabs before a line of a program part nothing
    marks = [mark for mark in (b"\t", b"|", b";", b",") if mark in line]
    if not marks:
        return
    mark = marks[0]
    index, cells, at = text.count(mark, low, start + 1), text.count(mark, low, high), high + 1
    for _ in range(_MAX_ROWS):
        row_end = line_end(text, at)
        budget.spend(4 + (row_end - at) // 32)
        if row_end > at and not text[at:row_end].strip(_RULE):
            at = row_end + 1
            continue
        if row_end <= at or text.count(mark, at, row_end) != cells:
            return
        cell = at
        for _ in range(index):
            cell = text.find(mark, cell, row_end) + 1
        cell_end = text.find(mark, cell, row_end)
        value = _CELL.match(text, cell, cell_end if cell_end >= 0 else row_end)
        if value is not None:
            yield from _judge(text, value.span(1), "paired", budget)
        at = row_end + 1
