"""The images of a request: taken from data URLs or fetched, judged by their bytes, made fit for the model.

Format and size come from the header; no pixel is decoded here. Where pixel work is wanted (an upstream that does not
turn EXIF images upright) a `PixelWork` is handed in. Long base64 texts are handled in slices, so that neighbours on the
event loop do not wait.
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
MAX_CONCURRENT_FETCHES = 4
SLICE_CHARS = 1 << 19
"""A multiple of four: a slice decodes by itself, in about a millisecond."""


class PixelWork(Protocol):
    """Turns an image upright, puts it on white and keeps its first frame."""

    async def normalise(self, data: bytes, info: ImageInfo) -> tuple[bytes, str]:
        """The new bytes and their media type. Raises InvalidRequest when the image cannot be decoded."""
        ...


@dataclass(frozen=True, slots=True)
class Image:
    """An image ready to be sent: a data URL, what its header said, and where it stood in the request."""

    url: str
    info: ImageInfo
    where: str


class ImageLoader:
    """`load_all` takes `(url, where)` pairs and gives images in the same order, all checked before any is used."""

    def __init__(self, source: ImageSource, pixel_work: PixelWork | None = None) -> None:
        self._source = source
        self._pixel_work = pixel_work

    async def load_all(self, urls: list[tuple[str, str]]) -> list[Image]:
        """Raises InvalidRequest naming the part."""
        turn = asyncio.Semaphore(MAX_CONCURRENT_FETCHES)
        tasks: list[asyncio.Task[Image]] = []
        try:
            async with asyncio.TaskGroup() as group:
                tasks.extend(group.create_task(self._load(url, where, turn)) for url, where in urls)
        except* GatewayError as errors:
            # Of several refusals the first in the request's order would be best; any one is true.
            raise _first(errors) from None
        return [task.result() for task in tasks]

    async def _load(self, url: str, where: str, turn: asyncio.Semaphore) -> Image:
        try:
            async with turn:
                data = await self._bytes_of(url)
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

    async def _bytes_of(self, url: str) -> bytes:
        scheme = url[:16].split(":", 1)[0].strip().lower()
        if scheme == "data":
            return await decode_data_url(url)
        if scheme not in ("http", "https"):
            raise InvalidRequest(
                "An image must be an http or https URL or a base64 data URL (data:image/png;base64,…).",
                code="invalid_image_url",
            )
        data = await self._source.fetch_image(url, MAX_IMAGE_BYTES)
        if len(data) > MAX_IMAGE_BYTES:
            raise _too_large()
        return data


def _is_unbroken(url: str, mime: str, data: bytes) -> bool:
    """Whether the base64 that `data` was decoded from has no white space in it."""
    return len(url) - len(f"data:{mime};base64,") == -(-len(data) // 3) * 4


def _first(errors: BaseExceptionGroup[GatewayError]) -> GatewayError:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, GatewayError)
    return error


def _too_large() -> InvalidRequest:
    return InvalidRequest(f"The image is larger than {MAX_IMAGE_BYTES >> 20} MiB.", code="image_too_large")


async def decode_data_url(url: str) -> bytes:
    """The bytes of `data:[type][;parameter]…;base64,DATA` (RFC 2397). Raises InvalidRequest."""
    comma = url.find(",")
    if comma < 0 or url[:comma].rsplit(";", 1)[-1].strip().lower() != "base64":
        raise InvalidRequest("A data URL must have the form data:<media type>;base64,<data>.", code="invalid_image_url")
    if (len(url) - comma - 1) // 4 * 3 > MAX_IMAGE_BYTES + 65_536:
        raise _too_large()
    try:
        data = await decode_base64(url, comma + 1)
    except (binascii.Error, ValueError) as error:
        raise InvalidRequest("The data URL's base64 is not valid.", code="invalid_image_url") from error
    if len(data) > MAX_IMAGE_BYTES:
        raise _too_large()
    return data


async def decode_base64(text: str, start: int = 0) -> bytes:
    """Strict base64 from `start` on, white space allowed. Raises binascii.Error, or ValueError when it is not ASCII."""
    # Grows in place and gives its bytes away without a copy, which joining parts would take milliseconds over.
    data = io.BytesIO()
    held = ""
    for at in range(start, len(text), SLICE_CHARS):
        part = held + "".join(text[at : at + SLICE_CHARS].split())
        whole = len(part) - len(part) % 4
        held = part[whole:]
        if "=" in part[:whole] and text[at + SLICE_CHARS :].strip():
            raise binascii.Error("padding inside")
        data.write(base64.b64decode(part[:whole], validate=True))
        await asyncio.sleep(0)
    if held:
        raise binascii.Error("incomplete")
    return data.getvalue()


async def encode_base64(data: bytes) -> str:
    step = SLICE_CHARS // 4 * 3
    parts = []
    for start in range(0, len(data), step):
        parts.append(base64.b64encode(data[start : start + step]).decode("ascii"))
        await asyncio.sleep(0)
    return "".join(parts)


def image_infos(images: list[Image]) -> list[Json]:
    """What `provider_specific_fields.images` holds: the upright sizes the boxes refer to."""
    return [{"width": image.info.width, "height": image.info.height} for image in images]
