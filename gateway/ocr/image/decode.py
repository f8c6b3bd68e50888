"""Decodes images: checked, upright by their EXIF orientation, on one ground.

Runs in processes of its own and in the parsing processes: pixels hold Python's lock for long, and their decoders read
what strangers send.
"""

import io
import math
import os
import re
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gateway.errors import InvalidRequest
from gateway.ocr.extras import pillow, vision
from gateway.wire import image_header

# Bytes before a marker that belong to nothing are padding of some cameras; more are coded data that was lost.
# cameras pad to 16 or 32 bytes.
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
JPEG_SIGNATURE = b"\xff\xd8\xff"
MAX_STRAY_BYTES = 64
# Of the decoder's messages; the first ones suffice.
MAX_MESSAGE_BYTES = 4096
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


# Larger images are refused: decoded they take 150 MB and more. an A4 page at 600 dpi has 35 million.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
MAX_PIXELS = 50_000_000
# Larger pages are reduced to this area: text is read no better above it, and memory grows with it. It is an A4 page
# at about 200 dpi.
WORK_PIXELS = 3_600_000
# Least width in pixels to which a long strip, such as a till roll, is reduced. 40 characters a line keep letters of
# 20 pixels.
STRIP_WIDTH = 900
# Longer shapes are refused: at STRIP_WIDTH they would have more than MAX_PIXELS (900 x 54,000 is 48.6 million).
MAX_ASPECT = 60
MIDDLE_GRAY = 127.5
# EXIF 2.3, tag Orientation.
ORIENTATION_TAG = 0x0112


@dataclass(frozen=True, slots=True)
class UprightImage:
    """An upright page: `pixels` is a BGR uint8 array (height, width, 3), perhaps reduced; `full_width` and
    `full_height` are the size of the upright image before, in pixels."""

    pixels: Any
    full_width: int
    full_height: int

    @property
    def width(self) -> int:
        return int(self.pixels.shape[1])

    @property
    def height(self) -> int:
        return int(self.pixels.shape[0])


def open_image(data: bytes, max_pixels: int = MAX_PIXELS) -> Any:
    """A Pillow image of checked format and size, its pixels not decoded yet.

    Raises InvalidRequest for other or damaged data, or more than `max_pixels`; EngineMissing without the extra.
    """
    pil = pillow()
    image_header.check_size(image_header.read_header(data), max_pixels)
    check_png(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = pil.image.open(io.BytesIO(data), formats=FORMATS)
    except Exception as error:
        raise damaged() from error
    check_size(image.size, max_pixels)
    return image


def check_size(size: tuple[int, int], max_pixels: int = MAX_PIXELS) -> None:
    """Checks the size (width, height) that a frame declares. Raises InvalidRequest."""
    image_header.check_size(image_header.ImageInfo("", *size), max_pixels)
    if min(size) < 1:
        raise damaged()


def decode_page(data: bytes, work_pixels: int = WORK_PIXELS) -> UprightImage:
    """The page: upright, on one ground, reduced to `work_pixels` if larger. Raises InvalidRequest, EngineMissing."""
    image = open_image(data)
    cv2, numpy = vision()
    turned = orientation(image) in (5, 6, 7, 8)
    full_width, full_height = image.size[::-1] if turned else image.size
    if max(full_width, full_height) > MAX_ASPECT * min(full_width, full_height):
        raise InvalidRequest(
            f"the image is {full_width} x {full_height} pixels: one side may be at most {MAX_ASPECT} times the other",
            code="invalid_image_format",
        )
    check_jpeg(data)
    # A long strip, a till roll, keeps its width: it is searched in tiles.
    enough = max(math.sqrt(work_pixels / (full_width * full_height)), STRIP_WIDTH / min(full_width, full_height))
    scale = min(1.0, enough)
    pixels = numpy.asarray(upright_rgb(image, scale), dtype=numpy.uint8)
    target = (max(1, round(full_width * scale)), max(1, round(full_height * scale)))
    if (pixels.shape[1], pixels.shape[0]) != target:
        pixels = cv2.resize(pixels, target, interpolation=cv2.INTER_AREA)
    return UprightImage(numpy.ascontiguousarray(pixels[:, :, ::-1]), full_width, full_height)


def upright_rgb(image: Any, scale: float = 1.0) -> Any:
    """The first frame as a Pillow RGB image, upright, on one ground, reduced towards `scale` where that is cheap.

    Raises InvalidRequest for damaged data.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if scale < 1 and image.format == "JPEG":
                # The decoder can halve a JPEG while it decodes: less time, a quarter of the memory.
                image.draft("RGB", (math.ceil(image.size[0] * scale), math.ceil(image.size[1] * scale)))
            image.load()
            return pillow().ops.exif_transpose(_on_ground(image, max(1, int(1 / scale))))
    except InvalidRequest:
        raise
    except Exception as error:
        # Pillow raises OSError, SyntaxError, ValueError, struct.error and others on damaged files.
        raise damaged() from error


def orientation(image: Any) -> int:
    """The EXIF orientation, 1..8; 1 when there is none or it is damaged."""
    try:
        value = image.getexif().get(ORIENTATION_TAG, 1)
    except Exception:
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _is_light(image: Any) -> bool:
    """Whether what is drawn on a transparent picture (RGBA) is lighter than middle gray on average."""
    black = pillow().image.new("RGBA", image.size, "black")
    black.alpha_composite(image)
    light, opacity = (
        sum(level * count for level, count in enumerate(channel.histogram()))
        for channel in (black.convert("L"), image.getchannel("A"))
    )
    return bool(255 * light > MIDDLE_GRAY * opacity)


def _on_ground(image: Any, reduction: int) -> Any:
    """RGB, what is transparent on the ground that gives contrast: black for a light drawing, else white. A picture to
    be reduced is reduced before it is converted, so that its copies are small."""
    exif = image.getexif()
    if image.mode in ("I;16", "I;16L", "I;16B", "I"):
        image = image.point(lambda value: value / 257).convert("L")
    see_through = image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info
    if see_through or image.mode in ("1", "P"):
        image = image.convert("RGBA" if see_through else "L" if image.mode == "1" else "RGB")
    if reduction > 1:
        image = image.reduce(reduction)
    if see_through:
        canvas = pillow().image.new("RGBA", image.size, "black" if _is_light(image) else "white")
        canvas.alpha_composite(image)
        image = canvas
    image = image.convert("RGB")
    if ORIENTATION_TAG in exif:
        image.getexif()[ORIENTATION_TAG] = exif[ORIENTATION_TAG]
    return image
