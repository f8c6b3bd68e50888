"""Checks an OCR request and splits it into the prompt and the images with their paths.

Knows the chat format of specification 4.4: one user message with text and image parts. Fetches and decodes nothing.
"""

from dataclasses import dataclass
from typing import Any

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.services.completion.images import MAX_IMAGES
from gateway.wire import ocr as wire

EXPECTED = (
    'send one user message whose content is a list of a {"type": "text"} part with the instruction '
    'and 1 to 8 {"type": "image_url"} parts'
)
"""What is allowed, for error messages."""


@dataclass(frozen=True, slots=True)
class OcrRequest:
    """`urls` are `(url, path of its field)` pairs, in the caller's order."""

    prompt: str
    urls: tuple[tuple[str, str], ...]


def read_request(body: Json) -> OcrRequest:
    """The prompt and images of a chat body. Raises InvalidRequest, `param` naming the part.

    Codes: `missing_image`, `missing_text`, `invalid_image_url`, `too_many_images`, else `invalid_value`.
    """
    if body.get("n") not in (None, 1):
        raise InvalidRequest("n must be 1: OCR gives one answer", param="n")
    number, message = _user_message(body.get("messages"))
    where = f"messages[{number}].content"
    content = message.get("content")
    if not isinstance(content, list):
        raise InvalidRequest(f"the message has no image; {EXPECTED}", param=where, code="missing_image")
    texts: list[str] = []
    urls: list[tuple[str, str]] = []
    for index, part in enumerate(content):
        _check_part(part, f"{where}[{index}]", texts, urls)
    if not urls:
        raise InvalidRequest(f"the message has no image; {EXPECTED}", param=where, code="missing_image")
    if not texts:
        raise InvalidRequest(f"the message has no text part; {EXPECTED}", param=where, code="missing_text")
    prompt = "\n".join(texts)
    if not wire.strip_image_token(prompt).strip():
        raise InvalidRequest("the text part is empty; it must hold the instruction", param=where, code="missing_text")
    return OcrRequest(prompt, tuple(urls))


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


def _check_part(part: Any, where: str, texts: list[str], urls: list[tuple[str, str]]) -> None:
    """Adds the part's text to `texts`, or its URL and path to `urls`. Raises InvalidRequest."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text":
        if not isinstance(part.get("text"), str):
            raise InvalidRequest("a text part needs a string `text`", param=f"{where}.text")
        texts.append(part["text"])
    elif kind == "image_url":
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
        if not isinstance(url, str) or not url.strip():
            raise InvalidRequest(
                "an image part needs image_url.url: an http(s) URL or a base64 data URL",
                param=f"{where}.image_url.url",
                code="invalid_image_url",
            )
        if len(urls) == MAX_IMAGES:
            raise InvalidRequest(f"a request may have at most {MAX_IMAGES} images", param=where, code="too_many_images")
        urls.append((url.strip(), f"{where}.image_url.url"))
    else:
        raise InvalidRequest("a part's type must be `text` or `image_url`", param=f"{where}.type")
