"""Where the texts of a decoded JSON value stand, at any depth."""

import re
from typing import Any

from gateway.domain import TextSlot

_URL = re.compile(r"(?i)https?://\S+")


def text_slots(value: Any, skip: frozenset[str] = frozenset()) -> list[TextSlot]:
    """The places of all strings in `value`, at any depth."""
    found: list[TextSlot] = []
    _collect(value, "", skip, found)
    return found


def _collect(value: Any, where: str, skip: frozenset[str], found: list[TextSlot]) -> None:
    """Recursion is bounded by the JSON depth limit."""
    named = isinstance(value, dict)
    for key, item in value.items() if named else enumerate(value):
        if named and key in skip:
            continue
        kind = type(item)
        if kind is str:
            if item:
                found.append(TextSlot(value, key, _path(where, key, named), "url" if _is_url(item) else "text"))
        elif kind is dict or kind is list:
            _collect(item, _path(where, key, named), skip, found)


def _path(where: str, key: Any, named: bool) -> str:
    if not named:
        return f"{where}[{key}]"
    return f"{where}.{key}" if where else str(key)


def _is_url(text: str) -> bool:
    return text[:4].lower() == "http" and _URL.fullmatch(text) is not None
