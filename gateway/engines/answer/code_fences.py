"""Reads and writes Markdown code fences: is one open after a line, which line closes it, which markers hold a text.

The one reader of fences for the server process, where markdown-it is not installed; the tests compare it with
markdown-it. It knows as much of CommonMark's blocks as fences depend on: quotes, list items, paragraphs, indented code.
It reads raw HTML as prose, so a fence inside a `<div>` counts as one. Format: CommonMark 0.31.

States of a FenceReader between two lines, from the outside in:
  _containers    the open quotes and list items; a line that does not repeat their marks closes the inner ones,
                 unless it continues a paragraph
  fence          the open fence, which is inside all open containers and ends with them; no block begins inside it
  _in_paragraph  the last line was paragraph text, so an unmarked line continues it and indented code cannot begin;
                 never true while a fence is open
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = re.compile(r"([^\r\n]*)(?:\r\n?|\n|\Z)")
_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r"( {0,3}(?:[-+*]|(\d{1,9})[.)]))( +|$)")
_RULE = re.compile(r"\A {0,3}([-*_])(?: *+\1){2,}+ *$")
_OPENING = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?: |$)")
_CONTAINER_STARTS = ">-+*0123456789"
_BLOCK_STARTS = "`~" + _CONTAINER_STARTS
"""First characters of the lines that may begin a quote or a list item, and of those that may also begin a fence."""
_QUOTED = 0
_MAX_NESTED = 32
"""Most containers within one another. Chosen: each line costs one match for each; nobody nests half as deep, and a line
of thousands of `>` must not cost thousands of matches for each later line."""


class Line(NamedTuple):
    """A line without its line ending. `last` is true for the text's last line, which has no ending."""

    start: int
    stop: int
    text: str
    last: bool


class Fence(NamedTuple):
    """An open fence: the number of blanks before its markers, and the markers, such as "```"."""

    indent: int
    run: str

    def is_closed_by(self, line: str) -> bool:
        """True when `line`, without the marks of its containers, closes the fence."""
        bare = line.strip(" ")
        return len(line) - len(line.lstrip(" ")) < 4 and len(bare) >= len(self.run) and not bare.strip(self.run[0])


def lines_of(text: str) -> Iterator[Line]:
    """All lines of `text`; `\\n`, `\\r` and `\\r\\n` end a line."""
    for match in _LINE.finditer(text):
        last = match.end() == match.end(1)
        yield Line(match.start(), match.end(1), match[1], last)
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
    """Reads a text line by line: call `read` with each line in order. `fence` is the fence open after the last one."""

    def __init__(self) -> None:
        self.fence: Fence | None = None
        self._containers: list[int] = []  # from outside in: _QUOTED, or the width of a list item's indentation
        self._in_paragraph = False
        self._item_is_empty = False

    def copy(self) -> "FenceReader":
        """A reader in the same state, which reads on by itself."""
        other = FenceReader()
        other.fence, other._containers = self.fence, self._containers.copy()
        other._in_paragraph, other._item_is_empty = self._in_paragraph, self._item_is_empty
        return other

    @property
    def closing(self) -> str:
        """A newline and the line that closes the open fence; empty when none is open."""
        if self.fence is None:
            return ""
        before = "".join("> " if width == _QUOTED else " " * width for width in self._containers)
        return f"\n{before}{' ' * self.fence.indent}{self.fence.run}"

    def read(self, line: str) -> None:
        """Takes the next line, without its line ending."""
        if "\t" in line:
            line = line.expandtabs(4)
        first = line.lstrip(" ")[:1]
        if not self._containers:  # the short way for nearly every line of most texts
            if self.fence is not None:
                if first == self.fence.run[0] and self.fence.is_closed_by(line):
                    self.fence = None
                return
            if first not in _BLOCK_STARTS:
                self._read_prose(line)
                return
        rest, open_count = self._inside(line)
        if self.fence is not None:
            if open_count == len(self._containers):
                if self.fence.is_closed_by(rest):
                    self.fence = None
                return
            self.fence = None  # a fence ends with its container
        if open_count < len(self._containers):
            if self._in_paragraph and not _begins_block(rest):
                return  # a paragraph continues without the marks of its containers
            del self._containers[open_count:]
            self._in_paragraph = False
        self._read_inner(rest)

    def _inside(self, line: str) -> tuple[str, int]:
        """The line without its containers' marks, and how many of the open containers it continues."""
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
        first = rest.lstrip(" ")[:1]
        while first and first in _CONTAINER_STARTS and len(self._containers) < _MAX_NESTED:
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
            first = rest.lstrip(" ")[:1]
        opening = _OPENING.match(rest) if first in ("`", "~") else None
        if opening is not None:
            self.fence = Fence(len(opening[1]), opening[2])
            self._in_paragraph = False
        else:
            self._read_prose(rest)

    def _read_prose(self, rest: str) -> None:
        is_code = not self._in_paragraph and rest.startswith("    ")
        is_blank = not rest.strip(" ")
        self._in_paragraph = not (is_blank or is_code or _HEADING.match(rest) or _RULE.match(rest))


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
