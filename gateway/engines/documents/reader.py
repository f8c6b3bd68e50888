"""Reads PDF and Office documents in a parse process: which of them a body is, its title and its text.

The libraries are those of the extra `office` and are imported here alone. Raises FetchFailed, EngineMissing.
"""

import contextlib
import io
import posixpath
import re
import zipfile
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.odt_epub import read_epub, read_odt
from gateway.engines.documents.pdf import NO_WISH, PdfWish, read_pdf
from gateway.engines.documents.sheets import read_xlsx
from gateway.engines.documents.slides import read_pptx
from gateway.engines.documents.word import read_docx
from gateway.engines.fetch.errors import FetchFailed
from gateway.errors import EngineMissing

MAX_ENTRIES = 5_000
MAX_BYTES = 150_000_000
MAX_RATIO = 120
SMALL_BYTES = 5_000_000
"""Bounds of one document: files in it, their sizes together, and these sizes over the archive's own where they are more
than SMALL_BYTES. Chosen: a book with a picture a page has 1,000 files; XML shrinks to a tenth or twentieth. At half,
large sheets are refused; at double, a bomb fills twice the memory, which the parse process limits as well."""
XML_NAMES = (".xml", ".rels", ".vml")
PIECE_BYTES = 1 << 20


def checked_archive(body: bytes) -> zipfile.ZipFile:
    """The opened archive. Raises FetchFailed (`unparsable`, `too_large`)."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(body))
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        if len(entries) > MAX_ENTRIES or total > MAX_BYTES or total > max(SMALL_BYTES, MAX_RATIO * len(body)):
            raise FetchFailed(
                f"the document unpacks to more than is read: at most {MAX_ENTRIES} files, {MAX_BYTES // 1_000_000} MB"
                f" and {MAX_RATIO} times its size",
                "too_large",
            )
        for entry in entries:
            if entry.flag_bits & 1:
                raise FetchFailed("the document is protected by a password", "unparsable")
            if entry.filename.lower().endswith(XML_NAMES):
                _refuse_entities(archive, entry)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError) as error:
        raise FetchFailed("the document is damaged and could not be read", "unparsable") from error
    return archive


def _refuse_entities(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Raises FetchFailed for a document type declaration, the only place of entities: Office documents have none."""
    tail = b""
    with contextlib.suppress(zipfile.BadZipFile), archive.open(entry) as part:  # a damaged part costs only itself
        while piece := part.read(PIECE_BYTES):
            # UTF-16 has a zero byte beside each ASCII letter.
            window = (tail + piece).replace(b"\0", b"").upper()
            if b"<!DOCTYPE" in window or b"<!ENTITY" in window:
                raise FetchFailed("the document declares XML entities, which are not read", "unparsable")
            tail = piece[-32:]


CONTENT_TYPES = "[Content_Types].xml"
_REPAIR_MAIN_TYPES = tuple(
    (re.compile(rb"application/vnd\.(?:%s)\.[A-Za-z.]{1,60}\.main\+xml" % made_by), b"application/vnd." + plain)
    for made_by, plain in (
        (
            rb"ms-word|openxmlformats-officedocument\.wordprocessingml",
            b"openxmlformats-officedocument.wordprocessingml.document.main+xml",
        ),
        (
            rb"ms-powerpoint|openxmlformats-officedocument\.presentationml",
            b"openxmlformats-officedocument.presentationml.presentation.main+xml",
        ),
    )
)
_STRICT, _TRANSITIONAL = (
    re.compile(rb"http://purl\.oclc\.org/ooxml/([A-Za-z]{1,30})/"),
    rb"http://schemas.openxmlformats.org/\1/2006/",
)


_LISTS = {"xl/workbook.xml": "sheet", "ppt/presentation.xml": "sldId"}
"""Parts that list sheets or slides by their relations, and the element that names one."""


def repaired(etree: Any, archive: zipfile.ZipFile, miss: Callable[[str], None]) -> bytes:
    """The archive as one of plain documents, of each damaged part what can be read. `miss` is told the names of parts
    that are damaged or missing. Raises what zipfile and lxml raise."""
    parts, out, lost = _readable(etree, archive, miss), io.BytesIO(), dict[str, set[str]]()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as written:
        for name in sorted(parts, key=lambda each: not each.endswith(".rels")):
            part = parts[name]
            if name == CONTENT_TYPES:
                for pattern, plain in _REPAIR_MAIN_TYPES:
                    part = pattern.sub(plain, part)
            elif name.endswith(".rels"):
                folder, owner = posixpath.dirname(posixpath.dirname(name)), posixpath.basename(name)[: -len(".rels")]
                part, lost[posixpath.join(folder, owner)] = _without_dangling(etree, part, folder, set(parts))
            elif name in _LISTS and lost.get(name):
                part = _without_listed(etree, part, lost[name], _LISTS[name], miss)
            written.writestr(name, part)
    return out.getvalue()


def _readable(etree: Any, archive: zipfile.ZipFile, miss: Callable[[str], None]) -> dict[str, bytes]:
    """The parts that can be read at all, their XML well-formed."""
    parts = {}
    for name in archive.namelist():
        try:
            part = archive.read(name)
            if name.lower().endswith(XML_NAMES):
                part = _STRICT.sub(_TRANSITIONAL, _well_formed(etree, name, part, miss))
            parts[name] = part
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, etree.XMLSyntaxError):
            miss(name)
    return parts


def _well_formed(etree: Any, name: str, part: bytes, miss: Callable[[str], None]) -> bytes:
    """A part as it is, or what can be read of one whose XML is broken. Raises XMLSyntaxError if that is nothing."""
    try:
        etree.fromstring(part, _parser(etree))
        return part
    except etree.XMLSyntaxError:
        root = etree.fromstring(part, _parser(etree, recover=True))
        if root is None:
            raise
    miss(name)
    return bytes(etree.tostring(root))


def _parser(etree: Any, *, recover: bool = False) -> Any:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=recover)


def _without_dangling(etree: Any, part: bytes, folder: str, names: set[str]) -> tuple[bytes, set[str]]:
    """Relations without those to parts of the package that it does not have, and the ids of these."""
    root, lost = etree.fromstring(part, _parser(etree)), set()
    for relation in list(root):
        target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/")
        if relation.get("TargetMode") != "External" and target not in names:
            lost.add(relation.get("Id", ""))
            root.remove(relation)
    return bytes(etree.tostring(root)), lost


def _without_listed(etree: Any, part: bytes, lost: set[str], tag: str, miss: Callable[[str], None]) -> bytes:
    """A workbook or presentation without the sheets or slides whose parts it does not have."""
    root = etree.fromstring(part, _parser(etree))
    for number, each in enumerate(list(root.iter(f"{{*}}{tag}")), 1):
        if any(value in lost for name, value in each.items() if name.endswith("}id")):
            miss(f"sheet {each.get('name')}" if tag == "sheet" else f"slide {number}")
            each.getparent().remove(each)
    return bytes(etree.tostring(root))


_MAIN_PARTS = {"word/document.xml": "docx", "xl/workbook.xml": "xlsx", "ppt/presentation.xml": "pptx"}
_READER_MAIN_TYPES = {b"wordprocessingml.document.main+xml": "docx", b"presentationml.presentation.main+xml": "pptx"}
"""Of documents whose main part has another name."""
_TYPES_BYTES = 1_000_000
"""Chosen: ten times the types of a deck of a thousand slides."""
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
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError, RuntimeError):
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
        raise FetchFailed(f"the {'PDF' if kind == 'pdf' else 'document'} holds no text", "unparsable")
    return read._replace(left_out=out.left_out, missing=tuple(out.missing))


def _read(kind: str, body: bytes, out: DocumentText, wish: PdfWish) -> ReadDocument:
    if kind == "pdf":
        found = read_pdf(_library("pypdfium2", "web"), body, out, wish)
        unread = (found.last + 1, found.wanted) if found.last < found.wanted else None
        first = 1 if wish.pages is None else wish.pages[0]
        title = found.title or (out.first_heading if first == 1 else "")
        return ReadDocument(title, out.whole() if out.texts else "", found.scanned, unread)
    archive = checked_archive(body)
    try:
        title = _read_archive(kind, body, archive, out)
    except (FetchFailed, EngineMissing, MemoryError, RecursionError):
        raise
    except Exception:  # the readers raise KeyError, ValueError and types of their own on damaged documents
        out.clear()
        title = _read_repaired(kind, archive, out)
    named = "" if kind == "xlsx" else out.first_heading  # the headings of a workbook are the names of its sheets
    return ReadDocument(title.strip() or named, out.whole())


def _read_repaired(kind: str, archive: zipfile.ZipFile, out: DocumentText) -> str:
    """As `_read_archive`, of a document that its reader has refused. Raises FetchFailed as one that is damaged."""
    try:
        body = repaired(_library("lxml.etree", "web"), archive, out.miss)
        return _read_archive(kind, body, checked_archive(body), out)
    except (EngineMissing, MemoryError, RecursionError):
        raise
    except Exception as error:
        raise FetchFailed("the document is damaged and could not be read", "unparsable") from error


def _read_archive(kind: str, body: bytes, archive: zipfile.ZipFile, out: DocumentText) -> str:
    if kind == "odt":
        return read_odt(_library("lxml.etree", "web"), archive, out)
    if kind == "epub":
        return read_epub(_library("lxml.etree", "web"), archive, out)
    if kind == "docx":
        return read_docx(_library("docx"), body, out)
    if kind == "xlsx":
        return read_xlsx(_library("openpyxl"), _library("lxml.etree", "web"), (body, archive), out)
    return read_pptx(_library("pptx"), body, out)


def _library(name: str, extra: str = "office") -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise EngineMissing(
            f"such documents need the extra '{extra}'; the operator must install it (pip install 'gateway[{extra}]')"
        ) from error
