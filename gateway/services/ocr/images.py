"""Loads the images of a request: from data URLs or the web, with format and size checked by their bytes.

Reads headers only. Where pixels must change (for an upstream that does not turn EXIF images upright), a `PixelWork`
does it. Long base64 texts are coded in slices, so that other requests on the event loop need not wait.
"""

import asyncio
import base64
import binascii
import io
from dataclasses import dataclass
from typing import Protocol

from gateway.domain import Json
from gateway.errors import GatewayError, InvalidRequest
from gateway.ports import ImageSource
from gateway.services.completion.images import MAX_IMAGE_BYTES
from gateway.wire.image_header import ImageInfo, check_size, read_header

MAX_PIXELS = 50_000_000
"""Chosen: an A4 page scanned at 600 dpi has 35 million. At half such scans are refused; at double one decoded image
takes 300 MB of memory instead of 150 MB."""
MAX_CONCURRENT_FETCHES = 4
"""Images of one request that are loaded at the same time. Chosen: each may take 20 MiB and as much again as base64; at
double a request holds twice the memory, at half eight images take twice the time."""
SLICE_CHARS = 1 << 19
"""base64 characters coded without a pause; a multiple of four, so that each slice decodes by itself. A slice takes
about a millisecond; at double other requests wait twice as long, at half the loop is entered twice as often."""


class PixelWork(Protocol):
    """Turns an image upright, puts transparent ones on white and keeps the first frame."""

    async def normalise(self, data: bytes, info: ImageInfo) -> tuple[bytes, str]:
        """The new file's bytes and media type. Raises InvalidRequest when the image cannot be decoded."""
        ...


@dataclass(frozen=True, slots=True)
class Image:
    """An image ready to be sent: a data URL, its header, and the path of its field in the request."""

    url: str
    info: ImageInfo
    where: str


class ImageLoader:
    """Loads images. `source` fetches http(s) URLs; without `pixel_work` images are sent as they came."""

    def __init__(self, source: ImageSource, pixel_work: PixelWork | None = None) -> None:
        self._source = source
        self._pixel_work = pixel_work

    async def load_all(self, urls: list[tuple[str, str]]) -> list[Image]:
        """The images of `(url, path)` pairs, in the same order. All are checked before this returns.

        Raises InvalidRequest, `param` naming the part; codes as in `wire.image_header`, or `invalid_image_url`.
        """
        turn = asyncio.Semaphore(MAX_CONCURRENT_FETCHES)
        tasks: list[asyncio.Task[Image]] = []
        try:
            async with asyncio.TaskGroup() as group:
                tasks.extend(group.create_task(self._load(url, where, turn)) for url, where in urls)
        except* GatewayError as errors:
            # Any of several errors will do: the caller corrects one after the other.
            raise _first(errors) from None
        return [task.result() for task in tasks]

    async def _load(self, url: str, where: str, turn: asyncio.Semaphore) -> Image:
        try:
            async with turn:
                data = await self._fetch(url)
                info = read_header(data)
                check_size(info, MAX_PIXELS)
                sent, mime = data, info.mime
                if self._pixel_work is not None:
                    sent, mime = await self._pixel_work.normalise(data, info)
                # An image that came as the data URL it would be sent as is not encoded again.
                is_same = sent is data and url.startswith(f"data:{mime};base64,") and _is_unbroken(url, mime, data)
                return Image(url if is_same else f"data:{mime};base64,{await encode_base64(sent)}", info, where)
        except InvalidRequest as error:
            error.param = where
            raise

    async def _fetch(self, url: str) -> bytes:
        scheme = url[:16].split(":", 1)[0].strip().lower()
        if scheme == "data":
            return await decode_data_url(url)
        if scheme not in ("http", "https"):
            raise InvalidRequest(
                "an image must be an http or https URL or a base64 data URL (data:image/png;base64,…)",
                code="invalid_image_url",
            )
        data = await self._source.fetch_image(url, MAX_IMAGE_BYTES)
        if len(data) > MAX_IMAGE_BYTES:
            raise _too_large()
        return data


def _is_unbroken(url: str, mime: str, data: bytes) -> bool:
    """True when the URL's base64 has no white space, so that it is the same as `data` encoded again."""
    return len(url) - len(f"data:{mime};base64,") == -(-len(data) // 3) * 4


def _first(errors: BaseExceptionGroup[GatewayError]) -> GatewayError:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, GatewayError)
    return error


def _too_large() -> InvalidRequest:
    return InvalidRequest(
        f"the image is larger than {MAX_IMAGE_BYTES >> 20} MiB; send a smaller one", code="image_too_large"
    )


async def decode_data_url(url: str) -> bytes:
    """The bytes of `data:[type][;parameter]…;base64,DATA` (RFC 2397).

    Raises InvalidRequest, codes `invalid_image_url` and `image_too_large`.
    """
    comma = url.find(",")
    if comma < 0 or url[:comma].rsplit(";", 1)[-1].strip().lower() != "base64":
        raise InvalidRequest("a data URL must have the form data:<media type>;base64,<data>", code="invalid_image_url")
    if (len(url) - comma - 1) // 4 * 3 > MAX_IMAGE_BYTES + 65_536:
        raise _too_large()
    try:
        data = await decode_base64(url, comma + 1)
    except (binascii.Error, ValueError) as error:
        raise InvalidRequest(
            "the data URL's base64 is not valid; send standard base64 with padding", code="invalid_image_url"
        ) from error
    if len(data) > MAX_IMAGE_BYTES:
        raise _too_large()
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


def image_infos(images: list[Image]) -> list[Json]:
    """`[{width, height}]` for `provider_specific_fields.images`: the upright sizes that boxes refer to."""
    return [{"width": image.info.width, "height": image.info.height} for image in images]
