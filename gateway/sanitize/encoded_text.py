"""Text inside data URLs and base64 strings: read for the detectors, written back when it was masked.

The first kilobyte decides whether it is text: pictures, sounds and archives are let be, whatever type they are declared
as.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from urllib.parse import quote_from_bytes, unquote_to_bytes

_DATA_URL = re.compile(r"data:([^,;]{0,127})((?:;[^,;]{0,127}){0,8}),", re.IGNORECASE)
_BASE64 = bytes(code for code in range(128) if chr(code).isalnum() or chr(code) in "+/-_=")
_BLANKS = b"\t\r\n"
_STANDARD = bytes.maketrans(b"-_", b"+/")
_HEAD_CHARS, _HEAD_BYTES = 1_364, 1_024
"""Characters of base64, and bytes, that decide: the headers of every common format hold bytes that are no text within
the first hundred."""
_NOT_IN_TEXT = bytes(code for code in range(32) if code not in b"\t\n\r\x0c\x1b")
_MIN_BASE64_CHARS = 24
"""A shorter string without `data:` is scanned undecoded, as words and names are base64 too."""
SHORT_DATA_CHARS = 1_024
"""Strings of at most so many characters are scanned as they stand too, as keys are base64 by their form."""
_PIECE_CHARS = 1 << 14
"""Characters that are checked, and whose percent signs are read or written, at once: the library takes up to 90 times
the memory of its text."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(slots=True)
class EncodedText:
    """What a data URL or base64 string holds: `text`, None for binary data. `prefix`: `data:text/plain;base64,`."""

    text: str | None
    prefix: str
    is_base64: bool

    def encoded(self, text: str) -> str:
        """The whole string with another text in it."""
        raw = text.encode("utf-8", "surrogatepass")
        if self.is_base64:
            return self.prefix + base64.b64encode(raw).decode()
        pieces = (raw[at : at + _PIECE_CHARS] for at in range(0, len(raw), _PIECE_CHARS))
        return self.prefix + "".join(quote_from_bytes(piece, "[]:,;/ ") for piece in pieces)


def read(value: str) -> EncodedText | None:
    """The content of a data URL or base64 string; None for a string of another form."""
    url = _DATA_URL.match(value)
    prefix = url.group() if url else ""
    is_base64 = url is None or url[2].lower().endswith(";base64")
    if url is None and len(value) < _MIN_BASE64_CHARS:
        return None
    start = len(prefix)
    if is_base64 and not _is_base64(value, start):
        return None
    decode = _from_base64 if is_base64 else _unquoted
    if not _is_text(decode(value[start : start + _HEAD_CHARS])[:_HEAD_BYTES]):
        return EncodedText(None, prefix, is_base64)
    raw = decode(value[start:])
    return EncodedText(raw.decode("utf-16" if raw.startswith(_UTF16) else "utf-8", "replace"), prefix, is_base64)


def _is_base64(value: str, start: int) -> bool:
    """Whether nothing but base64 of either alphabet and line ends are behind `start`; never copies a whole picture."""
    return not any(
        value[at : at + _PIECE_CHARS].encode("utf-8", "surrogatepass").translate(None, _BASE64 + _BLANKS)
        for at in range(start, len(value), _PIECE_CHARS)
    )


def _unquoted(value: str) -> bytes:
    """What percent signs stand for: no piece is cut inside a `%41`."""
    raw, at, size = bytearray(), 0, len(value)
    while at < size:
        until = min(at + _PIECE_CHARS, size)
        cut = value.rfind("%", max(at + 1, until - 2), until) if until < size else -1
        until = cut if cut > 0 else until
        raw += unquote_to_bytes(value[at:until].encode("utf-8", "surrogatepass"))
        at = until
    return bytes(raw)


def _from_base64(value: str) -> bytes:
    """As many bytes as can be decoded, in either alphabet, with or without padding."""
    chars = value.encode().translate(_STANDARD, _BLANKS).rstrip(b"=")
    chars = chars[: len(chars) - (len(chars) % 4 == 1)]
    try:
        return binascii.a2b_base64(chars + b"=" * (-len(chars) % 4))
    except binascii.Error:
        return chars


def _is_text(head: bytes) -> bool:
    """Whether bytes are text, in UTF-8 but for a character cut at the end, in UTF-16 or in an old eight-bit code."""
    if head.startswith(b"%PDF-"):
        return False
    if head.startswith(_UTF16):
        return True
    broken = head.decode(errors="replace").count("\ufffd")
    return head.translate(None, _NOT_IN_TEXT) == head and broken * 8 <= len(head)
