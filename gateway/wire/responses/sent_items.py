"""Keeps what has left of a stream's output items, as masked: a failed response tells its caller what it has got.

Source: openai-python's types of response events (3.52), read 2026-11-22.
"""

from typing import Any

from gateway.domain import Json
from gateway.wire.responses import object as objects

_PART_FIELDS = {
    "output_text": ("content", "output_text", "text"),
    "refusal": ("content", "refusal", "refusal"),
    "reasoning_text": ("content", "reasoning_text", "text"),
    "reasoning_summary_text": ("summary", "summary_text", "text"),
}
"""{name in the middle of a delta's type: (the item's list that it is for, the part's type, the part's field)}."""
_FAILED_KINDS = ("web_search_call", "mcp_call")
"""Items that end as `failed` where others end as `incomplete`."""
_Place = tuple[int, str, int]


class SentItems:
    """One stream. Call `note` with the data of every event in the order in which they are sent, then `at_failure`.
    `done`: the places of the items that were finished."""

    def __init__(self) -> None:
        self._items: dict[int, Json] = {}
        self.done: set[int] = set()
        self._texts: dict[_Place, list[str]] = {}
        self._notes: dict[_Place, list[Any]] = {}

    def note(self, data: Json) -> None:
        """Remember an event, `{type, output_index, …}`; others than those of items are ignored."""
        kind: str = data["type"]
        if kind.endswith(".delta"):
            if isinstance(data.get("delta"), str):
                place = _place(data, kind[9:-6])
                self._texts.setdefault(place, []).append(data["delta"])
        elif kind == "response.output_text.annotation.added":
            self._notes.setdefault(_place(data, "output_text"), []).append(data.get("annotation"))
        elif kind in ("response.output_item.added", "response.output_item.done"):
            index = data["output_index"]
            self._items[index] = data["item"]
            if kind.endswith("done"):
                self.done.add(index)
                for place in [each for each in self._texts if each[0] == index]:
                    del self._texts[place]

    def at_failure(self) -> list[Json]:
        """The items in their order; those that were not finished have the text that was sent and say so."""
        return [
            item if index in self.done else self._unfinished(index, item) for index, item in sorted(self._items.items())
        ]

    def _unfinished(self, index: int, item: Json) -> Json:
        status = "failed" if item.get("type") in _FAILED_KINDS else "incomplete"
        partial: Json = {**item, "status": status} if "status" in item else dict(item)
        for place in sorted(each for each in self._texts if each[0] == index):
            text, kind = "".join(self._texts[place]), place[1]
            if kind in _PART_FIELDS:
                name, part_type, field = _PART_FIELDS[kind]
                part: Json = objects.text_part(text) if part_type == "output_text" else {"type": part_type, field: text}
                if part_type == "output_text":
                    part["annotations"] = self._notes.get(place, [])
                partial[name] = [*(partial.get(name) or ()), part]
            else:
                for ending, field in (("_arguments", "arguments"), ("_input", "input")):
                    if kind.endswith(ending):
                        partial[field] = text
        return partial


def _place(data: Json, kind: str) -> _Place:
    """`(output_index, kind, index of the part)`."""
    part = data.get("summary_index") if "summary_index" in data else data.get("content_index")
    index = data.get("output_index")
    return (index if isinstance(index, int) else -1, kind, part if isinstance(part, int) else 0)
