"""Writes a region of HTML as Markdown (CommonMark with GFM tables) or as plain text.

Does not decide what is content: the caller prunes the region first. Keeps structure: headings, code with its language
and blanks, tables, nested lists, links, images. Source: CommonMark 0.31, GFM 0.29.

A note or warning that documentation sets apart becomes a quotation with its label in bold: classes of docutils, MkDocs,
DocBook, AsciiDoc, Docusaurus, GitHub and MDN, read 2026-11-22.
"""

import itertools
import re
from dataclasses import dataclass
from typing import Any

from gateway.engines.html.tree import BLOCKS, PREFORMATTED
from gateway.engines.markdown import tables
from gateway.engines.markdown.code import code_text, language_of, listing_of
from gateway.engines.markdown.inline import MAX_DEPTH, Inline, InlineStyle, collapse

_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_HEADING = re.compile(r"^h[1-6]$")
_BLOCK_START = re.compile(
    r"^(?:#{1,6}(?=\s|$)|[-+](?=\s|$)|>|\d{1,9}[.)](?=\s|$)|[=-]+(?= *$)|~~~|\[(?=[^\]^][^\]]{0,999}\]:)|"
    r"[-|:](?=[-|: ]+$))",
    re.MULTILINE,
)
_CLOSING_SIGNS = re.compile(r"(?<= )(#+)$")
_LIST_ITEM = re.compile(r"[-+*] |\d{1,9}[.)] ")


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """`plain`: no marks at all. `base_url` makes links absolute. Without `pictures`, images are left out."""

    base_url: str
    plain: bool = False
    pictures: bool = True


class Writer:
    """Writes one region, once."""

    def __init__(self, options: WriterOptions) -> None:
        self._plain = options.plain
        self._inline = Inline(InlineStyle(options.base_url, options.plain, options.pictures))
        self._mixed: set[Any] = set()
        self._follows = ""
        """The block before the one that is written: a list behind a list needs another marker."""

    def write(self, region: Any) -> str:
        """The whole text: blocks separated by blank lines, no blank at either end."""
        for block in region.iter(*BLOCKS):
            parent = block.getparent()
            while parent is not None and parent not in self._mixed:
                self._mixed.add(parent)
                if parent is region:
                    break
                parent = parent.getparent()
        blocks = self._container(region, 0)
        rules = [at for at, block in enumerate(blocks) if block == "---"]
        for at in reversed(rules):  # a rule parts two texts; those around it may be left out
            if at == 0 or at == len(blocks) - 1 or blocks[at - 1] == "---":
                del blocks[at]
        return "\n\n".join(blocks)

    def _container(self, element: Any, depth: int) -> list[str]:
        """The blocks inside `element`; inline content between them becomes paragraphs."""
        if depth > MAX_DEPTH:
            return self._paragraph([" ".join(element.itertext())])
        blocks: list[str] = []
        loose: list[str] = [self._inline.escape(element.text)] if element.text else []
        for child in element:
            tag = child.tag
            if not isinstance(tag, str):
                pass
            elif tag in BLOCKS or child in self._mixed:
                blocks += self._paragraph(loose)
                loose = []
                self._follows = blocks[-1] if blocks else ""
                blocks += self._block(child, tag, depth + 1)
            else:
                self._inline.render(child, loose, depth + 1)
            if child.tail:
                loose.append(self._inline.escape(child.tail))
        blocks += self._paragraph(loose)
        return blocks

    def _paragraph(self, pieces: list[str]) -> list[str]:
        text = collapse("".join(pieces), self._plain)
        if not text:
            return []
        return [self._guarded(part) for part in text.split("\n\n")]

    def _guarded(self, text: str) -> str:
        if self._plain or (text[:1].isalpha() and "\n" not in text):
            return text
        return _BLOCK_START.sub(lambda mark: _guard(mark[0]), text)

    def _block(self, element: Any, tag: str, depth: int) -> list[str]:
        if tag in PREFORMATTED:
            return self._code(element)
        if _HEADING.match(tag):
            return self._heading(element, int(tag[1]))
        if tag in _LISTS:
            return self._list(element, depth)
        if tag == "table":
            return self._table(element, depth)
        if tag == "blockquote" and label_of(element) is None:
            return self._quote(element, depth)
        if tag == "hr":
            return [] if self._plain else ["---"]
        if tag == "dt":
            return self._term(element, depth)
        if tag == "a":
            return self._card(element, depth)
        label = None if self._plain else label_of(element)
        if label is not None:
            return self._admonition(element, label, depth)
        return self._container(element, depth)

    def _heading(self, element: Any, level: int) -> list[str]:
        pieces: list[str] = []
        self._inline.inside(element, pieces, 0)
        text = " ".join(collapse("".join(pieces), self._plain).split())
        if not text:
            return []
        return [text if self._plain else f"{'#' * level} {_CLOSING_SIGNS.sub(_escaped, text)}"]

    def _code(self, *lines: Any) -> list[str]:
        """Code as one block, of an element or of one for each line."""
        code = "\n".join(map(code_text, lines))
        if not code.strip():
            return []
        if self._plain:
            return [code]
        longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
        fence = "`" * max(3, longest + 1)
        return [f"{fence}{language_of(lines[0])}\n{code}\n{fence}"]

    def _list(self, element: Any, depth: int) -> list[str]:
        """The list as one block. Text before its first item is a block of its own; text after an item belongs to it.

        A list of sections is written as they are anywhere else, without marks and indents."""
        if self._only_indents(element):
            return self._container(element, depth)
        is_plus = self._follows.startswith("- ")
        number, step = _numbering(element)
        sign = ")" if re.match(r"\d{1,9}\. ", self._follows) else "."
        items: list[_Item] = []
        sections: list[str] | None = None if self._plain or element.tag == "ol" else []
        last = number - step
        above = self._text(element.text)
        for child in element:
            tag = child.tag
            if tag in _LISTS and items:  # a nested list beside its item instead of inside it
                self._follows = items[-1].blocks[-1]
                items[-1].blocks.extend(self._list(child, depth + 1))
                sections = None
                continue
            blocks = self._container(child, depth + 1) if isinstance(tag, str) else []
            blocks += self._text(child.tail)
            if tag == "p" and blocks:  # belongs to the item before it, or stands above the list
                (items[-1].blocks if items else above).extend(blocks)
                sections = None
                continue
            if tag == "li":
                number = _value_of(child, number)
            if blocks:
                if sections is not None:
                    sections += blocks
                    if not _is_section(blocks):
                        sections = None
                if items and number != last + 1:  # a new list for readers of Markdown, who count by themselves
                    sign = ")" if sign == "." else "."
                last = number
                marker = f"{number}{sign} " if element.tag == "ol" else "+ " if is_plus else "- "
                items.append(_Item(marker, blocks))
            if tag == "li":
                number += step
        if sections and len(sections) > len(items):
            return [*above, *sections]
        return [*above, *([_joined(items)] if items else [])]

    def _text(self, text: str | None) -> list[str]:
        return self._paragraph([self._inline.escape(text)]) if text and not text.isspace() else []

    def _only_indents(self, element: Any) -> bool:
        """True for a list without items but with text or inline elements: old pages indent paragraphs by it."""
        if any(child.tag == "li" for child in element):
            return False
        has_text = any(text and not text.isspace() for text in (element.text, *(child.tail for child in element)))
        return has_text or any(
            child.tag == "p" or (child.tag not in BLOCKS and child not in self._mixed) for child in element
        )

    def _table(self, element: Any, depth: int) -> list[str]:
        rows = tables.rows_of(element)
        caption = [block for child in element if child.tag == "caption" for block in self._container(child, depth + 1)]
        if lines := listing_of(rows):
            name = self._container(rows[0][0], depth + 1) if len(rows[0]) == 1 else []
            return [*caption, *name, *self._code(*lines)]
        if tables.is_data(element, rows):
            return caption + self._rows(rows)
        blocks = caption
        for is_data, part in tables.headed_parts(element, rows) or [(False, rows)]:
            if is_data:
                blocks += self._rows(part)
            else:
                blocks += [block for row in part for cell in row for block in self._container(cell, depth + 1)]
        return blocks

    def _rows(self, rows: list[list[Any]]) -> list[str]:
        written = tables.write(rows, self._cell, self._plain)
        return [written] if written else []

    def _cell(self, cell: Any) -> str:
        if cell not in self._mixed:
            pieces: list[str] = []
            self._inline.inside(cell, pieces, 0)
            return collapse("".join(pieces), self._plain)
        return "\n".join(_cell_lines(self._container(cell, 1)))

    def _quote(self, element: Any, depth: int) -> list[str]:
        blocks = self._container(element, depth)
        if self._plain or all(block.startswith(("```", "| ")) for block in blocks):
            return blocks  # a quotation of code or tables alone only indents them
        return [_quoted(blocks)]

    def _admonition(self, element: Any, label: tuple[str, Any | None], depth: int) -> list[str]:
        """A note or warning: quoted, its label before its first paragraph."""
        text, title = label
        if title is not None:
            clear_label(element, title, text)
        blocks = self._container(element, depth)
        if not blocks:
            return []
        head = f"**{self._inline.escape(text)}:**"
        if blocks[0].startswith(("```", "| ", "- ", "> ", "#", "1. ")):
            blocks = [head, *blocks]
        else:
            blocks[0] = f"{head} {blocks[0]}"
        return [_quoted(blocks)]

    def _term(self, element: Any, depth: int) -> list[str]:
        for kind in element.iter("span"):
            if kind.get("class") == "classifier" and kind.text:  # the style draws the colon before it
                kind.text = f": {kind.text}"
        blocks = self._container(element, depth)
        if self._plain or len(blocks) != 1 or any(mark in blocks[0] for mark in "*\n[`"):
            return blocks
        return [f"**{blocks[0]}**"]

    def _card(self, element: Any, depth: int) -> list[str]:
        """A link around whole blocks: its first heading, or its first single-line block, becomes the link."""
        blocks = self._container(element, depth)
        if self._plain or not blocks:
            return blocks
        order = sorted(enumerate(blocks), key=lambda each: not each[1].startswith("#"))
        for at, block in order:
            linked = self._inline.linked_line(block, element.get("href"))
            if linked is not None:
                return [*blocks[:at], linked, *blocks[at + 1 :]]
        return blocks


def _cell_lines(blocks: list[str]) -> list[str]:
    """The lines of blocks as a cell of a table can hold them: code as spans, headings in bold."""
    lines: list[str] = []
    for block in blocks:
        if block.startswith("```"):
            code = block.split("\n")[1:-1]
            lines += [f"`` {line} ``" if "`" in line else f"`{line}`" for line in code if line.strip()]
        elif block.startswith("| "):
            lines += [row[2:-2] for row in block.split("\n") if row.strip("|- ")]
        elif block.startswith("#"):
            lines.append(f"**{block.lstrip('#').strip()}**")
        else:
            lines += [line.strip() for line in block.split("\n") if line.strip()]
    return lines


def _quoted(blocks: list[str]) -> str:
    text = "\n\n".join(blocks)
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))


def _guard(mark: str) -> str:
    """Escapes the start of a paragraph that would be read as a list, heading or rule."""
    if mark[0].isdecimal():
        return f"{mark[:-1]}\\{mark[-1]}"
    return "\\" + mark


def _is_section(blocks: list[str]) -> bool:
    """True for a heading and what is below it. In a thread each reply begins with a heading of the same rank."""
    ranks = [block.find(" ") for block in blocks if block.startswith("#")]
    return blocks[0].startswith("#") and all(rank > ranks[0] for rank in ranks[1:])


@dataclass(slots=True)
class _Item:
    """One item of a list: its marker with the blank behind it, and its blocks."""

    marker: str
    blocks: list[str]

    @property
    def is_tight(self) -> bool:
        """A paragraph, perhaps with a list that may follow it without an empty line."""
        if len(self.blocks) == 1:
            return "\n\n" not in self.blocks[0]
        return (
            len(self.blocks) == 2 and bool(re.match(r"[-+] |1[.)] ", self.blocks[1])) and "\n\n" not in self.blocks[1]
        )

    def written(self) -> str:
        first = "***" if self.blocks[0] == "---" else self.blocks[0]
        text = ("\n" if self.is_tight else "\n\n").join((first, *self.blocks[1:]))
        return self.marker + _indent(text, len(self.marker)).lstrip(" ")


def _joined(items: list[_Item]) -> str:
    return ("\n" if all(item.is_tight for item in items) else "\n\n").join(item.written() for item in items)


def _numbering(element: Any) -> tuple[int, int]:
    """(number of the first item, step from item to item) of an ordered list; (1, 1) of another."""
    if element.tag != "ol":
        return 1, 1
    step = -1 if element.get("reversed") is not None else 1
    count = sum(1 for child in element if child.tag == "li") if step < 0 else 1
    return _whole(element.get("start"), count), step


def _value_of(item: Any, number: int) -> int:
    return _whole(item.get("value"), number)


def _whole(text: str | None, default: int) -> int:
    """A number that Markdown can count from; the default for another."""
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else default


def _escaped(signs: re.Match[str]) -> str:
    return f"\\{signs[0]}"


def _indent(text: str, width: int) -> str:
    pad = " " * width
    return "\n".join(pad + line if line else line for line in text.split("\n"))


_FRAMES = frozenset({"admonition", "admonitionblock", "theme-admonition", "markdown-alert", "notecard", "callout"})
_KINDS = {
    name: name.capitalize()
    for name in ("note", "warning", "tip", "caution", "important", "danger", "hint", "attention", "error", "info")
} | {"seealso": "See also"}
_TITLE_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "th", "summary"})
_TITLES = ("title", "heading", "label")
_MAX_TITLE_CHARS = 80  # longest label
_MAX_BEFORE_TITLE = 8
"""Elements of a note among which its label is, the note included. DocBook lays notes out as tables, with an icon in the
cell before the label."""
_MAX_CHARS = 4_000  # longest note: a longer box is a part of the page that is called so


def label_of(element: Any) -> tuple[str, Any | None] | None:
    """(the label, the element that holds it, if one does) of an admonition; None for any other element."""
    if element.tag not in ("div", "aside", "section", "blockquote", "details"):
        return None
    classes = (element.get("class") or "").lower().split()
    is_framed = not _FRAMES.isdisjoint(classes)
    if not is_framed and _KINDS.keys().isdisjoint(classes):
        return None
    words = {part for name in classes for part in (name, name.rpartition("-")[2])}
    kind = next((_KINDS[word] for word in _KINDS if word in words), None)
    title = _title(element)
    if not is_framed and title is None:
        return None
    if len("".join(element.itertext())) > _MAX_CHARS:
        return None
    text = " ".join("".join(title.itertext()).split()) if title is not None else kind
    return (text.rstrip(" :"), title) if text else None


def _title(element: Any) -> Any | None:
    """The first element inside that is a heading or is called a title, before any other text."""
    for inner in itertools.islice(element.iter(), 1, _MAX_BEFORE_TITLE):
        if not isinstance(inner.tag, str):
            continue
        is_named = any(name in (inner.get("class") or "").lower() for name in _TITLES)
        if is_named or inner.tag in _TITLE_TAGS:
            size = len("".join(inner.itertext()).strip())
            return inner if 0 < size <= _MAX_TITLE_CHARS else None
        if (inner.text or "").strip():
            return None
    return None


def clear_label(element: Any, title: Any, text: str) -> None:
    """Empties the label's element, as the label is written before the note. A table around it only lays the note out,
    with an icon that is called as the label is."""
    title.text = None
    for child in list(title):
        title.remove(child)
    if title.tag == "th":
        title.tag = "td"
        for table in title.iterancestors("table"):
            table.set("role", "presentation")
            break
        for icon in list(element.iter("img")):
            if (icon.get("alt") or "").strip("[]() ").lower() == text.lower():
                icon.set("alt", "")
