"""Keeps the positions of citations right when their text is masked, or gets its values back, after they were made.

`start_index` and `end_index` count code points; the end is exclusive, so `text[start:end]` is the visible link.
Source of the shapes: OpenAI API reference (`url_citation` of responses and chat), read 2026-11-22.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gateway.domain import Json

_TEXT_FIELDS = ("text", "content")
"""Where the annotated text is: beside `annotations`, in a responses part and in a chat message."""


class Shift:
    """How the places of a text move where parts of it are replaced. `edits`: (start, end, characters of what stands
    there now), in order, by the places of the text as it was."""

    __slots__ = ("edits",)

    def __init__(self) -> None:
        self.edits: list[tuple[int, int, int]] = []

    def place(self, note: Json) -> None:
        """Set a citation to the place that its words have now."""
        start, end = _span(note)
        if end:
            _citation(note).update(start_index=self._moved(start), end_index=self._moved(end, is_end=True))

    def _moved(self, place: int, *, is_end: bool = False) -> int:
        moved = place
        for start, end, size in self.edits:
            if end <= place:
                moved += size - (end - start)
            elif start < place:  # within what was replaced
                return moved - (place - start) + (size if is_end else 0)
        return moved


class KeptLinks:
    """The visible links of annotated texts, taken before the texts change; `place` finds them again afterwards."""

    def __init__(self, holders: Iterable[Any]) -> None:
        """`holders`: text parts `{text, annotations}` and messages `{content, annotations}`; others are left alone."""
        self._texts: list[tuple[Json, str, str, list[tuple[tuple[int, int], Json]]]] = []
        for holder in holders:
            notes = holder.get("annotations") if isinstance(holder, dict) else None
            name = next((each for each in _TEXT_FIELDS if notes and isinstance(holder.get(each), str)), None)
            if name is not None and isinstance(notes, list):
                text = holder[name]
                links = [(span, note) for note in notes if (span := _span(note))[1] and span[0] < len(text)]
                self._texts.append((holder, name, text, sorted(links, key=lambda each: each[0])))

    def place(self, filled: Callable[[str], str] = str) -> None:
        """Set every annotation to the place of its link in the text as it is now: the holder gets new ones, as others
        may share the old. `filled` puts values into a text as they were put into this one.

        A text that was not changed keeps its annotations as they are. A link that a mask has changed is a link no more:
        its annotation is dropped. Annotations of one span stay together.
        """
        for holder, name, before, links in self._texts:
            text, notes = holder.get(name), holder.get("annotations")
            if not isinstance(text, str) or not isinstance(notes, list) or text == before:
                continue  # withheld, or nothing to do
            moved = {id(note) for _, note in links}
            kept = [note for note in notes if id(note) not in moved]
            done, position, last, start = 0, 0, (0, 0), -1
            for span, note in links:
                if span != last:
                    last, link = span, filled(before[slice(*span)])
                    start = _place_of(link, filled(before[done : span[0]]), text, position)
                    if start >= 0:
                        done, position = span[1], start + len(link)
                if start >= 0:
                    kept.append(_at(note, start, position))
            holder["annotations"] = kept


def annotated(answer: Any) -> Iterator[Any]:
    """What may be annotated in a whole answer: messages of chat, parts of a response, of a list of items, of one item.

    annotated({"choices": [{"message": {"content": "a"}}]})  # {"content": "a"}
    """
    for name in ("choices", "output", "data") if isinstance(answer, dict) else ():
        for each in answer.get(name) or () if isinstance(answer.get(name), list) else ():
            if isinstance(each, dict):
                yield each.get("message")
                yield from _parts(each)
    if isinstance(answer, dict):
        yield from _parts(answer)


def _parts(item: Json) -> list[Any]:
    content = item.get("content")
    return content if isinstance(content, list) else []


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


def _citation(note: Json) -> Json:
    """The object with the indexes: chat has it one level deeper."""
    inner = note.get("url_citation")
    return inner if isinstance(inner, dict) else note


def _at(note: Json, start: int, end: int) -> Json:
    """A copy of a citation, at another place."""
    place = {"start_index": start, "end_index": end}
    inner = note.get("url_citation")
    return {**note, "url_citation": {**inner, **place}} if isinstance(inner, dict) else {**note, **place}


def _span(note: Any) -> tuple[int, int]:
    """`(start, end)` of a citation; `(0, 0)` for anything else."""
    citation = _citation(note) if isinstance(note, dict) else {}
    start, end = citation.get("start_index"), citation.get("end_index")
    if isinstance(start, int) and isinstance(end, int) and 0 <= start < end:
        return start, end
    return 0, 0
