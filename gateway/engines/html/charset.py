"""Finds a page's encoding and decodes it, by the WHATWG Encoding and HTML standards (read 2026-11-21).

Order: byte-order mark, HTTP header, a declaration in the first 4 KB, UTF-8 if it is (nearly) valid, a guess by the
letters (`legacy_charset`), else windows-1252. Only the standard's own encodings count, under its own labels: Python
knows others (`utf-7`, `unicode_escape`, `idna`) in which a page could hide its text, or which raise errors. Knows
nothing of HTML beyond the declaration.
"""

import re

from gateway.engines.html import legacy_charset

_WIDE_BYTES, _MIN_WIDE_BYTES, _MIN_ZEROS = 256, 16, 0.8
"""A page is UTF-16 without a byte-order mark if, of its first _WIDE_BYTES, at least _MIN_ZEROS of every second byte are
zero. A page of fewer than _MIN_WIDE_BYTES is not examined. Chosen: 256 bytes hold a tag and a heading; at half a short
binary header passes, at double nothing more is found. With .8, one letter in five may be of another script."""
_GOOD_FOR_BAD = 4
"""A page is UTF-8 if it has so many characters of several bytes for each invalid byte. Pages in other encodings have .3
by chance. Chosen: a page may hold two encodings; at half its second one is misread, at double its first one."""
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_HEADER = re.compile(r"charset\s*=\s*(?:[\"']\s*)?([^\s\"';,]+)", re.IGNORECASE)
_DECLARATION_BYTES = 4096
"""Start of the page that is searched for a declaration. The HTML standard asks for the first 1,024; chosen larger for
pages with long comments or preloads before it. At half some of these are misread; double only costs time."""
_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*(?:[\"']\s*)?([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_ISO_2022_JP = re.compile(rb"\x1b\$[@B]")
"""The change to Japanese letters in a mail, or a page of the time when mails had seven bits."""
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_:.-]+)", re.IGNORECASE)
# Python's codec -> the standard's labels of that encoding.
_ENCODINGS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e "
    "iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
    "iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 "
    "iso_8859-8 iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 "
    "iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 x-user-defined latin-1",
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 "
    "windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022_jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 "
    "windows-949",
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
}
_CODECS = {label: codec for codec, labels in _ENCODINGS.items() for label in labels.split()}


def decode(body: bytes, content_type: str) -> str:
    """The body as text. `content_type`: the HTTP header's value. Undecodable bytes become U+FFFD; raises nothing."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    header = _HEADER.search(content_type)
    declared = _codec(header[1]) if header else None
    if declared is not None:
        return body.decode(declared, "replace")
    return _undeclared(body)


def _undeclared(body: bytes) -> str:
    head = body[:_DECLARATION_BYTES]
    declared = next(
        (codec for match in (_XML.search(head), _META.search(head)) if match and (codec := _codec(match[1].decode()))),
        None,
    )
    if declared is not None and declared.startswith("utf-16"):
        declared = "utf-8"  # a page in UTF-16 has no declaration readable as ASCII
    if declared is not None and declared != "utf-8":
        return body.decode(declared, "replace")
    if declared is None and (wide := wide_codec(body)):
        return body.decode(wide, "replace")
    if declared is None and body.isascii() and _ISO_2022_JP.search(body):
        return body.decode("iso2022_jp", "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("utf-8", "replace")
        is_utf8 = declared is not None or _is_mostly_good(text)
        return text if is_utf8 else body.decode(legacy_charset.guess(body) or "cp1252", "replace")


def wide_codec(body: bytes) -> str | None:
    """UTF-16 without a mark, as editors of Windows write it: every second byte of the beginning is zero."""
    head = body[:_WIDE_BYTES]
    for codec, zeros, others in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if len(head) >= _MIN_WIDE_BYTES and zeros.count(0) >= _MIN_ZEROS * len(zeros) and 0 not in others:
            return codec
    return None


def _is_mostly_good(text: str) -> bool:
    """Whether a text decoded as UTF-8 is that, with some damaged bytes: one broken name, or a page that was cut."""
    bad = text.count("\ufffd")
    return len(text) - bad - len(text.encode("ascii", "ignore")) >= _GOOD_FOR_BAD * bad


def _codec(label: str) -> str | None:
    """Python's name for the encoding of one of the standard's labels; None for others."""
    return _CODECS.get(label.strip().lower())
