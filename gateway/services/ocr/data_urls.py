"""Decodes images and files that came inside a request, and encodes them: data URLs with base64 (RFC 2397).

Long texts are coded in slices, so that other requests on the event loop need not wait.
"""

import asyncio
import base64
import binascii
import io
from typing import Any

from gateway.errors import InvalidRequest
from gateway.services.completion.images import MAX_IMAGE_BYTES

SLICE_CHARS = 1 << 19
"""base64 characters coded without a pause (1 ms); a multiple of four, so that each slice decodes by itself."""


def too_large(most_bytes: int) -> InvalidRequest:
    """The refusal of an image."""
    return InvalidRequest(
        f"the image is larger than {most_bytes >> 20} MiB; send a smaller one", code="image_too_large"
    )


def checked_file_data(data: Any, where: str) -> str:
    """The data of a file part. Raises InvalidRequest, code `invalid_file`, for one without data."""
    if not isinstance(data, str) or not data:
        raise InvalidRequest(
            "a file must come inside the request, as a base64 data URL in `file_data`; stored files and URLs are"
            " not supported",
            param=where,
            code="invalid_file",
        )
    return data


async def decode_file(data: str, where: str, most_bytes: int) -> tuple[bytes, str]:
    """The bytes of a file part's data, a data URL or bare base64, and its declared media type or "".

    Raises InvalidRequest, code `invalid_file`, `param` = `where`.
    """
    try:
        if not data.startswith("data:"):
            return await _decode_from(data, 0, most_bytes), ""
        return await decode_data_url(data, most_bytes), data[5 : data.find(",")].split(";", 1)[0]
    except InvalidRequest as error:
        raise InvalidRequest(
            f"the file must be a base64 data URL of at most {most_bytes / (1 << 20):.4g} MiB",
            param=where,
            code="invalid_file",
        ) from error


async def decode_data_url(url: str, most_bytes: int = MAX_IMAGE_BYTES) -> bytes:
    """The bytes of `data:[type][;parameter]…;base64,DATA` (RFC 2397).

    Raises InvalidRequest, codes `invalid_image_url` and `image_too_large`.
    """
    comma = url.find(",")
    if comma < 0 or url[:comma].rsplit(";", 1)[-1].strip().lower() != "base64":
        raise InvalidRequest("a data URL must have the form data:<media type>;base64,<data>", code="invalid_image_url")
    return await _decode_from(url, comma + 1, most_bytes)


async def _decode_from(url: str, start: int, most_bytes: int) -> bytes:
    """The bytes of the base64 behind the index `start`, raising as `decode_data_url`."""
    if (len(url) - start) // 4 * 3 > most_bytes + 65_536:
        raise too_large(most_bytes)
    try:
        data = await decode_base64(url, start)
    except (binascii.Error, ValueError) as error:
        raise InvalidRequest(
            "the data URL's base64 is not valid; send standard base64 with padding", code="invalid_image_url"
        ) from error
    if len(data) > most_bytes:
        raise too_large(most_bytes)
    return data


async def decode_base64(text: str, start: int = 0) -> bytes:
    """The bytes of the base64 text from index `start` on; white space is allowed.

    Equals `base64.b64decode("".join(text[start:].split()), validate=True)`, in slices. Raises binascii.Error, or
    ValueError when the text is not ASCII.
    """
    # BytesIO grows in place and returns its bytes without a copy; joining a list would take some milliseconds.
    data = io.BytesIO()
    rest = ""
    for at in range(start, len(text), SLICE_CHARS):
        chars = rest + "".join(text[at : at + SLICE_CHARS].split())
        whole = len(chars) - len(chars) % 4
        rest = chars[whole:]
        if "=" in chars[:whole] and text[at + SLICE_CHARS :].strip():
            raise binascii.Error("padding inside")
        data.write(base64.b64decode(chars[:whole], validate=True))
        await asyncio.sleep(0)
    if rest:
        raise binascii.Error("incomplete")
    return data.getvalue()


async def encode_base64(data: bytes) -> str:
    """Equals `base64.b64encode(data).decode()`, in slices."""
    step = SLICE_CHARS // 4 * 3
    parts = []
    for start in range(0, len(data), step):
        parts.append(base64.b64encode(data[start : start + step]).decode("ascii"))
        await asyncio.sleep(0)
    return "".join(parts)
