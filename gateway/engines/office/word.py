"""Text documents as Markdown: .docx by python-docx (extra `office`), .odt by lxml. Knows no archive and no network.

Sources: python-docx 1.2, OpenDocument 1.3 (OASIS), read 2026-11-22.
"""

import io
import re
import zipfile
from typing import Any

from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.office.text import DocumentText

MAX_SPAN = 63
"""Columns that one cell may span: the limit of a Word table. A file may state any number."""
_HEADING = re.compile(r"Heading (\d)$")
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
MAX_REPEATED = 50
"""Repetitions of one cell or row that are written: sheets repeat empty ones by the thousand. Chosen: at half, long runs
of equal values lose some; at double, twice the blank columns are made before they are cut."""


def read_docx(docx: Any, body: bytes, out: DocumentText) -> str:
    """Writes a .docx; its title or "". `docx`: the module."""
    document = docx.Document(io.BytesIO(body))
    waiting: list[tuple[int, str, str]] = []
    styles: dict[str | None, str] = {}
    for part in document.iter_inner_content():
        if out.is_full:
            break
        style = _style_of(part, styles)
        if style.startswith("List"):
            depth = int(style[-1]) - 1 if style[-1:].isdigit() else 0
            waiting.append((depth, "1." if "Number" in style else "-", part.text))
            continue
        out.items(waiting)
        waiting = []
        if hasattr(part, "rows"):
            out.table(_docx_rows(part))
        elif heading := _HEADING.match(style):
            out.heading(int(heading[1]), part.text)
        elif style == "Title":
            out.heading(1, part.text)
        else:
            out.paragraph(part.text)
    out.items(waiting)
    return str(document.core_properties.title or "")


def _style_of(part: Any, names: dict[str | None, str]) -> str:
    """The name of a paragraph's style; "" for a table and for a style that the document does not define.

    `names` has those of the styles before, by their ids: python-docx looks through all styles each time, .7 ms.
    """
    if hasattr(part, "rows"):
        return ""
    name = names.get(part._p.style)
    if name is None:
        style = part.style
        name = names[part._p.style] = str(style.name or "") if style is not None else ""
    return name


def _docx_rows(table: Any) -> list[list[str]]:
    """The texts of a table; a merged cell's text is in its first place.

    Not by `row.cells`, which makes a cell for each column of a span, and for each row of a merged column climbs up to
    its first one.
    """
    rows = []
    for row in table.rows:
        texts: list[str] = []
        for cell in row._tr.tc_lst:
            is_below = cell.vMerge == "continue"
            texts.append("" if is_below else "\n".join(paragraph.text for paragraph in cell.p_lst))
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
    body = root.find(".//{urn:oasis:names:tc:opendocument:xmlns:office:1.0}text")
    _write_odt(body if body is not None else root, out)
    title = head.find(f".//{_TITLE}") if head is not None else None
    return (title.text or "") if title is not None else ""


def _write_odt(parent: Any, out: DocumentText) -> None:
    for part in parent:
        if out.is_full:
            return
        if part.tag == f"{_TEXT}h":
            level = part.get(f"{_TEXT}outline-level", "1")
            out.heading(int(level) if level.isdigit() else 1, _odt_text(part))
        elif part.tag == f"{_TEXT}p":
            out.paragraph(_odt_text(part))
        elif part.tag == f"{_TEXT}list":
            out.items(_odt_items(part, 0))
        elif part.tag == f"{_TABLE}table":
            out.table(_odt_rows(part))
        elif part.tag == f"{_TEXT}section":
            _write_odt(part, out)


def _odt_items(part: Any, depth: int) -> list[tuple[int, str, str]]:
    items: list[tuple[int, str, str]] = []
    for item in part.findall(f"{_TEXT}list-item"):
        for child in item:
            if child.tag == f"{_TEXT}list":
                items += _odt_items(child, depth + 1)
            else:
                items.append((depth, "-", _odt_text(child)))
    return items


def _odt_rows(table: Any) -> list[list[str]]:
    rows = []
    for row in table.iter(f"{_TABLE}table-row"):
        texts: list[str] = []
        for cell in row:
            if cell.tag in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
                repeated = cell.get(f"{_TABLE}number-columns-repeated", "1")
                texts += [_odt_text(cell)] * (min(MAX_REPEATED, int(repeated)) if repeated.isdigit() else 1)
        rows.append(texts)
    return rows


def _odt_text(part: Any) -> str:
    """The text of an element: `s` are spaces, `tab` and `line-break` what they say; notes and comments are left out."""
    pieces = [part.text or ""]
    for child in part:
        if child.tag == f"{_TEXT}s":
            count = child.get(f"{_TEXT}c", "1")
            pieces.append(" " * min(MAX_REPEATED, int(count) if count.isdigit() else 1))
        elif child.tag == f"{_TEXT}tab":
            pieces.append("\t")
        elif child.tag == f"{_TEXT}line-break":
            pieces.append("\n")
        elif isinstance(child.tag, str) and not child.tag.endswith(("}annotation", "}note")):
            pieces.append(_odt_text(child) + ("\n" if child.tag == f"{_TEXT}p" else ""))
        pieces.append(child.tail or "")
    return "".join(pieces)
