"""Finds a page's encoding, decodes it and refuses what is no text, by the WHATWG Encoding and HTML standards.

Order: byte-order mark, HTTP header, a declaration in the first 4 KB, UTF-8 if it is (nearly) valid, a guess by the
letters of each script, else windows-1252. Only the standard's own encodings count, under its own labels: Python knows
others (`utf-7`, `unicode_escape`) in which a page could hide its text. Read 2026-11-21.
"""

import re
import unicodedata
from collections import Counter
from typing import NamedTuple

from gateway.engines.fetch.errors import FetchFailed

_WIDE_BYTES, _MIN_WIDE_BYTES, _MIN_ZEROS = 256, 16, 0.8
"""A page is UTF-16 without a byte-order mark if, of its first _WIDE_BYTES, at least _MIN_ZEROS of every second byte are
zero. A page of fewer than _MIN_WIDE_BYTES is not examined."""
_GOOD_FOR_BAD = 4
"""A page is UTF-8 if it has so many characters of several bytes for each invalid byte. Pages in other encodings have .3
by chance."""
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_HEADER = re.compile(r"charset\s*=\s*(?:[\"']\s*)?([^\s\"';,]+)", re.IGNORECASE)
_DECLARATION_BYTES = 4096
"""Start of the page that is searched for a declaration. The HTML standard asks for the first 1,024; chosen larger for
pages with long comments or preloads before it."""
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
    if declared == "utf-8" and not _is_utf8(body):
        return _undeclared(body, is_utf8=False)
    if declared is not None:
        return body.decode(declared, "replace")
    return _undeclared(body)


def _is_utf8(body: bytes) -> bool:
    """Whether a body that is said to be UTF-8 is, or is but for some damaged bytes."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return _is_mostly_good(body.decode("utf-8", "replace"))
    return True


def _undeclared(body: bytes, *, is_utf8: bool = True) -> str:
    """The body as the page itself or its letters say; `is_utf8`: whether it may be UTF-8."""
    head = body[:_DECLARATION_BYTES]
    declared = next(
        (codec for match in (_XML.search(head), _META.search(head)) if match and (codec := _codec(match[1].decode()))),
        None,
    )
    if declared == "utf-8" and not is_utf8:
        declared = None
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
        return text if is_utf8 else body.decode(guess(body) or "cp1252", "replace")


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


_SAMPLE_BYTES = 40_000  # bytes that are judged, from the first non-ASCII one on
_MIN_CHARS = 16  # non-ASCII characters without which nothing is guessed
_MAX_BAD = 0.01  # share of undecodable characters in a sample: one line of another encoding
_MIN_IN_ROWS = 0.5
"""A page is not in Latin script if this share of its non-ASCII bytes is in runs of three or more. In Latin scripts they
are single letters between ASCII letters (a share of .1), in others whole words (.9)."""
_ROW = re.compile(rb"[\x80-\xff](?:[\x40-\x7e]?+[\x80-\xff]){2,}+")
_FIRST_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH = bytes(range(128))
_KANA = frozenset(map(chr, (*range(0x3041, 0x3097), *range(0x30A1, 0x30FB), 0x30FC, 0x3001, 0x3002)))
_HANGUL = frozenset(map(chr, range(0xAC00, 0xD7A4)))
_THAI = frozenset(map(chr, range(0x0E01, 0x0E5C)))
_HANZI = (
    "的一是不了人我在有他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好都然没日于起还发成"
    "事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿"
    "者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水"
    "這來個國說們為時會著過學對裡後麼沒還發無開經頭見長動兩樣現將進實點種聲話問機給幾業間電門東聽氣關並產與從當"
)


class _Candidate(NamedTuple):
    """An encoding, the characters that are common in texts of its script, and the least share of them."""

    codec: str
    common: frozenset[str]
    least: float


_CANDIDATES = (
    _Candidate("euc_jp", _KANA, 0.3),
    _Candidate("cp932", _KANA, 0.3),
    _Candidate("cp949", _HANGUL, 0.85),
    _Candidate("gb18030", frozenset(_HANZI), 0.25),
    _Candidate("big5hkscs", frozenset(_HANZI), 0.25),
    _Candidate("cp1251", frozenset("оеаинтсрвлкмдпуі"), 0.5),
    _Candidate("koi8-r", frozenset("оеаинтсрвлкмдпу"), 0.5),
    _Candidate("iso8859-5", frozenset("оеаинтсрвлкмдпу"), 0.5),
    _Candidate("cp866", frozenset("оеаинтсрвлкмдпу"), 0.5),
    _Candidate("cp1253", frozenset("αοιετσνηυρπκλμςάίόή"), 0.5),
    _Candidate("cp1255", frozenset("יוהלאתמרבשנ"), 0.45),
    _Candidate("cp1256", frozenset("الينمورتبعده"), 0.45),
    _Candidate("cp874", _THAI, 0.9),
)


def guess(body: bytes) -> str | None:
    """Python's name of the encoding whose script the page is in; None when it looks Latin, or like nothing."""
    first = _FIRST_HIGH.search(body)
    sample = body[first.start() : first.start() + _SAMPLE_BYTES] if first is not None else b""
    high = len(sample.translate(None, _HIGH))
    in_rows = sum(len(row.group().translate(None, _HIGH)) for row in _ROW.finditer(sample))
    if high < _MIN_CHARS or in_rows < _MIN_IN_ROWS * high:
        return None
    best = max(_CANDIDATES, key=(fits := {each: _fit(sample, each) for each in _CANDIDATES}).__getitem__)
    return best.codec if fits[best] >= 1 else None


def _fit(sample: bytes, candidate: _Candidate) -> float:
    """The share of common characters, as a multiple of the least one; 0 for a sample that is not in the encoding."""
    text = sample.decode(candidate.codec, "replace")
    letters = [char for char in text if char > "\x7f" and (char.isalpha() or char == "\ufffd")]
    bad = text.count("\ufffd")
    if len(letters) - bad < _MIN_CHARS // 2 or bad > 1 + _MAX_BAD * len(letters):
        return 0.0
    return sum(map(candidate.common.__contains__, letters)) / len(letters) / candidate.least


_CONTROLS = bytes(code for code in (*range(0x20), 0x7F) if code not in b"\t\n\r\f\v\b\x1b")
"""Control characters without those of text files: white space, and what terminals and printers read (man pages print
bold letters with backspaces, logs have colours with escapes)."""

_SAMPLE_CHARS = 20_000  # characters judged at the beginning, in the middle and at the end

_MAX_CONTROLS = 0.02
"""Share of control characters. Random bytes have .10 in any one-byte encoding and .05 in those of two bytes; real pages
have none but a stray NUL."""

_MAX_UNREADABLE = 0.3
"""Share of U+FFFD, of private and of unassigned characters. A page in another encoding than it declares has one for
each accented letter: .05 in French, .25 in Vietnamese, and .7 in Russian, of which nothing can be read."""

_MAX_UNASSIGNED = 0.1
"""Share of private and unassigned characters alone: random bytes read as UTF-16 have .17, icon fonts a few."""

_CATEGORY_CHARS = 2_000  # of each sample, for the shares that need a look at every character

_FEW = 8  # bad characters that are accepted in any text


def text_only(text: str) -> str:
    """`text` itself. Raises FetchFailed (`unsupported_type`) when it is no text."""
    starts = {0, max(0, (len(text) - _SAMPLE_CHARS) // 2), max(0, len(text) - _SAMPLE_CHARS)}
    samples = [text[start : start + _SAMPLE_CHARS] for start in sorted(starts)]
    encoded = "".join(samples).encode("utf-8", "surrogatepass")
    controls = len(encoded) - len(encoded.translate(None, _CONTROLS))
    if _is_above(controls, _MAX_CONTROLS, sum(map(len, samples))):
        raise not_text()
    looked_at = "".join(sample[:_CATEGORY_CHARS] for sample in samples)
    if looked_at.isascii():
        return text
    unreadable = looked_at.count("\ufffd")
    unassigned = sum(count for char, count in Counter(looked_at).items() if unicodedata.category(char) in ("Cn", "Co"))
    if _is_above(unassigned, _MAX_UNASSIGNED, len(looked_at)) or _is_above(
        unreadable + unassigned, _MAX_UNREADABLE, len(looked_at)
    ):
        raise not_text()
    return text


def _is_above(count: int, share: float, size: int) -> bool:
    return count > _FEW and count > share * size


def not_text() -> FetchFailed:
    """The error for a body that is binary."""
    return FetchFailed(
        "the page is not text, whatever its Content-Type says; HTML, text, Markdown, JSON, XML and PDF can be read",
        "unsupported_type",
    )
