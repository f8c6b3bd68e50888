"""Splits a document into page images: the frames of a TIFF, the pages of a PDF, or the one picture there is.

For `gateway ocr`: the HTTP route takes single images. PDF pages are rendered by pypdfium2 (of the `ocr` extra) at
RENDER_DPI. Pages are made one at a time, as they are asked for.
"""

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gateway.errors import EngineMissing, InvalidRequest
from gateway.ocr.extras import MISSING, pillow
from gateway.ocr.image.decode import check_size, open_image

RENDER_DPI = 200
MAX_PAGE_PIXELS = 12_000_000
MAX_PAGES = 2000


@dataclass(frozen=True, slots=True)
class Document:
    """`pages` yields one encoded image a page and is read once."""

    page_count: int
    pages: Iterator[bytes]


def open_document(data: bytes) -> Document:
    """Raises InvalidRequest for what is neither an image nor a PDF, EngineMissing without the extra."""
    if data[:1024].lstrip().startswith(b"%PDF"):
        return _open_pdf(data)
    image = open_image(data)
    count = int(getattr(image, "n_frames", 1)) if image.format == "TIFF" else 1
    if count == 1:
        return Document(1, iter([data]))
    _check_count(count)
    return Document(count, _frames(image, count))


def _frames(image: Any, count: int) -> Iterator[bytes]:
    for number in range(count):
        image.seek(number)
        check_size(image.size)
        yield _png(pillow().ops.exif_transpose(image))


def _open_pdf(data: bytes) -> Document:
    try:
        import pypdfium2  # noqa: PLC0415 - optional extra
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise InvalidRequest("The PDF cannot be opened: it is damaged or needs a password.") from error
    _check_count(len(document))
    return Document(len(document), _pdf_pages(document))


def _pdf_pages(document: Any) -> Iterator[bytes]:
    try:
        for number in range(len(document)):
            page = document[number]
            width, height = page.get_size()
            scale = min(RENDER_DPI / 72, math.sqrt(MAX_PAGE_PIXELS / max(1.0, width * height)))
            bitmap = page.render(scale=scale)
            yield _png(bitmap.to_pil())
            bitmap.close()
            page.close()
    finally:
        document.close()


def _check_count(count: int) -> None:
    if not 1 <= count <= MAX_PAGES:
        raise InvalidRequest(f"The document has {count} pages; 1 to {MAX_PAGES} are read.")


def _png(image: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()
