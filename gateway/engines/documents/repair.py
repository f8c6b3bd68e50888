"""Rewrites Office files that Word and PowerPoint open and their Python libraries refuse: with macros, templates, shows,
"Strict Open XML", and relations to parts that are not there.

Sources: ECMA-376, parts 1 (strict namespaces) and 2 (relationships), read 2026-11-23. Knows no reader.
"""

import io
import posixpath
import re
import zipfile
from collections.abc import Callable
from typing import Any

from gateway.engines.documents.archive import XML_NAMES

CONTENT_TYPES = "[Content_Types].xml"
_MAIN_TYPES = tuple(
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
                for pattern, plain in _MAIN_TYPES:
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
