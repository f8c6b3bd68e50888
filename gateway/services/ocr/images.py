"""Loads the images of an OCR request: fetched, checked, turned upright, as data URLs that an engine takes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.ports import ImageSource
from gateway.services.completion.images import MAX_IMAGE_BYTES
from gateway.services.ocr.data_urls import decode_data_url, encode_base64, too_large
from gateway.services.ocr.request import OcrInput
from gateway.wire.image_header import ImageInfo, check_size, read_header

MAX_PIXELS = 50_000_000
"""Most pixels of an image: an A4 page scanned at 600 dpi has 35 million. One decoded image takes 150 MB of memory."""
MAX_CONCURRENT_FETCHES = 4
"""Images of one request that are loaded at the same time; each may take 20 MiB and as much again as base64."""


class PixelWork(Protocol):
    """Turns an image upright, puts transparent ones on one ground and keeps the first frame."""

    async def plain(self, data: bytes, info: ImageInfo, owner: str) -> str | None:
        """The new image as a data URL, None for one that may be sent as it is; the work is the key `owner`'s.

        Raises InvalidRequest when the image cannot be decoded, Overloaded."""
        ...


@dataclass(frozen=True, slots=True)
class Image:
    """An image ready to be sent: a data URL, its upright size in pixels, the path of its field in the request, and its
    `page` in a document of several, else 0."""

    url: str
    width: int
    height: int
    where: str
    page: int = 0


class ImageLoader:
    """Loads images. `source` fetches http(s) URLs; without `pixel_work` images are sent as they came."""

    def __init__(self, source: ImageSource, pixel_work: PixelWork | None = None) -> None:
        self._source = source
        self._pixel_work = pixel_work

    async def load_all(self, sources: Sequence[OcrInput], owner: str = "") -> list[Image]:
        """The images of URLs for the key `owner`, in the same order. All are checked before this returns.

        Raises InvalidRequest, `param` naming the part; codes as in `wire.image_header`, or `invalid_image_url`.
        """
        turn = asyncio.Semaphore(MAX_CONCURRENT_FETCHES)
        tasks: list[asyncio.Task[Image]] = []
        try:
            async with asyncio.TaskGroup() as group:
                tasks.extend(group.create_task(self._load(source, turn, owner)) for source in sources)
        except ExceptionGroup as errors:
            # Any of several errors will do: the caller corrects one after the other. Not `except*`: before 3.11.4,
            # Python puts what is raised there into a group again.
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _load(self, source: OcrInput, turn: asyncio.Semaphore, owner: str) -> Image:
        url = source.data
        try:
            async with turn:
                data = await self._fetch(url)
                info = read_header(data)
                check_size(info, MAX_PIXELS)
                mime = info.mime
                plain = await self._pixel_work.plain(data, info, owner) if self._pixel_work is not None else None
                # An image that came as the data URL it would be sent as is not encoded again.
                is_same = url.startswith(f"data:{mime};base64,") and _is_unbroken(url, mime, data)
                if plain is None:
                    plain = url if is_same else f"data:{mime};base64,{await encode_base64(data)}"
                return Image(plain, info.width, info.height, source.where)
        except InvalidRequest as error:
            error.param = source.where
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
            raise too_large(MAX_IMAGE_BYTES)
        return data


def _is_unbroken(url: str, mime: str, data: bytes) -> bool:
    """True when the URL's base64 has no white space, so that it is the same as `data` encoded again."""
    return len(url) - len(f"data:{mime};base64,") == -(-len(data) // 3) * 4


def image_infos(images: list[Image]) -> list[Json]:
    """`[{width, height, page?}]` for `provider_specific_fields.images`: the upright sizes that boxes refer to, and the
    page of a document of several."""
    return [
        {"width": image.width, "height": image.height} | ({"page": image.page} if image.page else {})
        for image in images
    ]
