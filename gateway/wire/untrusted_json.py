"""Reads fields of decoded JSON from others in the expected type; a missing field or another type gives an empty value.

`holder` may be any decoded JSON value. Nothing here raises.
"""

from typing import Any, TypeGuard

import orjson

from gateway.domain import Json

_OPEN, _CLOSE = "<think>", "</think>"
"""Around the thoughts that some models write into their answers."""
MAX_COUNT = 10**9
"""The most tokens that an answer may say it has; a larger or a negative number counts as none."""

MOST_RESULTS = 1_000
"""Most results, and most images, of a provider that are read."""


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a value can be a number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


def words_of(value: Any) -> str:
    """A text of somebody else for people and models: a string as it is, nothing for null, any other value as JSON. The
    rule for all of them, or Python's own notation would reach callers."""
    if isinstance(value, str):
        return value
    return "" if value is None else orjson.dumps(value).decode()


def object_in(text: str | bytes) -> Json | None:
    """The object that a text is; None for any other."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def count_in(holder: Any, name: str) -> int:
    """A number of tokens; 0 for anything else."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if is_count(value) else 0


def table_in(holder: Any, name: str) -> Json:
    """An object; a new empty one for anything else."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}


def list_in(holder: Any, name: str) -> list[Any]:
    """A list; a new empty one for anything else."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, list) else []


def tables_in(holder: Any, name: str) -> list[Json]:
    """The objects of a list; its other members are left out."""
    return [item for item in list_in(holder, name) if isinstance(item, dict)]


def texts_in(holder: Any, name: str) -> list[str]:
    """The strings of a list; its other members are left out."""
    return [item for item in list_in(holder, name) if isinstance(item, str)]


def joined_text(content: Any, between: str = "") -> str:
    """The text of a message's content: a string, or parts that have texts, joined.

    joined_text([{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}])  # "ab"
    """
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return between.join(text for text in texts if isinstance(text, str))


def utf8_size(text: str) -> int:
    """Bytes of a text in UTF-8; half a pair of surrogates counts as one."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def without_thinking(text: str) -> str:
    """The text without the thoughts that some models write into it, between `<think>` and `</think>`; one that has no
    end stays. Linear, which `<think>.*?</think>` is not: where there is no end, that searches for it again from each
    beginning."""
    kept, at = [], 0
    while (start := text.find(_OPEN, at)) >= 0 and (end := text.find(_CLOSE, start)) >= 0:
        kept.append(text[at:start])
        at = end + len(_CLOSE)
    return "".join((*kept, text[at:]))
