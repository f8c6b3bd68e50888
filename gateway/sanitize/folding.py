"""Folds a text to one byte a character, the form that detectors search, and maps offsets back to the text.

Digits of any script become ASCII digits, look-alike letters their Latin twin, accented letters their base letter, any
dash `-`, any space ` `, an escaped line end or tab (`\\n`) two blanks; other letters become LETTER, other symbols
SYMBOL. Invisible characters (zero-width, bidi, tags, variation selectors, combining marks) are dropped. Naive form:
`_fold_char` for each character; the table holds its results, and ASCII text, the common case, is only encoded. Does not
know the detectors.

Sources: Unicode Character Database as in `unicodedata`; the look-alikes are those of Unicode TR 39 that are confusable
with ASCII letters (confusables.txt, read 2026-11-21), Cyrillic, Greek and Armenian only.
"""

import codecs
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate

import re2

from gateway.sanitize.re2_search import Search, searcher, spans

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


_SIGN = re.compile(
    rb"[%\\\x1b^](?:(?<=\x1b)(?:TERMINAL|\\)|(?<=\^)\[TERMINAL|(?<=%)(?:1[bB]TERMINAL|[0-7][0-9A-Fa-f])"
    rb"|(?<=\\)(?:(?:u001[bB]|x1[bB]|033|[eE])TERMINAL|x[0-9A-Fa-f]{2}|[01][0-7]{2}"
    rb"|(?<!\\\\)\\*+u00[0-7][0-9A-Fa-f]|u(?:00[aA]0|20(?:0[0-9aA]|2[89fF]|5[fF])|3000)))".replace(
        b"TERMINAL", rb"(?:\[[0-?]{0,24}[ -/]{0,2}[@-~]|[()*+][0-9A-Z]|\]8;[^;\s]{0,40};)"
    )
)
"""A sequence by which a terminal's text gets colours, letters or a link (ECMA-48, read 2026-11-29); a byte as JSON,
programs and addresses spell it; a blank or line end beyond ASCII."""
_SIGN_BEGINS = tuple(
    (sign, re.compile(begins))
    for sign, begins in (
        (b"%", rb"%[0-7]"),
        (b"\\", rb"\\(?:u(?:00[0-7aA]|20|3000)|x[0-9A-Fa-f]|[01][0-7]|[eE][\[\]()*+])"),
        (b"\x1b", rb"\x1b[\[\]()*+\\]"),
        (b"^[[", rb"\^\[\["),
    )
)
"""How these begin, by the first character: prose has hardly any of them."""
_DECODED = frozenset(b"@._- %=\"':/")
"""Signs that `spellings` reads, as they may be part of a value; letters and digits are read there too."""


def _show_sign(escape: re.Match[bytes]) -> bytes:
    """The sign that an escape stands for behind dropped bytes, so that what is beside it begins or ends there; blanks
    for blanks, bytes beyond ASCII and what a terminal does not show.

    b"\\u003c"  ->  b"\x01\x01\x01\x01\x01<";    b"\\x1b[31m"  ->  b"        "
    """
    raw = escape.group()
    is_terminal = not raw[1:].lstrip(b"\\").isalnum()
    if is_terminal or (raw[1:2] == b"u" and raw[2:4] != b"00") or raw[2:5] in (b"00a", b"00A"):
        return b" " * len(raw)
    is_octal = raw[0] == _BACKSLASH and raw[1:2] in (b"0", b"1")
    code = int(raw[1:], 8) if is_octal else int(raw[-2:], 16)
    if code in _DECODED or bytes([code]).isalnum():
        return raw
    if _SPACE < code <= _LAST_SIGN:
        return b"\x01" * (len(raw) - 1) + bytes([code])
    return b" " * (len(raw) - 1) + (bytes([code]) if code in b"\n\r\t" else b" ")


def _with_signs(plain: bytes) -> bytes:
    """A text with its escapes shown. Naive form: `_SIGN.sub(_show_sign, plain)`, which reads prose slower."""
    places = [match.start() for sign, begins in _SIGN_BEGINS if sign in plain for match in begins.finditer(plain)]
    parts, at = list[bytes](), 0
    for start in sorted(places):
        while start > at and plain[start] == plain[start - 1] == _BACKSLASH:
            start -= 1
        escape = _SIGN.match(plain, start) if start >= at else None
        if escape is not None:
            parts += (plain[at:start], _show_sign(escape))
            at = escape.end()
    return b"".join((*parts, plain[at:])) if parts else plain


_BACKSLASH, _SPACE, _LAST_SIGN = 0x5C, 0x20, 0x7E
_ESCAPED = re2.compile(rb'\\["_-]')
_ESCAPED_QUOTE = re.compile(rb'(?<!\\)\\++(?=")')
"""The backslashes of quotation marks in quoted JSON: dropped, so that its names and values read like those of JSON.
`View.backslashes` tells the marks of one document from those of another one within it."""


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


SPELT_AT = rb"[\[({<]\s?(?i:at|@)\s?[\])}>]| (?i:at|@) [A-Za-z0-9-]{1,63} ?(?i:dot |\[dot|\(dot)| @ "
"""An `at` in brackets, or as a word with a spelt `dot` behind it."""
_SPELT_LINK = rb"(?:[A-Za-z0-9@.+_-](?:[ \t\r\n]{1,3}|[._*/|,-]| [-.*|] ))"
SPELT_OUT = rb"(?:^|[\s:=\"'(])(" + _SPELT_LINK + rb"{9,160}[A-Za-z0-9@])(?:[\s,;:.!?)\"']|$)"
"""Ten characters or more that stand apart."""
_FIND_SPELT = searcher(
    re2.compile(SPELT_AT + b"|" + SPELT_OUT + rb"|%[2-9A-Fa-fuU]|\\[uUx01]|&(?:#|[a-zA-Z]{2,14};)|=[2-7][0-9A-F]")
)


class View:
    """A text, its folded bytes, and the way back from offsets in these to offsets in the text."""

    __slots__ = ("_dropped", "_is_spelt", "_long_words", "_lower", "folded", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._lower: bytes | None = None
        self._long_words: LongWords | None = None
        self._is_spelt: bool | None = None
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
        if b"%" in plain or b"\\" in plain or b"\x1b" in plain or b"^[[" in plain:
            plain = _with_signs(plain.replace(b"\x07", b" ") if b"\x1b]" in plain else plain)
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
    def may_be_spelt(self) -> bool:
        """Whether signs may stand for others, for an `at` or for a character each: one search for all these spellings,
        of which most texts have none."""
        if self._is_spelt is None:
            self._is_spelt = _FIND_SPELT(self.folded, 0)[0] >= 0
        return self._is_spelt

    def backslashes(self, at: int) -> int:
        """How many characters were dropped right before an offset of the folded bytes: for a quotation mark, the
        backslashes that escape it."""
        return bisect_right(self._dropped, at) - bisect_left(self._dropped, at) if self._dropped else 0

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
