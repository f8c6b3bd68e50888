"""Encoded image bytes to an upright page of pixels, within bounds of size and memory.

Decodes PNG, JPEG, GIF, WEBP, BMP and TIFF with Pillow and nothing else (no EPS, no plug-ins): the first frame, turned
upright by its EXIF orientation, transparency on white, 8 bits a channel. Knows nothing of text. The size is judged
from the header, before any pixel is decoded. Raises InvalidRequest (`invalid_image_format`, `image_too_large`) for
what cannot be read, EngineMissing without the `ocr` extra.
"""

import io
import math
import warnings
from dataclasses import dataclass
from typing import Any

from gateway.errors import InvalidRequest
from gateway.ocr.extras import pillow, vision
from gateway.wire import image_header

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
MAX_PIXELS = 50_000_000
WORK_PIXELS = 3_600_000
"""Larger pages are reduced to this area: text is read no better above it, and memory grows with it."""
STRIP_WIDTH = 900
MAX_ASPECT = 60
ORIENTATION_TAG = 0x0112


@dataclass(frozen=True, slots=True)
class UprightImage:
    """An upright page: `pixels` is a BGR uint8 array of (height, width, 3), perhaps reduced from `full_width`."""

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
    """A Pillow image whose pixels are not decoded yet; its format and size have been judged."""
    pil = pillow()
    image_header.check_size(image_header.read_header(data), max_pixels)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = pil.image.open(io.BytesIO(data), formats=FORMATS)
    except Exception as error:
        raise _unreadable() from error
    check_size(image.size, max_pixels)
    return image


def check_size(size: tuple[int, int], max_pixels: int = MAX_PIXELS) -> None:
    """What a frame itself says its size is. Raises InvalidRequest."""
    image_header.check_size(image_header.ImageInfo("", *size), max_pixels)
    if min(size) < 1:
        raise _unreadable()


def decode_page(data: bytes, work_pixels: int = WORK_PIXELS) -> UprightImage:
    """The page to be read: upright, on white, reduced to `work_pixels` when it is larger."""
    image = open_image(data)
    cv2, numpy = vision()
    turned = orientation(image) in (5, 6, 7, 8)
    full_width, full_height = image.size[::-1] if turned else image.size
    if max(full_width, full_height) > MAX_ASPECT * min(full_width, full_height):
        raise InvalidRequest(
            f"The image is {full_width} x {full_height} pixels: one side is more than {MAX_ASPECT} times the other.",
            code="invalid_image_format",
        )
    # A long strip, a till roll, keeps its width: it is looked at in tiles.
    enough = max(math.sqrt(work_pixels / (full_width * full_height)), STRIP_WIDTH / min(full_width, full_height))
    scale = min(1.0, enough)
    pixels = numpy.asarray(upright_rgb(image, scale), dtype=numpy.uint8)
    target = (max(1, round(full_width * scale)), max(1, round(full_height * scale)))
    if (pixels.shape[1], pixels.shape[0]) != target:
        pixels = cv2.resize(pixels, target, interpolation=cv2.INTER_AREA)
    return UprightImage(numpy.ascontiguousarray(pixels[:, :, ::-1]), full_width, full_height)


def upright_rgb(image: Any, scale: float = 1.0) -> Any:
    """The image's first frame as RGB, EXIF orientation applied, transparency on white. May reduce a JPEG by `scale`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if scale < 1 and image.format == "JPEG":
                # The decoder itself halves a JPEG as often as fits: less time, a quarter of the memory.
                image.draft("RGB", (math.ceil(image.size[0] * scale), math.ceil(image.size[1] * scale)))
            image.load()
            return pillow().ops.exif_transpose(_on_white(image, max(1, int(1 / scale))))
    except InvalidRequest:
        raise
    except Exception as error:
        # Pillow raises OSError, SyntaxError, ValueError, struct.error and others on damaged files.
        raise _unreadable() from error


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


def _unreadable() -> InvalidRequest:
    return InvalidRequest("The image is damaged or incomplete.", code="invalid_image_format")
