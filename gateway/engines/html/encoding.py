"""Finds a page's encoding, decodes it and refuses what is no text, by the WHATWG Encoding and HTML standards.

Order: byte-order mark, HTTP header, a declaration in the first 4 KB, UTF-8 if it is (nearly) valid, a guess by the
letters of each script, else windows-1252. A declared encoding is checked: if it gives garbage, the page
is read as UTF-8 or as the script that its letters show. Only the standard's own encodings count, under its own
labels: Python knows others (`utf-7`, `unicode_escape`) in which a page could hide its text. Read 2026-11-21.
"""

import codecs
import re
import unicodedata
from collections import Counter
from typing import NamedTuple

from gateway.engines.fetch.errors import Unreadable

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
_SUPERSETS = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "euc_kr": "cp949", "shift_jis": "cp932",
    "utf-16": "utf-16-le",
}  # fmt: skip
"""Encodings that are read as a larger one, by the standard."""
_CODECS = frozenset(
    {
        "utf-8", "cp866", "iso8859-2", "iso8859-3", "iso8859-4", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8",
        "iso8859-10", "iso8859-13", "iso8859-14", "iso8859-15", "iso8859-16", "koi8-r", "koi8-u", "mac-roman", "cp874",
        "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "mac-cyrillic",
        "gb18030", "big5hkscs", "euc_jp", "iso2022_jp", "cp932", "cp949", "utf-16-be", "utf-16-le",
    }
)  # fmt: skip
"""The standard's encodings, by Python's names."""
_LABELS = {
    label: codec
    for codec, labels in {
        "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
        "iso8859-6": "csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i",
        "iso8859-7": "sun_eu_greek",
        "iso8859-8": "csiso88598e csiso88598i iso-8859-8-e iso-8859-8-i logical visual",
        "iso8859-15": "csisolatin9",
        "koi8-r": "koi koi8",
        "koi8-u": "koi8-ru",
        "mac-roman": "csmacintosh mac",
        "mac-cyrillic": "x-mac-ukrainian",
        "cp874": "dos-874 windows-874",
        "cp1252": "x-user-defined",
        "gb18030": "csgb2312 gb_2312 gb_2312-80",
        "big5hkscs": "cn-big5 x-x-big5",
        "euc_jp": "cseucpkdfmtjapanese",
        "cp932": "windows-31j x-sjis",
        "cp949": "cseuckr csksc56011987 iso-ir-149 ks_c_5601-1989 ksc_5601 windows-949",
        "utf-16-be": "unicodefffe",
        "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff",
    }.items()
    for label in labels.split()
}
"""Labels of the standard that Python does not know; all others are aliases of its codecs."""


class Decoded(NamedTuple):
    """A page's text. `is_guessed`: the page is not in the encoding that is said first, so it was read in another."""

    text: str
    is_guessed: bool = False


def decode(body: bytes, content_type: str) -> str:
    """The body as text. `content_type`: the HTTP header's value. Undecodable bytes become U+FFFD; raises nothing."""
    return decoded(body, content_type).text


def decoded(body: bytes, content_type: str) -> Decoded:
    """Does the work of `decode` and also tells whether the page's header or declaration names a wrong encoding."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return Decoded(body[len(mark) :].decode(name, "replace"))
    header = _HEADER.search(content_type)
    start = body[:_DECLARATION_BYTES]
    own = [
        codec for found in (_XML.search(start), _META.search(start)) if found and (codec := _codec(found[1].decode()))
    ]
    said = [codec for codec in (_codec(header[1]) if header else None, *map(_as_ascii, own)) if codec is not None]
    for codec in said:
        if codec != "utf-8":
            real = _checked(body, codec)
            return Decoded(body.decode(real, "replace"), real != said[0])
        if _is_utf8(body):
            return Decoded(body.decode("utf-8", "replace"))
    return Decoded(body.decode(_likeliest(body), "replace"), bool(said))


def _checked(body: bytes, codec: str) -> str:
    """Returns the declared encoding, or a likelier one if the declared one yields garbage. It cannot tell encodings of
    Latin letters from one another."""
    if body.isascii() or codec.startswith("utf-16"):
        return codec
    text = body.decode("utf-8", "replace")
    beyond = len(text) - len(text.encode("ascii", "ignore")) - text.count("\ufffd")
    if beyond >= (_LEAST_WIDE if codec in _WIDE else 1) and _is_utf8(body):
        return "utf-8"
    sample, high, is_in_rows = _sampled(body)
    if high < _MIN_CHARS or max(_fit(sample, each._replace(codec=codec)) for each in _CANDIDATES) >= 1:
        return codec
    return guess(body) or ("cp1252" if codec in _FOREIGN and not is_in_rows else codec)


def _as_ascii(codec: str) -> str:
    """A page in UTF-16 has no declaration that can be read as ASCII, so one that says so is in UTF-8."""
    return "utf-8" if codec.startswith("utf-16") else codec


def _is_utf8(body: bytes) -> bool:
    """Whether a body is UTF-8, or is but for some damaged bytes: one broken name, or a page that was cut."""
    text = body.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    return not bad or len(text) - bad - len(text.encode("ascii", "ignore")) >= _GOOD_FOR_BAD * bad


def _likeliest(body: bytes) -> str:
    """The encoding of a body of which nothing is said, by its bytes and the letters that they would be."""
    if wide := wide_codec(body):
        return wide
    if body.isascii() and _ISO_2022_JP.search(body):
        return "iso2022_jp"
    return "utf-8" if _is_utf8(body) else guess(body) or "cp1252"


def wide_codec(body: bytes) -> str | None:
    """UTF-16 without a mark, as editors of Windows write it: every second byte of the beginning is zero."""
    head = body[:_WIDE_BYTES]
    for codec, zeros, others in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if len(head) >= _MIN_WIDE_BYTES and zeros.count(0) >= _MIN_ZEROS * len(zeros) and 0 not in others:
            return codec
    return None


def _codec(label: str) -> str | None:
    """Python's name for the encoding of one of the standard's labels; None for another encoding."""
    label = re.sub(r"^iso8859(\d+)$", r"iso-8859-\1", label.strip().lower())
    for name in (label, label.removeprefix("x-")):
        try:
            known = _LABELS.get(name) or codecs.lookup(name).name
        except (LookupError, ValueError):
            continue
        codec = _SUPERSETS.get(known, known)
        return codec if codec in _CODECS else None
    return None


_SAMPLE_BYTES = 40_000  # bytes that are judged, from the first non-ASCII one on
_MIN_CHARS = 16  # non-ASCII characters without which nothing is guessed
_MAX_BAD = 0.01  # share of undecodable characters in a sample: one line of another encoding
_MIN_IN_ROWS = 0.5
"""A page is not in Latin script if this share of its non-ASCII bytes is in runs of three or more. In Latin scripts they
are single letters between ASCII letters (a share of .1), in others whole words (.9)."""
_ROW = re.compile(rb"[\x80-\xff]{3,}")
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


_WIDE = frozenset({"gb18030", "big5hkscs", "euc_jp", "iso2022_jp", "cp932", "cp949"})  # of several bytes a character
_LEAST_WIDE = 4  # characters of UTF-8 that such an encoding does not have by chance
_FOREIGN = _WIDE | {each.codec for each in _CANDIDATES} | {
    "iso8859-6", "iso8859-7", "iso8859-8", "koi8-u", "mac-cyrillic",
}  # fmt: skip
"""Encodings of other letters than Latin ones."""


def _sampled(body: bytes) -> tuple[bytes, int, bool]:
    """(the bytes that are judged, how many of them are not ASCII, whether these stand in rows as whole words do)."""
    first = _FIRST_HIGH.search(body)
    sample = body[first.start() : first.start() + _SAMPLE_BYTES] if first is not None else b""
    high = len(sample.translate(None, _HIGH))
    in_rows = sum(len(row.group().translate(None, _HIGH)) for row in _ROW.finditer(sample))
    return sample, high, in_rows >= _MIN_IN_ROWS * high


def guess(body: bytes) -> str | None:
    """Python's name of the encoding whose script the page is in; None when it looks Latin, or like nothing."""
    sample, high, is_in_rows = _sampled(body)
    if high < _MIN_CHARS or not is_in_rows:
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
    """`text` itself. Raises Unreadable (`unsupported_type`) when it is no text."""
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


def not_text() -> Unreadable:
    """The error for a body that is binary."""
    return Unreadable(
        "the page is not text, whatever its Content-Type says; HTML, text, Markdown, JSON, XML and PDF can be read",
        "unsupported_type",
    )
