"""Folding: a text as the detectors see it, with the way back to the original's offsets.

Every character becomes one ASCII byte: digits of any script become ASCII digits, look-alike letters their Latin twin,
accented letters their base letter, any dash `-`, any space ` `; another letter becomes LETTER, another symbol SYMBOL.
Characters that show nothing (zero-width, bidi, tags, variation selectors, combining marks) are dropped. Pure ASCII
text, the common case, costs one `encode`. Knows nothing of what is looked for.

Sources: Unicode Character Database as in `unicodedata`; the look-alikes are those of Unicode TR 39 that are confusable
with ASCII letters (confusables.txt, read 2026-11-21), Cyrillic, Greek and Armenian only.
"""

import codecs
import re
import unicodedata
from bisect import bisect_right
from itertools import accumulate

LETTER = 0x02
SYMBOL = 0x03
_DROP = 0x01

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
_LAST = 0x20000
"""Above this plane there are ideographs (LETTER) and, from U+E0000, tags and selectors (dropped)."""


def _fold_char(code: int) -> int:
    """The one byte that stands for a non-ASCII code point."""
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
    """One ASCII character per code point, as a string: `str.translate` indexes it."""
    table = bytearray([LETTER]) * 0x110000
    table[0:0x80] = bytes(range(0x80))
    for block in (range(0x80, 0x3100), range(0xA000, 0xAC00), range(0xF900, 0x11000), range(0x1D000, 0x1DA00)):
        for code in block:
            table[code] = _fold_char(code)
    for code in range(0x11000, _LAST):
        if table[code] == LETTER and unicodedata.category(chr(code)) not in ("Lo", "Cn"):
            table[code] = _fold_char(code)
    table[0xD800:0xE000] = bytes([SYMBOL]) * 0x800
    table[0xE0000:0xE1000] = bytes([_DROP]) * 0x1000
    for pair in _CONFUSABLE.split():
        table[ord(pair[0])] = ord(pair[1])
    for char, plain in _PUNCTUATION.items():
        table[ord(char)] = ord(plain)
    return table.decode("ascii")


_TABLE = _make_table()


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return error.object[error.start : error.end].translate(_TABLE), error.end


codecs.register_error("gateway-fold", _replace)


def folded(text: str) -> bytes:
    """Character by character where many are not ASCII, else only those that are not."""
    many = len(text.encode("utf-8", "surrogatepass")) > len(text) * 17 // 16
    return text.translate(_TABLE).encode() if many else text.encode("ascii", "gateway-fold")


_MASK = re.compile(rb"\[REDACTED:[A-Z_]{2,40}\]")


def _blank(mask: re.Match[bytes]) -> bytes:
    """A mask is no word: `PHONE` in it says nothing about the number behind it."""
    return b"\x03" * len(mask.group())


class View:
    """A text and its folded bytes. `lower` is the folded bytes in lower case, made at first need."""

    __slots__ = ("_dropped", "_lower", "folded", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._lower: bytes | None = None
        self._dropped: list[int] = []
        if text.isascii():
            plain = text.encode()
        else:
            plain = folded(text)
            if b"\x01" in plain:
                kept = plain.split(b"\x01")
                self._dropped = [*accumulate(map(len, kept[:-1]))]
                plain = b"".join(kept)
        if b"[REDACTED:" in plain:
            plain = _MASK.sub(_blank, plain)
        self.folded = plain

    @property
    def lower(self) -> bytes:
        if self._lower is None:
            self._lower = self.folded.lower()
        return self._lower

    @property
    def is_shifted(self) -> bool:
        """Whether offsets in the folded bytes differ from the text's."""
        return bool(self._dropped)

    @property
    def folding_cost(self) -> int:
        """Units of `crowd.Effort` that folding takes beyond what ASCII does."""
        if self.text.isascii():
            return 0
        strange = len(self.text.encode("utf-8", "surrogatepass")) - len(self.text)
        return strange // 6 + len(self._dropped) // 2

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Offsets in the original text of the folded range [start, end), which is not empty."""
        if not self._dropped:
            return start, end
        last = end - 1
        return start + bisect_right(self._dropped, start), last + bisect_right(self._dropped, last) + 1
