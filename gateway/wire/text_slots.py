"""Finds the texts of a decoded JSON value of unknown shape, at any depth."""

import re
from typing import Any

from gateway.texts import TextSlot

_URL = re.compile(r"(?i)https?://\S+")


def text_slots(value: Any, skip: frozenset[str] = frozenset()) -> list[TextSlot]:
    """The slots of all strings that are not empty, in order, but for those below the keys in `skip`.

    `value` is an object or a list. A string that is one http(s) URL has the form `url`.
    """
    slots: list[TextSlot] = []
    _collect(value, "", skip, slots)
    return slots


def _collect(value: Any, where: str, skip: frozenset[str], slots: list[TextSlot]) -> None:
    """Recursion is bounded by the depth limit of the JSON decoder."""
    is_object = isinstance(value, dict)
    for key, item in value.items() if is_object else enumerate(value):
        if is_object and key in skip:
            continue
        kind = type(item)
        if kind is str:
            if item:
                slots.append(TextSlot(value, key, _path(where, key, is_object), "url" if is_url(item) else "text"))
        elif kind is dict or kind is list:
            _collect(item, _path(where, key, is_object), skip, slots)


def _path(where: str, key: Any, is_object: bool) -> str:
    if not is_object:
        return f"{where}[{key}]"
    return f"{where}.{key}" if where else str(key)


def is_url(text: str) -> bool:
    """Whether the whole text is one http(s) address."""
    return text[:4].lower() == "http" and _URL.fullmatch(text) is not None
