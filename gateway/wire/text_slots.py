"""Finds the texts of a decoded JSON value of unknown shape, at any depth."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from gateway.texts import TextSlot

_STEP = 512
"""Chosen: slots that are made in one step (half a millisecond). At half small answers take more steps, at double a step
keeps others waiting for longer."""
_URL = re.compile(r"(?i)https?://\S+")


def text_slots(value: Any, skip: frozenset[str] = frozenset()) -> list[TextSlot]:
    """The slots of all strings that are not empty, in order, but for those below the keys in `skip`.

    `value` is an object or a list. A string that is one http(s) URL has the form `url`.
    """
    return list(each_text_slot(value, skip))


def each_text_slot(value: Any, skip: frozenset[str] = frozenset()) -> Iterator[TextSlot]:
    """As `text_slots`, one after the other, for what may have very many. Without recursion."""
    stack = [_members(value, "")]
    while stack:
        holder, where, is_object, members = stack[-1]
        for key, item in members:
            kind = type(item)
            if is_object and key in skip:
                continue
            if kind is str:
                if item:
                    yield TextSlot(holder, key, _path(where, key, is_object), "url" if is_url(item) else "text")
            elif kind is dict or kind is list:
                stack.append(_members(item, _path(where, key, is_object)))
                break
        else:
            stack.pop()


def text_slot_steps(value: Any, skip: frozenset[str] = frozenset()) -> Iterator[list[TextSlot]]:
    """As `text_slots`, in steps: the slots found so far, the last time all of them."""
    slots: list[TextSlot] = []
    walk = each_text_slot(value, skip)
    while some := list(islice(walk, _STEP)):
        slots += some
        yield slots
    yield slots


def _members(holder: Any, where: str) -> tuple[Any, str, bool, Iterator[tuple[Any, Any]]]:
    """(an object or list, its path, whether it is an object, what is still to be read of it)."""
    is_object = isinstance(holder, dict)
    return holder, where, is_object, iter(holder.items() if is_object else enumerate(holder))


def _path(where: str, key: Any, is_object: bool) -> str:
    if not is_object:
        return f"{where}[{key}]"
    return f"{where}.{key}" if where else str(key)


def is_url(text: str) -> bool:
    """Whether the whole text is one http(s) address."""
    return text[:4].lower() == "http" and _URL.fullmatch(text) is not None
