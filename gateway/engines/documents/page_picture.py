"""Draws one page of a document for OCR: of a PDF, a frame of a TIFF, or the picture itself; makes pictures plain.

Runs in the parsing processes, since pixels hold Python's lock for long and decoders read what strangers send. Needs
Pillow, of the extra `ocr`, and pypdfium2, of the extra `web`.
"""

import base64
import io
import math
import warnings
from importlib import import_module
from typing import Any

from gateway.domain import Json
from gateway.engines.documents.parse_pool import is_pdf
from gateway.engines.documents.sniff import unpacked
from gateway.errors import EngineMissing, InvalidRequest
from gateway.geometry.boxes import no_such_pages
from gateway.wire.image_header import ImageInfo, check_size, read_header

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
MAX_PIXELS = 50_000_000
"""Larger pictures are refused: decoded they take 150 MB and more."""
RENDER_DPI, MAX_PAGE_PIXELS = 200, 12_000_000
"""Pages of a PDF are drawn at this resolution, large ones so that they have no more pixels."""
MAX_BYTES = 45_000_000
"""Of a picture that was made plain. As base64 it fits into an answer of a parsing process."""
JPEG_QUALITY, PNG_COMPRESSION = 95, 3
_DEEP_GRAYS = ("I;16", "I;16L", "I;16B", "I")
_DAMAGED = "the image is damaged or incomplete"


def page_picture(body: bytes, number: int) -> Json:
    """`{picture: base64, mime, width, height, pages: how many the document has}` of page `number`, counted from 1.

    Raises InvalidRequest for damaged documents and pages that there are not, EngineMissing, Unreadable.
    """
    _, body = unpacked("", body)
    picture, pages = _page_of_pdf(body, number) if is_pdf(body) else _frame(body, number)
    info = read_header(picture)
    return {
        "picture": base64.b64encode(picture).decode(),
        "mime": info.mime,
        "width": info.width,
        "height": info.height,
        "pages": pages,
    }


def plain_picture(body: bytes) -> Json:
    """`{picture: base64, mime}`: the first frame upright and on white, as PNG or JPEG, since many upstreams ignore the
    EXIF orientation or fail on unusual formats. Raises InvalidRequest when it cannot be decoded, EngineMissing."""
    is_jpeg = read_header(body).mime == "image/jpeg"
    out, image = io.BytesIO(), _upright(_opened(body))
    if is_jpeg:
        image.save(out, "JPEG", quality=JPEG_QUALITY)
    else:
        image.save(out, "PNG", compress_level=PNG_COMPRESSION)
    if out.tell() > MAX_BYTES:
        raise InvalidRequest("the image is too large once it is a PNG; send it smaller", code="image_too_large")
    return {
        "picture": base64.b64encode(out.getvalue()).decode(),
        "mime": "image/jpeg" if is_jpeg else "image/png",
    }


def _library(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise EngineMissing(
            f"pictures of pages need the extra '{extra}'; the operator must install it (pip install 'gateway[{extra}]')"
        ) from error


def _page_of_pdf(body: bytes, number: int) -> tuple[bytes, int]:
    """A page as PNG, and how many there are."""
    pdfium = _library("pypdfium2", "web")
    _library("PIL.Image", "ocr")
    try:
        document = pdfium.PdfDocument(body)
    except pdfium.PdfiumError as error:
        needs_password = "password" in str(error).casefold()
        reason = "it needs a password" if needs_password else "it is damaged or incomplete"
        raise InvalidRequest(f"the PDF cannot be opened: {reason}") from error
    try:
        if not 1 <= number <= len(document):
            raise InvalidRequest(no_such_pages(len(document)))
        page = document[number - 1]
        width, height = page.get_size()
        scale = min(RENDER_DPI / 72, math.sqrt(MAX_PAGE_PIXELS / max(1.0, width * height)))
        return _png(page.render(scale=scale).to_pil()), len(document)
    finally:
        document.close()


def _frame(body: bytes, number: int) -> tuple[bytes, int]:
    """A frame of a TIFF as PNG, or the picture as it is, and how many there are."""
    image = _opened(body)
    count = int(getattr(image, "n_frames", 1)) if image.format == "TIFF" else 1
    if not 1 <= number <= count:
        raise InvalidRequest(no_such_pages(count))
    if count == 1:
        return body, 1
    try:
        image.seek(number - 1)
        check_size(ImageInfo("", *image.size), MAX_PIXELS)
        return _png(_library("PIL.ImageOps", "ocr").exif_transpose(image)), count
    except InvalidRequest:
        raise
    except Exception as error:  # Pillow raises OSError, SyntaxError, struct.error and others on damaged files
        raise InvalidRequest(_DAMAGED, code="invalid_image_format") from error


def _opened(body: bytes) -> Any:
    """A picture of checked format and size, its pixels not decoded yet."""
    image_module = _library("PIL.Image", "ocr")
    check_size(read_header(body), MAX_PIXELS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = image_module.open(io.BytesIO(body), formats=FORMATS)
    except Exception as error:  # as above
        raise InvalidRequest(_DAMAGED, code="invalid_image_format") from error
    check_size(ImageInfo("", *image.size), MAX_PIXELS)
    return image


def _upright(image: Any) -> Any:
    """The first frame in RGB, turned by its EXIF orientation, transparency on white."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image.load()
            image = _library("PIL.ImageOps", "ocr").exif_transpose(image)
            if image.mode in _DEEP_GRAYS:
                image = image.point(lambda value: value / 257).convert("L")
            if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
                image = image.convert("RGBA")
                ground = _library("PIL.Image", "ocr").new("RGBA", image.size, "white")
                ground.alpha_composite(image)
                image = ground
            return image.convert("RGB")
    except Exception as error:  # as above
        raise InvalidRequest(_DAMAGED, code="invalid_image_format") from error


def _png(image: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()
