"""Keeps the positions of citations right when their text is masked after they were made.

`start_index` and `end_index` count code points; the end is exclusive, so `text[start:end]` is the visible link.
Source of the shapes: OpenAI API reference (`url_citation` of responses and chat), read 2026-11-22.
"""

from collections.abc import Iterable
from typing import Any

from gateway.domain import Json

_TEXT_FIELDS = ("text", "content")
"""Where the annotated text is: beside `annotations`, in a responses part and in a chat message."""


class KeptLinks:
    """The visible links of annotated texts, taken before the texts are masked; `place` finds them again afterwards."""

    def __init__(self, holders: Iterable[Any]) -> None:
        """`holders`: text parts `{text, annotations}` and messages `{content, annotations}`; others are left alone."""
        self._texts: list[tuple[Json, str, str, list[tuple[Json, tuple[int, int], str]]]] = []
        for holder in holders:
            notes = holder.get("annotations") if isinstance(holder, dict) else None
            name = next((each for each in _TEXT_FIELDS if notes and isinstance(holder.get(each), str)), None)
            if name is not None and isinstance(notes, list):
                links = [(note, _span(note), holder[name][slice(*_span(note))]) for note in notes if _span(note)[1]]
                self._texts.append((holder, name, holder[name], links))

    def placed(self, data: Any) -> Any:
        """Call `place`; returns `data`, the whole value that holds the texts."""
        self.place()
        return data

    def place(self) -> None:
        """Set every annotation to the place of its link in the text as it is now, in place.

        A text that was not changed keeps its annotations as they are. A link that a mask has changed is a link no more:
        its annotation is dropped. Annotations of one span stay together.
        """
        for holder, name, before, links in self._texts:
            text, notes = holder.get(name), holder.get("annotations")
            if not isinstance(text, str) or not isinstance(notes, list) or text == before:
                continue  # withheld, or nothing to do
            kept = [note for note in notes if not _span(note)[1]]
            done, position, last, start = 0, 0, (0, 0), -1
            for note, span, link in links:
                if span != last:
                    last, start = span, _place_of(link, before[done : span[0]], text, position)
                    if start >= 0:
                        done, position = span[1], start + len(link)
                if start >= 0:
                    _citation(note).update(start_index=start, end_index=position)
                    kept.append(note)
            holder["annotations"] = kept


def _place_of(link: str, gap: str, text: str, position: int) -> int:
    """Where a link is in the masked `text`, from `position` on; -1 where it is no more. `gap`: the unmasked text before
    it, which may have the same characters in it without being a citation (an index in code, say)."""
    if text.startswith(gap + link, position):
        return position + len(gap)
    start = position - len(link)
    for _ in range(gap.count(link) + 1):
        start = text.find(link, start + len(link))
        if start < 0:
            return -1
    return start


def text_holders(items: Any) -> list[Any]:
    """The parts of responses items, `[{content: [part]}]`, which may be annotated."""
    listed = items if isinstance(items, list) else []
    contents = (item.get("content") for item in listed if isinstance(item, dict))
    return [part for content in contents if isinstance(content, list) for part in content]


def _citation(note: Json) -> Json:
    """The object with the indexes: chat has it one level deeper."""
    inner = note.get("url_citation")
    return inner if isinstance(inner, dict) else note


def _span(note: Any) -> tuple[int, int]:
    """`(start, end)` of a citation; `(0, 0)` for anything else."""
    citation = _citation(note) if isinstance(note, dict) else {}
    start, end = citation.get("start_index"), citation.get("end_index")
    if isinstance(start, int) and isinstance(end, int) and 0 <= start < end:
        return start, end
    return 0, 0
