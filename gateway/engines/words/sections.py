"""A page's sections: what a fragment of its address selects, and the list of what a page too long to return holds.

Pure. Sections begin at the page's headings and definitions' terms (`anchors`), found again in its Markdown by their
text; where there are none, at the Markdown's own headings. A fragment is an id, the text of a heading or term, or
`char=START,END` as RFC 5147 has it for plain text: characters of the page's Markdown.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote, unquote

from gateway.domain import Json

_LINE = re.compile(r"([^\r\n]*)(?:\r\n?|\n|\Z)")
_FENCE_LINE = re.compile(r"((?:[ \t]|>|[-+*][ \t]|\d{1,9}[.)][ \t]|(?!)){0,64}+)(`{3,}+(?=[^`]*$)|~{3,}+)")
"""The marks of the quotes and list items around a fence, and the fence's own."""
_ITEM = re.compile(r"[ \t>]{0,64}+(?:[-+*]|\d{1,9}[.)])[ \t]+")
_MARK = re.compile(r"(?:[-+*]|\d[.)])[ \t]")
_NO_MARK = re.compile(r"[^> ]")


class TextLine(NamedTuple):
    """A line without its line ending. `last` is true for the text's last line, which has no ending."""

    start: int
    stop: int
    text: str
    last: bool


def lines_of(text: str) -> Iterator[TextLine]:
    """All lines of `text`; `\\n`, `\\r` and `\\r\\n` end a line."""
    for match in _LINE.finditer(text):
        last = match.end() == match.end(1)
        yield TextLine(match.start(), match.end(1), match[1], last)
        if last:
            return


def closing(text: str) -> str:
    """What to append to `text` so that no fence stays open: empty, or a newline and the closing line."""
    reader = FenceReader()
    for line in lines_of(text) if may_hold_fence(text) else ():
        reader.read(line.text)
    return reader.closing


def may_hold_fence(text: str) -> bool:
    """False when no line of `text` can begin a fence: a quick test before reading its lines."""
    return "```" in text or "~~~" in text


def fenced(code: str, language: str = "") -> str:
    """`code` in a fence of backticks longer than any run of them in it."""
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    markers = "`" * max(3, longest + 1)
    return f"{markers}{language}\n{code}\n{markers}"


class FenceReader:
    """Reads a text line by line: call `read` with each line in order. `opening` is the first line of the fence that is
    open after the last one, else ""; `closing` a newline and the line that closes it.

    A fence ends at its closing line, or where the quote or list item that contains it ends (CommonMark 0.31, 4.5).
    """

    def __init__(self) -> None:
        self.opening = self.closing = ""
        self._run = ""
        self._quotes = re.compile("")
        self._width = self._inner = self._item_width = self._item_quotes = 0

    def read(self, line: str) -> bool:
        """Takes the next line, without its line ending. Whether it belongs to a fence."""
        line = line.expandtabs(4)
        if self.opening:
            quoted = self._quotes.match(line)
            rest = line[quoted.end() :] if quoted is not None else ""
            column = len(line) - len(rest.lstrip(" "))
            if quoted is not None and (not rest.strip(" ") or column >= self._width):
                bare = rest.strip(" ")
                if len(bare) >= len(self._run) and not bare.strip(self._run[0]) and column <= self._inner + 3:
                    self.opening = self.closing = ""
                return True
            self.opening = self.closing = ""
        indent = _indent(line, self._item_quotes)
        if indent < self._item_width and line[indent:]:
            self._item_width = 0
        found = _FENCE_LINE.match(line)
        if found is None or self._is_code(found[1]):
            if item := _ITEM.match(line):
                self._begin_item(item[0])
            return False
        before = _NO_MARK.sub(" ", found[1])
        self.opening, self._run = line, found[2]
        self.closing = f"\n{before}{found[2]}"
        self._quotes = re.compile(rf"\A(?: *>){{{before.count('>')}}}")
        for mark in _MARK.finditer(found[1]):
            self._begin_item(found[1][: mark.end()])
        self._width = min(self._item_width, len(before))
        self._inner = max(self._width, len(found[1].rstrip(" ")) + 1 if found[1].strip(" ") else 0)
        return True

    def _begin_item(self, before: str) -> None:
        """Store the width of a list item's prefix `before`, such as `> - `, and how many quotes contain the item."""
        self._item_width, self._item_quotes = len(before), before.count(">")

    def _is_code(self, before: str) -> bool:
        """Whether a fence is indented so far that it is code by itself."""
        inner = before.rstrip(" ")
        return len(before) - max(len(inner), self._item_width if not inner.strip(" >") else 0) > (4 if inner else 3)


def _indent(line: str, quotes: int) -> int:
    """The column at which a line's text begins, behind the marks of at most so many quotes."""
    column = 0
    for part in line.split(">", quotes):
        column += len(part) - len(part.lstrip(" "))
        if part.strip(" "):
            break
        column += 1
    return column


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
"""Beginning of a heading that is carried by the passages below it."""

_LINES_A_STEP = 128
"""Lines read in one step: a third of a millisecond for headings."""

_MARKS = re.compile(
    r"!?\[([^\[\]\n]{0,1000})\]\([^()\s]{0,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,500})?\)|[*_`#|>~\\]+|-{3,}"
)
_SHOWN_MARKS = re.compile(
    r"\\([!-/:-@\[-`{-~])"
    r"|!?\[([^\[\]\n]{0,1000})\]\([^()\s]{0,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,500})?\)|[*`]+"
)
_CLOSING_MARKS = re.compile(r"[ \t]#{1,100}[ \t]{0,100}\Z")
_PASSAGES_HEADING = re.compile(r"(#{1,6})[ \t]+(?=\S)")
_LIST_ITEM = re.compile(r"[ \t]{0,12}(?:[-*+]|\d{1,9}[.)])[ \t]")
_CONTENTS_ENTRY = re.compile(r"[ \t]{0,30}- [^\n]{1,400} … (?:[0-9]{1,5}|[ivxlcIVXLC]{1,8})")
"""An entry of a contents list with its page number, as `engines.documents.pdf` writes it."""


@dataclass(frozen=True, slots=True)
class Passage:
    """`content[start:end]` of a page, and the headings above it, outermost first."""

    start: int
    end: int
    headings: tuple[str, ...]


def open_fences(content: str, places: Sequence[int]) -> list[str]:
    """For each place, in ascending order, the line that opens the code it is within; empty outside of code."""
    found: list[str] = []
    reader = FenceReader()
    for line in lines_of(content) if places and may_hold_fence(content) else ():
        while len(found) < len(places) and places[len(found)] <= line.start:
            found.append(reader.opening)
        if len(found) == len(places):
            break
        reader.read(line.text)
    return found + [reader.opening] * (len(places) - len(found))


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
    place = 0
    reader = FenceReader() if may_hold_fence(content) else None
    for number, line in enumerate(content.split("\n"), 1):
        if number % _LINES_A_STEP == 0:
            yield None
        low, high = place, place + len(line)
        place = high + 1
        was_open = reader is not None and bool(reader.opening)
        is_code = reader is not None and reader.read(line)
        if was_open:
            end = high if is_code else end
            if not is_code or (reader is not None and not reader.opening):
                yield _Block(start, end, 0, False, True)
                start = -1
            if is_code:
                continue
        heading = None if is_code else _PASSAGES_HEADING.match(line)
        if start >= 0 and (is_code or heading or not line.strip() or _LIST_ITEM.match(line)):
            yield _text_block(content, start, end)
            start = -1
        if heading:
            yield _Block(low + heading.end(), high, len(heading[1]), False)
        elif line.strip():
            start, end = (low if start < 0 else start), high
    if start >= 0:
        is_open = reader is not None and bool(reader.opening)
        yield _Block(start, end, 0, False, True) if is_open else _text_block(content, start, end)


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


_KEY_CHARS = 80
"""Letters and digits of a heading that are compared."""
_NAME_CHARS = 120
"""Longest name in a list of sections."""
_CHARS = re.compile(r"char=(\d{1,9}),(\d{1,9})", re.ASCII)
_SECTIONS_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_WORTH_LISTING = 40
"""Text before the first part of a section that is listed by itself."""
_FULL_LIST = 0.5
"""Sections are listed more finely until the list has this share of what it may have."""

LAST_HEADING_LEVEL = 6
"""A term's level is this plus the number of lists around it: below every heading."""


@dataclass(slots=True)
class Anchor:
    """A heading or term: its text, its level (1 to 6, more for a term), and the ids that lead to it, its own first."""

    text: str
    level: int
    ids: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Section:
    """`content[start:end]` with everything below it. `path` ends with its own name; `ids` lead to it."""

    start: int
    end: int
    level: int
    path: tuple[str, ...]
    ids: tuple[str, ...]
    has_parts: bool = False


def sections_of(content: str, anchors: Sequence[Anchor]) -> list[Section]:
    """The sections of a page in order, those below others included. `anchors` are empty for pages without a tree."""
    starts = _placed(content, anchors) if anchors else _headings(content)
    found: list[Section] = []
    trail: list[tuple[int, str]] = []
    for at, (start, anchor) in enumerate(starts):
        while trail and trail[-1][0] >= anchor.level:
            trail.pop()
        trail.append((anchor.level, anchor.text[:_NAME_CHARS]))
        end = next((place for place, later in starts[at + 1 :] if later.level <= anchor.level), len(content))
        path = tuple(name for _, name in trail)
        has_parts = at + 1 < len(starts) and starts[at + 1][0] < end
        found.append(Section(start, end, anchor.level, path, tuple(anchor.ids), has_parts))
    return found


def _placed(content: str, anchors: Sequence[Anchor]) -> list[tuple[int, Anchor]]:
    """The anchors with the starts of their lines in the content; one that is not found is left out.

    Found from the end to the beginning, since lists of contents repeat headings before them.
    """
    places: dict[str, list[int]] = {}
    for line in lines_of(content):
        if line.text.strip():
            key = _key(plain_text(line.text))
            places.setdefault(f"#{key}" if line.text.startswith("#") else key, []).append(line.start)
    found: list[tuple[int, Anchor]] = []
    last = len(content)
    for anchor in reversed(anchors):
        key = _key(anchor.text)
        lines = (places.get(f"#{key}") if anchor.level <= LAST_HEADING_LEVEL else None) or places.get(key, [])
        at = bisect_left(lines, last) - 1
        if key and at >= 0:
            last = lines[at]
            found.append((last, anchor))
    return found[::-1]


def _headings(content: str) -> list[tuple[int, Anchor]]:
    reader = FenceReader()
    found: list[tuple[int, Anchor]] = []
    for line in lines_of(content):
        heading = None if reader.read(line.text) else _SECTIONS_HEADING.match(line.text)
        if heading is not None:
            found.append((line.start, Anchor(shown_text(heading[2]), len(heading[1]))))
    return found


def _key(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())[:_KEY_CHARS]


def find(content: str, sections: Sequence[Section], fragment: str) -> tuple[int, int, tuple[str, ...]] | None:
    """(start, end, the headings above) of what a fragment selects; None when the page has no such section."""
    wanted = unquote(fragment)
    chars = _CHARS.fullmatch(wanted)
    if chars is not None:
        start, end = min(int(chars[1]), len(content)), min(int(chars[2]), len(content))
        return (start, end, _path_at(sections, start)) if start < end else None
    for same in (
        lambda each: wanted in each.ids or fragment in each.ids,
        lambda each: wanted.lower() in [name.lower() for name in each.ids],
        lambda each: bool(_key(wanted)) and _key(each.path[-1]) == _key(wanted),
    ):
        section = next(filter(same, sections), None)
        if section is not None:
            return section.start, section.end, section.path[:-1]
    return None


def _path_at(sections: Sequence[Section], place: int) -> tuple[str, ...]:
    """The path of the innermost section around a place, if the place is not its beginning."""
    around = [each for each in sections if each.start <= place < each.end]
    if not around:
        return ()
    return around[-1].path[:-1] if around[-1].start == place else around[-1].path


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of a list of sections: `content[start:end]`, its name, and the fragment that selects it."""

    start: int
    end: int
    name: str
    fragment: str
    section: Section | None = None

    @property
    def chars(self) -> int:
        return self.end - self.start


def outline(
    content: str, sections: Sequence[Section], span: tuple[int, int], most_chars: int, most_entries: int
) -> list[Json]:
    """`[{fragment, heading, chars}]`: `content[span]` in parts that fragments select, together all of it, in order.

    Each has at most `most_chars` characters where the page can be cut so; about `most_entries` parts, or as many as
    that needs.
    """
    entries = _parts(content, sections, Section(*span, 0, (), ()), most_entries)
    while True:
        open_ones = [entry for entry in entries if entry.section is not None and entry.section.has_parts]
        too_long = [entry for entry in open_ones if entry.chars > most_chars]
        if not too_long and len(entries) >= most_entries * _FULL_LIST:
            break
        largest = max(too_long or open_ones, key=lambda entry: entry.chars, default=None)
        if largest is None or largest.section is None:
            break
        parts = _parts(content, sections, largest.section, max(2, most_entries - len(entries)))
        if not too_long and len(entries) + len(parts) > most_entries:
            break
        at = entries.index(largest)
        entries[at : at + 1] = parts
    listed = [piece for entry in entries for piece in _cut(content, entry, most_chars)]
    return [{"fragment": each.fragment, "heading": each.name, "chars": each.chars} for each in listed]


def _name(sections: Sequence[Section], section: Section) -> str:
    """Its path, without the page's title when that is above everything."""
    title = sections[0].path[0]
    is_above_all = len(section.path) > 1 and sections[-1].path[0] == title and sections[0].end == sections[-1].end
    return " > ".join(section.path[is_above_all:])


def _below(sections: Sequence[Section], outer: Section) -> list[Section]:
    """The sections right below another, in order."""
    found: list[Section] = []
    for each in sections:
        is_inside = outer.start <= each.start < outer.end and each.level > outer.level
        if is_inside and (not found or each.start >= found[-1].end):
            found.append(each)
    return found


def _parts(content: str, sections: Sequence[Section], outer: Section, most: int) -> list[_Entry]:
    """The text before a section's first part, and its parts; neighbours together where there are more than `most`."""
    children = _below(sections, outer)
    first = children[0].start if children else outer.end
    name = _name(sections, outer) if outer.path else "beginning"
    lead = [_by_place(outer.start, first, name)] if len(content[outer.start : first].strip()) > _WORTH_LISTING else []
    if len(children) <= most:
        return lead + [_by_name(sections, child) for child in children]
    size = -(-(outer.end - first) // most)
    runs: list[list[Section]] = []
    for child in children:
        if not runs or child.end - runs[-1][0].start > size:
            runs.append([])
        runs[-1].append(child)
    return lead + [_run(sections, run) for run in runs]


def _run(sections: Sequence[Section], run: list[Section]) -> _Entry:
    if len(run) == 1:
        return _by_name(sections, run[0])
    name = f"{_name(sections, run[0])} … {run[-1].path[-1]}"
    return _by_place(run[0].start, run[-1].end, name)


def _by_name(sections: Sequence[Section], section: Section) -> _Entry:
    """The entry of a section, by its first id or its name; by its place where another section has the same name."""
    own = section.path[-1]
    is_first = next(each for each in sections if _key(each.path[-1]) == _key(own)) is section
    name = _name(sections, section)
    if section.ids:
        return _Entry(section.start, section.end, name, quote(section.ids[0], safe="!$&'()*+,;=:@/?-._~"), section)
    if is_first:
        return _Entry(section.start, section.end, name, quote(own, safe="!$&'()*+,;=:@/?-._~"), section)
    return _by_place(section.start, section.end, name, section)


def _by_place(start: int, end: int, name: str, section: Section | None = None) -> _Entry:
    return _Entry(start, end, name, f"char={start},{end}", section)


def _cut(content: str, entry: _Entry, most_chars: int) -> Iterable[_Entry]:
    """The entry, or where it is too long its parts, cut at ends of lines."""
    if entry.chars <= most_chars:
        yield entry
        return
    start, number = entry.start, 1
    while start < entry.end:
        end = min(start + most_chars, entry.end)
        if end < entry.end:
            line = content.rfind("\n", start + most_chars // 2, end)
            end = line + 1 if line > 0 else end
        yield _by_place(start, end, f"{entry.name} (part {number})")
        start, number = end, number + 1
