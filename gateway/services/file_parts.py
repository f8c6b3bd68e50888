"""Puts the text of files in place of `file`, `input_file` and `document` parts, for upstreams that take no files.

Files come inside the request (base64); they are read in the parse processes and their text is sanitized as the request
was. Formats: PDF (OCR reads scanned pages), .docx, .xlsx, .pptx, .odt, .epub, HTML, text. Sources: OpenAI API reference
(chat, responses), Anthropic API reference (messages), read 2026-11-22.
"""

import mimetypes
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gateway.calls.call import Call
from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.services.completion.attempts import ModelEntry
from gateway.services.ocr.data_urls import checked_file_data, decode_file
from gateway.wire.untrusted_json import table_in

MAX_FILES = 8
"""Files in one request."""
NAME_CHARS = 120
"""Most characters of a file's name before its text."""
ReadText = Callable[[bytes, str, str, str], Awaitable[bytes]]
"""(file, media type or "", name, the key's id) -> its text as Markdown, in UTF-8. Raises InvalidRequest, EngineMissing.
"""


@dataclass(frozen=True, slots=True)
class _Place:
    """A part: the list that holds it and its index, its path in the request and its name, the object that has the data
    and the field, the media type if that stands apart, and the type of a text part in its stead."""

    holder: list[Any]
    index: int
    where: str
    name: str
    source: Json
    field: str
    media_type: str = ""
    text_type: str = "text"


class FileParts:
    """Replaces parts in checked bodies of chat, responses and messages."""

    def __init__(self, read: ReadText, max_bytes: int) -> None:
        self._read = read
        self._max_bytes = max_bytes

    async def replace(self, call: Call, entry: ModelEntry, body: Json) -> None:
        """Changes the body in place, unless every upstream of the model takes files.

        Raises InvalidRequest, `param` naming the part, and as `Masking.clean_part`.
        """
        if all(target.options.accepts_files for target in entry.targets):
            return
        field = "input" if "input" in body else "messages"
        places = list(_places(body.get(field), field))
        if len(places) > MAX_FILES:
            raise InvalidRequest(f"a request may hold at most {MAX_FILES} files", param=places[MAX_FILES].where)
        for place in places:
            text = await self._text_of(place, call.caller.key_id)
            part = {"type": place.text_type, "text": text}
            if call.masking is not None:
                await call.masking.clean_part({field: [{"type": "message", "role": "user", "content": [part]}]})
            place.holder[place.index] = part

    async def _text_of(self, place: _Place, owner: str) -> str:
        """What the model reads in the file's place. Its data is taken out of the request."""
        sent = checked_file_data(place.source.pop(place.field, None), place.where)
        data, media_type = await decode_file(sent, place.where, self._max_bytes)
        del sent
        media_type = media_type or place.media_type or mimetypes.guess_type(place.name)[0] or ""
        try:
            content = await self._read(data, media_type, place.name, owner)
        except InvalidRequest as error:
            raise InvalidRequest(error.message, param=place.where, code="invalid_file") from error
        return f"Content of the file {place.name or 'without a name'}:\n\n{content.decode()}"


def _places(items: Any, where: str) -> Iterator[_Place]:
    """The parts that are files, of messages or of input items: in their contents, and in tool results."""
    fields = ("content", "output") if where == "input" else ("content",)
    for field in fields if isinstance(items, list) else ():
        for number, item in enumerate(items):
            if type(item) is dict and type(content := item.get(field)) is list:
                yield from _places_in(content, f"{where}[{number}].{field}")


def _places_in(content: list[Any], where: str) -> Iterator[_Place]:
    for index, part in enumerate(content):
        kind, at = part.get("type") if isinstance(part, dict) else None, f"{where}[{index}]"
        if kind == "file":
            file = table_in(part, "file")
            yield _Place(content, index, f"{at}.file", _name(file), file, "file_data")
        elif kind == "input_file":
            yield _Place(content, index, at, _name(part), part, "file_data", text_type="input_text")
        elif kind == "document" and table_in(part, "source").get("type") == "base64":
            source, name = part["source"], str(part.get("title") or "")[:NAME_CHARS]
            yield _Place(content, index, f"{at}.source", name, source, "data", str(source.get("media_type") or ""))
        elif kind == "tool_result" and isinstance(part.get("content"), list):
            yield from _places_in(part["content"], f"{at}.content")


def _name(file: Json) -> str:
    return " ".join(str(file.get("filename") or "").split())[:NAME_CHARS]
