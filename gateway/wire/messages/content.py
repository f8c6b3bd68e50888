"""Content blocks of a messages request as text and as chat's content parts. Pure functions; fetches nothing.

Source: Anthropic API reference (Messages), SDK anthropic 2.12, read 2026-11-22.
"""

from typing import Any

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.chat.request import CACHE
from gateway.wire.untrusted_json import table_in

_USER_BLOCKS = "text, image, document, search_result, tool_result"
NO_FILES = "files are not stored here; send the content itself"
NO_PDF = "documents by URL are not read on this route; send the file as base64, or its text"


def text_of(content: Any, where: str) -> str:
    """The text of a content that may hold nothing but text: a string, or text blocks joined by blank lines.

    Raises InvalidRequest for a block of another type.
    """
    if content is None or isinstance(content, str):
        return content or ""
    for index, block in enumerate(content):
        if block["type"] != "text":
            raise _unsupported(block, f"{where}[{index}]", "text")
    return "\n\n".join(block.get("text") or "" for block in content)


def marked(part: Json, *blocks: Json) -> Json:
    """A text part with the `cache_control` of the last of the blocks that it is made of, if any has one."""
    marks = [block["cache_control"] for block in blocks if isinstance(block.get("cache_control"), dict)]
    return {**part, CACHE: marks[-1]} if marks and part["type"] == "text" else part


def merged(parts: list[Json]) -> str | list[Json]:
    """The content of a chat message. Texts that follow each other are one, joined by blank lines; one up to which the
    caller wants the prompt cached ends its part. A string where there is nothing else.

        merged([text_part("a"), text_part("b")])  # "a\n\nb"
    """
    runs: list[list[Json]] = []
    for part in parts:
        if runs and runs[-1][-1]["type"] == part["type"] == "text" and CACHE not in runs[-1][-1]:
            runs[-1].append(part)
        else:
            runs.append([part])
    made = [run[0] if len(run) == 1 else {**run[-1], "text": "\n\n".join(each["text"] for each in run)} for run in runs]
    is_text = not made or (len(made) == 1 and made[0].keys() == {"type", "text"})
    return "".join(part["text"] for part in made) if is_text else made


def chat_part(block: Json, where: str) -> Json:
    """A user's block as a chat part: `{type: "text", text}` or `{type: "image_url", image_url: {url}}`.

    Raises InvalidRequest for what chat cannot express.
    """
    kind = block["type"]
    if kind == "text":
        return text_part(block.get("text") or "")
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": _image_url(block.get("source"), f"{where}.source")}}
    if kind == "document":
        return text_part(_document_text(block, where))
    if kind == "search_result":
        title, source = block.get("title") or "", block.get("source")
        place = source if isinstance(source, str) else ""
        return text_part(f"{title}\n{place}\n\n{text_of(block.get('content'), f'{where}.content')}".strip())
    if kind == "tool_reference":
        return text_part(f"the tool {block.get('tool_name')} can be called now")
    raise _unsupported(block, where, _USER_BLOCKS)


def text_part(text: str) -> Json:
    """`{type: "text", text}`."""
    return {"type": "text", "text": text}


def as_parts(content: str | list[Json]) -> list[Json]:
    """The content of a chat message as a list of parts."""
    return [text_part(content)] if isinstance(content, str) else content


def _image_url(source: Any, where: str) -> str:
    kind = source.get("type") if isinstance(source, dict) else None
    if kind == "base64" and isinstance(source.get("data"), str):
        media_type = source.get("media_type")
        return f"data:{media_type if isinstance(media_type, str) else 'image/png'};base64,{source['data']}"
    if kind == "url" and isinstance(source.get("url"), str):
        return str(source["url"])
    if kind == "file":
        raise InvalidRequest(f"{where}: {NO_FILES}", param=where)
    raise InvalidRequest(f"{where}: must be a source of type base64 with data, or url with url", param=where)


def _document_text(block: Json, where: str) -> str:
    source, at = table_in(block, "source"), f"{where}.source"
    kind = source.get("type")
    if kind == "text" and isinstance(source.get("data"), str):
        text = str(source["data"])
    elif kind == "content":
        text = text_of(source.get("content"), f"{at}.content")
    elif kind == "file":
        raise InvalidRequest(f"{at}: {NO_FILES}", param=at)
    elif kind in ("base64", "url"):
        raise InvalidRequest(f"{at}: {NO_PDF}", param=at)
    else:
        raise InvalidRequest(f"{at}: must be a source of type text or content", param=at)
    heads = [value for name in ("title", "context") if isinstance(value := block.get(name), str) and value]
    return "\n\n".join([*heads, text])


def _unsupported(block: Json, where: str, allowed: str) -> InvalidRequest:
    kind = str(block["type"])[:40]
    return InvalidRequest(f"{where}: a block of type '{kind}' is not supported here; allowed: {allowed}", param=where)
