"""Other spellings of a text: escapes and encodings undone, words spelt out letter by letter put together.

Each spelling is a text of its own with a way back to the places it came from; the scanner looks at it as at any other.
Undone: percent, HTML and `\\u` escapes; base64 and hex words of plain text; `4 1 1 1 …` of single characters.
"""

import base64
import binascii
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

import re2

_ESCAPED_WORD = re2.compile(
    rb"[^\s\"'<>]*(?:%[0-9A-Fa-f]{2}|&#x?[0-9A-Fa-f]{2,6};|&(?:commat|period|lowbar|hyphen|dash|nbsp|sol|colon|equals|amp);"
    rb"|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|=[0-9A-F]{2})[^\s\"'<>]*"
)
_ESCAPE = re.compile(
    rb"((?:%[0-9A-Fa-f]{2})+)|(&#x?[0-9A-Fa-f]{2,6};|&[a-z]{2,8};)|\\u([0-9A-Fa-f]{4})|(?:\\x|=)([0-9A-Fa-f]{2})"
)
_PLAIN = re.compile(rb"[A-Za-z0-9@._-]")
_ENCODED = re2.compile(rb"t{16,}=?=?")
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
_PRINTABLE = frozenset(range(0x20, 0x7F)) | {0x09, 0x0A, 0x0D}
_MAX_WORD = 8192


@dataclass(frozen=True, slots=True)
class Spelling:
    """`text` is what [start, end) of the folded text spells; `places[i]` is where its i-th character begins.

    `places` is one longer than the text, or None where a finding takes the whole word.
    """

    start: int
    end: int
    text: str
    places: list[int] | None = None


def spellings(text: bytes) -> Iterator[Spelling]:
    """Every word of the folded text that may hide something behind its spelling."""
    if b"%" in text or b"&" in text or b"\\" in text or b"=" in text:
        yield from _unescaped(text)
    for match in _LETTERED.finditer(text):
        start, raw = match.start(1), match.group(1)
        if len(set(raw[1::2])) == 1:
            kept = list(range(start, match.end(1), 2))
        else:
            kept = [place for place in range(start, match.end(1)) if text[place] not in b" *|,/"]
        joined = bytes(text[place] for place in kept)
        yield Spelling(start, match.end(1), joined.decode(), [*kept, match.end(1)])


def _unescaped(text: bytes) -> Iterator[Spelling]:
    for word in _ESCAPED_WORD.finditer(text):
        start, end = word.span()
        if end - start <= _MAX_WORD:
            raw = word.group()
            plain = _decode_escapes(raw, start)
            if plain is not None:
                yield Spelling(start, end, *plain)


def _decode_escapes(raw: bytes, start: int) -> tuple[str, list[int]] | None:
    """The word without its escapes; None when they hide nothing but the usual punctuation of addresses."""
    parts: list[str] = []
    places: list[int] = []
    at, hides = 0, False
    for escape in _ESCAPE.finditer(raw):
        parts.append(raw[at : escape.start()].decode())
        places += range(start + at, start + escape.start())
        piece, step = _decode_one(escape)
        hides = hides or piece.isalnum() or piece in "@._- " or len(piece) > 1
        parts.append(piece)
        places += [start + escape.start() + step * index for index in range(len(piece))]
        at = escape.end()
    if not hides:
        return None
    parts.append(raw[at:].decode())
    places += range(start + at, start + len(raw) + 1)
    return "".join(parts), places


def _decode_one(escape: re.Match[bytes]) -> tuple[str, int]:
    """What one escape, or a row of percent escapes, stands for, and its length a character."""
    if escape.group(1):
        octets = bytes.fromhex(escape.group(1).replace(b"%", b"").decode())
        return (octets.decode(), 3) if octets.isascii() else (octets.decode("latin-1"), 3)
    if escape.group(2):
        return html.unescape(escape.group(2).decode())[:1] or " ", 1
    code = int(escape.group(3) or escape.group(4), 16)
    return chr(code) if not 0xD800 <= code < 0xE000 else "?", 1


def decoded_words(text: bytes) -> Iterator[Spelling]:
    """Words that are base64 or hex of plain text."""
    for match in _ENCODED.finditer(text.translate(_CLASS)):
        start, end = match.span()
        word = text[start:end]
        if len(word) > _MAX_WORD:
            continue
        for plain in _decodings(word):
            if plain and _PRINTABLE.issuperset(plain):
                yield Spelling(start, end, plain.decode())


def _decodings(word: bytes) -> Iterator[bytes]:
    if _HEX.fullmatch(word):
        yield bytes.fromhex(word.decode())
    body = word.rstrip(b"=")
    if len(body) % 4 != 1:
        try:
            yield base64.b64decode(body + b"=" * (-len(body) % 4), b"-_" if b"-" in body or b"_" in body else None)
        except binascii.Error:
            return
