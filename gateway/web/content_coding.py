"""Decodes request bodies that come with a Content-Encoding: gzip, deflate (zlib, or bare as some send it) or zstd.

Codex compresses its requests with zstd, HTTP libraries with gzip. Sources: RFC 9110 §8.4 and §12.5.3, RFC 8878, RFC
9659 (the window of zstd as a content coding is at most 8 MB), read 2026-11-28.
"""

import sys
from collections.abc import Iterator, Mapping

from aiohttp import hdrs

from gateway.engines.fetch.decompression import MAX_MEMBERS, DamagedBody, Decompressor
from gateway.errors import InvalidRequest, PayloadTooLarge, UnsupportedMediaType
from gateway.resilience.slices import Steps

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_STEP_BYTES = 2_048
"""Compressed bytes of one step of zlib, which makes at most 2 MB of them: 4 ms."""
_STEP_OUTPUT = 1 << 20
"""Output of one step of zstd, which may make any number of bytes of a few: 8 ms."""
_STEP_INPUT = 1 << 16
"""Compressed bytes that zstd is given at a time: at the end of each frame what is left of them is copied."""
_WINDOW_LOG = 23
_CODINGS = ("gzip", "x-gzip", "deflate", "zstd")
_REFUSED = "the Content-Encoding {} is not supported; send gzip, deflate, zstd, or none"


def coding_of(headers: Mapping[str, str]) -> str:
    """The content coding of a request's body, empty for none. Raises UnsupportedMediaType for one that is not known
    here, and for several on one body."""
    named = headers.get(hdrs.CONTENT_ENCODING)
    if named is None:
        return ""
    codings = [name for each in named.split(",") if (name := each.strip().lower()) not in ("", "identity")]
    if len(codings) > 1:
        raise UnsupportedMediaType("several Content-Encodings on one body are not supported; send one, or none")
    if codings and codings[0] not in _CODINGS:
        shown = codings[0][:20] if codings[0].isalnum() else ""
        raise UnsupportedMediaType(_REFUSED.format(shown).replace("  ", " "))
    return codings[0] if codings else ""


def uncoded(raw: bytes | bytearray, coding: str, max_bytes: int) -> Steps[bytes]:
    """The body that `raw` is in a coding of `coding_of`, in steps of some milliseconds.

    Raises PayloadTooLarge as soon as more than `max_bytes` come out, InvalidRequest where it is damaged or cut.
    """
    output = bytearray()
    try:
        for piece in _zstd_pieces(raw) if coding == "zstd" else _zlib_pieces(raw, coding):
            output += piece
            if len(output) > max_bytes:
                raise PayloadTooLarge(
                    f"the request body has more than {max_bytes} bytes when it is decompressed, which is the limit "
                    "(server.max_body_bytes)"
                )
            yield
    except (DamagedBody, zstd.ZstdError):
        raise InvalidRequest(f"the request body is not valid {coding}, or is cut", code="invalid_body") from None
    return bytes(output)


def _zlib_pieces(raw: bytes | bytearray, coding: str) -> Iterator[bytes]:
    """The output, at most 1,032 times a step. Raises DamagedBody."""
    decoder = Decompressor("deflate" if coding == "deflate" else "gzip")
    for start in range(0, len(raw), _STEP_BYTES):
        yield decoder.feed(bytes(raw[start : start + _STEP_BYTES]), _STEP_BYTES * 2_048)
    if not raw or not decoder.is_complete:
        raise DamagedBody("the body is cut")


def _zstd_pieces(raw: bytes | bytearray) -> Iterator[bytes]:
    """The output of all frames. Raises ZstdError, DamagedBody."""
    options = {int(zstd.DecompressionParameter.window_log_max): _WINDOW_LOG}
    frame, frames = zstd.ZstdDecompressor(options=options), 1
    for start in range(0, max(1, len(raw)), _STEP_INPUT):
        window = bytes(raw[start : start + _STEP_INPUT])
        while True:
            yield frame.decompress(window, max_length=_STEP_OUTPUT)
            window = b""
            if not frame.eof:
                if frame.needs_input:
                    break
                continue
            window = frame.unused_data
            if not window and start + _STEP_INPUT >= len(raw):
                return
            frame, frames = zstd.ZstdDecompressor(options=options), frames + 1
            if frames > MAX_MEMBERS:
                raise DamagedBody("too many frames")
            if not window:
                break
    raise DamagedBody("the body is cut")
