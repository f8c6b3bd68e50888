"""Folds a text to one byte a character, the form that detectors search, and maps offsets back to the text.

Digits of any script become ASCII digits, look-alike letters their Latin twin, accented letters their base letter, any
dash `-`, any space ` `, an escaped line end or tab (`\\n`) two blanks; other letters become LETTER, other symbols
SYMBOL. Invisible characters (zero-width, bidi, tags, variation selectors, combining marks) are dropped. Naive form:
`_fold_char` for each character; the table holds its results, and ASCII text, the common case, is only encoded. Does not
know the detectors.

Sources: Unicode Character Database as in `unicodedata`; the look-alikes are those of Unicode TR 39 that are confusable
with ASCII letters (confusables.txt, read 2026-11-21), Cyrillic, Greek and Armenian only.
"""

import binascii
import codecs
import functools
import re
import unicodedata
from binascii import a2b_base64
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeAlias

import re2

# ----------------------------------------------------------------------------------------------------
# Findings: spans of one text with the kind of value in them; how they are merged and masked. Pure.
RANK: dict[str, int] = {
    entity: rank
    for rank, entity in enumerate(
        ("SECRET", "CREDIT_CARD", "IBAN", "US_SSN", "NATIONAL_ID", "CRYPTO_WALLET", "EMAIL", "PHONE", "IP")
    )
}
"""The detectors' entities, most sensitive first: where findings overlap, the lowest rank names the mask."""


GRADED = frozenset(("SECRET", "CREDIT_CARD", "IBAN", "US_SSN", "NATIONAL_ID"))
"""The entities whose findings differ in certainty; the findings of all others count as certain."""


class Finding(NamedTuple):
    """A value of the kind `entity` at [start, end) of a text, in characters.

    `certain`: its form alone proves it, or syntax gives it a name: a checksum and an issuer, a maker's format with
    random characters, a key block, a random value assigned to a credential's name, an id right behind its label. Else
    the finding is only likely: a word stands nearby, or the value looks like what people write as a password.
    """

    start: int
    end: int
    entity: str
    certain: bool = True


def disjoint(findings: Iterable[Finding], rank: dict[str, int]) -> list[Finding]:
    """The findings in order, overlapping ones merged under the entity of the lowest rank (entities without one
    last). A merged finding is certain if the one that names it is, or any of a graded entity."""
    merged: list[Finding] = []
    start = end = -1
    entity, certain, no_rank = "", True, len(rank)
    for finding in sorted(findings):
        if finding.start >= end:
            start, end, entity, certain = finding
            merged.append(finding)
            continue
        before = entity, end, certain
        if rank.get(finding.entity, no_rank) < rank.get(entity, no_rank):
            certain = finding.certain or (certain and entity in GRADED)
            entity = finding.entity
        elif finding.certain and finding.entity in GRADED:
            certain = True
        end = max(end, finding.end)
        if before != (entity, end, certain):
            merged[-1] = Finding(start, end, entity, certain)
    return merged


class Joined:
    """Texts laid end to end with a separator between, which are scanned at once, and the way back to each of them."""

    def __init__(self, texts: Sequence[str], separator: str) -> None:
        self.text = separator.join(texts)
        self._sizes = [len(text) for text in texts]
        self._starts = [0, *accumulate(size + len(separator) for size in self._sizes)]

    def touched(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """(index of a text, start, end) for each part of a text that [start, end) of the joined text covers."""
        first = bisect_right(self._starts, start) - 1
        for index in range(first, min(bisect_left(self._starts, end), len(self._sizes))):
            shift = self._starts[index]
            low, high = max(start - shift, 0), min(end - shift, self._sizes[index])
            if low < high:
                yield index, low, high


def mask_of(entity: str) -> str:
    """The text that replaces a value of this kind. `folding` recognises it and hides it from the detectors."""
    return f"[REDACTED:{entity}]"


def masked(text: str, findings: Sequence[Finding]) -> str:
    """The text with every finding replaced by its mask. `findings` are disjoint and in order."""
    if not findings:
        return text
    parts: list[str] = []
    index = 0
    for start, end, entity, _ in findings:
        parts += (text[index:start], mask_of(entity))
        index = end
    parts.append(text[index:])
    return "".join(parts)


# ----------------------------------------------------------------------------------------------------
# RE2 searches that return the span of a match only, at half the cost of a match object.
#
# Naive form: `pattern.search(text, start).span()`. The one module that uses private parts of the `re2` package
# (google-re2): `pattern._regexp.Match` and `re2._Anchor.UNANCHORED`; a version without them gets the naive form.
Pattern: TypeAlias = re2._Regexp
"""A compiled pattern, as `re2.compile` returns it: the package gives its class no public name."""
Search: TypeAlias = Callable[[bytes, int], tuple[int, int]]
"""(text, start) -> [start, end) of the first match at or after `start`; (-1, -1) for none."""
SearchWithin: TypeAlias = Callable[[bytes, int, int], tuple[int, int]]
"""(text, start, end) -> the same, for a match that ends at or before `end`."""
_NO_MATCH = (-1, -1)


@functools.cache
def searcher(pattern: Pattern) -> Search:
    """The search for a pattern in a text from an offset on."""
    matcher, anchor = _private_matcher(pattern)
    if matcher is None:
        return lambda text, at: match.span() if (match := pattern.search(text, at)) else _NO_MATCH
    return lambda text, at: matcher(anchor, text, at, len(text))[0]


@functools.cache
def searcher_within(pattern: Pattern) -> SearchWithin:
    """The search for a pattern in a part of a text."""
    matcher, anchor = _private_matcher(pattern)
    if matcher is None:
        return lambda text, at, end: match.span() if (match := pattern.search(text, at, end)) else _NO_MATCH
    return lambda text, at, end: matcher(anchor, text, at, end)[0]


def _private_matcher(pattern: Pattern) -> tuple[Callable[..., Sequence[tuple[int, int]]] | None, object]:
    """The package's inner matcher and its argument for an unanchored search; None if it has no such thing."""
    anchor = getattr(getattr(re2, "_Anchor", None), "UNANCHORED", None)
    return (None if anchor is None else getattr(getattr(pattern, "_regexp", None), "Match", None)), anchor


def spans(search: Search, text: bytes) -> Iterator[tuple[int, int]]:
    """The span of every match, in order, for a pattern that matches no empty string."""
    span = search(text, 0)
    while span[0] >= 0:
        yield span
        span = search(text, span[1])


LETTER = 0x02
"""Any letter without a Latin twin. Like SYMBOL and _DROP a control character, as texts hardly ever contain it."""
SYMBOL = 0x03
"""Any other character that is shown."""
_DROP = 0x01
"""An invisible character; removed from the folded bytes."""

_CONFUSABLE = (
    "аa еe оo рp сc уy хx ѕs іi јj һh ԁd ԛq ԝw ɡg ӏl ѵv кk тt мm нh вb пn гr зz бb иu "
    "АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ЅS ІI ЈJ ԌG Ԛq ԜW ӀI ѴV "
    "αa βb γy εe ηn ιi κk νv οo ρp τt υu χx ωw ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX "
    "օo ոn սu հh աw ցg ѡw ıi ȷj ſs ⅼl ⅰi ⅴv ⅹx ⅽc ⅾd ⅿm ⅠI ⅤV ⅩX ⅬL ⅭC ⅮD ⅯM ℓl ℮e "
    "øo ØO łl ŁL đd ĐD æa ÆA œo ŒO ßs ðd ÐD þt ÞT"
)
_PUNCTUATION = {
    "\u2024": ".", "\u3002": ".", "\uff61": ".", "\u06d4": ".", "\u00b7": ".", "\u2022": ".", "\u2027": ".",
    "\u2044": "/", "\u2215": "/", "\u29f8": "/", "\u2236": ":", "\u02d0": ":", "\ua789": ":", "\u0589": ":",
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"',
    "\u00bb": '"', "\u2212": "-", "\u02d7": "-", "\u2043": "-", "\u30fc": "-", "\u2028": "\n", "\u2029": "\n",
    "\u0085": "\n", "\u01c0": "|", "\u2223": "|", "\u2217": "*", "\u02f8": ":",
}  # fmt: skip
_PASSWORD_SIGNS = {"密": 0x04, "码": 0x05, "碼": 0x05, "パ": 0x06, "ワ": 0x07}
"""Signs of the Chinese and the Japanese word for password (密码, パスワード): bytes of their own, by which the
names are told from other words without a Latin letter."""
_LATIN_NAMES = {4: "pswd", 5: "parol", 6: "passwd", 7: "passwrd", 8: "password", 9: "passwords"}
_SCRIPT_WORDS = (
    "비밀번호 패스워드 暗証番号 סיסמה סיסמא المرور السر عبور گذرواژه पासवर्ड รหัสผ่าน πρόσβασης κωδικός Κωδικός "
    "парола Парола лозинка Лозинка პაროლი գաղտնաբառ"
)
_PHONE_WORDS = (
    "手机号码 手機號碼 电话号码 電話番号 携帯番号 联系电话 휴대전화 전화번호 هاتف جوال טלפון נייד "
    "手机号 휴대폰 핸드폰 फोन โทร 手机 手機 电话 電話 携帯 전화 телефон Телефон ТЕЛЕФОН τηλέφωνο Τηλέφωνο κινητό Κινητό"
)
_LATIN_PHONES = {2: "\x05\x04", 3: "tel", 4: "cell", 5: "phone", 6: "phones", 7: "telefon", 8: "telefono"}
_WORDS = (
    *((word, _LATIN_NAMES[len(word)]) for word in _SCRIPT_WORDS.split()),
    *((word, _LATIN_PHONES[len(word)]) for word in _PHONE_WORDS.split()),
)
"""Words for password and for telephone in scripts whose letters fold to LETTER, and a Latin one of the same length, so
that offsets hold; longer words before those they hold. No Latin word for telephone has two letters: \x05\x04 stands
for one (the signs of the Chinese password the wrong way round)."""
_LEAST_WORD_CHARS = min(len(word) for word, _ in _WORDS)
_END_OF_SCRIPTS = 0x20000
"""The end of plane 1: above are ideographs (LETTER) and, from U+E0000, tags and selectors (dropped)."""


def _fold_char(code: int) -> int:
    """The byte for a code point beyond ASCII, by its Unicode category and decomposition."""
    char = chr(code)
    category = unicodedata.category(char)
    if category in ("Cf", "Mn", "Me"):
        return _DROP
    if category == "Nd":
        return 0x30 + unicodedata.decimal(char)
    if category == "Pd":
        return 0x2D
    if category == "Zs":
        return 0x20
    plain = unicodedata.normalize("NFKD", char)[0]
    if plain < "\x80":
        return ord(plain)
    return LETTER if category[0] == "L" or category in ("Mc", "Nl") else SYMBOL


def _make_table() -> str:
    """One ASCII character per code point below _END_OF_SCRIPTS, as a string: `str.translate` indexes it and leaves what
    lies beyond for `_fold_each`. A table of all code points would take a MiB more."""
    table = bytearray([LETTER]) * _END_OF_SCRIPTS
    table[0:0x80] = bytes(range(0x80))
    for block in (range(0x80, 0x3100), range(0xA000, 0xAC00), range(0xF900, 0x11000), range(0x1D000, 0x1DA00)):
        for code in block:
            table[code] = _fold_char(code)
    for code in range(0x11000, _END_OF_SCRIPTS):
        if table[code] == LETTER and unicodedata.category(chr(code)) not in ("Lo", "Cn"):
            table[code] = _fold_char(code)
    table[0xD800:0xE000] = bytes([SYMBOL]) * 0x800
    for pair in _CONFUSABLE.split():
        table[ord(pair[0])] = ord(pair[1])
    for char, plain in _PUNCTUATION.items():
        table[ord(char)] = ord(plain)
    for char, byte in _PASSWORD_SIGNS.items():
        table[ord(char)] = byte
    return table.decode("ascii")


_TABLE = _make_table()


_TAGS_LEAD = b"\xf3\xa0"
"""How U+E0000 to U+E0FFF begin in UTF-8, and no other character."""
_CONTINUATIONS = bytes(range(0x80, 0xC0))
_BEYOND = bytes(range(0x80)) + bytes([LETTER]) * 0x80
"""For what `_TABLE` has left: bytes that lead a character become LETTER."""


def _fold_each(text: str) -> bytes:
    """Every character by the table. Those beyond it are four bytes of UTF-8: the first tells, the others go."""
    if len(text) >= _LEAST_WORD_CHARS:
        for word, name in _WORDS:
            if word in text:
                text = text.replace(word, name)
    plain = text.translate(_TABLE).encode()
    if len(plain) == len(text):
        return plain
    return plain.replace(_TAGS_LEAD, bytes([_DROP])).translate(_BEYOND, _CONTINUATIONS)


def _fold_unencodable(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _fold_each(error.object[error.start : error.end]), error.end


codecs.register_error("gateway-fold", _fold_unencodable)


def folded(text: str) -> bytes:
    """The folded bytes, dropped characters included as 0x01. Two equal ways: `_fold_each` looks up every character; the
    encoder's error handler only those beyond ASCII, which is faster while they are few (up to one in 16 bytes)."""
    is_dense = len(text.encode("utf-8", "surrogatepass")) > len(text) * 17 // 16
    return _fold_each(text) if is_dense else text.encode("ascii", "gateway-fold")


_MASK = re.compile(rb"\[(?:REDACTED:[A-Z_]{2,40}|[A-Z][A-Z0-9_]{1,39}_[0-9]{1,6})\]")
"""Masks, and placeholders (`restoring`)."""


def _hide_mask(mask: re.Match[bytes]) -> bytes:
    """SYMBOL for each byte: the word `PHONE` in a mask must not name the number behind it."""
    return b"\x03" * len(mask.group())


_ESCAPED_BLANKS = ((b"\\n", b" \n"), (b"\\r", b"  "), (b"\\t", b" \t"))
"""Line ends and tabs as strings of JSON and of programs write them. Left as they are, the letter would be one of the
word behind it: `\\nghp_…` begins no token, `\\nIBAN` is no word. That paths and TeX (`\\text`) lose a letter harms
nothing, as no detector looks for them."""
_TWICE_ESCAPED = ((b"\\\\n", b"  \n"), (b"\\\\r", b"   "), (b"\\\\t", b"  \t"))
"""The same in JSON that a string of JSON quotes, where quotation marks have backslashes too."""
_CONTINUED = ((b"\\\\n", b"   "),)
"""Where they have none, the line goes on behind two backslashes: `\\\\nas` is a server."""


_ESCAPED = re2.compile(rb'\\["_-]')
_ESCAPED_QUOTE = re.compile(rb'\\{1,7}(?=")')
"""The backslashes of quotation marks in quoted JSON: dropped, so that its names and values read like those of JSON."""


_ESCAPED_MARK = re.compile(rb"(?<=[A-Za-z0-9])\\{1,2}(?=[_-][A-Za-z0-9])")
"""Markdown's escapes of characters that tokens have, within a word."""


_LINE_MARK = re2.compile(rb"\n(?:> |@@ -)")
_FIRST_MARKS = (b"@@", b"> ")
_DIFF_MARK = re.compile(rb"\n[+-](?=[^0-9+-])")
"""What marks a line of a diff. Signs before digits stay: they may be a telephone number's."""


def _without_line_marks(plain: bytes) -> bytes:
    """Blanks for the marks before each line of a diff or of quoted mail, so that its lines begin as in the original."""
    if b"> " in plain:
        plain = plain.replace(b"\n> ", b"\n  ").replace(b"\n  > ", b"\n    ")
    if b"\n@@ -" in plain or plain.startswith(b"@@ -"):
        plain = _DIFF_MARK.sub(b"\n ", plain)
    return plain


def _drop(unseen: re.Match[bytes]) -> bytes:
    return b"\x01" * len(unseen.group())


_FIND_LONG_WORD = searcher(re2.compile(rb"[!-~]{16,}"))


class LongWords:
    """The words of at least 16 ASCII signs of a folded text: the shortest key or encoded word has so many.

    Prose has few of them, so that patterns of keys search them in a fraction of the time that the whole text takes.
    """

    __slots__ = ("_in_text", "_starts", "_words")

    def __init__(self, text: bytes) -> None:
        found = [*spans(_FIND_LONG_WORD, text)]
        self._words = b" ".join([text[start:end] for start, end in found])
        self._in_text = [start for start, _ in found]
        self._starts = [0, *accumulate(end - start + 1 for start, end in found)]

    def find(self, search: Search, overlap: int = 0) -> Iterator[tuple[int, int]]:
        """The span in the text of every match, in order; the next one may begin with the last `overlap` characters."""
        start, end = search(self._words, 0)
        while start >= 0:
            word = bisect_right(self._starts, end - 1) - 1
            shift = self._in_text[word] - self._starts[word]
            yield start + shift, end + shift
            start, end = search(self._words, end - overlap)


class View:
    """A text, its folded bytes, and the way back from offsets in these to offsets in the text."""

    __slots__ = ("_dropped", "_long_words", "_lower", "folded", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._lower: bytes | None = None
        self._long_words: LongWords | None = None
        self._dropped: list[int] = []
        plain = text.encode() if text.isascii() else folded(text)
        if b"\\" in plain:
            has_marks = _ESCAPED.search(plain) is not None
            has_quotes = has_marks and b'\\"' in plain
            if b"\\\\" in plain:
                for escape, blanks in _TWICE_ESCAPED if has_quotes else _CONTINUED:
                    plain = plain.replace(escape, blanks)
            for escape, blanks in _ESCAPED_BLANKS:
                plain = plain.replace(escape, blanks)
            if has_quotes:
                plain = _ESCAPED_QUOTE.sub(_drop, plain)
            if has_marks and (b"\\_" in plain or b"\\-" in plain):
                plain = _ESCAPED_MARK.sub(_drop, plain)
        if b"\x01" in plain:
            parts = plain.split(b"\x01")
            self._dropped = [*accumulate(map(len, parts[:-1]))]
            plain = b"".join(parts)
        if b"[" in plain and b"]" in plain:
            plain = _MASK.sub(_hide_mask, plain)
        if (b">" in plain or b"@" in plain) and (plain[:2] in _FIRST_MARKS or _LINE_MARK.search(plain)):
            plain = _without_line_marks(plain)
        self.folded = plain

    @property
    def lower(self) -> bytes:
        """The folded bytes in lower case, made when first used."""
        if self._lower is None:
            self._lower = self.folded.lower()
        return self._lower

    @property
    def long_words(self) -> "LongWords":
        """The words of the folded bytes that may be keys, found when first used."""
        if self._long_words is None:
            self._long_words = LongWords(self.folded)
        return self._long_words

    @property
    def is_shifted(self) -> bool:
        """Whether characters were dropped, so that offsets in the folded bytes differ from those in the text."""
        return bool(self._dropped)

    @property
    def folding_cost(self) -> int:
        """Units of the WorkBudget that folding costs beyond what it costs for ASCII."""
        if self.text.isascii():
            return len(self._dropped) // 16
        extra_bytes = len(self.text.encode("utf-8", "surrogatepass")) - len(self.text)
        return extra_bytes // 6 + len(self._dropped) // 2

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The range of the text that was folded to [start, end), which must not be empty."""
        if not self._dropped:
            return start, end
        last = end - 1
        return start + bisect_right(self._dropped, start), last + bisect_right(self._dropped, last) + 1


# ----------------------------------------------------------------------------------------------------
# Work budget of one scan. Detectors charge each candidate they check; overspending raises BudgetExceeded.
#
# A text that holds more candidates than its budget allows is not checked further: `scan.fallback_mask` masks it. So
# no
# filler can hide a value among candidates, or make a scan slower than linear. One unit is about 0.3 µs; a text gets
# one
# unit a character. Measured with the densest ordinary texts (`bench.pii_rows`): settings of secrets only and the
# densest
# customer dumps need 95 % of the budget, tables and escaped text half or more, logs a quarter, articles a few
# hundredths.
#
# A charge is the measured cost of its step, so that no kind of candidate is cheap filler. `python -m bench.pii_fuzz`
# finds charges that are too low; charges that are too high send ordinary texts to the fallback (the tests with
# `ORDINARY`
# rows).
_MIN_UNITS = 26_000
"""Budget of short texts, about 8 ms. Some checks are limited in number, not by length (12 parsed telephone numbers at
480 units are 5,760, 200 id checks at 12 or more 2,400)."""


_SHARED_UNITS = 32 * _MIN_UNITS
"""What one request may spend beyond one unit a character of its texts, about 250 ms: its decoding, checking and
walking (`sanitize.pipeline.RequestWork`), and what short texts cost beyond their length. A short text of numbers
spends 0 to 60 units more than its length and one of escapes a thousand, so eight hundred texts of the densest kind
are scanned in full."""


class BudgetExceeded(Exception):
    """The text holds more candidates than its budget allows to check."""


class SharedAllowance:
    """What the texts of one request may still spend together, beyond one unit a character each."""

    __slots__ = ("left",)

    def __init__(self, units: int = _SHARED_UNITS) -> None:
        self.left = units


class WorkBudget:
    """Units of about 0.3 µs that the scan of `size` characters may still spend; `allowance` is its request's."""

    __slots__ = ("_allowance", "_lent", "left")

    def __init__(self, size: int, allowance: SharedAllowance | None = None) -> None:
        more = max(0, _MIN_UNITS - size)
        self._lent = more if allowance is None else max(0, min(more, allowance.left))
        self._allowance = allowance
        self.left = size + self._lent

    def spend(self, cost: int) -> None:
        """Charge `cost` units. Raises BudgetExceeded when more is spent than there was."""
        self.left -= cost
        if self.left < 0:
            raise BudgetExceeded

    def settle(self) -> None:
        """Charge the request's allowance with what was spent beyond one unit a character. Call it once, at the end."""
        if self._allowance is not None:
            self._allowance.left -= max(0, self._lent - max(0, self.left))


_PRINTABLE = bytes({*range(0x20, 0x100), *b"\t\n\r"} - {0x7F})
_STANDARD = bytes.maketrans(b"-_", b"+/")


def from_base64(body: bytes) -> bytes:
    """What base64 without its `=` decodes to, in either alphabet; nothing where it is none."""
    try:
        return a2b_base64(body.translate(_STANDARD) + b"=" * (-len(body) % 4))
    except binascii.Error:
        return b""


def as_text(decoded: bytes) -> tuple[str, ...]:
    """(the text,) if the bytes are UTF-8 without control characters, else ()."""
    if not decoded or decoded.translate(None, _PRINTABLE):
        return ()
    text = decoded.decode("utf-8", "ignore")  # an exception would cost more than the rest of the function
    return (text,) if len(text) == len(decoded) or len(text.encode()) == len(decoded) else ()


# ----------------------------------------------------------------------------------------------------
# Where the holdback of a growing text begins: the part in which later text could still change what is found.
#
# A sensitive value is at most one word, or a chain of words: groups of digits, an address with its `at` and `dot`
# spelt
# out, a private key between BEGIN and END, a key whose characters stand apart. All other context that
# detectors use is to the left of the value. So the holdback begins at the last word, or at the chain that ends with
# it.
# Naive form: hold the whole text back until it ends.
# Works on folded bytes. Used for streams (`masking.stream_masker`) and for long texts (`scan.chunked`).
MAX_HOLDBACK_CHARS = 8192
"""Longer than the PEM text of an 8192-bit RSA key (about 6.4 KB). A longer holdback is decided as it is, and an
unfinished value in it is masked as far as REST_OF_VALUE or REST_OF_KEY matches."""
REST_OF_VALUE = re.compile(r"[A-Za-z0-9_+/=.%~-]*")
"""What continues a value of one word that was too long to hold back."""
REST_OF_KEY = re.compile(r"[A-Za-z0-9+/=\s\\-]*")
"""What continues a private key that was too long to hold back."""

_MAX_CHAIN_CHARS = 96
"""How far a chain may reach to the left of the last word. The longest chains of groups (an IBAN of 33 characters in
groups of four is 41 long, a card spelt digit by digit 37, an address spelt out mostly below 80) fit."""
_MAX_GROUP_LETTERS = 4
"""The longest group of letters in a chain of groups: the bank code of an IBAN (`WEST` in `GB82 WEST …`)."""
_MAX_LETTER_GROUPS = 2
"""Neighbouring groups of two to four letters in one chain. No number has more; each one more would hold back
one more short word of ordinary prose."""
_MAX_BLANKS = 3
"""Blanks and tabs between two words of one chain: detectors allow at most two joints, and one is tolerance."""
_MAX_SPELT_CHARS = 480
"""How far a row of single characters with white space between them reaches to the left. A key of 160 characters with
two blanks or line ends between them fits."""
_MAX_PLAIN_CHARS = 4
"""So many characters of a value may leave before it is seen to be one."""
_MAX_PLAIN_WORD = 20
"""Longer words of small letters are held as well: a key that comes in pieces can begin with a few letters, not
with so many."""
_MIN_KEY_CHARS, _KEY_HEAD_CHARS = 8, 64
"""Letters and digits from which on a text with a digit counts as a long number or key, and where they must
stand."""
_PUNCTUATION_HOLDBACK = ".,;:!?\"'()[]{}<>*_`~\u2014\u2013\u2018\u2019\u201c\u201d\u2026"
_SPELT_BACKWARDS = re.compile(rb"[ \t\r\n]{0,3}+(?:[A-Za-z0-9@.+_-](?:[ \t\r\n]{1,3}+|\Z))++")
_SPACES = b" \t\n\r\x0b\x0c"
_LINE_FEED_HOLDBACK = 0x0A
_LOWER_BLANKED = bytes(range(256)).lower().replace(b"\t", b" ").replace(b"\n", b" ")
"""Class translation: small letters for capitals, a blank for tab and line feed; so `rfind(b" ")` finds a word's
start."""
_DIGIT = re.compile(rb"[0-9]")
_LETTER = re.compile(rb"[a-z\x02]")
ADDRESS_LINKS = frozenset(
    opening + word[:length]
    for opening in (b"", b"[", b"(", b"{", b"<")
    for word in (b"at]", b"at)", b"at}", b"at>", b"at", b"dot]", b"dot)", b"dot}", b"dot>", b"dot", b"@]", b"@)", b"@")
    for length in range(len(word) + 1)
)
"""Words between the parts of an address that is spelt out (`at`, `[dot]`), and every beginning of them."""
_GLUED_LINK = re.compile(rb"[\[({<](?:at|dot|@)[\])}>]")
"""A link without white space beside it, as in `jane (at)example.org`."""


def holdback_start(text: bytes, least: int) -> int:
    """Index of the first byte to hold back, not before `least`; `text` is all that is known so far, folded."""
    lower = text.translate(_LOWER_BLANKED)
    start = lower.rfind(b" ") + 1
    begin, letter_groups, following = start, 0, lower[start:]
    while begin > least and start - begin <= _MAX_CHAIN_CHARS:
        end = begin - 1
        if text[end] == _LINE_FEED_HOLDBACK:
            break
        if text[end - 1] in _SPACES:
            end = _previous_word_end(text, begin)
        if end <= 0:
            break
        previous = lower.rfind(b" ", 0, end) + 1
        word = lower[previous:end]
        if end - previous > _MAX_GROUP_LETTERS and not _is_link(following) and word.isalpha():
            break
        if word in ADDRESS_LINKS or not word.isalpha() or len(word) > _MAX_GROUP_LETTERS:
            letter_groups = 0
            if not (_is_link(following) or _may_continue(word)):
                break
        elif len(word) > 1:
            letter_groups += 1
            if letter_groups > _MAX_LETTER_GROUPS:
                break
        else:
            letter_groups = 0
        begin, following = previous, word
    if text[-2:-1] in _SPACES or text[-1:] in _SPACES:
        begin = _spelt_start(text, begin)
    if text.find(b"-----BEGIN") >= 0:
        begin = _private_key_start(text, begin)
    return begin if begin > least else least


def may_be_value(tail: str) -> bool:
    """Whether a held text may be the beginning of a value; False for the end of ordinary prose.

    Asked where a text ends that another may go on with: what is held then holds others up as well. Plain words, of
    small letters with a capital in front at most, do not count; one with a sign behind it ends any value.
    """
    words = tail.split()
    if not words or (words[-1][-1] in ".,;:!?" and _is_plain(words[-1])):
        return False
    return _value_chars(words) > _MAX_PLAIN_CHARS


def may_be_key(tail: str) -> bool:
    """Whether a held text may be the beginning of a long number or a key: these are worth a long wait."""
    head = tail[:_KEY_HEAD_CHARS]
    return any(map(str.isdigit, head)) and _value_chars(head.split()) >= _MIN_KEY_CHARS


def _value_chars(words: list[str]) -> int:
    return sum(character.isalnum() for word in words if not _is_plain(word) for character in word)


def _is_plain(word: str) -> bool:
    letters = word.strip(_PUNCTUATION_HOLDBACK)
    return not letters or (len(letters) <= _MAX_PLAIN_WORD and letters.isalpha() and letters[1:].lower() == letters[1:])


def _previous_word_end(text: bytes, begin: int) -> int:
    """Where the word before the one at `begin` ends; 0 when it is too far away to belong to the same chain."""
    end = begin
    while end > 0 and text[end - 1] in b" \t" and begin - end < _MAX_BLANKS:
        end -= 1
    return 0 if text[end - 1] in _SPACES else end


def _is_link(word: bytes) -> bool:
    return word in ADDRESS_LINKS or (word[:1] in b"[({<" and _GLUED_LINK.match(word) is not None)


def _may_continue(word: bytes) -> bool:
    """Whether the word before may be of the same value: a single character, a link, with a digit, or without
    letters."""
    if len(word) == 1 or word in ADDRESS_LINKS or _DIGIT.search(word) is not None or _LETTER.search(word) is None:
        return True
    return _GLUED_LINK.search(word) is not None


def _spelt_start(text: bytes, begin: int) -> int:
    """`begin`, or the start of the row of single characters, apart by white space, with which the text ends."""
    row = _SPELT_BACKWARDS.match(text[: -_MAX_SPELT_CHARS - 1 : -1])
    return begin if row is None else min(begin, len(text) - row.end())


def _private_key_start(text: bytes, begin: int) -> int:
    """`begin`, or the start of the last private key when its END line is not complete."""
    mark = text.rfind(b"-----BEGIN")
    closing = text.find(b"-----END", mark)
    if closing >= 0 and text.find(b"-----", closing + 8) >= 0:
        return begin
    return min(begin, mark)
