"""Content parts of the responses route in chat's form: texts, images, and notes for what chat has no place for.

A note takes the part's place in the conversation: a refusal would end the thread, since clients send the part again
with every turn. Source: OpenAI API reference (Responses), read 2026-11-22.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import orjson

from gateway.domain import Json
from gateway.errors import InvalidRequest

TEXT_PARTS = ("input_text", "output_text", "text")
IMAGE_PARTS = ("input_image", "image_url", "computer_screenshot", "image")
_NOTED = ("input_file", "input_audio", *IMAGE_PARTS)
"""Parts that become a note where they cannot be sent."""
_IMAGE_KINDS = tuple(f'"{kind}"' for kind in IMAGE_PARTS)
_MAX_IN_TEXTS = 100_000
"""Commas and brackets of the texts that are decoded: as many empty lists take 10 ms, and 8 MB of them 230 ms."""

_NAME_CHARS = 80
"""Most characters of a file's name or a part's type in a note."""

Warn = Callable[[str], None]
"""Called with a sentence for the answer's warnings."""


def text_of(content: Any, where: str, warn: Warn) -> str:
    """The text of a content (None, a string or parts), its parts joined by line feeds; other parts become notes.

    Raises InvalidRequest for a part of an unknown type.
    """
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part["text"] for part in _chat_parts(content, where, warn, "text"))


def user_content(content: Any, where: str, warn: Warn) -> str | list[Json]:
    """A user message's content: a string where it is only text, else chat parts. Raises InvalidRequest."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = list(_chat_parts(content, where, warn, "user"))
    return parts if any(part["type"] != "text" for part in parts) else "\n".join(part["text"] for part in parts)


def output_content(parts: list[Any], where: str, warn: Warn) -> tuple[str, list[Json]]:
    """A tool output's text, and its images as chat parts: chat takes images from the user alone."""
    made = list(_chat_parts(parts, where, warn, "output"))
    text = "\n".join(part["text"] for part in made if part["type"] == "text")
    return text, [part for part in made if part["type"] != "text"]


def _chat_parts(content: list[Any], where: str, warn: Warn, place: Literal["text", "user", "output"]) -> Iterator[Json]:
    """Parts in chat's form. A `text` has no images; a `user` may send sound; an `output` may hold anything. Raises
    InvalidRequest."""
    for index, part in enumerate(content):
        kind, at = part["type"], f"{where}[{index}]"
        image = _image(part) if kind in IMAGE_PARTS and place != "text" else None
        if image is not None:
            yield image
        elif kind in IMAGE_PARTS and place == "user":
            raise _no_image(part, at)
        elif kind == "input_audio" and place == "user":
            yield part  # chat has it in the same form
        elif kind in TEXT_PARTS or kind == "refusal":
            yield {"type": "text", "text": str(part.get("refusal" if kind == "refusal" else "text") or "")}
        elif kind in _NOTED or place == "output":
            yield {"type": "text", "text": _note(part, at, warn)}
        else:
            raise InvalidRequest(
                f"a part of type '{str(kind)[:_NAME_CHARS]}' is not supported here; allowed: "
                f"{', '.join(TEXT_PARTS[:2])}, input_image, input_file",
                param=at,
            )


class PartsInTexts:
    """Reads the parts that a text is, if it is the JSON of a list of texts and pictures with a picture among them:
    Codex sends the outputs of some tools so. One for all texts of a request, which may have _MAX_IN_TEXTS values in
    all: what is in strings is not counted when a body is read."""

    def __init__(self) -> None:
        self._left = _MAX_IN_TEXTS

    def read(self, value: Any) -> list[Json] | None:
        """The parts; None for any other text, which is a text.

        read('[{"type": "input_image", "image_url": "data:image/png;base64,iVBO"}]')  # the list
        read('[{"type": "row"}]')  # None
        """
        if not isinstance(value, str) or not value.startswith("[") or not any(each in value for each in _IMAGE_KINDS):
            return None
        values = sum(map(value.count, ",[{"))
        if values > self._left:
            return None
        self._left -= values
        return _parts_in(value)


def _parts_in(text: str) -> list[Json] | None:
    try:
        parts = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not all(isinstance(part, dict) and part.get("type") in (*TEXT_PARTS, *IMAGE_PARTS) for part in parts):
        return None
    return parts if any(_image(part) is not None for part in parts) else None


def _note(part: Json, where: str, warn: Warn) -> str:
    kind = str(part["type"])[:_NAME_CHARS]
    warn(f"{where}: a part of type '{kind}' cannot be sent to this model here; it was told so by a note")
    name = str(part.get("filename") or "")[:_NAME_CHARS]
    return f"[{kind}{' ' + name if name else ''}: left out, this model cannot read it here]"


def _no_image(part: Json, where: str) -> InvalidRequest:
    if part.get("file_id"):
        return InvalidRequest(
            "stored files are not supported; send the image as a data URL in image_url", param=f"{where}.file_id"
        )
    return InvalidRequest("image_url must be a URL or a data URL", param=f"{where}.image_url")


def _image(part: Json) -> Json | None:
    """A chat part of an image; None for one without a URL (a stored file)."""
    if part.get("type") == "image" and isinstance(part.get("data"), str):  # as MCP has it
        data_url = f"data:{part.get('mimeType') or 'image/png'};base64,{part['data']}"
        return {"type": "image_url", "image_url": {"url": data_url}}
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str):
        return None
    detail = {"detail": part["detail"]} if part.get("detail") in ("auto", "low", "high") else {}
    return {"type": "image_url", "image_url": {"url": url, **detail}}
