"""Text inside data URLs and base64 strings: read for the detectors, written back when it was masked.

Naive form: decode everything and scan it. Here the first kilobyte decides whether it is text: pictures, sounds and
archives are let be, whatever type they are declared as. Does not know where the strings come from.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

_DATA_URL = re.compile(r"data:([^,;]{0,127})((?:;[^,;]{0,127}){0,8}),", re.IGNORECASE)
_BASE64 = bytes(code for code in range(128) if chr(code).isalnum() or chr(code) in "+/-_=")
_BLANKS = b" \t\r\n"
_STANDARD = bytes.maketrans(b"-_", b"+/")
_HEAD_CHARS = 1364
"""Characters of base64 that decide (1,023 bytes). Chosen: the headers of every common format hold bytes that are no
text within the first hundred; at half an embedded comment could fill it, at double small pictures cost twice."""
_HEAD_BYTES = 1024
"""Bytes of a text with percent signs that decide; chosen as the same."""
_NOT_IN_TEXT = bytes(code for code in range(32) if code not in b"\t\n\r\x0c\x1b")
_BINARY_SIGNS = (b"%PDF-",)
"""First bytes of formats whose header may be text though the rest is not."""
_MIN_BASE64_CHARS = 24
"""Chosen: a shorter string without `data:` is scanned undecoded, as words and names are base64 too. At half more words
are taken for base64; at double short texts in base64 are scanned in their encoded form alone."""
SHORT_CHARS = 1024
"""Chosen: strings of at most so many characters are scanned as they stand too, as keys are base64 by their form. At
half long keys would be taken for data; at double the smallest pictures cost a scan."""
_PIECE_CHARS = 1 << 14
"""Base64 and percent signs are read in pieces of so many characters, and percent signs written, as the library takes up
to 90 times the memory of its text. Chosen: a piece takes 1.5 MB; at half twice as many steps, at double 3 MB."""


@dataclass(slots=True)
class EncodedText:
    """A text, and how to write it back: `prefix` (`data:text/plain;base64,`) and whether base64 follows."""

    text: str
    prefix: str
    is_base64: bool

    def encoded(self, text: str) -> str:
        """The whole string with another text in it."""
        raw = text.encode("utf-8", "surrogatepass")
        if self.is_base64:
            return self.prefix + base64.b64encode(raw).decode()
        pieces = (raw[start : start + _PIECE_CHARS] for start in range(0, len(raw), _PIECE_CHARS))
        return self.prefix + "".join(quote(piece, safe="[]:,;/ ") for piece in pieces)


def is_binary(value: str) -> bool:
    """Whether a string is a data URL or base64 of something that is no text, and nothing else."""
    return _split(value) is not None and read(value) is None


def read(value: str) -> EncodedText | None:
    """The text in a data URL or base64 string; None where there is none: binary data, or a string of another form.

    There is never a copy of the whole string beside it: `value` may have tens of megabytes.
    """
    parts = _split(value)
    if parts is None:
        return None
    prefix, is_base64 = parts
    start = len(prefix)
    head = _decoded(value, start, start + _HEAD_CHARS) if is_base64 else _unquoted(value, start, start + _HEAD_CHARS)
    if not _is_text(head[:_HEAD_BYTES]):
        return None
    raw = (_decoded if is_base64 else _unquoted)(value, start, len(value))
    return EncodedText(_text(raw), prefix, is_base64)


def _split(value: str) -> tuple[str, bool] | None:
    """(the beginning up to the payload, whether that is base64); None for a string of neither form."""
    url = _DATA_URL.match(value)
    prefix = url.group() if url else ""
    is_base64 = url is None or url[2].lower().endswith(";base64")
    if url is None and len(value) < _MIN_BASE64_CHARS:
        return None
    return (prefix, is_base64) if not is_base64 or _is_base64(value, len(prefix)) else None


def _is_base64(value: str, start: int) -> bool:
    """Whether nothing but base64, of either alphabet, and blanks are behind the index `start`."""
    return not any(
        piece.encode("utf-8", "surrogatepass").translate(None, _BASE64 + _BLANKS)
        for at in range(start, len(value), _PIECE_CHARS)
        if (piece := value[at : at + _PIECE_CHARS])
    )


def _unquoted(value: str, start: int, end: int) -> bytearray:
    """What the percent signs of value[start:end] stand for: no piece is cut inside a `%41`."""
    raw, at, last = bytearray(), start, min(end, len(value))
    while at < last:
        until = min(at + _PIECE_CHARS, last)
        cut = value.rfind("%", max(at + 1, until - 2), until) if until < last else -1
        until = cut if cut > 0 else until
        raw += unquote_to_bytes(value[at:until].encode("utf-8", "surrogatepass"))
        at = until
    return raw


def _decoded(value: str, start: int, end: int, piece_chars: int = _PIECE_CHARS) -> bytearray:
    """The bytes of the base64 value[start:end] in either alphabet, with or without padding; as many as can be decoded.

    Naive form: `_whole_base64` of all of it. That is what a piece with padding, nearly always the last, is read with.
    """
    raw, rest, last = bytearray(), b"", min(end, len(value))
    for at in range(start, last, piece_chars):
        piece = rest + value[at : min(at + piece_chars, last)].encode().translate(_STANDARD, _BLANKS)
        if b"=" in piece:
            rest = rest + value[at:last].encode().translate(_STANDARD, _BLANKS)
            break
        whole = len(piece) - len(piece) % 4
        raw += binascii.a2b_base64(piece[:whole])
        rest = piece[whole:]
    raw += _whole_base64(rest)
    return raw


def _whole_base64(chars: bytes) -> bytes:
    chars = chars.rstrip(b"=")
    chars = chars[: len(chars) - (len(chars) % 4 == 1)]
    try:
        return binascii.a2b_base64(chars + b"=" * (-len(chars) % 4))
    except binascii.Error:
        return chars


def _is_text(head: bytes | bytearray) -> bool:
    if head.startswith(_BINARY_SIGNS):
        return False
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return head.translate(None, _NOT_IN_TEXT) == head and _is_nearly_utf8(head)


def _is_nearly_utf8(head: bytes | bytearray) -> bool:
    """Whether it decodes but for a character cut at its end, or is one of the old eight-bit texts."""
    broken = head.decode(errors="replace").count("\ufffd")
    return broken * 8 <= len(head)


def _text(raw: bytes | bytearray) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace")
    return raw.decode(errors="replace")
