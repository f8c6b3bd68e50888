"""Rewrites Office files that Word and PowerPoint open and their Python libraries refuse: with macros, templates, shows,
"Strict Open XML", and relations to parts that are not there.

Sources: ECMA-376, parts 1 (strict namespaces) and 2 (relationships), read 2026-11-23. Knows no reader.
"""

import io
import posixpath
import re
import zipfile
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


def repaired(etree: Any, archive: zipfile.ZipFile) -> bytes:
    """The archive as one of plain documents. Raises what zipfile and lxml raise."""
    names, out = set(archive.namelist()), io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as written:
        for name in sorted(names):
            part = archive.read(name)
            if name.lower().endswith(XML_NAMES):
                part = _STRICT.sub(_TRANSITIONAL, part)
            if name == CONTENT_TYPES:
                for pattern, plain in _MAIN_TYPES:
                    part = pattern.sub(plain, part)
            elif name.endswith(".rels"):
                part = _without_dangling(etree, part, posixpath.dirname(posixpath.dirname(name)), names)
            written.writestr(name, part)
    return out.getvalue()


def _without_dangling(etree: Any, part: bytes, folder: str, names: set[str]) -> bytes:
    """Relations without those to parts of the package that it does not have."""
    root = etree.fromstring(part, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    for relation in list(root):
        target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/")
        if relation.get("TargetMode") != "External" and target not in names:
            root.remove(relation)
    return bytes(etree.tostring(root))
