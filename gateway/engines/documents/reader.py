"""Reads PDF and Office documents in a parse process: which of them a body is, its title and its text.

The libraries, lxml and pypdfium2 of the extra `web`, are imported here alone. Raises Unreadable, EngineMissing.
"""

import io
import re
import zipfile
from importlib import import_module
from typing import Any, NamedTuple

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.odt_epub import read_epub, read_odt
from gateway.engines.documents.office import BROKEN_ZIP, DAMAGED, Package, checked_archive
from gateway.engines.documents.pdf import NO_WISH, PdfWish, read_pdf
from gateway.engines.documents.sheets import read_xlsx
from gateway.engines.documents.slides import read_pptx
from gateway.engines.documents.word import read_docx
from gateway.engines.fetch.errors import Unreadable
from gateway.errors import EngineMissing, GatewayError

_MAIN_PARTS = {"word/document.xml": "docx", "xl/workbook.xml": "xlsx", "ppt/presentation.xml": "pptx"}
_READER_MAIN_TYPES = {b"wordprocessingml.document.main+xml": "docx", b"presentationml.presentation.main+xml": "pptx"}
"""Of documents whose main part has another name."""
CONTENT_TYPES, _TYPES_BYTES = "[Content_Types].xml", 1_000_000
_MIMETYPES = {b"application/vnd.oasis.opendocument.text": "odt", b"application/epub+zip": "epub"}
_MIMETYPE_BYTES = 200
KINDS = ("pdf", "docx", "xlsx", "pptx", "odt", "epub")
_PAGES = re.compile(r"page=(\d{1,5})(?:-(\d{1,5}))?")


class ReadDocument(NamedTuple):
    """`scanned`: numbers of the pages of a PDF that show something and hold no text. `unread`: its first and last page
    that were wanted and not read, as they would take too long. `left_out`: characters of hidden text that are not here;
    `missing`: names of parts that are missing or damaged."""

    title: str
    text: str
    scanned: tuple[int, ...] = ()
    unread: tuple[int, int] | None = None
    left_out: int = 0
    missing: tuple[str, ...] = ()


def archive_kind(body: bytes) -> str:
    """`docx`, `xlsx`, `pptx`, `odt` or `epub` of a ZIP archive; "" for another one."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(body))
        names = set(archive.namelist())
        for main_part, kind in _MAIN_PARTS.items():
            if main_part in names:
                return kind
        if CONTENT_TYPES in names:
            with archive.open(CONTENT_TYPES) as part:
                types = part.read(_TYPES_BYTES)
            return next((kind for mark, kind in _READER_MAIN_TYPES.items() if mark in types), "")
        if "mimetype" in names:
            with archive.open("mimetype") as part:
                return _MIMETYPES.get(part.read(_MIMETYPE_BYTES).strip(), "")
    except BROKEN_ZIP:
        return ""
    return ""


def page_range(fragment: str) -> tuple[int, int] | None:
    """The pages that `page=3` or `page=3-7` asks for, counted from 1; None for any other fragment of a URL."""
    match = _PAGES.fullmatch(fragment)
    return (int(match[1]), int(match[2] or match[1])) if match else None


def read_document(kind: str, body: bytes, *, plain: bool, wish: PdfWish = NO_WISH) -> ReadDocument:
    """A body of one of the KINDS as Markdown, or without its signs if `plain`. `wish` is for a PDF. The text of a PDF
    that has none is empty. Text that the document declares as hidden is left out."""
    out = DocumentText(plain)
    read = _read(kind, body, out, wish)
    if not read.text and not read.scanned:
        why = f" that can be read; missing or damaged: {', '.join(out.missing)}" if out.missing else ""
        raise Unreadable(f"the {'PDF' if kind == 'pdf' else 'document'} holds no text{why}")
    return read._replace(left_out=out.left_out, missing=tuple(out.missing))


def _read(kind: str, body: bytes, out: DocumentText, wish: PdfWish) -> ReadDocument:
    if kind == "pdf":
        found = read_pdf(_library("pypdfium2"), body, out, wish)
        unread = (found.last + 1, found.wanted) if found.last < found.wanted else None
        first = 1 if wish.pages is None else wish.pages[0]
        title = found.title or (out.first_heading if first == 1 else "")
        return ReadDocument(title, out.whole() if out.texts else "", found.scanned, unread)
    package = Package(_library("lxml.etree"), checked_archive(body), out)
    try:
        title = _READERS[kind](package, out)
    except (GatewayError, MemoryError, RecursionError):
        raise
    except Exception as error:  # whatever a damaged document brings the readers to raise
        raise Unreadable(DAMAGED) from error
    named = "" if kind == "xlsx" else out.first_heading  # the headings of a workbook are the names of its sheets
    return ReadDocument(title.strip() or named, out.whole())


_READERS = {"docx": read_docx, "xlsx": read_xlsx, "pptx": read_pptx, "odt": read_odt, "epub": read_epub}


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise EngineMissing(
            "such documents need the extra 'web'; the operator must install it (pip install 'gateway[web]')"
        ) from error
