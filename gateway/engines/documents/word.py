"""Word documents (.docx) as Markdown, by python-docx (extra `office`). Knows no archive and no network.

Source: python-docx 1.2, read 2026-11-22.
"""

import io
import re
from collections.abc import Callable, Iterable
from typing import Any

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.docx_looks import Looks, W
from gateway.engines.documents.docx_parts import Numbering, Styles, Texts, boxes, content, paragraphs
from gateway.engines.html.colours import Colour

MAX_SPAN = 63
"""Columns that one cell may span: the limit of a Word table. A file may state any number."""
_AROUND = ("/header", "/footer")
"""Ends of the kinds of relations to headers and footers."""
_HEADING = re.compile(r"heading (\d)$")
_LIST = re.compile(r"list (bullet|number|continue)")


def read_docx(docx: Any, body: bytes, out: DocumentText) -> str:
    """Writes a .docx; its title or "". `docx`: the module."""
    document = docx.Document(io.BytesIO(body))
    writer = _Docx(document, out, docx.oxml.parse_xml)
    writer.write(content(document.element.body), writer.page)
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
        rels = document.part.rels.values()
        around = [rel.target_part for rel in rels if not rel.is_external and rel.reltype.endswith(_AROUND)]
        behind = [part.element if hasattr(part, "element") else parse(part.blob) for part in around]
        self._texts = Texts(Looks(document.styles.element, document.element.body, behind), out)
        self.page = self._texts.looks.page

    def write(self, parts: Iterable[Any], ground: Colour | None) -> None:
        """Paragraphs and tables, as elements, that stand on a colour, None if it is not known."""
        for part in parts:
            if self._out.is_full:
                return
            if part.tag == f"{W}tbl":
                self._end_list()
                self._out.table(_docx_rows(part, self._texts, ground))
            else:
                self._write_paragraph(part, ground)
                self.write(boxes(part), None)

    def end(self) -> None:
        """The last list, and the notes."""
        self._end_list()
        texts = {}
        for kind in ("footnotes", "endnotes") if self._texts.notes else ():
            root = self._root(kind)
            for note in root if root is not None else ():
                pieces = [self._texts.of(part, self.page, with_notes=False) for part in content(note)]
                texts[f"{kind[0]}{note.get(f'{W}id')}"] = " ".join(pieces)
        for number, name in enumerate(self._texts.notes, 1):
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

    def _write_paragraph(self, paragraph: Any, ground: Colour | None) -> None:
        style, text = self._styles.of(paragraph), self._texts.of(paragraph, ground)
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


def _docx_rows(table: Any, texts: Texts, ground: Colour | None) -> list[list[str]]:
    """The texts of a table's rows but for deleted ones; a merged cell's text is in its first place."""
    rows = []
    for row in table.tr_lst:
        if row.find(f"{W}trPr/{W}del") is not None:
            continue
        cells: list[str] = []
        for cell in row.tc_lst:
            is_below = cell.vMerge == "continue"
            under = texts.looks.of_cell(cell, table, ground)
            inner = (
                (paragraph, under if paragraph is part else None)
                for part in content(cell)
                for paragraph in paragraphs(part)
            )
            cells.append("" if is_below else "\n".join(texts.of(*each) for each in inner))
            cells += [""] * (min(cell.grid_span, MAX_SPAN) - 1)
        rows.append(cells)
    return rows
