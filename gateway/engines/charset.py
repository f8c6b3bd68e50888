"""Which encoding a page is in, by the rules of the WHATWG encoding and HTML standards (read 2026-11-21).

Order: byte-order mark, HTTP header, a declaration in the first 4 KB, UTF-8 if it is valid, else windows-1252.
"""

import codecs
import re

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_LABELS = {
    "iso-8859-1": "cp1252", "iso8859-1": "cp1252", "latin1": "cp1252", "latin-1": "cp1252", "l1": "cp1252",
    "ascii": "cp1252", "us-ascii": "cp1252", "ansi_x3.4-1968": "cp1252", "windows-1252": "cp1252", "x-cp1252": "cp1252",
    "iso-8859-9": "cp1254", "latin5": "cp1254", "iso-8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "gb_2312-80": "gb18030", "x-gbk": "gb18030", "chinese": "gb18030",
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "x-sjis": "cp932", "windows-31j": "cp932",
    "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "korean": "cp949", "ksc5601": "cp949",
    "big5": "big5hkscs", "big5-hkscs": "big5hkscs", "x-x-big5": "big5hkscs",
    "utf8": "utf-8", "unicode-1-1-utf-8": "utf-8", "x-mac-roman": "mac-roman", "macintosh": "mac-roman",
}  # fmt: skip


def decode(body: bytes, content_type: str) -> str:
    """The body as text; bytes that fit no encoding become replacement characters, never an error."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    header = _HEADER.search(content_type)
    declared = _codec(header[1]) if header else None
    if declared is not None:
        return body.decode(declared, "replace")
    return _undeclared(body)


def _undeclared(body: bytes) -> str:
    head = body[:4096]
    match = _XML.search(head) or _META.search(head)
    declared = _codec(match[1].decode("ascii")) if match else None
    if declared is not None and declared.startswith("utf-16"):
        declared = "utf-8"  # a declaration that could be read byte by byte cannot be true
    if declared is not None and declared != "utf-8":
        return body.decode(declared, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("utf-8" if declared else "cp1252", "replace")


def _codec(label: str) -> str | None:
    name = _LABELS.get(label.strip().lower(), label.strip().lower())
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    return codec.name if getattr(codec, "_is_text_encoding", True) else None
