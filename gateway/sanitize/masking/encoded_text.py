"""Text inside data URLs and base64 strings: read for the detectors, written back when it was masked.

Naive form: decode everything and scan it. Here the first kilobyte decides whether it is text: pictures, sounds and
archives are let be, whatever type they are declared as. Does not know where the strings come from.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

_DATA_URL = re.compile(r"data:([^,;]{0,127})((?:;[^,;]{0,127}){0,8}),", re.IGNORECASE)
_BASE64 = bytes(code for code in range(128) if chr(code).isalnum() or chr(code) in "+/-_=")
_BLANKS = b" \t\r\n"
_HEAD_CHARS = 1364
"""Characters of base64 that decide (1,023 bytes). Chosen: the headers of every common format hold bytes that are no
text within the first hundred; at half an embedded comment could fill it, at double small pictures cost twice."""
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
"""Percent signs are decoded and written in pieces of so many characters, as the library takes up to 90 times the memory
of its text. Chosen: a piece takes 1.5 MB; at half twice as many steps, at double 3 MB."""


@dataclass(slots=True)
class EncodedText:
    """A text, and how to write it back: `prefix` (`data:text/plain;base64,`) and whether base64 follows."""

    text: str
    prefix: str
    is_base64: bool

    def encoded(self, raw: bytes | bytearray) -> str:
        """The whole string with another text in it, of which `raw` is the UTF-8."""
        if self.is_base64:
            return self.prefix + base64.b64encode(raw).decode()
        pieces = (raw[start : start + _PIECE_CHARS] for start in range(0, len(raw), _PIECE_CHARS))
        return self.prefix + "".join(quote(piece, safe="[]:,;/ ") for piece in pieces)


def is_binary(value: str) -> bool:
    """Whether a string is a data URL or base64 of something that is no text, and nothing else."""
    return _split(value) is not None and read(value) is None


def read(value: str) -> EncodedText | None:
    """The text in a data URL or base64 string; None where there is none: binary data, or a string of another form."""
    parts = _split(value)
    if parts is None:
        return None
    prefix, payload, is_base64 = parts
    if not is_base64:
        raw = b"".join(_in_pieces(unquote_to_bytes, payload))
        return EncodedText(_text(raw), prefix, False) if _is_text(raw[:1024]) else None
    if not _is_text(_decoded(payload[:_HEAD_CHARS])):
        return None
    return EncodedText(_text(_decoded(payload)), prefix, True)


def _split(value: str) -> tuple[str, str, bool] | None:
    """(prefix, payload, whether it is base64); None for a string of neither form."""
    url = _DATA_URL.match(value)
    payload = value[url.end() :] if url else value
    is_base64 = url is None or url[2].lower().endswith(";base64")
    if url is None and len(value) < _MIN_BASE64_CHARS:
        return None
    if is_base64 and (not payload.isascii() or payload.encode().translate(None, _BASE64 + _BLANKS)):
        return None
    return (url.group() if url else ""), payload, is_base64


def _in_pieces(decode: Callable[[str], bytes], payload: str) -> Iterator[bytes]:
    """What `decode` makes of the text: no piece is cut inside a `%41`."""
    start = 0
    while start < len(payload):
        end = start + _PIECE_CHARS
        cut = payload.rfind("%", max(start + 1, end - 2), end) if end < len(payload) else -1
        end = cut if cut > 0 else end
        yield decode(payload[start:end])
        start = end


def _decoded(payload: str) -> bytes:
    """The bytes of base64 in either alphabet, with or without padding; as many as can be decoded."""
    raw = payload.encode().translate(bytes.maketrans(b"-_", b"+/"), _BLANKS).rstrip(b"=")
    raw = raw[: len(raw) - (len(raw) % 4 == 1)]
    try:
        return binascii.a2b_base64(raw + b"=" * (-len(raw) % 4))
    except binascii.Error:
        return raw


def _is_text(head: bytes) -> bool:
    if head.startswith(_BINARY_SIGNS):
        return False
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return head.translate(None, _NOT_IN_TEXT) == head and _is_nearly_utf8(head)


def _is_nearly_utf8(head: bytes) -> bool:
    """Whether it decodes but for a character cut at its end, or is one of the old eight-bit texts."""
    broken = head.decode(errors="replace").count("\ufffd")
    return broken * 8 <= len(head)


def _text(raw: bytes) -> str:
    encoding = "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    return raw.decode(encoding, errors="replace")
