"""Makes images plain for remote OCR upstreams: many ignore the EXIF orientation or fail on unusual formats.

Only images that need it are decoded: turned by EXIF, with transparency, or of a format other than PNG and JPEG. Runs in
the parsing processes: pixels hold Python's lock for long, and their decoders read what strangers send. Knows nothing of
upstreams.
"""

import io

from gateway.errors import InvalidRequest
from gateway.ocr.extras import pillow
from gateway.ocr.image.decode import open_image, upright_rgb
from gateway.wire.image_header import ImageInfo, read_header

PLAIN = ("image/png", "image/jpeg")
MAX_BYTES = 45_000_000
"""Of the new file. As base64 it fits into an answer of a parsing process (`parse_process`)."""
JPEG_QUALITY = 95
"""Pillow's documentation names 95 as the most that is worth its bytes. At half, ringing around letters costs accuracy.
"""
PNG_COMPRESSION = 3
"""zlib level 0 to 9. Chosen: near the speed of 1; higher levels take several times as long for a tenth of the bytes."""


def is_plain(info: ImageInfo) -> bool:
    """Whether an image may be sent as it is."""
    return info.mime in PLAIN and info.orientation == 1 and not info.has_alpha


def plain_image(data: bytes) -> tuple[bytes, str]:
    """The image upright, on white, its first frame, as a PNG or JPEG file, and its media type.

    Raises InvalidRequest when it cannot be decoded, EngineMissing without Pillow.
    """
    pillow()
    image = upright_rgb(open_image(data))
    out = io.BytesIO()
    if read_header(data).mime == "image/jpeg":
        image.save(out, "JPEG", quality=JPEG_QUALITY)
        kind = "image/jpeg"
    else:
        image.save(out, "PNG", compress_level=PNG_COMPRESSION)
        kind = "image/png"
    if out.tell() > MAX_BYTES:
        raise InvalidRequest("the image is too large once it is a PNG; send it smaller", code="image_too_large")
    return out.getvalue(), kind
