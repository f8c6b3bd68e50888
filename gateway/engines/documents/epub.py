"""Books (.epub) as Markdown: their chapters in the order of the spine, by lxml. Knows no archive and no network.

Chapters are XHTML, read as pages are: hidden elements and code are left out. Source: EPUB 3.3 (W3C), read 2026-11-23.
"""

import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.html.charset import decode
from gateway.engines.html.dom import parse
from gateway.engines.html.hidden import drop_hidden
from gateway.engines.html.no_text import drop_code
from gateway.engines.html.text_check import text_only
from gateway.engines.html.xhtml import as_html
from gateway.engines.markdown.writer import Writer, WriterOptions

CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_CHAPTERS = ("application/xhtml+xml", "text/html")
MAX_CHAPTER_BYTES = 5_242_880
"""As much as a fetched page may have; a longer chapter is refused. At half, books in one file are; at double, its tree
takes most of the memory of the process."""


def read_epub(etree: Any, archive: zipfile.ZipFile, out: DocumentText) -> str:
    """Writes the chapters; the title or "". `etree`: lxml. Raises FetchFailed, KeyError, XMLSyntaxError."""
    path = _root(etree, archive, CONTAINER).find(".//{*}rootfile").get("full-path")
    package = _root(etree, archive, path)
    items = {item.get("id"): item for item in package.iter("{*}item")}
    locked = _locked(etree, archive)
    for reference in package.iter("{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or item.get("media-type") not in _CHAPTERS or "nav" in (item.get("properties") or "").split():
            continue
        if out.is_full:
            break
        name = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(item.get("href", ""))))
        if name in locked:
            raise FetchFailed("the book is protected against copying", "unparsable")
        out.paragraph(_chapter(archive, name, out))
    return package.findtext(f".//{_TITLE}") or ""


def _root(etree: Any, archive: zipfile.ZipFile, name: str) -> Any:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(archive.read(name), parser)


def _locked(etree: Any, archive: zipfile.ZipFile) -> set[str]:
    """The files that are encrypted, fonts mostly."""
    if _ENCRYPTION not in archive.NameToInfo:
        return set()
    references = _root(etree, archive, _ENCRYPTION).iter("{*}CipherReference")
    return {unquote(reference.get("URI", "")) for reference in references}


def _chapter(archive: zipfile.ZipFile, name: str, out: DocumentText) -> str:
    """The text of a chapter; a list of its links would name files of the book, so they are plain text."""
    if archive.getinfo(name).file_size > MAX_CHAPTER_BYTES:
        raise FetchFailed(f"a chapter of the book is larger than {MAX_CHAPTER_BYTES} bytes", "too_large")
    root = parse(as_html(text_only(decode(archive.read(name), "application/xhtml+xml"))))
    body = root.find("body") if root is not None else None
    if root is None or body is None:
        return ""
    drop_hidden(root)
    drop_code(root)
    for link in body.iter("a"):
        if not (link.get("href") or "").startswith(("http://", "https://")):
            link.attrib.pop("href", None)
    return Writer(WriterOptions("", out.is_plain, pictures=False)).write(body)
