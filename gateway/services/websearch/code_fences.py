"""Tells whether a beginning of a Markdown text leaves a code fence open, and what line would close it.

Reads as much of CommonMark's blocks as fences depend on: quotes, list items, paragraphs, indented code. Raw HTML is
read as prose, so a fence inside a `<div>` counts as one.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = re.compile(r"([^\r\n]*)(?:\r\n?|\n|\Z)")
_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r"( {0,3}(?:[-+*]|(\d{1,9})[.)]))( +|$)")
_RULE = re.compile(r" {0,3}([-*_])(?: *\1){2,} *$")
_OPENING = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?: |$)")
_MEANT = "`~>-+*0123456789"
_QUOTED = 0
_MAX_NESTED = 32


class Line(NamedTuple):
    """Where a line stands in its text, without its end, and whether it is the text's unended last one."""

    start: int
    stop: int
    text: str
    last: bool


class Fence(NamedTuple):
    """An open fence: what stands before its markers, and the markers."""

    indent: int
    run: str

    def is_closed_by(self, line: str) -> bool:
        """True when `line`, freed of its containers, ends the fence."""
        bare = line.strip(" ")
        return len(line) - len(line.lstrip(" ")) < 4 and len(bare) >= len(self.run) and not bare.strip(self.run[0])


def lines_of(text: str) -> Iterator[Line]:
    """All lines, the last one with the text's end."""
    for found in _LINE.finditer(text):
        last = found.end() == found.end(1)
        yield Line(found.start(), found.end(1), found[1], last)
        if last:
            return


def closing(text: str) -> str:
    """What `text` lacks to leave no fence open: empty, or a line that closes it."""
    reader = FenceReader()
    for line in lines_of(text):
        reader.read(line.text)
    return reader.closing


class FenceReader:
    """Reads a text line by line; `fence` is the one open after the last line read."""

    def __init__(self) -> None:
        self.fence: Fence | None = None
        self._containers: list[int] = []  # from outside in: _QUOTED, or the width of a list item's indentation
        self._in_paragraph = False
        self._item_is_empty = False

    @property
    def closing(self) -> str:
        """The line that closes the open fence, with the end of the line before it; empty when none is open."""
        if self.fence is None:
            return ""
        before = "".join("> " if width == _QUOTED else " " * width for width in self._containers)
        return f"\n{before}{' ' * self.fence.indent}{self.fence.run}"

    def read(self, line: str) -> None:
        """Takes the next line."""
        line = line.expandtabs(4)
        if not self._containers and self.fence is None and line.lstrip(" ")[:1] not in _MEANT:
            self._read_prose(line)  # nearly every line of most texts
            return
        rest, going_on = self._inside(line)
        if self.fence is not None:
            if going_on == len(self._containers):
                if self.fence.is_closed_by(rest):
                    self.fence = None
                return
            self.fence = None  # a fence ends with what holds it
        if going_on < len(self._containers):
            if self._in_paragraph and not _begins_block(rest):
                return  # the paragraph goes on without its marks
            del self._containers[going_on:]
            self._in_paragraph = False
        self._read_inner(rest)

    def _inside(self, line: str) -> tuple[str, int]:
        """What is left of the line inside the containers that go on in it, and how many do."""
        for number, width in enumerate(self._containers):
            if width == _QUOTED:
                mark = _QUOTE.match(line)
                if mark is None:
                    return line, number
                line = line[mark.end() :]
            elif not line.strip(" "):
                if self._item_is_empty and number == len(self._containers) - 1:
                    return line, number  # an item may begin with one empty line only
                line = ""
            elif line.startswith(" " * width):
                line = line[width:]
            else:
                return line, number
        return line, len(self._containers)

    def _read_inner(self, rest: str) -> None:
        self._item_is_empty = False
        while len(self._containers) < _MAX_NESTED:
            if (mark := _QUOTE.match(rest)) is not None:
                self._containers.append(_QUOTED)
                rest = rest[mark.end() :]
            elif width := _item(rest, self._in_paragraph):
                self._containers.append(width)
                rest = rest[width:]
                self._item_is_empty = not rest.strip(" ")
            else:
                break
            self._in_paragraph = False
        opening = _OPENING.match(rest)
        if opening is not None:
            self.fence = Fence(len(opening[1]), opening[2])
            self._in_paragraph = False
        else:
            self._read_prose(rest)

    def _read_prose(self, rest: str) -> None:
        is_code = rest.startswith("    ") and not self._in_paragraph
        self._in_paragraph = (
            bool(rest.strip(" ")) and not is_code and not _HEADING.match(rest) and not _RULE.match(rest)
        )


def _begins_block(rest: str) -> bool:
    """True for a line that cannot be the rest of a paragraph further inside."""
    return not rest.strip(" ") or any(
        (_QUOTE.match(rest), _OPENING.match(rest), _HEADING.match(rest), _RULE.match(rest), _item(rest, False))
    )


def _item(rest: str, in_paragraph: bool) -> int:
    """The width of the list item's mark that `rest` begins with, or 0."""
    mark = _ITEM.match(rest)
    if mark is None or _RULE.match(rest):
        return 0
    is_empty = mark.end() == len(rest)
    if in_paragraph and (is_empty or int(mark[2] or 1) != 1):
        return 0  # such an item does not end a paragraph
    return mark.end(1) + 1 if is_empty or len(mark[3]) > 4 else mark.end()
