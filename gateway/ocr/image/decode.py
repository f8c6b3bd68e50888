"""Decodes image bytes to an upright page of pixels, within bounds of size and memory.

Decodes PNG, JPEG, GIF, WEBP, BMP and TIFF with Pillow and nothing else (no EPS, no plug-ins): the first frame, turned
upright by its EXIF orientation, transparency on white, 8 bits a channel. Knows nothing of text. The size is checked in
the header, before any pixel is decoded. Raises InvalidRequest (`invalid_image_format`, `image_too_large`) for what
cannot be read, EngineMissing without the `ocr` extra.
"""

import io
import math
import warnings
from dataclasses import dataclass
from typing import Any

from gateway.errors import InvalidRequest
from gateway.ocr.extras import pillow, vision
from gateway.ocr.image.integrity import check_jpeg, check_png, damaged
from gateway.wire import image_header

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
MAX_PIXELS = 50_000_000
"""Larger images are refused: decoded they take 150 MB and more. Chosen: an A4 page at 600 dpi has 35 million. At half,
these are refused; at double, a PNG, which cannot be decoded reduced, takes much of the worker's memory limit."""
WORK_PIXELS = 3_600_000
"""Larger pages are reduced to this area: text is read no better above it, and memory grows with it. It is an A4 page at
about 200 dpi. At half, 6 pt print becomes too small to read."""
STRIP_WIDTH = 900
"""Least width in pixels to which a long strip, such as a till roll, is reduced. Chosen: 40 characters a line keep
letters of 20 pixels. At half, letters of 10 pixels are misread; at double, a roll at MAX_ASPECT takes four times the
memory."""
MAX_ASPECT = 60
"""Longer shapes are refused: at STRIP_WIDTH they would have more than MAX_PIXELS (900 x 54,000 is 48.6 million)."""
ORIENTATION_TAG = 0x0112
"""EXIF 2.3, tag Orientation."""


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
    """The page: upright, on white, reduced to `work_pixels` if larger. Raises InvalidRequest, EngineMissing."""
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
    """The first frame as a Pillow RGB image, upright, on white, reduced towards `scale` where that is cheap.

    Raises InvalidRequest for damaged data.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if scale < 1 and image.format == "JPEG":
                # The decoder can halve a JPEG while it decodes: less time, a quarter of the memory.
                image.draft("RGB", (math.ceil(image.size[0] * scale), math.ceil(image.size[1] * scale)))
            image.load()
            return pillow().ops.exif_transpose(_on_white(image, max(1, int(1 / scale))))
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


def _on_white(image: Any, reduction: int) -> Any:
    """RGB on white; a picture to be reduced is reduced before it is converted, so that its copies are small."""
    exif = image.getexif()
    if image.mode in ("I;16", "I;16L", "I;16B", "I"):
        image = image.point(lambda value: value / 257).convert("L")
    see_through = image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info
    if see_through or image.mode in ("1", "P"):
        image = image.convert("RGBA" if see_through else "L" if image.mode == "1" else "RGB")
    if reduction > 1:
        image = image.reduce(reduction)
    if see_through:
        canvas = pillow().image.new("RGBA", image.size, "white")
        canvas.alpha_composite(image)
        image = canvas
    image = image.convert("RGB")
    if ORIENTATION_TAG in exif:
        image.getexif()[ORIENTATION_TAG] = exif[ORIENTATION_TAG]
    return image
