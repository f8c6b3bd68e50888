"""Text documents as Markdown: .docx by python-docx (extra `office`), .odt by lxml. Knows no archive and no network.

Sources: python-docx 1.2, OpenDocument 1.3 (OASIS), read 2026-11-22.
"""

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.office.docx_parts import Numbering, Styles, W, boxes, content, paragraphs, text_of
from gateway.engines.office.text import DocumentText

MAX_SPAN = 63
"""Columns that one cell may span: the limit of a Word table. A file may state any number."""
_HEADING = re.compile(r"heading (\d)$")
_LIST = re.compile(r"list (bullet|number|continue)")
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_STYLE_NAME = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}name"
_TEXT_PROPERTIES = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}text-properties"
_DISPLAY = f"{_TEXT}display"
_MAY_BE_HIDDEN = tuple(f"{_TEXT}{name}" for name in ("section", "p", "h", "span", "hidden-text", "hidden-paragraph"))
_TEXT_BOX = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}text-box"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
MAX_REPEATED = 50
"""Repetitions of one cell or row that are written: sheets repeat empty ones by the thousand. Chosen: at half, long runs
of equal values lose some; at double, twice the blank columns are made before they are cut."""


def read_docx(docx: Any, body: bytes, out: DocumentText) -> str:
    """Writes a .docx; its title or "". `docx`: the module."""
    document = docx.Document(io.BytesIO(body))
    writer = _Docx(document, out, docx.oxml.parse_xml)
    writer.write(content(document.element.body))
    writer.end()
    return str(document.core_properties.title or "")


class _Docx:
    """Writes the paragraphs, tables and notes of a .docx in order."""

    def __init__(self, document: Any, out: DocumentText, parse: Callable[[bytes], Any]) -> None:
        self._out = out
        self._parts = {rel.reltype.rsplit("/", 1)[-1]: rel for rel in document.part.rels.values()}
        self._parse = parse
        self._styles = Styles(document.styles.element)
        self._numbering = Numbering(self._root("numbering"))
        self._waiting: list[tuple[int, str, str]] = []
        self._notes: list[str] = []

    def write(self, parts: Iterable[Any]) -> None:
        """Paragraphs and tables, as elements."""
        for part in parts:
            if self._out.is_full:
                return
            if part.tag == f"{W}tbl":
                self._end_list()
                self._out.table(_docx_rows(part, self._notes))
            else:
                self._write_paragraph(part)
                self.write(boxes(part))

    def end(self) -> None:
        """The last list, and the notes."""
        self._end_list()
        texts = {}
        for kind in ("footnotes", "endnotes") if self._notes else ():
            root = self._root(kind)
            for note in root if root is not None else ():
                texts[f"{kind[0]}{note.get(f'{W}id')}"] = " ".join(text_of(part) for part in content(note))
        for number, name in enumerate(self._notes, 1):
            if text := texts.get(name, "").strip():
                self._out.paragraph(f"[^{number}]: {text}")

    def _root(self, kind: str) -> Any:
        """The root element of a part of the package; None where there is none."""
        rel = self._parts.get(kind)
        if rel is None or rel.is_external:
            return None
        part = rel.target_part
        return part.element if hasattr(part, "element") else self._parse(part.blob)

    def _end_list(self) -> None:
        self._out.items(self._waiting)
        self._waiting = []

    def _write_paragraph(self, paragraph: Any) -> None:
        style, text = self._styles.of(paragraph), text_of(paragraph, self._notes)
        name = style.name.casefold()
        level = style.level or (int(heading[1]) if (heading := _HEADING.match(name)) else 0)
        listed = style.list_id not in ("", "0") or bool(_LIST.match(name))
        if level or name == "title" or not listed:
            self._end_list()
            if level or name == "title":
                self._out.heading(level or 1, text)
            else:
                self._out.paragraph(text)
        elif text.strip():
            mark = self._numbering.mark(style.list_id, style.depth) if style.list_id else _mark_of(name)
            named_depth = int(name[-1]) - 1 if _LIST.match(name) and name[-1].isdecimal() else 0
            self._waiting.append((max(named_depth, style.depth), mark, text))


def _mark_of(name: str) -> str:
    """The mark of an item whose list only its style's name tells."""
    return "1." if "number" in name else "-"


def _docx_rows(table: Any, notes: list[str]) -> list[list[str]]:
    """The texts of a table; a merged cell's text is in its first place."""
    rows = []
    for row in table.tr_lst:
        texts: list[str] = []
        for cell in row.tc_lst:
            is_below = cell.vMerge == "continue"
            inner = (paragraph for part in content(cell) for paragraph in paragraphs(part))
            texts.append("" if is_below else "\n".join(text_of(paragraph, notes) for paragraph in inner))
            texts += [""] * (min(cell.grid_span, MAX_SPAN) - 1)
        rows.append(texts)
    return rows


def read_odt(etree: Any, archive: zipfile.ZipFile, out: DocumentText) -> str:
    """Writes an .odt; its title or "". `etree`: lxml's module."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(archive.read("content.xml"), parser)
        head = etree.fromstring(archive.read("meta.xml"), parser) if "meta.xml" in archive.namelist() else None
    except (KeyError, etree.XMLSyntaxError) as error:
        raise FetchFailed("the document is damaged and could not be read", "unparsable") from error
    _drop_hidden(root, _hidden_styles([root, *_odt_styles(etree, archive, parser)]))
    body = root.find(".//{urn:oasis:names:tc:opendocument:xmlns:office:1.0}text")
    _Odt(root, out).write(body if body is not None else root)
    for number, note in enumerate(root.iter(f"{_TEXT}note-body"), 1):
        out.paragraph(f"[^{number}]: {' '.join(_odt_text(note, {}).split())}")
    title = head.find(f".//{_TITLE}") if head is not None else None
    return (title.text or "") if title is not None else ""


def _odt_styles(etree: Any, archive: zipfile.ZipFile, parser: Any) -> list[Any]:
    """The root of the styles that pages share, if there is one that can be read."""
    try:
        return [etree.fromstring(archive.read("styles.xml"), parser)]
    except (KeyError, etree.XMLSyntaxError):
        return []


def _hidden_styles(roots: list[Any]) -> set[str | None]:
    """Names of the styles whose text is not shown."""
    properties = [each for root in roots for each in root.iter(_TEXT_PROPERTIES) if each.get(_DISPLAY) == "none"]
    return {each.getparent().get(_STYLE_NAME) for each in properties if each.getparent() is not None}


def _drop_hidden(root: Any, styles: set[str | None]) -> None:
    """Takes out what a reader does not see: hidden sections, paragraphs, spans and text; what follows them stays."""
    for part in list(root.iter(*_MAY_BE_HIDDEN)):
        is_hidden = part.get(f"{_TEXT}is-hidden") == "true" or part.get(_DISPLAY) == "none"
        if not is_hidden and (name := part.get(f"{_TEXT}style-name")) is not None:
            is_hidden = name in styles
        if part.tag == f"{_TEXT}hidden-paragraph":  # a field that hides the paragraph it stands in
            part = part.getparent() if is_hidden else part
            is_hidden = is_hidden and part is not None and part.tag in _MAY_BE_HIDDEN
        if is_hidden:
            tail = part.tail
            part.clear()
            part.tail = tail


class _Odt:
    """Writes the parts of an .odt in order."""

    def __init__(self, root: Any, out: DocumentText) -> None:
        self._out = out
        self._notes = {note: number for number, note in enumerate(root.iter(f"{_TEXT}note"), 1)}
        level = f"{_TEXT}list-level-style-number"
        self._numbered = {
            (style.get(_STYLE_NAME), int(each.get(f"{_TEXT}level", "1")) - 1)
            for style in root.iter(f"{_TEXT}list-style")
            for each in style.findall(level)
            if each.get(f"{_TEXT}level", "1").isdecimal()
        }

    def write(self, parent: Any) -> None:
        """What is directly inside an element."""
        for part in parent:
            if self._out.is_full:
                return
            if part.tag == f"{_TEXT}h":
                level = part.get(f"{_TEXT}outline-level", "1")
                self._out.heading(int(level) if level.isdigit() else 1, _odt_text(part, self._notes))
            elif part.tag == f"{_TEXT}p":
                self._out.paragraph(_odt_text(part, self._notes))
                for box in _odt_boxes(part):
                    self.write(box)
            elif part.tag == f"{_TEXT}list":
                self._out.items(self._items(part, 0, part.get(f"{_TEXT}style-name")))
            elif part.tag == f"{_TABLE}table":
                self._out.table(_odt_rows(part, self._notes))
            elif part.tag in (f"{_TEXT}section", f"{_TEXT}index-body", f"{_TEXT}table-of-content"):
                self.write(part)

    def _items(self, part: Any, depth: int, style: str | None) -> list[tuple[int, str, str]]:
        items: list[tuple[int, str, str]] = []
        for number, item in enumerate(part.findall(f"{_TEXT}list-item"), 1):
            mark = f"{number}." if (style, depth) in self._numbered else "-"
            for child in item:
                if child.tag == f"{_TEXT}list":
                    items += self._items(child, depth + 1, child.get(f"{_TEXT}style-name", style))
                else:
                    items.append((depth, mark, _odt_text(child, self._notes)))
        return items


def _odt_rows(table: Any, notes: dict[Any, int]) -> list[list[str]]:
    rows = []
    for row in table.iter(f"{_TABLE}table-row"):
        texts: list[str] = []
        for cell in row:
            if cell.tag in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
                repeated = cell.get(f"{_TABLE}number-columns-repeated", "1")
                texts += [_odt_text(cell, notes)] * (min(MAX_REPEATED, int(repeated)) if repeated.isdigit() else 1)
        rows.append(texts)
    return rows


def _odt_boxes(part: Any) -> Iterator[Any]:
    """The text boxes anchored in a paragraph; those of boxes inside them are left to these."""
    for child in part:
        if child.tag == _TEXT_BOX:
            yield child
        else:
            yield from _odt_boxes(child)


def _odt_text(part: Any, notes: dict[Any, int]) -> str:
    """The text of an element: `s` are spaces, `tab` and `line-break` what they say; of notes the mark, by their number.
    Comments and text boxes are left out."""
    pieces = [part.text or ""]
    for child in part:
        if child.tag == f"{_TEXT}s":
            count = child.get(f"{_TEXT}c", "1")
            pieces.append(" " * min(MAX_REPEATED, int(count) if count.isdigit() else 1))
        elif child.tag == f"{_TEXT}tab":
            pieces.append("\t")
        elif child.tag == f"{_TEXT}line-break":
            pieces.append("\n")
        elif child.tag == f"{_TEXT}note":
            pieces.append(f"[^{notes[child]}]" if child in notes else "")
        elif isinstance(child.tag, str) and child.tag != _TEXT_BOX and not child.tag.endswith("}annotation"):
            pieces.append(_odt_text(child, notes) + ("\n" if child.tag == f"{_TEXT}p" else ""))
        pieces.append(child.tail or "")
    return "".join(pieces)
