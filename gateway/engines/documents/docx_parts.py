"""What python-docx leaves out of a .docx: inserted text, content controls, text boxes, notes, numbering, outlines.

Works on the elements of WordprocessingML (ECMA-376, part 1, 17), read 2026-11-23. Deleted text is left out, and hidden
text (`docx_looks`).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.docx_looks import MAX_STYLE_DEPTH, Looks, W
from gateway.engines.documents.looks import Look
from gateway.engines.html.colours import Colour

_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_BOX = f"{W}txbxContent"
_LEFT_OUT = frozenset((f"{W}del", f"{W}moveFrom", f"{W}instrText", f"{W}pPr", f"{W}rPr", _BOX, _FALLBACK))
"""Deleted text, the codes of fields, properties; text boxes are read apart, and their older form never."""
_SIGNS = {f"{W}tab": "\t", f"{W}ptab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
_CONTAINERS = frozenset(f"{W}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"))
MAX_LIST_LEVEL = 8
"""Word has nine levels of lists, from 0."""


class Style(NamedTuple):
    """What a paragraph's style says: its name, its heading level or 0, its list (0 for none) and level in it."""

    name: str = ""
    level: int = 0
    list_id: str = ""
    depth: int = 0


def content(parent: Any) -> Iterator[Any]:
    """The paragraphs and tables of a body in order, those in content controls and insertions too."""
    for child in parent:
        if child.tag in (f"{W}p", f"{W}tbl"):
            yield child
        elif child.tag in _CONTAINERS:
            yield from content(child)


class Texts:
    """The visible texts of paragraphs. `notes`: ids of the foot- and endnotes that they name, in order."""

    def __init__(self, looks: Looks, out: DocumentText) -> None:
        self.looks = looks
        self.notes: list[str] = []
        self._out = out

    def of(self, paragraph: Any, ground: Colour | None, *, with_notes: bool = True) -> str:
        """The visible text of a paragraph, with marks of its notes. `ground`: the colour it stands on, if known."""
        look = self.looks.of_paragraph(paragraph)
        return "".join(self._pieces(paragraph, look, ground, self.notes if with_notes else None))

    def _pieces(self, element: Any, look: Look, ground: Colour | None, notes: list[str] | None) -> Iterator[str]:
        for child in element:
            tag = child.tag
            if tag in (f"{W}t", _MATH_TEXT):
                yield child.text or ""
            elif tag in _SIGNS:
                yield "" if child.get(f"{W}type") in ("page", "column") else _SIGNS[tag]
            elif tag in (f"{W}footnoteReference", f"{W}endnoteReference") and notes is not None:
                notes.append(f"{tag[len(W)]}{child.get(f'{W}id')}")
                yield f"[^{len(notes)}]"
            elif tag == f"{W}r":
                if not self._is_left_out(child, self.looks.of_run(child, look), ground):
                    yield from self._pieces(child, look, ground, notes)
            elif tag not in _LEFT_OUT and isinstance(tag, str):
                yield from self._pieces(child, look, ground, notes)

    def _is_left_out(self, run: Any, look: Look, ground: Colour | None) -> bool:
        if not look.is_hidden and not look.is_unseen(ground):
            return False
        text = "".join(each.text or "" for each in run.iter(f"{W}t"))
        return self._out.leaves_out(text, is_declared=bool(look.is_hidden))


def boxes(element: Any) -> Iterator[Any]:
    """The paragraphs and tables of the text boxes anchored in a paragraph; those of boxes inside them are left to
    these."""
    for child in element:
        if child.tag == _BOX:
            yield from content(child)
        elif child.tag != _FALLBACK:
            yield from boxes(child)


def paragraphs(part: Any) -> Iterator[Any]:
    """A paragraph, or those of a table, each with those of its text boxes."""
    if part.tag == f"{W}p":
        yield part
    for child in part:
        if child.tag != _FALLBACK:
            yield from paragraphs(child)


class Styles:
    """Styles of a document by their ids, each looked up once. `root`: the element `w:styles`."""

    def __init__(self, root: Any) -> None:
        self._elements = {style.get(f"{W}styleId"): style for style in root.findall(f"{W}style")}
        self._known: dict[str | None, Style] = {}

    def of(self, paragraph: Any) -> Style:
        """A paragraph's style, with what the paragraph says itself."""
        named = paragraph.find(f"{W}pPr/{W}pStyle")
        style = self._named(named.get(f"{W}val") if named is not None else None)
        own = _properties(paragraph)
        return style._replace(**own) if own else style

    def _named(self, style_id: str | None) -> Style:
        if style_id not in self._known:
            found: dict[str, Any] = {}
            element = self._elements.get(style_id)
            name = element.find(f"{W}name") if element is not None else None
            for _ in range(MAX_STYLE_DEPTH):
                if element is None:
                    break
                found = {**_properties(element), **found}
                base = element.find(f"{W}basedOn")
                element = self._elements.get(base.get(f"{W}val")) if base is not None else None
            self._known[style_id] = Style(name.get(f"{W}val", "") if name is not None else "", **found)
        return self._known[style_id]


def _properties(element: Any) -> dict[str, Any]:
    """What the `w:pPr` of a paragraph or style says of its level and list."""
    found: dict[str, Any] = {}
    level = element.find(f"{W}pPr/{W}outlineLvl")
    if level is not None:
        number = _number(level.get(f"{W}val"), MAX_LIST_LEVEL + 1)
        found["level"] = number + 1 if number < MAX_LIST_LEVEL + 1 else 0
    for name, key in (("numId", "list_id"), ("ilvl", "depth")):
        value = element.find(f"{W}pPr/{W}numPr/{W}{name}")
        if value is not None:
            found[key] = value.get(f"{W}val", "") if key == "list_id" else _number(value.get(f"{W}val"), MAX_LIST_LEVEL)
    return found


def _number(text: str | None, most: int) -> int:
    return min(int(text), most) if text and text.isdecimal() else most


class Numbering:
    """The marks of list items. `root`: the element `w:numbering`, None without."""

    def __init__(self, root: Any) -> None:
        self._bullets: set[tuple[str, int]] = set()
        self._known: set[str] = set()
        self._counts: dict[str, list[int]] = {}
        kinds = {a.get(f"{W}abstractNumId"): a for a in root.findall(f"{W}abstractNum")} if root is not None else {}
        for number in root.findall(f"{W}num") if root is not None else ():
            name, kind = number.get(f"{W}numId"), number.find(f"{W}abstractNumId")
            abstract = kinds.get(kind.get(f"{W}val")) if kind is not None else None
            self._known.add(name)
            for level in abstract.findall(f"{W}lvl") if abstract is not None else ():
                form = level.find(f"{W}numFmt")
                if form is not None and form.get(f"{W}val") in ("bullet", "none"):
                    self._bullets.add((name, _number(level.get(f"{W}ilvl"), MAX_LIST_LEVEL)))

    def mark(self, list_id: str, depth: int) -> str:
        """The mark of the next item of a list: `-`, or its number."""
        if (list_id, depth) in self._bullets or list_id not in self._known:
            return "-"
        counts = self._counts.setdefault(list_id, [0] * (MAX_LIST_LEVEL + 1))
        counts[depth] += 1
        counts[depth + 1 :] = [0] * (MAX_LIST_LEVEL - depth)
        return f"{counts[depth]}."
