"""Splits a document into page images: the frames of a TIFF, the pages of a PDF, or the one picture there is.

For the command `gateway ocr` and, one page at a time, for the parsing processes. PDF pages are rendered by pypdfium2
(of the `ocr` extra) at RENDER_DPI. Pages are made one at a time, when the iterator is advanced. Knows nothing of text.
"""

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gateway.errors import EngineMissing, InvalidRequest
from gateway.geometry.boxes import no_such_pages
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
    """`pages` yields one encoded image for each of `page_count` pages, the first being number `first` of `total`, and
    can be read once."""

    page_count: int
    pages: Iterator[bytes]
    first: int = 1
    total: int = 1


def open_document(data: bytes, wanted: tuple[int, int] | None = None) -> Document:
    """Opens an image or a PDF. `wanted`: first and last page, counted from 1. Raises InvalidRequest for other, damaged
    or too large data and for pages that there are not, EngineMissing without the extra.

    Damaged TIFF frames raise InvalidRequest only when their page is reached.
    """
    if data[:1024].lstrip().startswith(b"%PDF"):
        return _open_pdf(data, wanted)
    image = open_image(data)
    count = int(getattr(image, "n_frames", 1)) if image.format == "TIFF" else 1
    first, last = _range(count, wanted)
    if count == 1:
        return Document(1, iter([data]))
    return Document(last - first + 1, _frames(image, range(first - 1, last)), first, count)


def _frames(image: Any, numbers: range) -> Iterator[bytes]:
    for number in numbers:
        image.seek(number)
        check_size(image.size)
        yield _png(pillow().ops.exif_transpose(image))


def _open_pdf(data: bytes, wanted: tuple[int, int] | None) -> Document:
    try:
        import pypdfium2  # noqa: PLC0415 - optional extra
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        needs_password = "password" in str(error).casefold()
        reason = "it needs a password" if needs_password else "it is damaged or incomplete"
        raise InvalidRequest(f"the PDF cannot be opened: {reason}") from error
    first, last = _range(len(document), wanted)
    return Document(last - first + 1, _pdf_pages(document, range(first - 1, last)), first, len(document))


def _pdf_pages(document: Any, numbers: range) -> Iterator[bytes]:
    try:
        for number in numbers:
            page = document[number]
            width, height = page.get_size()
            scale = min(RENDER_DPI / 72, math.sqrt(MAX_PAGE_PIXELS / max(1.0, width * height)))
            bitmap = page.render(scale=scale)
            yield _png(bitmap.to_pil())
            bitmap.close()
            page.close()
    finally:
        document.close()


def _range(count: int, wanted: tuple[int, int] | None) -> tuple[int, int]:
    """The first and last page to read. Raises InvalidRequest for too many, and for pages that there are not."""
    first, last = wanted or (1, count)
    if not 1 <= first <= last or first > count:
        raise InvalidRequest(no_such_pages(count))
    last = min(last, count)
    if last - first >= MAX_PAGES:
        raise InvalidRequest(f"the document has {count} pages; at most {MAX_PAGES} are read: choose some with --pages")
    return first, last


def _png(image: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()
