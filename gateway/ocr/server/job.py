"""Checks a request to the OCR server: one image as a data URL, its prompt, its bounds."""

import base64
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.ocr import wants_details

MODEL_NAME = "embedded-ocr"
DATA_URL = re.compile(r"\Adata:[^,]*;base64,", re.IGNORECASE)


class Image(NamedTuple):
    """A data URL, where its base64 starts, and the field that it stands in."""

    url: str
    start: int
    where: str


@dataclass(frozen=True, slots=True)
class Job:
    """A checked request: `max_tokens` None for no limit, `stops` the stop strings, `details`: report every line."""

    model: str
    image: bytearray
    prompt: str
    max_tokens: int | None
    stops: tuple[str, ...]
    is_stream: bool
    include_usage: bool
    details: bool = False


def parse_job(body: bytes | bytearray) -> Job:
    """The checked request. Raises InvalidRequest that names the field: anybody may call this server."""
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest("the body is not valid JSON", code="invalid_json") from error
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        raise InvalidRequest("`messages` must be a list with one user message", param="messages")
    texts: list[str] = []
    images: list[Image] = []
    for number, message in enumerate(request["messages"]):
        _collect_parts(message, f"messages[{number}]", texts, images)
    if len(images) != 1:
        raise InvalidRequest(f"a request must have exactly one image; this one has {len(images)}", param="messages")
    image = _decoded(images[0])
    stop = request.get("stop")
    maximum = request.get("max_completion_tokens") or request.get("max_tokens")
    options = request.get("stream_options")
    return Job(
        model=str(request.get("model") or MODEL_NAME),
        image=image,
        prompt="\n".join(texts),
        max_tokens=maximum if isinstance(maximum, int) and maximum > 0 else None,
        stops=tuple(s for s in ([stop] if isinstance(stop, str) else stop or ()) if isinstance(s, str) and s),
        is_stream=request.get("stream") is True,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        details=wants_details(request),
    )


def _collect_parts(message: Any, where: str, texts: list[str], images: list[Image]) -> None:
    if not isinstance(message, dict):
        raise InvalidRequest("a message must be an object", param=where)
    content = message.get("content")
    if message.get("role") != "user":
        return
    if isinstance(content, str):
        texts.append(content)
        return
    for number, part in enumerate(content if isinstance(content, list) else []):
        if isinstance(part, dict) and part.get("type") == "text":
            texts.append(str(part.get("text", "")))
        elif isinstance(part, dict) and part.get("type") == "image_url":
            images.append(_image_of(part, f"{where}.content[{number}].image_url.url"))


def _image_of(part: Json, where: str) -> Image:
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    head = DATA_URL.match(url) if isinstance(url, str) else None
    if head is None or not isinstance(url, str):
        raise InvalidRequest("the image must be a base64 data URL", param=where, code="invalid_image_url")
    return Image(url, head.end(), where)


def _decoded(image: Image) -> bytearray:
    """The bytes of an image."""
    try:
        return bytearray(base64.b64decode(memoryview(image.url.encode())[image.start :], validate=True))
    except ValueError as error:
        raise InvalidRequest("the image is not valid base64", param=image.where, code="invalid_image_url") from error
