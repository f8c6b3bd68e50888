"""Cuts a page's Markdown into passages: the units that the search index ranks and that excerpts are made of.

A passage is a slice of the page, so its place in the page is known and nothing in it is rewritten. It begins at a
block, never inside a code fence, a table row or a list item that fits; a heading, a definition's term and a line that
ends in a colon stay with what follows them. The contents list of a document is in no passage, unless there is no other:
it has the words of every section and no answer. Each passage carries the headings above it. Every function takes time
linear in the text. Knows no index and no query.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

MOST_CHARS = 1_800
"""Measured on 139 questions over 5,500 documentation pages (`bench.search_quality`): at half this size answers are torn
apart, at double their words are diluted; between 1,200 and 2,400 the ranking hardly changes."""

_LEAST_SHARE = 0.25
"""A section shorter than this share of a passage is joined with the sections below it: alone, at zero, every heading
over an introductory line would be a passage of one sentence; at one half, answers of two sections mix."""

_LONGEST_PARAGRAPH = 1.6
"""How much longer than a passage a paragraph of a long text may be before it is cut within. Measured on 135 questions
over three sets of documentation, manual pages among them: the answer is in an extract with the question as query for
.93 instead of .92 at 1.0, and as many at 2."""

_TERM_CHARS = 200
"""Longest line that may be the term of a definition. Signatures of functions with many parameters reach 150."""

_HEADING_CHARS = 300
"""Beginning of a heading that is carried by the passages below it. Chosen: each of them repeats it, so a heading as
long as its page would cost the square of that; at half the headings of some papers lose words."""

_LINES_A_STEP = 128
"""Lines read in one step: a third of a millisecond for headings. Chosen: at half ordinary pages take twice as many
steps, at double a step of the worst page takes a millisecond."""

_MARKS = re.compile(
    r"!?\[([^\[\]\n]{0,1000})\]\([^()\s]{0,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,500})?\)|[*_`#|>~\\]+|-{3,}"
)
_SHOWN_MARKS = re.compile(
    r"\\([!-/:-@\[-`{-~])"
    r"|!?\[([^\[\]\n]{0,1000})\]\([^()\s]{0,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,500})?\)|[*`]+"
)
_CLOSING_MARKS = re.compile(r"[ \t]#{1,100}[ \t]{0,100}\Z")
_HEADING = re.compile(r"(#{1,6})[ \t]+(?=\S)")
_LIST_ITEM = re.compile(r"[ \t]{0,12}(?:[-*+]|\d{1,9}[.)])[ \t]")
_CONTENTS_ENTRY = re.compile(r"[ \t]{0,30}- [^\n]{1,400} … (?:[0-9]{1,5}|[ivxlcIVXLC]{1,8})")
"""An entry of a contents list with its page number, as `engines.documents.contents_list` writes it."""
_FENCE = re.compile(r"[ \t]{0,12}(`{3,64}|~{3,64})")
_FENCE_LINE = re.compile(r"^[ \t]{0,12}(`{3,64}|~{3,64})[^\n]{0,1000}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Passage:
    """`content[start:end]` of a page, and the headings above it, outermost first."""

    start: int
    end: int
    headings: tuple[str, ...]


def open_fences(content: str, places: Sequence[int]) -> list[str]:
    """For each place, in ascending order, the line that opens the code it is within; empty outside of code."""
    found: list[str] = []
    fence = opening = ""
    for line in _FENCE_LINE.finditer(content, 0, places[-1] if places else 0):
        while places[len(found)] <= line.start():
            found.append(opening)
        if not fence:
            fence, opening = line[1], line[0]
        elif _closes(line[0], fence):
            fence = opening = ""
    return found + [opening] * (len(places) - len(found))


class _Block(NamedTuple):
    """A run of lines. `level` is 1 to 6 for a heading, else 0; `leads` says that the next block belongs to it."""

    start: int
    end: int
    level: int
    leads: bool
    is_code: bool = False


def plain_text(markdown: str) -> str:
    """The text without Markdown marks and link targets: what is indexed and compared."""
    return _MARKS.sub(r" \1 ", markdown)


def shown_text(markdown: str) -> str:
    """A heading or a term as readers see it: without Markdown marks and link targets, names with their underscores."""
    return " ".join(_SHOWN_MARKS.sub(r"\1\2", _CLOSING_MARKS.sub("", markdown)).split())


def passages(content: str, most_chars: int = MOST_CHARS) -> list[Passage]:
    """The passages of a page, in order. They do not overlap; headings and blank lines between them are left out."""
    return list(each_passage(content, most_chars))


def each_passage(content: str, most_chars: int = MOST_CHARS) -> Iterator[Passage]:
    """As `passages`, one after the other: the work for each is done when it is asked for."""
    return (passage for passage in passage_steps(content, most_chars) if passage is not None)


def passage_steps(content: str, most_chars: int = MOST_CHARS) -> Iterator[Passage | None]:
    """As `each_passage`, with None after every _LINES_A_STEP lines: a page may have very many lines and no passage."""
    is_empty = True
    for passage in _steps(content, most_chars, with_contents=False):
        is_empty = is_empty and passage is None
        yield passage
    if is_empty:
        yield from _steps(content, most_chars, with_contents=True)


def _steps(content: str, most_chars: int, *, with_contents: bool) -> Iterator[Passage | None]:
    trail: list[tuple[int, str]] = []
    start = end = -1
    headings: tuple[str, ...] = ()
    for unit in _units(content):
        if unit is None:
            yield None
            continue
        first = unit[0]
        if first.level:
            while trail and trail[-1][0] >= first.level:
                trail.pop()
            title = shown_text(content[first.start : min(first.end, first.start + _HEADING_CHARS)])
            trail.append((first.level, title))
            path = tuple(title for _, title in trail)
            if start >= 0 and (end - start > most_chars * _LEAST_SHARE or path[: len(headings)] != headings):
                yield Passage(start, end, headings)
                start = -1
            continue
        if not with_contents and _is_contents(content, unit[-1]):
            continue
        if start >= 0 and unit[-1].end - start > most_chars:
            yield Passage(start, end, headings)
            start = -1
        for low, high in _slices(content, unit, most_chars):
            if start >= 0 and high - start > most_chars:
                yield Passage(start, end, headings)
                start = -1
            if start < 0:
                start, headings = low, tuple(title for _, title in trail)
            end = high
            if end - start > most_chars:
                yield Passage(start, end, headings)
                start = -1
    if start >= 0:
        yield Passage(start, end, headings)


def _units(content: str) -> Iterator[list[_Block] | None]:
    """Blocks that must stay together: a term or an introduction with what follows it; a heading alone."""
    unit: list[_Block] = []
    for block in _blocks(content):
        if block is None:
            yield None
            continue
        if block.level:
            if unit:
                yield unit
                unit = []
            yield [block]
            continue
        unit.append(block)
        if not block.leads or len(unit) == 3:
            yield unit
            unit = []
    if unit:
        yield unit


def _blocks(content: str) -> Iterator[_Block | None]:
    """Headings, fences, and runs of lines between blank ones; every list item that begins a line is a block."""
    start = end = -1
    fence = ""
    place = 0
    for number, line in enumerate(content.split("\n"), 1):
        if number % _LINES_A_STEP == 0:
            yield None
        low, high = place, place + len(line)
        place = high + 1
        if fence:
            end = high
            if _closes(line, fence):
                yield _Block(start, end, 0, False, True)
                start, fence = -1, ""
            continue
        opening = _FENCE.match(line)
        heading = _HEADING.match(line)
        if start >= 0 and (opening or heading or not line.strip() or _LIST_ITEM.match(line)):
            yield _text_block(content, start, end)
            start = -1
        if heading:
            yield _Block(low + heading.end(), high, len(heading[1]), False)
        elif opening:
            start, end, fence = low, high, opening[1]
        elif line.strip():
            start, end = (low if start < 0 else start), high
    if start >= 0:
        yield _Block(start, end, 0, False, True) if fence else _text_block(content, start, end)


def _text_block(content: str, start: int, end: int) -> _Block:
    return _Block(start, end, 0, _leads(content[start:end]))


def _is_contents(content: str, block: _Block) -> bool:
    """Whether a block is an entry of a contents list, or several."""
    if block.is_code or " … " not in content[block.start : block.end]:
        return False
    return all(_CONTENTS_ENTRY.fullmatch(line) for line in content[block.start : block.end].split("\n"))


def _leads(text: str) -> bool:
    """Whether a block only introduces the next one: it ends in a colon, or is a lone line that is no sentence."""
    bare = text.rstrip(" \t*_`")
    if bare.endswith(":"):
        return True
    is_line = "\n" not in text and len(text) <= _TERM_CHARS and not text.startswith(("|", ">", "!"))
    return is_line and not _LIST_ITEM.match(text) and not bare.endswith((".", "!", "?", "…", "。", "！", "？"))


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and bare == fence[0] * len(bare)


def _slices(content: str, unit: list[_Block], most_chars: int) -> Iterator[tuple[int, int]]:
    """The unit as one slice, or, where it is longer than two passages, cut at blank lines, else at line ends, sentences
    or blanks. A line keeps the blanks that indent it."""
    low, high = unit[0].start, unit[-1].end
    while high - low > 2 * most_chars:
        cut = _cut_place(content, low, most_chars)
        yield low, cut
        low = cut
        skipped = "\n" if content[cut] == "\n" else " \n"
        while low < high and content[low] in skipped:
            low += 1
    if low < high:
        yield low, high


def _cut_place(content: str, low: int, most_chars: int) -> int:
    """Where a slice that begins at `low` ends: at the last end of a paragraph, else at the next one that is near."""
    earliest, latest = low + most_chars // 2, low + most_chars
    if content.rfind("\n\n", earliest, latest) < 0:
        place = content.find("\n\n", latest, low + int(most_chars * _LONGEST_PARAGRAPH))
        if place > 0:
            return place
    for mark in ("\n\n", "\n", ". ", " "):
        place = content.rfind(mark, earliest, latest)
        if place > 0:
            return place + (1 if mark == ". " else 0)
    return latest
