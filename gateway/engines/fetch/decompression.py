"""Decompresses bodies piece by piece, with bounds on their output and on their members. Source: RFC 1950 to 1952."""

import zlib
from collections.abc import Iterator
from typing import Literal

from gateway.engines.fetch.errors import FetchFailed

MAX_MEMBERS = 1_000  # gzip members in one body
_WINDOW_BYTES = 16_384
"""Compressed bytes that zlib gets at once. At the end of a member zlib copies all the input that is left: with whole
bodies at once the cost would grow with the square of the number of members."""
_STEP_BYTES = 2_048  # compressed bytes fed on an event loop before others get a turn: 2 MB of output at most, 4 ms
_GZIP_FIRST_BYTE = 0x1F
_DEFLATE_METHOD = 8
"""The low four bits of a zlib stream's first byte (RFC 1950 §2.2). No raw deflate stream of zlib begins so."""


class DamagedBody(Exception):
    """The body is not in the coding that it was sent in, or has more than MAX_MEMBERS gzip members."""


class OutputTooLarge(Exception):
    """More output than the caller allowed."""


def steps_of(piece: bytes) -> Iterator[bytes]:
    """A piece of a compressed body in parts that can be decompressed without holding up an event loop."""
    return (piece[start : start + _STEP_BYTES] for start in range(0, len(piece), _STEP_BYTES))


class Decompressor:
    """Decompresses one body: gzip with any number of members up to MAX_MEMBERS, zlib, or raw deflate.

    The first byte decides which of the three it is, since servers mislabel them. Bytes after the last member are
    padding and ignored. `gzip` or `deflate` is what the server named; raw deflate is accepted for `deflate` alone.
    Equals `gzip.decompress(body)`, `zlib.decompress(body)` or `zlib.decompress(body, -15)` of the whole body.
    """

    def __init__(self, coding: Literal["gzip", "deflate"]) -> None:
        self._accepts_raw = coding == "deflate"
        self._stream = zlib.decompressobj()
        self._is_gzip = False
        self._members = 0
        self._is_padding = False

    @property
    def is_complete(self) -> bool:
        """True when no member is unfinished; also for an empty body."""
        return not self._members or self._stream.eof

    def feed(self, piece: bytes, max_bytes: int) -> bytes:
        """The output of the next piece, at most `max_bytes` of it. Raises DamagedBody, OutputTooLarge."""
        if len(piece) <= _WINDOW_BYTES:
            return self._feed_window(piece, max_bytes)
        output = bytearray()
        for start in range(0, len(piece), _WINDOW_BYTES):
            output += self._feed_window(piece[start : start + _WINDOW_BYTES], max_bytes - len(output))
        return bytes(output)

    def _feed_window(self, window: bytes, max_bytes: int) -> bytes:
        output = b""
        while window and not self._is_padding:
            if not self._members or self._stream.eof:
                self._start_member(window[0])
                continue
            try:
                output += self._stream.decompress(window, max_bytes - len(output) + 1)
            except zlib.error as error:
                raise DamagedBody("the compressed body is damaged") from error
            if len(output) > max_bytes:
                raise OutputTooLarge(f"the body has more than {max_bytes} bytes of output")
            window = self._stream.unused_data
        return output

    def _start_member(self, first_byte: int) -> None:
        if self._members and not (self._is_gzip and first_byte == _GZIP_FIRST_BYTE):
            self._is_padding = True
            return
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise DamagedBody(f"the compressed body has more than {MAX_MEMBERS} members")
        self._is_gzip = first_byte == _GZIP_FIRST_BYTE
        if self._is_gzip:
            window_bits = 16 + zlib.MAX_WBITS
        elif first_byte & 0x0F == _DEFLATE_METHOD or not self._accepts_raw:
            window_bits = zlib.MAX_WBITS
        else:
            window_bits = -zlib.MAX_WBITS
        self._stream = zlib.decompressobj(window_bits)


class Decoder:
    """Takes a page's pieces as they arrive and returns their decoded bytes, at most `max_bytes` in all. A page that is
    cut short yields what came, as in browsers. Without a decompressor the pieces are only counted."""

    def __init__(self, max_bytes: int, decompressor: Decompressor | None = None) -> None:
        self._left = self._max_bytes = max_bytes
        self._decompressor = decompressor

    @property
    def is_complete(self) -> bool:
        """False while something must follow what came."""
        return self._decompressor is None or self._decompressor.is_complete

    def steps(self, piece: bytes) -> Iterator[bytes]:
        """A piece in parts of which each can be decoded at once without holding up an event loop."""
        return iter((piece,)) if self._decompressor is None else steps_of(piece)

    def feed(self, piece: bytes) -> bytes:
        """The decoded bytes of the next piece. Raises FetchFailed (`too_large`, `unparsable`)."""
        try:
            output = piece if self._decompressor is None else self._decompressor.feed(piece, self._left)
        except OutputTooLarge:
            raise too_large(self._max_bytes) from None
        except DamagedBody as error:
            raise FetchFailed("the page's compressed body is damaged", "unparsable") from error
        self._left -= len(output)
        if self._left < 0:
            raise too_large(self._max_bytes)
        return output


def decoder_for(coding: str, max_bytes: int) -> Decoder:
    """The decoder for a Content-Encoding header's value; raises FetchFailed (`unsupported_type`) for a coding, or
    several, that cannot be undone. What is no coding (`utf-8`, `none`) says nothing, as in browsers."""
    named = [name for part in coding.split(",") if (name := part.strip().lower()) in _CODINGS]
    if not named:
        return Decoder(max_bytes)
    if len(named) == 1 and named[0] in ("gzip", "x-gzip", "deflate"):
        return Decoder(max_bytes, Decompressor("deflate" if named[0] == "deflate" else "gzip"))
    raise FetchFailed("the page is sent in a compression that was not asked for", "unsupported_type")


_CODINGS = frozenset({
    "gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress", "dcb", "dcz", "bzip2", "xz", "lzma", "exi",
    "pack200-gzip", "aes128gcm",
})  # fmt: skip
"""The content codings of IANA's register, and others that servers send."""


def too_large(max_bytes: int) -> FetchFailed:
    """The error of a page with more than `max_bytes` bytes."""
    return FetchFailed(f"the page is larger than {max_bytes} bytes", "too_large")
