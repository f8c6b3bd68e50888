"""The parts of an Office file: a checked ZIP archive, its XML and what leads from one part to another.

A damaged or missing part costs only itself: of broken XML what can be read is read, and the part is noted as missing.
Sources: ECMA-376, parts 1 and 2 (packages, relationships, the strict namespaces); read 2026-11-28.
"""

import contextlib
import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.fetch.errors import Unreadable

MAX_ENTRIES = 5_000
MAX_BYTES = 150_000_000
MAX_RATIO = 120
SMALL_BYTES = 5_000_000
"""Bounds of one document: files in it, their sizes together, and these sizes over the archive's own where they are more
than SMALL_BYTES."""
PIECE_BYTES = 1 << 20
DAMAGED = "the document is damaged and could not be read"
BROKEN_ZIP = (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError, RuntimeError, zlib.error)
"""What `zipfile` raises for archives and entries that it cannot read."""
_XML_NAMES = (".xml", ".rels", ".vml")
_STRICT, _TRANSITIONAL = (
    re.compile(rb"http://purl\.oclc\.org/ooxml/([A-Za-z]{1,30})/"),
    rb"http://schemas.openxmlformats.org/\1/2006/",
)
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_SAFE: dict[str, Any] = {"resolve_entities": False, "no_network": True, "load_dtd": False}
R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def checked_archive(body: bytes) -> zipfile.ZipFile:
    """The opened archive. Raises Unreadable (`unparsable`, `too_large`)."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(body))
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        if len(entries) > MAX_ENTRIES or total > MAX_BYTES or total > max(SMALL_BYTES, MAX_RATIO * len(body)):
            raise Unreadable(
                f"the document unpacks to more than is read: at most {MAX_ENTRIES} files, {MAX_BYTES // 1_000_000} MB"
                f" and {MAX_RATIO} times its size",
                "too_large",
            )
        for entry in entries:
            if entry.flag_bits & 1:
                raise Unreadable("the document is protected by a password")
            if entry.filename.lower().endswith(_XML_NAMES):
                _refuse_entities(archive, entry)
    except BROKEN_ZIP as error:
        raise Unreadable(DAMAGED) from error
    return archive


def _refuse_entities(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Raises Unreadable for a document type declaration, the only place of entities: Office documents have none."""
    tail = b""
    with contextlib.suppress(zipfile.BadZipFile), archive.open(entry) as part:  # a damaged part costs only itself
        while piece := part.read(PIECE_BYTES):
            # UTF-16 has a zero byte beside each ASCII letter.
            window = (tail + piece).replace(b"\0", b"").upper()
            if b"<!DOCTYPE" in window or b"<!ENTITY" in window:
                raise Unreadable("the document declares XML entities, which are not read")
            tail = piece[-32:]


class Relation(NamedTuple):
    """What a part leads to. `kind`: the last word of its type, such as `slide`; `target`: the path of a part, or an
    address as it is written."""

    kind: str
    target: str
    is_outside: bool


class Package:
    """Reads the parts of an Office archive by path. `etree`: lxml's module; `out` collects notes of missing parts."""

    def __init__(self, etree: Any, archive: zipfile.ZipFile, out: DocumentText) -> None:
        self.etree = etree
        self.archive = archive
        self._out = out

    def has(self, name: str) -> bool:
        """Whether there is a part of this path."""
        return name in self.archive.NameToInfo

    def root(self, name: str, label: str = "") -> Any:
        """The root element of a part; None for one that is missing or says nothing. What cannot be read of it is noted
        under `label`, else the path; a missing part only under a label."""
        part = self._bytes(name, label)
        if part is None:
            return None
        try:
            return self.etree.fromstring(part, self.etree.XMLParser(**_SAFE))
        except self.etree.XMLSyntaxError:
            self._out.miss(label or name)
        try:
            return self.etree.fromstring(part, self.etree.XMLParser(**_SAFE, recover=True))
        except self.etree.XMLSyntaxError:
            return None

    def each(self, name: str, label: str, *tags: str) -> Iterator[Any]:
        """The elements of these tags of a large part, each until the next one is asked for, up to where it cannot be
        read."""
        part = self._bytes(name, label)
        try:
            for _, element in self.etree.iterparse(io.BytesIO(part or b"<none/>"), ("end",), tag=tags, **_SAFE):
                yield element
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
        except self.etree.XMLSyntaxError:
            self._out.miss(label or name)

    def _bytes(self, name: str, label: str) -> bytes | None:
        if not self.has(name):
            if label:
                self._out.miss(label)
            return None
        try:
            part = self.archive.read(name)
        except BROKEN_ZIP:
            self._out.miss(label or name)
            return None
        return _STRICT.sub(_TRANSITIONAL, part) if _STRICT.search(part) else part

    def relations(self, part: str) -> dict[str, Relation]:
        """The relations of a part by their ids; of the whole package for ""."""
        folder, name = posixpath.split(part)
        root = self.root(posixpath.join(folder, "_rels", f"{name}.rels"))
        found = {}
        for each in root.iterchildren("{*}Relationship") if root is not None else ():
            target, is_outside = each.get("Target", ""), each.get("TargetMode") == "External"
            if not is_outside:
                target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            found[each.get("Id", "")] = Relation(each.get("Type", "").rpartition("/")[2], target, is_outside)
        return found

    def main(self, usual: str) -> str:
        """The path of the main part, `usual` unless the package says otherwise. Raises Unreadable without one."""
        if self.has(usual):
            return usual
        for relation in self.relations("").values():
            if relation.kind == "officeDocument" and self.has(relation.target):
                return relation.target
        raise Unreadable(DAMAGED)

    def title(self, part: str = "docProps/core.xml") -> str:
        """The title in the document's properties, or ""."""
        root = self.root(part)
        return (root.findtext(f".//{_TITLE}") or "") if root is not None else ""


def related(relations: dict[str, Relation], kind: str) -> str:
    """The path of the first part of a kind that relations lead to, or ""."""
    return next((each.target for each in relations.values() if each.kind == kind and not each.is_outside), "")


def address(relations: dict[str, Relation], element: Any) -> str:
    """The web address that an element's relation leads to, or ""."""
    relation = relations.get(element.get(R_ID, "")) if element is not None else None
    return relation.target if relation is not None and relation.is_outside else ""
