"""A page's sections: what a fragment of its address selects, and the list of what a page too long to return holds.

Pure. Sections begin at the page's headings and definitions' terms (`anchors`), found again in its Markdown by their
text; where there are none, at the Markdown's own headings. A fragment is an id, the text of a heading or term, or
`char=START,END` as RFC 5147 has it for plain text: characters of the page's Markdown.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from gateway.domain import Json
from gateway.engines.answer.code_fences import FenceReader, lines_of
from gateway.engines.answer.passages import plain_text, shown_text

_KEY_CHARS = 80
"""Letters and digits of a heading that are compared. Chosen: longer ones differ earlier; signatures may be cut."""
_NAME_CHARS = 120
"""Longest name in a list of sections. Chosen: a long heading; names share the answer with the page's text."""
_CHARS = re.compile(r"char=(\d{1,9}),(\d{1,9})", re.ASCII)
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_WORTH_LISTING = 40
"""Text before the first part of a section that is listed by itself. Chosen: less is a line that says nothing."""
_FULL_LIST = 0.5
"""Sections are listed more finely until the list has this share of what it may have. Chosen: at half, a page of two
long chapters is listed as two; double would split every list as far as it goes."""

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
        heading = _HEADING.match(line.text) if reader.fence is None else None
        reader.read(line.text)
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
