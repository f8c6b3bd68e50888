"""Seeded generators of request bodies with files and data URLs of wide text: letters that Python keeps in two or four
bytes each, so that one emoji in a file of ASCII multiplies what it takes as a `str`. Part of `bench.hostile_bodies`.
"""

import base64
import io
import random
import zipfile
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import orjson

from bench.dense_bodies import Made

_CHAT, _RESPONSES, _MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
_WIDE, _TWO_BYTES = "\U0001f600", "жук "


def _text(rng: random.Random, size: int, *, is_wide: bool = True) -> str:
    """About `size` bytes of words with some letters beyond U+FFFF (or U+00FF), and a value to be masked at the end."""
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randrange(2, 9))) for _ in range(500)]
    line = (_WIDE if is_wide else _TWO_BYTES) + " ".join(words) + "\n"
    end = rng.choice(("", "mail to ops@posthaus.com", f"token ghp_{rng.getrandbits(144):036x}"))
    return line * (size // len(line)) + end


def _data_url(rng: random.Random, size: int, media_type: str = "text/plain") -> str:
    raw = _text(rng, size * 3 // 4, is_wide=rng.random() < 0.7).encode()
    return f"data:{media_type};base64,{base64.b64encode(raw).decode()}"


def _chat_part(part: Mapping[str, Any], **more: object) -> Made:
    return _CHAT, orjson.dumps({"model": "SvcLLM", "messages": [{"role": "user", "content": [part]}], **more})


def _chat_file(rng: random.Random, size: int) -> Made:
    return _chat_part({"type": "file", "file": {"filename": "a.txt", "file_data": _data_url(rng, size)}})


def _chat_html(rng: random.Random, size: int) -> Made:
    return _chat_part({"type": "file", "file": {"filename": "a.html", "file_data": _data_url(rng, size, "text/html")}})


def _response_file(rng: random.Random, size: int) -> Made:
    part = {"type": "input_file", "filename": "a.txt", "file_data": _data_url(rng, size)}
    items = [{"type": "message", "role": "user", "content": [part]}]
    return _RESPONSES, orjson.dumps({"model": "SvcLLM", "input": items, "stream": rng.random() < 0.5})


def _message_file(rng: random.Random, size: int) -> Made:
    data = _data_url(rng, size).partition(",")[2]
    part = {"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": data}}
    messages = [{"role": "user", "content": [part]}]
    return _MESSAGES, orjson.dumps({"model": "SvcLLM", "max_tokens": 9, "messages": messages})


def _image_of_text(rng: random.Random, size: int) -> Made:
    return _chat_part({"type": "image_url", "image_url": {"url": _data_url(rng, size, "image/png")}})


def _quoted_image(rng: random.Random, size: int) -> Made:
    """A data URL without base64, with wide letters as they are and others behind percent signs."""
    text = _text(rng, size // 2)
    url = f"data:text/plain,{text}{quote(text[: size // 4])}"
    return _chat_part({"type": "image_url", "image_url": {"url": url}})


def document(text: str, paragraphs: int, compression: int = zipfile.ZIP_STORED) -> bytes:
    """An .odt of so many paragraphs of this text."""
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text"))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        content = f"<text:p>{text}</text:p>" * paragraphs
        around = "<office:document-content {}><office:body><office:text>{}</office:text></office:body>{}"
        archive.writestr("content.xml", around.format(spaces, content, "</office:document-content>"))
    return file.getvalue()


def _stored_document(rng: random.Random, size: int) -> Made:
    """A document that is as large as its text."""
    text = _text(rng, 6_000).strip()
    raw = document(text, size * 3 // 4 // len(text.encode()))
    data = f"data:;base64,{base64.b64encode(raw).decode()}"
    return _chat_part({"type": "file", "file": {"filename": "a.odt", "file_data": data}})


FILES: Mapping[str, Callable[[random.Random, int], Made]] = {
    "a wide file": _chat_file,
    "a wide page as a file": _chat_html,
    "a wide file of responses": _response_file,
    "a wide file of messages": _message_file,
    "a wide document": _stored_document,
    "an image that is text": _image_of_text,
    "an image of percent signs": _quoted_image,
}
