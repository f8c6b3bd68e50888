"""Opens the files of an OCR request, and draws their pages one at a time, so that a document never lies in memory as
pictures.
"""

from dataclasses import dataclass

from gateway.errors import InvalidRequest
from gateway.geometry.boxes import no_such_pages
from gateway.ports import PagePicture, PagePictures
from gateway.services.ocr.data_urls import decode_file
from gateway.services.ocr.images import Image
from gateway.services.ocr.request import OcrInput
from gateway.wire.image_header import ALLOWED, media_type

_PDF_HEAD_BYTES = 1024
"""PDF readers accept bytes before the header within the first 1,024 (PDF 1.7, implementation note 13)."""


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """Pages of one document that a request reads, its bytes, and seconds for one page."""

    max_pages: int = 50
    max_bytes: int = 20 * 1024 * 1024
    page_timeout_s: float = 30.0


@dataclass(frozen=True, slots=True)
class PagedFile:
    """A file of several pages. `pages`: the numbers of those to read; `total`: how many it has; `left`: a sentence on
    pages that the limit leaves out, or ""."""

    where: str
    body: bytes
    first: PagePicture
    pages: range
    total: int
    left: str


class Documents:
    """Opens the files of requests and draws their pages."""

    def __init__(self, pictures: PagePictures, limits: DocumentLimits) -> None:
        self._pictures = pictures
        self.limits = limits

    async def open(self, source: OcrInput, wanted: tuple[int, int] | None, owner: str) -> PagedFile | OcrInput:
        """The document in a file part; an image in one is a Source like those of image parts.

        `wanted`: first and last page, None for all. Raises InvalidRequest, code `invalid_file`, `param` naming the
        part; EngineMissing, Overloaded.
        """
        body, _ = await decode_file(source.data, source.where, self.limits.max_bytes)
        kind = media_type(body)
        if kind not in (None, "image/tiff"):
            if wanted is not None and wanted[0] > 1:
                raise InvalidRequest(no_such_pages(1), param=source.where, code="invalid_file")
            data = source.data.partition(",")[2] or source.data
            return OcrInput(f"data:{kind};base64,{data}", source.where)
        if kind is None and not body[:_PDF_HEAD_BYTES].lstrip().startswith(b"%PDF"):
            raise InvalidRequest(
                f"the file is neither a PDF nor a {ALLOWED} image; a text model takes other documents",
                param=source.where,
                code="invalid_file",
            )
        first, last = wanted or (1, 0)
        try:
            picture = await self._pictures.picture(body, first, owner)
        except InvalidRequest as error:
            raise InvalidRequest(error.message, param=source.where, code="invalid_file") from error
        last = min(last or picture.pages, picture.pages)
        pages = range(first, min(last, first + self.limits.max_pages - 1) + 1)
        return PagedFile(source.where, body, picture, pages, picture.pages, _left_out(pages, last, picture.pages))

    async def image(self, document: PagedFile, number: int, owner: str) -> Image:
        """One of the document's pages. Raises InvalidRequest, EngineMissing, Overloaded."""
        drawn = document.first
        if number != document.pages[0]:
            drawn = await self._pictures.picture(document.body, number, owner)
        return Image(drawn.url, drawn.width, drawn.height, document.where, number if document.total > 1 else 0)


def _left_out(pages: range, last: int, total: int) -> str:
    if pages[-1] == last:
        return ""
    return (
        f"of {total} pages {pages[0]} to {pages[-1]} were read, as many as one request may have; ask for more with"
        f' "ocr": {{"pages": "{pages[-1] + 1}-{last}"}}'
    )
