"""Draws one page of a document for OCR: of a PDF, a frame of a TIFF, or the picture itself; makes pictures plain.

Runs in the parsing processes. Needs the extra `ocr`. Knows no text.
"""

import base64

from gateway.domain import Json
from gateway.engines.documents.sniff import unpacked
from gateway.ocr.image.decode import plain_image
from gateway.ocr.image.documents import open_document
from gateway.wire.image_header import read_header


def page_picture(body: bytes, number: int) -> Json:
    """`{picture: base64, mime, width, height, pages: how many the document has}` of page `number`, counted from 1.

    Raises InvalidRequest for damaged documents and pages that there are not, EngineMissing, FetchFailed.
    """
    _, body = unpacked("", body)
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


def plain_picture(body: bytes) -> Json:
    """`{picture: base64, mime}`: a picture as `ocr.image.normalise.plain_image` makes it, and raises."""
    picture, mime = plain_image(body)
    return {"picture": base64.b64encode(picture).decode(), "mime": mime}
