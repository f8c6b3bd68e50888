"""Reads an OCR request: the prompt, and where its images and files are (`images` and `documents` load them).

A request is one user message with text, image and file parts (chat's format). Images are data URLs or addresses.
"""

from dataclasses import dataclass
from typing import Any

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.services.completion.images import MAX_IMAGES
from gateway.services.ocr.data_urls import checked_file_data
from gateway.wire import ocr as wire
from gateway.wire.untrusted_json import table_in

EXPECTED = (
    'send one user message whose content is a list of a {"type": "text"} part with the instruction '
    'and 1 to 8 {"type": "image_url"} or {"type": "file"} parts'
)
"""What is allowed, for error messages."""


@dataclass(frozen=True, slots=True)
class OcrInput:
    """An image's URL or a file's data, and the path of its field in the request."""

    data: str
    where: str
    is_file: bool = False


@dataclass(frozen=True, slots=True)
class OcrRequest:
    """`sources` in the caller's order."""

    prompt: str
    sources: tuple[OcrInput, ...]


def read_request(body: Json) -> OcrRequest:
    """The prompt, images and files of a chat body. Raises InvalidRequest, `param` naming the part.

    Codes: `missing_image`, `missing_text`, `invalid_image_url`, `invalid_file`, `too_many_images`, else
    `invalid_value`.
    """
    if body.get("n") not in (None, 1):
        raise InvalidRequest("n must be 1: OCR gives one answer", param="n")
    number, message = _user_message(body.get("messages"))
    where = f"messages[{number}].content"
    content = message.get("content")
    if not isinstance(content, list):
        raise InvalidRequest(f"the message has no image; {EXPECTED}", param=where, code="missing_image")
    texts: list[str] = []
    sources: list[OcrInput] = []
    for index, part in enumerate(content):
        _check_part(part, f"{where}[{index}]", texts, sources)
    if not sources:
        raise InvalidRequest(f"the message has no image; {EXPECTED}", param=where, code="missing_image")
    if not texts:
        raise InvalidRequest(f"the message has no text part; {EXPECTED}", param=where, code="missing_text")
    prompt = "\n".join(texts)
    if not wire.strip_image_token(prompt).strip():
        raise InvalidRequest("the text part is empty; it must hold the instruction", param=where, code="missing_text")
    return OcrRequest(prompt, tuple(sources))


def _user_message(messages: Any) -> tuple[int, Json]:
    """Index and value of the one user message. System and developer messages are allowed and not sent: the model has no
    such role."""
    if not isinstance(messages, list) or not messages:
        raise InvalidRequest(f"messages must not be empty; {EXPECTED}", param="messages")
    users: list[tuple[int, Json]] = []
    for number, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role == "user":
            users.append((number, message))
        elif role not in ("system", "developer"):
            raise InvalidRequest(f"OCR takes no earlier messages; {EXPECTED}", param=f"messages[{number}]")
    if len(users) != 1:
        at = f"messages[{users[1][0]}]" if users else "messages"
        raise InvalidRequest(f"the request has {len(users)} user messages; {EXPECTED}", param=at)
    return users[0]


def _check_part(part: Any, where: str, texts: list[str], sources: list[OcrInput]) -> None:
    """Adds the part's text to `texts`, or its image or file to `sources`. Raises InvalidRequest."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text":
        if not isinstance(part.get("text"), str):
            raise InvalidRequest("a text part needs a string `text`", param=f"{where}.text")
        texts.append(part["text"])
        return
    if kind == "image_url":
        source = _image(part, where)
    elif kind == "file":
        source = _file(part, where)
    else:
        raise InvalidRequest("a part's type must be `text`, `image_url` or `file`", param=f"{where}.type")
    if len(sources) == MAX_IMAGES:
        raise InvalidRequest(
            f"a request may have at most {MAX_IMAGES} images and files", param=where, code="too_many_images"
        )
    sources.append(source)


def _image(part: Json, where: str) -> OcrInput:
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str) or not url.strip():
        raise InvalidRequest(
            "an image part needs image_url.url: an http(s) URL or a base64 data URL",
            param=f"{where}.image_url.url",
            code="invalid_image_url",
        )
    return OcrInput(url.strip(), f"{where}.image_url.url")


def _file(part: Json, where: str) -> OcrInput:
    data = checked_file_data(table_in(part, "file").get("file_data"), f"{where}.file")
    return OcrInput(data, f"{where}.file", is_file=True)
