"""OpenDocument texts (.odt) as Markdown, by lxml. Knows no archive and no network.

Source: OpenDocument 1.3 (OASIS), read 2026-11-22.
"""

import zipfile
from collections.abc import Iterator
from typing import Any

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.odt_hidden import STYLE_NAME, TABLE, TEXT, drop_hidden
from gateway.engines.fetch.errors import FetchFailed

_TEXT_BOX = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}text-box"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
MAX_REPEATED = 50
"""Repetitions of one cell or row that are written: sheets repeat empty ones by the thousand. Chosen: at half, long runs
of equal values lose some; at double, twice the blank columns are made before they are cut."""


def read_odt(etree: Any, archive: zipfile.ZipFile, out: DocumentText) -> str:
    """Writes an .odt; its title or "". `etree`: lxml's module."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(archive.read("content.xml"), parser)
        head = etree.fromstring(archive.read("meta.xml"), parser) if "meta.xml" in archive.namelist() else None
    except (KeyError, etree.XMLSyntaxError) as error:
        raise FetchFailed("the document is damaged and could not be read", "unparsable") from error
    drop_hidden(root, [root, *_shared_styles(etree, archive, parser)], out)
    body = root.find(".//{urn:oasis:names:tc:opendocument:xmlns:office:1.0}text")
    _Odt(root, out).write(body if body is not None else root)
    for number, note in enumerate(root.iter(f"{TEXT}note-body"), 1):
        out.paragraph(f"[^{number}]: {' '.join(_odt_text(note, {}).split())}")
    title = head.find(f".//{_TITLE}") if head is not None else None
    return (title.text or "") if title is not None else ""


def _shared_styles(etree: Any, archive: zipfile.ZipFile, parser: Any) -> list[Any]:
    """The root of the styles that pages share, if there is one that can be read."""
    try:
        return [etree.fromstring(archive.read("styles.xml"), parser)]
    except (KeyError, etree.XMLSyntaxError):
        return []


class _Odt:
    """Writes the parts of an .odt in order."""

    def __init__(self, root: Any, out: DocumentText) -> None:
        self._out = out
        self._notes = {note: number for number, note in enumerate(root.iter(f"{TEXT}note"), 1)}
        level = f"{TEXT}list-level-style-number"
        self._numbered = {
            (style.get(STYLE_NAME), int(each.get(f"{TEXT}level", "1")) - 1)
            for style in root.iter(f"{TEXT}list-style")
            for each in style.findall(level)
            if each.get(f"{TEXT}level", "1").isdecimal()
        }

    def write(self, parent: Any) -> None:
        """What is directly inside an element."""
        for part in parent:
            if self._out.is_full:
                return
            if part.tag == f"{TEXT}h":
                level = part.get(f"{TEXT}outline-level", "1")
                self._out.heading(int(level) if level.isdigit() else 1, _odt_text(part, self._notes))
            elif part.tag == f"{TEXT}p":
                self._out.paragraph(_odt_text(part, self._notes))
                for box in _odt_boxes(part):
                    self.write(box)
            elif part.tag == f"{TEXT}list":
                self._out.items(self._items(part, 0, part.get(f"{TEXT}style-name")))
            elif part.tag == f"{TABLE}table":
                self._out.table(_odt_rows(part, self._notes))
            elif part.tag in (f"{TEXT}section", f"{TEXT}index-body", f"{TEXT}table-of-content"):
                self.write(part)

    def _items(self, part: Any, depth: int, style: str | None) -> list[tuple[int, str, str]]:
        items: list[tuple[int, str, str]] = []
        for number, item in enumerate(part.findall(f"{TEXT}list-item"), 1):
            mark = f"{number}." if (style, depth) in self._numbered else "-"
            for child in item:
                if child.tag == f"{TEXT}list":
                    items += self._items(child, depth + 1, child.get(f"{TEXT}style-name", style))
                else:
                    items.append((depth, mark, _odt_text(child, self._notes)))
        return items


def _odt_rows(table: Any, notes: dict[Any, int]) -> list[list[str]]:
    rows = []
    for row in table.iter(f"{TABLE}table-row"):
        texts: list[str] = []
        for cell in row:
            if cell.tag in (f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
                repeated = cell.get(f"{TABLE}number-columns-repeated", "1")
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
        if child.tag == f"{TEXT}s":
            count = child.get(f"{TEXT}c", "1")
            pieces.append(" " * min(MAX_REPEATED, int(count) if count.isdigit() else 1))
        elif child.tag == f"{TEXT}tab":
            pieces.append("\t")
        elif child.tag == f"{TEXT}line-break":
            pieces.append("\n")
        elif child.tag == f"{TEXT}note":
            pieces.append(f"[^{notes[child]}]" if child in notes else "")
        elif isinstance(child.tag, str) and child.tag != _TEXT_BOX and not child.tag.endswith("}annotation"):
            pieces.append(_odt_text(child, notes) + ("\n" if child.tag == f"{TEXT}p" else ""))
        pieces.append(child.tail or "")
    return "".join(pieces)
