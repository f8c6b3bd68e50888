"""Images that messages point to, fetched safely and put in: no upstream ever fetches an address a caller chose.

Knows no HTTP: `ports.ImageSource` fetches.
"""

import asyncio
import base64

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.ports import ImageSource
from gateway.wire.chat.request import image_urls
from gateway.wire.image_header import media_type

MAX_IMAGES = 8
MAX_IMAGE_BYTES = 20 * 1024 * 1024


async def inline_images(body: Json, source: ImageSource | None) -> Json:
    """The body with http(s) image URLs replaced by data URLs; the same object when there are none.

    Raises InvalidRequest: too many, not an image, another scheme, or what the source refuses.
    """
    if all(type(message.get("content")) is str for message in body["messages"]):
        return body
    if not image_urls(body):
        return body
    messages = [_copied(message) for message in body["messages"]]
    images = image_urls({"messages": messages})
    if len(images) > MAX_IMAGES:
        raise InvalidRequest(f"a request may hold at most {MAX_IMAGES} images", param="messages")
    urls = await data_urls([(image["url"], where) for where, image in images], source)
    for (_, image), url in zip(images, urls, strict=True):
        image["url"] = url
    return {**body, "messages": messages}


async def data_urls(urls: list[tuple[str, str]], source: ImageSource | None) -> list[str]:
    """See data_url, of `(url, where)` pairs, in the same order; a refusal names its `where`.

    When one is refused the others are not fetched to their end.
    """
    tasks = [asyncio.create_task(_named(url, where, source)) for url, where in urls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _named(url: str, where: str, source: ImageSource | None) -> str:
    try:
        return await data_url(url, source)
    except InvalidRequest as error:
        error.param = where
        raise


async def data_url(url: str, source: ImageSource | None) -> str:
    """An image's address as a data URL; a data URL as it is. Raises InvalidRequest."""
    if url.startswith("data:"):
        if len(url) > MAX_IMAGE_BYTES * 4 // 3 + 100:
            raise InvalidRequest(f"an image may have at most {MAX_IMAGE_BYTES} bytes", param="messages")
        return url
    if not url.lower().startswith(("http://", "https://")):
        raise InvalidRequest("image_url must be an http(s) or data: URL", param="messages")
    if source is None:
        raise InvalidRequest("images by URL are not fetched here; send a data: URL", param="messages")
    data = await source.fetch_image(url, MAX_IMAGE_BYTES)
    kind = media_type(data)
    if kind is None:
        raise InvalidRequest("the image's format is not known", param="messages", code="invalid_image_format")
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _copied(message: Json) -> Json:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [_copied_part(part) for part in content]}


def _copied_part(part: Json) -> Json:
    """The responses route's bare string image is put in the chat form on the way."""
    if not isinstance(part, dict) or part.get("type") not in ("image_url", "input_image"):
        return part
    image = part.get("image_url")
    if isinstance(image, str):
        image = {"url": image, **({"detail": part["detail"]} if part.get("detail") else {})}
    return {**part, "type": "image_url", "image_url": dict(image) if isinstance(image, dict) else image}
