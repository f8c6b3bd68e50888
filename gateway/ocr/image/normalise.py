"""Pixel work for remote OCR upstreams: many servers show an EXIF-turned image as it is stored, or fail on odd formats.

Only images that need it are decoded: turned by EXIF, with transparency, or of a format other than PNG and JPEG. One at
a time, in a thread of its own. Without Pillow images go unchanged.
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


class PixelNormaliser:
    """`normalise` gives the image upright, on white, first frame, as PNG or JPEG. `close` ends the thread."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="ocr-pixels")

    async def normalise(self, data: bytes, info: ImageInfo) -> tuple[bytes, str]:
        """The bytes to send and their media type. Raises InvalidRequest when the image cannot be decoded."""
        if info.mime in PLAIN and info.orientation == 1 and not info.has_alpha:
            return data, info.mime
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, _normalised, data, info)
        except EngineMissing:
            return data, info.mime

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


def _normalised(data: bytes, info: ImageInfo) -> tuple[bytes, str]:
    pillow()
    image = upright_rgb(open_image(data))
    out = io.BytesIO()
    if info.mime == "image/jpeg":
        image.save(out, "JPEG", quality=JPEG_QUALITY)
        return out.getvalue(), "image/jpeg"
    image.save(out, "PNG", compress_level=3)
    return out.getvalue(), "image/png"
