"""Draws one page of a document for OCR: of a PDF, a frame of a TIFF, or the picture itself; makes pictures plain.

Runs in the parsing processes, since pixels hold Python's lock for long and decoders read what strangers send. Needs the
extra `ocr`.
"""

import base64
import io

from gateway.domain import Json
from gateway.engines.documents.sniff import unpacked
from gateway.errors import InvalidRequest
from gateway.ocr.image.decode import open_image, upright_rgb
from gateway.ocr.image.documents import open_document
from gateway.wire.image_header import read_header

MAX_BYTES = 45_000_000
"""Of a picture that was made plain. As base64 it fits into an answer of a parsing process."""
JPEG_QUALITY, PNG_COMPRESSION = 95, 3


def page_picture(body: bytes, number: int) -> Json:
    """`{picture: base64, mime, width, height, pages: how many the document has}` of page `number`, counted from 1.

    Raises InvalidRequest for damaged documents and pages that there are not, EngineMissing, Unreadable.
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
    """`{picture: base64, mime}`: the first frame upright and on one ground, as PNG or JPEG, since many upstreams ignore
    the EXIF orientation or fail on unusual formats. Raises InvalidRequest when it cannot be decoded, EngineMissing."""
    is_jpeg = read_header(body).mime == "image/jpeg"
    out, image = io.BytesIO(), upright_rgb(open_image(body))
    if is_jpeg:
        image.save(out, "JPEG", quality=JPEG_QUALITY)
    else:
        image.save(out, "PNG", compress_level=PNG_COMPRESSION)
    if out.tell() > MAX_BYTES:
        raise InvalidRequest("the image is too large once it is a PNG; send it smaller", code="image_too_large")
    return {"picture": base64.b64encode(out.getvalue()).decode(), "mime": "image/jpeg" if is_jpeg else "image/png"}
