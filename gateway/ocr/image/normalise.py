"""Makes images plain for remote OCR upstreams: many ignore the EXIF orientation or fail on unusual formats.

Only images that need it are decoded: turned by EXIF, with transparency, or of a format other than PNG and JPEG. One at
a time, in a thread of its own. Without Pillow, images are sent unchanged. Knows nothing of upstreams.
"""

import asyncio
import io
from concurrent.futures import ThreadPoolExecutor

from gateway.errors import EngineMissing
from gateway.ocr.extras import pillow
from gateway.ocr.image.decode import open_image, upright_rgb
from gateway.wire.image_header import ImageInfo

PLAIN = ("image/png", "image/jpeg")
JPEG_QUALITY = 95
"""Pillow's documentation names 95 as the most that is worth its bytes. At half, ringing around letters costs accuracy.
"""
PNG_COMPRESSION = 3
"""zlib level 0 to 9. Chosen: near the speed of 1; higher levels take several times as long for a tenth of the bytes."""


class PixelNormaliser:
    """Makes an image upright, on white, its first frame, PNG or JPEG. `close` must be called at the end."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="ocr-pixels")

    async def normalise(self, data: bytes, info: ImageInfo) -> tuple[bytes, str]:
        """The bytes to send and their media type. Raises InvalidRequest when the image cannot be decoded."""
        if info.mime in PLAIN and info.orientation == 1 and not info.has_alpha:
            return data, info.mime
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, _normalise, data, info)
        except EngineMissing:
            return data, info.mime

    def close(self) -> None:
        """Ends the thread; images that wait are dropped."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def _normalise(data: bytes, info: ImageInfo) -> tuple[bytes, str]:
    pillow()
    image = upright_rgb(open_image(data))
    out = io.BytesIO()
    if info.mime == "image/jpeg":
        image.save(out, "JPEG", quality=JPEG_QUALITY)
        return out.getvalue(), "image/jpeg"
    image.save(out, "PNG", compress_level=PNG_COMPRESSION)
    return out.getvalue(), "image/png"
