"""Refuses damaged pictures whose pixels a decoder would invent: it fills what it cannot decode, and text is then read
from the filling.

Decoders report truncated files themselves. Beyond that, a PNG has a checksum for every chunk, and libjpeg warns when
the coded data of a JPEG contradicts itself. A flipped byte that leaves a valid file in WEBP, GIF, TIFF or BMP cannot be
told from a picture. Raises InvalidRequest (`invalid_image_format`). Sources: PNG (ISO 15948), libjpeg-turbo's messages
(jerror.h), read 2026-11-22.
"""

import os
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.errors import InvalidRequest
from gateway.ocr.extras import vision

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
JPEG_SIGNATURE = b"\xff\xd8\xff"
MAX_STRAY_BYTES = 64
"""Bytes before a marker that belong to nothing are padding of some cameras; more are coded data that was lost. Chosen:
cameras pad to 16 or 32 bytes. At half, some photographs are refused; at double, small damage passes."""
MAX_MESSAGE_BYTES = 4096
"""Of the decoder's messages; the first ones suffice."""
_STRAY = re.compile(rb"Corrupt JPEG data: (\d{1,10}) extraneous bytes")


def check_png(data: bytes) -> None:
    """Checks the length and checksum of every chunk of a PNG that pixels need (ISO 15948, 5.4: critical chunks), up to
    IEND; other data passes."""
    if not data.startswith(PNG_SIGNATURE):
        return
    at = len(PNG_SIGNATURE)
    while at + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + size
        if end > len(data):
            break
        is_critical = not kind[0] & 0x20
        if is_critical and zlib.crc32(memoryview(data)[at + 4 : end - 4]) != struct.unpack_from(">I", data, end - 4)[0]:
            break
        if kind == b"IEND":
            return
        at = end
    raise damaged()


def check_jpeg(data: bytes) -> None:
    """Decodes a JPEG once more, an eighth of its size, and refuses it when libjpeg calls its data corrupt; other data
    passes.

    libjpeg tells this on standard error alone, which is caught meanwhile: call it in a process of its own only.
    """
    if not data.startswith(JPEG_SIGNATURE):
        return
    cv2, numpy = vision()
    with _caught_errors() as messages:
        decoded = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_REDUCED_GRAYSCALE_8)
    if decoded is not None and is_damaged(b"".join(messages)):
        raise damaged()


def is_damaged(messages: bytes) -> bool:
    """Whether libjpeg's messages tell of lost data: anything that it calls corrupt, but for padding."""
    for line in messages.splitlines():
        stray = _STRAY.match(line)
        if line.startswith(b"Corrupt JPEG data") and (stray is None or int(stray[1]) > MAX_STRAY_BYTES):
            return True
    return False


@contextmanager
def _caught_errors() -> Iterator[list[bytes]]:
    """What is written to standard error inside; in the list after the block."""
    messages: list[bytes] = []
    kept, catcher = os.dup(2), os.memfd_create("messages")
    try:
        os.dup2(catcher, 2)
        try:
            yield messages
        finally:
            os.dup2(kept, 2)
            messages.append(os.pread(catcher, MAX_MESSAGE_BYTES, 0))
    finally:
        os.close(kept)
        os.close(catcher)


def damaged() -> InvalidRequest:
    """The refusal of a damaged picture."""
    return InvalidRequest(
        "the image is damaged or incomplete: send a whole PNG, JPEG, GIF, WEBP, BMP or TIFF",
        code="invalid_image_format",
    )
