"""Other spellings of a text: escapes and encodings undone, words spelt out letter by letter put together.

Each spelling is a text of its own with a way back to the places it came from; the scanner looks at it as at any other.
Undone: escapes (see `escapes`); base64 and hex words of plain text; `4 1 1 1 …` of single characters.
"""

import binascii
import re
from binascii import a2b_base64
from collections.abc import Callable, Iterator
from typing import NamedTuple

import re2

from gateway.sanitize.detectors.escapes import unescaped_words
from gateway.sanitize.text.work_budget import WorkBudget

_REST_OF_ENCODED = re.compile(rb"t*+=?=?")
_CLASS = bytes(
    0x74
    if code in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
    else 0x3D
    if code == 0x3D
    else 0x20
    for code in range(256)
)
_HEX = re.compile(rb"(?:[0-9A-Fa-f]{2}){8,}")
_LETTERED = re2.compile(
    rb"(?:^|[\s:=\"'(])((?:[A-Za-z0-9@.+_-](?: |[._*/|,-]| [-.*|] )){9,160}[A-Za-z0-9@])(?:[\s,;:.!?)\"']|$)"
)
_PRINTABLE = bytes({*range(0x20, 0x100), *b"\t\n\r"} - {0x7F})
_STANDARD = bytes.maketrans(b"-_", b"+/")
_LEAST = 16
_LEAST_ENCODED = b"t" * _LEAST
_FIRST_LOOK = 64


class Spelling(NamedTuple):
    """`text` is what [start, end) of the folded text spells.

    `place` says where in the word a character of the text begins or, behind the last, where the word ends; without it
    a finding takes the whole word.
    """

    start: int
    end: int
    text: str
    place: Callable[[int], int] | None = None


def spellings(text: bytes, budget: WorkBudget) -> Iterator[Spelling]:
    """Every word of the folded text that may hide something behind its spelling."""
    if b"%" in text or b"&" in text or b"\\" in text or b"=" in text:
        for plain in unescaped_words(text, budget):
            yield Spelling(plain.start, plain.start + len(plain.word), plain.text, plain.place)
    for match in _LETTERED.finditer(text):
        start, end = match.span(1)
        budget.spend(16 + (end - start) // 2)
        word = text[start:end]
        if len(set(word[1::2])) == 1:
            kept = list(range(0, end - start, 2))
        else:
            kept = [place for place, code in enumerate(word) if code not in b" *|,/"]
        joined = bytes([word[place] for place in kept])
        yield Spelling(start, end, joined.decode(), [*kept, end - start].__getitem__)


def decoded_words(text: bytes, budget: WorkBudget) -> Iterator[Spelling]:
    """Words that are base64 or hex of plain text."""
    known: dict[bytes, tuple[str, ...]] = {}
    classes = text.translate(_CLASS)
    start = classes.find(_LEAST_ENCODED)
    while start >= 0:
        rest = _REST_OF_ENCODED.match(classes, start + _LEAST)
        end = rest.end() if rest else start + _LEAST
        word = text[start:end]
        plains = known.get(word)
        budget.spend(1)
        if plains is None:
            budget.spend(5 + len(word) // 16)
            plains = known[word] = _decodings(word, cut=start == 0 or end == len(text))
        for plain in plains:
            yield Spelling(start, end, plain)
        start = classes.find(_LEAST_ENCODED, end)


def _decodings(word: bytes, cut: bool) -> tuple[str, ...]:
    """What a word says as hex or as base64, where that is plain text. `cut`: an end of it may be missing."""
    if not cut:
        return _read(word)
    plains: tuple[str, ...] = ()
    for skipped in range(max(1, min(4, len(word) - _LEAST))):
        plains += _read(word[skipped:], cut=True)
    return plains


def _read(word: bytes, cut: bool = False) -> tuple[str, ...]:
    plains: tuple[str, ...] = ()
    if _HEX.fullmatch(word) and not word.isalpha():
        plains = _printable(bytes.fromhex(word.decode()))
    body = word.rstrip(b"=")
    if len(body) % 4 == 1:
        if not cut:
            return plains
        body = body[:-1]
    if len(body) <= _FIRST_LOOK or _printable(_from_base64(body[:_FIRST_LOOK])):
        plains += _printable(_from_base64(body))
    return plains


def _from_base64(body: bytes) -> bytes:
    try:
        return a2b_base64(body.translate(_STANDARD) + b"=" * (-len(body) % 4))
    except binascii.Error:
        return b""


def _printable(plain: bytes) -> tuple[str, ...]:
    """The text in UTF-8, if it is one, without control characters."""
    if not plain or plain.translate(None, _PRINTABLE):
        return ()
    text = plain.decode("utf-8", "ignore")  # an error would cost more than all else
    return (text,) if len(text) == len(plain) or len(text.encode()) == len(plain) else ()
