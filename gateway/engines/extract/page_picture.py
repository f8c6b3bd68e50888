"""Draws one page of a document for OCR: of a PDF, a frame of a TIFF, or the picture itself.

Runs in the parsing processes. Needs the extra `ocr`. Knows no text.
"""

import base64

from gateway.domain import Json
from gateway.ocr.image.document_pages import open_document
from gateway.wire.image_header import read_header


def page_picture(body: bytes, number: int) -> Json:
    """`{picture: base64, mime, width, height, pages: how many the document has}` of page `number`, counted from 1.

    Raises InvalidRequest for damaged documents and pages that there are not, EngineMissing.
    """
    document = open_document(body, (number, number))
    picture = next(document.pages)
    info = read_header(picture)
    return {
        "picture": base64.b64encode(picture).decode(),
        "mime": info.mime,
        "width": info.width,
        "height": info.height,
        "pages": document.total,
    }
