"""Replaces image URLs in messages by the images themselves, so that no upstream fetches an address of a caller.

Knows no HTTP: `ports.ImageSource` fetches.
"""

import asyncio
import base64

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.ports import ImageSource
from gateway.wire.chat.request import image_parts
from gateway.wire.image_header import media_type

MAX_IMAGES = 8
"""Images in one request. Chosen: eight of MAX_IMAGE_BYTES are 160 MiB in memory; at double twice that, at half a
document of more than four pages needs several requests. The OCR route's messages and documentation name it."""
MAX_IMAGE_BYTES = 20 * 1024 * 1024
"""Size of one image file. Chosen: as base64 it fits into the default `server.max_body_bytes` of 32 MiB. At double
it would not; at half large photographs as PNG are refused."""


async def inline_images(body: Json, source: ImageSource | None) -> Json:
    """A copy of a chat body with data URLs in place of http(s) image URLs; the body itself when it has no images.

    Raises InvalidRequest: too many images, not an image, another scheme, the source's refusal, or an address of
    anything else (a video, say).
    """
    if all(type(message.get("content")) is str for message in body["messages"]):
        return body
    places = image_parts(body)
    if not places:
        return body
    if len(places) > MAX_IMAGES:
        raise InvalidRequest(f"a request may hold at most {MAX_IMAGES} images", param="messages")
    messages = list(body["messages"])
    for number in {number for _, number, _ in places}:
        messages[number] = {**messages[number], "content": [*messages[number]["content"]]}
    images: list[Json] = []
    for _, number, place in places:
        parts = messages[number]["content"]
        parts[place] = _copy_image_part(parts[place])
        images.append(parts[place]["image_url"])
    urls = await data_urls([(image["url"], where) for image, (where, _, _) in zip(images, places, strict=True)], source)
    for image, url in zip(images, urls, strict=True):
        image["url"] = url
    return {**body, "messages": messages}


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


def _copy_image_part(part: Json) -> Json:
    """A copy of an image part; an image given as a string gets chat's form `{type: "image_url", image_url: {url}}`."""
    image = part["image_url"]
    if isinstance(image, str):
        image = {"url": image, **({"detail": part["detail"]} if part.get("detail") else {})}
    return {**part, "type": "image_url", "image_url": dict(image)}
