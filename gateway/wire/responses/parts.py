"""Content parts of the responses route in chat's form: texts, images, and notes for what chat has no place for.

A note takes the part's place in the conversation: a refusal would end the thread, since clients send the part again
with every turn. Source: OpenAI API reference (Responses), read 2026-11-22.
"""

from collections.abc import Callable
from typing import Any

from gateway.domain import Json
from gateway.errors import InvalidRequest

TEXT_PARTS = ("input_text", "output_text", "text")
IMAGE_PARTS = ("input_image", "image_url", "computer_screenshot")
_NOTED = ("input_file", "input_audio", *IMAGE_PARTS)
"""Parts that become a note where they cannot be sent."""

_NAME_CHARS = 80
"""Characters of a file's name or a part's type in a note. Chosen: names are shorter; at half some would be cut, at
double a name made of a path fills the note."""

Warn = Callable[[str], None]
"""Called with a sentence for the answer's warnings."""


def text_of(content: Any, where: str, warn: Warn) -> str:
    """The text of a content (None, a string or parts), its parts joined by line feeds; other parts become notes.

    Raises InvalidRequest for a part of an unknown type.
    """
    if content is None or isinstance(content, str):
        return content or ""
    texts = [_text_or_note(part, f"{where}[{index}]", warn) for index, part in enumerate(content)]
    return "\n".join(texts)


def user_content(content: Any, where: str, warn: Warn) -> str | list[Json]:
    """A user message's content: a string where it is only text, else chat parts. Raises InvalidRequest."""
    if content is None or isinstance(content, str):
        return content or ""
    if not any(part["type"] in (*IMAGE_PARTS, "input_audio") for part in content):
        return text_of(content, where, warn)
    return [_user_part(part, f"{where}[{index}]", warn) for index, part in enumerate(content)]


def output_content(parts: list[Any], where: str, warn: Warn) -> tuple[str, list[Json]]:
    """A tool output's text, and its images as chat parts: chat takes images from the user alone."""
    texts, images = [], []
    for index, part in enumerate(parts):
        place = f"{where}[{index}]"
        image = _image(part) if part["type"] in IMAGE_PARTS else None
        if image is not None:
            images.append(image)
        elif part["type"] in TEXT_PARTS or part["type"] in _NOTED or part["type"] == "refusal":
            texts.append(_text_or_note(part, place, warn))
        else:
            texts.append(_note(part, place, warn))
    return "\n".join(texts), images


def _text_or_note(part: Json, where: str, warn: Warn) -> str:
    kind = part["type"]
    if kind in TEXT_PARTS:
        return str(part.get("text") or "")
    if kind == "refusal":
        return str(part.get("refusal") or "")
    if kind in _NOTED:
        return _note(part, where, warn)
    raise InvalidRequest(
        f"a part of type '{str(kind)[:_NAME_CHARS]}' is not supported here; allowed: {', '.join(TEXT_PARTS[:2])}, "
        "input_image, input_file",
        param=where,
    )


def _note(part: Json, where: str, warn: Warn) -> str:
    kind = str(part["type"])[:_NAME_CHARS]
    warn(f"{where}: a part of type '{kind}' cannot be sent to this model here; it was told so by a note")
    name = str(part.get("filename") or "")[:_NAME_CHARS]
    return f"[{kind}{' ' + name if name else ''}: left out, this model cannot read it here]"


def _user_part(part: Json, where: str, warn: Warn) -> Json:
    if part["type"] in IMAGE_PARTS:
        image = _image(part)
        if image is None:
            if part.get("file_id"):
                raise InvalidRequest(
                    "stored files are not supported; send the image as a data URL in image_url",
                    param=f"{where}.file_id",
                )
            raise InvalidRequest("image_url must be a URL or a data URL", param=f"{where}.image_url")
        return image
    if part["type"] == "input_audio":
        return part  # chat has it in the same form
    return {"type": "text", "text": _text_or_note(part, where, warn)}


def _image(part: Json) -> Json | None:
    """A chat part of an image; None for one without a URL (a stored file)."""
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str):
        return None
    detail = {"detail": part["detail"]} if part.get("detail") in ("auto", "low", "high") else {}
    return {"type": "image_url", "image_url": {"url": url, **detail}}
