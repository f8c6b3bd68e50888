"""Replaces image URLs in messages by the images themselves, so that no upstream fetches an address of a caller.

`ports.ImageSource` fetches them.
"""

import asyncio
import base64
from collections.abc import Sequence

from gateway.errors import InvalidRequest
from gateway.ports import ImageSource
from gateway.wire.chat.request import ImagePlace
from gateway.wire.image_header import media_type

MAX_IMAGES = 8
"""Most images in one request, 160 MiB at most. The OCR route's messages and documentation name it."""
MAX_IMAGE_BYTES = 20 * 1024 * 1024
"""Most bytes of one image file; as base64 it fits into the default `server.max_body_bytes` of 32 MiB."""


async def inline_images(images: Sequence[ImagePlace], source: ImageSource | None, param: str = "messages") -> None:
    """Put data URLs in the place of http(s) addresses.

    Raises InvalidRequest: too many images (at `param`), not an image, another scheme, or the source's refusal.
    """
    if len(images) > MAX_IMAGES:
        raise InvalidRequest(f"a request may hold at most {MAX_IMAGES} images", param=param)
    urls = await data_urls([(image.holder[image.key], image.where) for image in images], source) if images else []
    for image, url in zip(images, urls, strict=True):
        image.holder[image.key] = url


async def data_urls(urls: list[tuple[str, str]], source: ImageSource | None) -> list[str]:
    """The images of `(url, path)` pairs as data URLs, in the same order, fetched side by side.

    Raises InvalidRequest as `data_url`, `param` being the path; the other downloads are cancelled then.
    """
    tasks = [asyncio.create_task(_data_url_at(url, where, source)) for url, where in urls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _data_url_at(url: str, where: str, source: ImageSource | None) -> str:
    try:
        return await data_url(url, source)
    except InvalidRequest as error:
        error.param = where
        raise


async def data_url(url: str, source: ImageSource | None) -> str:
    """The image of an http(s) URL as a data URL; a data URL unchanged. Raises InvalidRequest."""
    if url.startswith("data:"):
        if len(url) > MAX_IMAGE_BYTES * 4 // 3 + 100:
            raise InvalidRequest(f"an image may have at most {MAX_IMAGE_BYTES} bytes", param="messages")
        return url
    if not url.lower().startswith(("http://", "https://")):
        raise InvalidRequest("image_url must be an http(s) or data: URL", param="messages")
    if source is None:
        raise InvalidRequest("images by URL are not supported here; send a data: URL", param="messages")
    data = await source.fetch_image(url, MAX_IMAGE_BYTES)
    kind = media_type(data)
    if kind is None:
        raise InvalidRequest(
            "the image's format is unknown; send PNG, JPEG, WEBP, GIF, BMP or TIFF",
            param="messages",
            code="invalid_image_format",
        )
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
