"""Splits a document into page images: the frames of a TIFF, the pages of a PDF, or the one picture there is.

For the command `gateway ocr`; the HTTP route takes single images. PDF pages are rendered by pypdfium2 (of the `ocr`
extra) at RENDER_DPI. Pages are made one at a time, when the iterator is advanced. Knows nothing of text.
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
"""An A4 page then has about decode.WORK_PIXELS: more would be reduced again. At half, 6 pt print is too small to read.
"""
MAX_PAGE_PIXELS = 12_000_000
"""Large formats are rendered smaller than at RENDER_DPI: 36 MB a page. Chosen: A2 keeps 170 dpi. At half, plans lose
their small print; at double, memory doubles for pages that are reduced before reading."""
MAX_PAGES = 2000
"""Documents with more pages are refused: at about 1.3 s a page they take an hour. At half, books are refused."""


@dataclass(frozen=True, slots=True)
class Document:
    """`pages` yields one encoded image for each page, and can be read once."""

    page_count: int
    pages: Iterator[bytes]


def open_document(data: bytes) -> Document:
    """Opens an image or a PDF. Raises InvalidRequest for other, damaged or too large data, EngineMissing without the
    extra.

    Damaged TIFF frames raise InvalidRequest only when their page is reached.
    """
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
        raise InvalidRequest("the PDF cannot be opened: it is damaged or needs a password") from error
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
        raise InvalidRequest(f"the document has {count} pages; at most {MAX_PAGES} are read")


def _png(image: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()
