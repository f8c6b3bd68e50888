"""Reads microdata (HTML standard, section 5) into the form that JSON-LD has.

Runs in the parsing processes. Values may be missing or doubled; nothing is checked.
"""

from typing import Any

from gateway.domain import Json

_VALUES = {"meta": "content", "a": "href", "link": "href", "img": "src", "time": "datetime", "data": "value"}
"""The attribute that holds an element's value, where it has no `content`. Other elements' value is their text."""
_MAX_TEXT_CHARS = 10_000
"""Text of one property. Chosen: descriptions have some thousand characters; it bounds what one page holds twice."""


class _Walk:
    """Open items and open texts, innermost last, while the document is walked once."""

    def __init__(self, most: int) -> None:
        self.top: list[Json] = []
        self._left = most
        self._items: list[tuple[Any, Json]] = []
        self._texts: list[tuple[Any, Json, list[str]]] = []

    def start(self, element: Any) -> None:
        names, is_item = (element.get("itemprop") or "").split()[:10], element.get("itemscope") is not None
        outer = self._items[-1][1] if self._items else None
        if self._left > 0 and (names or is_item):
            self._left -= 1
            item: Json = {"@type": (element.get("itemtype") or "").split()[:10]}
            attribute = _VALUES.get(element.tag)
            if not names or outer is None:
                self.top += [item] if is_item else []
            elif is_item:
                _put(outer, names, item)
            elif attribute is not None or element.get("content"):
                _put(outer, names, (element.get("content") or element.get(attribute or "") or "")[:_MAX_TEXT_CHARS])
            else:
                self._texts.append((element, outer, []))
            if is_item:
                self._items.append((element, item))
        if self._texts and element.text:
            self._texts[-1][2].append(element.text)

    def end(self, element: Any) -> None:
        if self._items and self._items[-1][0] is element:
            self._items.pop()
        if self._texts and self._texts[-1][0] is element:
            _, item, pieces = self._texts.pop()
            text = " ".join("".join(pieces)[:_MAX_TEXT_CHARS].split())
            _put(item, element.get("itemprop").split()[:10], text)
            if self._texts:
                self._texts[-1][2].append(text)
        if self._texts and element.tail:
            self._texts[-1][2].append(element.tail)


def _put(item: Json, names: list[str], value: Any) -> None:
    for name in names:
        if not name.startswith("@"):
            item.setdefault(name, []).append(value)


def microdata_of(root: Any, most: int) -> list[Json]:
    """The items of the document, each `{"@type": [...], property: list of texts and items}`; `most` bounds the
    properties read. An item inside another one is a value of it only where it is a property of it."""
    from lxml import etree  # noqa: PLC0415 - an optional extra

    if not root.xpath("boolean(//*[@itemscope])"):  # a path with find() costs the square of the depth
        return []
    walk = _Walk(most)
    for event, element in etree.iterwalk(root, events=("start", "end")):
        (walk.start if event == "start" else walk.end)(element)
    return walk.top
