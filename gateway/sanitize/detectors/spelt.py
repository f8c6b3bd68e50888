"""Other spellings of a text: escapes and encodings undone, words spelt out letter by letter put together.

Each spelling is a text of its own with a way back to the places it came from; the scanner looks at it as at any other.
Undone: percent, HTML and `\\u` escapes; base64 and hex words of plain text; `4 1 1 1 …` of single characters.
"""

import base64
import binascii
import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import re2

from gateway.sanitize.crowd import Effort

_ESCAPED_WORD = re2.compile(
    rb"[^\s\"'<>]*(?:%[0-9A-Fa-f]{2}|&#x?[0-9A-Fa-f]{2,6};|&(?:commat|period|lowbar|hyphen|dash|nbsp|sol|colon|equals|amp);"
    rb"|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|=[0-9A-F]{2})[^\s\"'<>]*"
)
_ESCAPE = re.compile(
    rb"((?:%[0-9A-Fa-f]{2})+)|(&#x?[0-9A-Fa-f]{2,6};|&[a-z]{2,8};)|\\u([0-9A-Fa-f]{4})|(?:\\x|=)([0-9A-Fa-f]{2})"
)
_PLAIN = re.compile(rb"[A-Za-z0-9@._-]")
_ENCODED = re.compile(rb"t(?<!tt)t{15,}=?=?")
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
_PRINTABLE = bytes(range(0x20, 0x7F)) + b"\t\n\r"
_FIRST_LOOK = 64
_MAX_WORD = 8192


@dataclass(frozen=True, slots=True)
class Spelling:
    """`text` is what [start, end) of the folded text spells.

    `places` gives, when asked, where each character of the text begins and, last, where the word ends; without it a
    finding takes the whole word.
    """

    start: int
    end: int
    text: str
    places: Callable[[], Sequence[int]] | None = None


def spellings(text: bytes, effort: Effort) -> Iterator[Spelling]:
    """Every word of the folded text that may hide something behind its spelling."""
    if b"%" in text or b"&" in text or b"\\" in text or b"=" in text:
        yield from _unescaped(text, effort)
    for match in _LETTERED.finditer(text):
        start, end = match.span(1)
        effort.spend(6 + (end - start) // 8)
        if len(set(text[start + 1 : end : 2])) == 1:
            kept = list(range(start, end, 2))
        else:
            kept = [place for place in range(start, end) if text[place] not in b" *|,/"]
        joined = bytes(text[place] for place in kept)
        yield Spelling(start, end, joined.decode(), partial(list, (*kept, end)))


def _unescaped(text: bytes, effort: Effort) -> Iterator[Spelling]:
    """Words without their escapes, but where they hide nothing except the usual punctuation of addresses."""
    known: dict[bytes, tuple[str, bool]] = {}
    for word in _ESCAPED_WORD.finditer(text):
        start, end = word.span()
        effort.spend(5)
        if end - start <= _MAX_WORD:
            raw = text[start:end]
            if raw not in known:
                effort.spend(4 + (end - start) // 8)
                known[raw] = _decode_escapes(raw)
            plain, hides = known[raw]
            if hides:
                yield Spelling(start, end, plain, partial(_places_of, raw, start))


def _decode_escapes(raw: bytes) -> tuple[str, bool]:
    """The word without its escapes, and whether they hid anything."""
    parts: list[str] = []
    at, hides = 0, False
    for escape in _ESCAPE.finditer(raw):
        begin, end = escape.span()
        piece = _decode_one(escape)
        hides = hides or len(piece) > 1 or piece.isalnum() or piece in "@._- "
        parts += (raw[at:begin].decode(), piece)
        at = end
    parts.append(raw[at:].decode())
    return "".join(parts), hides


def _places_of(raw: bytes, start: int) -> list[int]:
    places: list[int] = []
    at = start
    for escape in _ESCAPE.finditer(raw):
        begin = start + escape.start()
        places += range(at, begin)
        step = 3 if escape.group(1) else 1
        places += range(begin, begin + step * len(_decode_one(escape)), step)
        at = start + escape.end()
    places += range(at, start + len(raw) + 1)
    return places


def _decode_one(escape: re.Match[bytes]) -> str:
    """What one escape, or a row of percent escapes of three characters each, stands for."""
    row, entity, code, octet = escape.groups()
    if row:
        return bytes.fromhex(row.replace(b"%", b"").decode()).decode("latin-1")
    if entity:
        return html.unescape(entity.decode())[:1] or " "
    number = int(code or octet, 16)
    return chr(number) if not 0xD800 <= number < 0xE000 else "?"


def decoded_words(text: bytes, effort: Effort) -> Iterator[Spelling]:
    """Words that are base64 or hex of plain text."""
    known: dict[bytes, list[str]] = {}
    for match in _ENCODED.finditer(text.translate(_CLASS)):
        start, end = match.span()
        word = text[start:end]
        plains = known.get(word)
        effort.spend(2)
        if plains is None:
            effort.spend(3)
            plains = known[word] = [*_decodings(word)] if end - start <= _MAX_WORD else []
        for plain in plains:
            yield Spelling(start, end, plain)


def _decodings(word: bytes) -> Iterator[str]:
    """What a word says as hex or as base64, where that is plain text."""
    if not word.isalpha() and _HEX.fullmatch(word):
        yield from _printable(bytes.fromhex(word.decode()))
    body = word.rstrip(b"=")
    if len(body) % 4 != 1:
        start = body[:_FIRST_LOOK]
        if len(body) > _FIRST_LOOK and not [*_printable(_from_base64(start))]:
            return
        yield from _printable(_from_base64(body))


def _from_base64(body: bytes) -> bytes:
    try:
        altchars = b"-_" if b"-" in body or b"_" in body else None
        return base64.b64decode(body + b"=" * (-len(body) % 4), altchars)
    except binascii.Error:
        return b""


def _printable(plain: bytes) -> Iterator[str]:
    if plain and not plain.translate(None, _PRINTABLE):
        yield plain.decode()
