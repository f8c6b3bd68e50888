"""Unpacks gzip and deflate bodies piece by piece under a cap, so that a bomb costs no more memory than a page.

Content codings as RFC 9110 §8.4.1 has them; several codings on one body are refused, as no honest server sends them.
"""

import zlib
from typing import Protocol

from gateway.engines.fetch.errors import FetchFailed


class Decoder(Protocol):
    """Takes a body's pieces as they arrive, returns what they unpack to; raises FetchFailed past the cap."""

    def feed(self, piece: bytes) -> bytes: ...


class Plain:
    """No coding: counts only."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._max_bytes = max_bytes

    def feed(self, piece: bytes) -> bytes:
        self._left -= len(piece)
        if self._left < 0:
            raise too_large(self._max_bytes)
        return piece


class Inflater:
    """gzip (any number of members), zlib, or the raw deflate that some servers send for it."""

    def __init__(self, max_bytes: int, *, gzip: bool) -> None:
        self._max_bytes = max_bytes
        self._left = max_bytes
        self._gzip = gzip
        self._started = False
        self._stream = zlib.decompressobj(31 if gzip else 15)

    def feed(self, piece: bytes) -> bytes:
        out = bytearray()
        more = bool(piece)
        while more:
            limit = self._step()
            unpacked = self._inflate(piece)
            self._left -= len(unpacked)
            if self._left < 0:
                raise too_large(self._max_bytes)
            out += unpacked
            if self._stream.eof:
                piece = self._stream.unused_data
                if not self._gzip or not piece.startswith(b"\x1f\x8b"):
                    break  # padding after the last member
                self._stream = zlib.decompressobj(31)
                more = True
            else:
                piece = self._stream.unconsumed_tail
                more = bool(piece) or len(unpacked) == limit
        return bytes(out)

    def _step(self) -> int:
        return min(self._left + 1, 1 << 20)

    def _inflate(self, piece: bytes) -> bytes:
        try:
            unpacked = self._stream.decompress(piece, self._step())
        except zlib.error as error:
            if self._started or self._gzip:
                raise FetchFailed("the page's compressed body is damaged", "unparsable") from error
            self._stream = zlib.decompressobj(-15)
            unpacked = self._raw(piece)
        self._started = True
        return unpacked

    def _raw(self, piece: bytes) -> bytes:
        try:
            return self._stream.decompress(piece, self._step())
        except zlib.error as error:
            raise FetchFailed("the page's compressed body is damaged", "unparsable") from error


def decoder_for(coding: str, max_bytes: int) -> Decoder:
    """The decoder of a Content-Encoding header's value; FetchFailed names a coding that was not asked for."""
    name = coding.strip().lower()
    if name in ("", "identity"):
        return Plain(max_bytes)
    if name in ("gzip", "x-gzip", "deflate"):
        return Inflater(max_bytes, gzip=name != "deflate")
    raise FetchFailed("the page is sent in a compression that was not asked for", "unsupported_type")


def too_large(max_bytes: int) -> FetchFailed:
    return FetchFailed(f"the page is larger than {max_bytes} bytes", "too_large")
