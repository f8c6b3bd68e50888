"""The bytes around the text of plain chunks: a stream's usual chunk goes through, and is read, without being decoded.

What may stand in a pattern's place is checked by bytes: one JSON string of a choice's content and nothing else.
"""

import re
from collections.abc import Hashable
from typing import Generic, TypeVar

import orjson

from gateway.domain import Event, TextSlot
from gateway.wire import sse

_CONTENT_KEY = re.compile(rb'"content"\s*:\s*"')
_PLAIN_TEXT = re.compile(rb'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))*')
_QUOTE, _BACKSLASH = b'"\\'
ChoiceT = TypeVar("ChoiceT")


class RelayedSlot(TextSlot):
    """The text of a relayed frame: read as it stands in the bytes, the frame decoded only when it must be changed."""

    __slots__ = ("_event", "_text")

    def __init__(self, event: Event, where: str, channel: Hashable) -> None:
        self._event, self._text = event, event.text
        self.where, self.channel = where, channel
        self.form, self.last, self.key = "text", False, "content"

    @property
    def text(self) -> str:
        return self._text

    @text.setter
    def text(self, value: str) -> None:
        data = sse.decode(self._event)
        if data is not None:
            data["choices"][0]["delta"]["content"] = self._text = value


class ChunkPattern(Generic[ChoiceT]):
    """The bytes around the text of a choice's plain chunks: as the upstream sends them, and as we do.

    Implements `model.RelayTemplate` for the frames that `relay` makes.
    """

    __slots__ = (
        "after", "before", "channel", "choice", "fixed_bytes", "our_after", "our_before",
        "text_from", "text_to", "where",
    )  # fmt: skip

    def __init__(self, choice: ChoiceT, index: int, theirs: tuple[bytes, bytes], ours: tuple[bytes, bytes]) -> None:
        self.choice = choice
        self.channel, self.where = (index, "content"), f"choices[{index}].delta.content"
        self.before, self.after = theirs
        self.fixed_bytes = len(self.before) + len(self.after)
        self.text_from, self.text_to = len(self.before), -len(self.after)
        self.our_before, self.our_after = b"data: " + ours[0], ours[1] + b"\n\n"

    def match(self, data: bytes) -> Event | None:
        """Our event for this one, or None when it is not plain text in the learnt form."""
        if not (data.startswith(self.before) and data.endswith(self.after)) or len(data) <= self.fixed_bytes:
            return None
        text = data[self.text_from : self.text_to]
        try:
            shown = text.decode()
        except UnicodeDecodeError:
            return None
        if _QUOTE in text or _BACKSLASH in text or not shown.isprintable():
            if not _PLAIN_TEXT.fullmatch(text):
                return None
            if _BACKSLASH in text:
                shown = orjson.loads(f'"{shown}"')
        return Event.from_template(self.our_before + text + self.our_after, self, shown)

    def slot_of(self, event: Event) -> TextSlot:
        return RelayedSlot(event, self.where, self.channel)


def split_around_content(data: bytes) -> tuple[bytes, bytes] | None:
    """What stands before and after the text, when it is the one `content` of the one choice."""
    found = _CONTENT_KEY.findall(data)
    start = _CONTENT_KEY.search(data)
    if start is None or len(found) != 1:
        return None
    text = _PLAIN_TEXT.match(data, start.end())
    if text is None or data[text.end() : text.end() + 1] != b'"':
        return None
    before, after = data[: start.end()], data[text.end() :]
    probe = orjson.loads(before + b"X" + after)
    if len(probe["choices"]) != 1 or probe["choices"][0]["delta"].get("content") != "X":
        return None
    return before, after
