"""Relays plain text chunks by their bytes: the usual chunk of a stream is checked and sent on without being decoded.

Naive form: decode the chunk, put its text into our own chunk, encode that. Whenever `ChunkPattern.run` returns an
event, the event equals the naive form; at every doubtful chunk it stops and `ChatStream` uses the naive form.

| step  | call                         | what it establishes                                                         |
|-------|------------------------------|-----------------------------------------------------------------------------|
| learn | `split_around_content(data)` | the bytes before and after the one string `choices[0].delta.content`        |
| keep  | `ChunkPattern(...)`          | these bytes as the upstream sends them, beside the bytes that we send       |
| relay | `ChunkPattern.frames(batch)` | the same bytes around one valid JSON string: only the text is different     |
| edit  | `RelayedSlot.text = ...`     | a middleware changed the text: only now is the frame decoded                |
"""

import re
from collections.abc import Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

import orjson

from gateway.domain import Event, EventBatch
from gateway.texts import Edit, TextSlot, drop_logprobs, edited
from gateway.wire import sse
from gateway.wire.untrusted_json import table_in, tables_in, utf8_size

_CONTENT_KEY = re.compile(rb'"content"\s*:\s*"')
_PLAIN_TEXT = re.compile(rb'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})|(?!))*+')
"""The inside of a JSON string (RFC 8259 §7) without escaped surrogates: whether two of them form a pair is left to the
decoder."""
MAX_RELAYED_BYTES = 16_384
"""Longer chunks are decoded."""
_QUOTE, _BACKSLASH = b'"\\'
ChoiceT = TypeVar("ChoiceT")


class RelayedSlot(TextSlot):
    """The text of a relayed frame. Reading it is free; setting it decodes the frame and changes its data."""

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
            drop_logprobs(data["choices"][0])

    def rewrite(self, edits: Sequence[Edit]) -> None:
        self.text = edited(self._text, edits)


class JoinedFrames(NamedTuple):
    """The frames of so many chunks in one piece, and the bytes of their texts in UTF-8."""

    frames: bytes
    text_bytes: int
    chunks: int


class ChunkPattern(Generic[ChoiceT]):
    """The bytes around the text of one choice's plain chunks: as the upstream sends them (`theirs`), and as we do.

    Implements `domain.RelayTemplate` for the frames that `run` makes. `choice` is the caller's own record of the
    choice; `fixed_bytes` is the size of an upstream's chunk without its text.
    """

    __slots__ = (
        "after", "answer", "before", "channel", "choice", "fixed_bytes", "our_after", "our_before",
        "text_from", "text_to", "where",
    )  # fmt: skip

    def __init__(self, choice: ChoiceT, index: int, theirs: tuple[bytes, bytes], ours: tuple[bytes, bytes]) -> None:
        self.choice, self.answer = choice, index
        self.channel, self.where = (index, "content"), f"choices[{index}].delta.content"
        self.before, self.after = theirs
        self.fixed_bytes = len(self.before) + len(self.after)
        self.text_from, self.text_to = len(self.before), -len(self.after)
        self.our_before, self.our_after = b"data: " + ours[0], ours[1] + b"\n\n"

    def run(self, batch: list[bytes], start: int = 0) -> EventBatch:
        """Our events for the chunks from `start` to the first that differs from the learnt one beyond its text."""
        frames = self.frames(batch, start)
        return Event.of_relay(self, frames) if frames else []

    def frames(self, batch: list[bytes], start: int = 0) -> list[tuple[bytes, str]]:
        """As `run`, the frame and the text of each. All of a run in one call: a stream has thousands of them."""
        frames: list[tuple[bytes, str]] = []
        for data in batch[start:] if start else batch:
            if not (data.startswith(self.before) and data.endswith(self.after)):
                break
            if not self.fixed_bytes < len(data) <= MAX_RELAYED_BYTES:
                break
            text = data[self.text_from : self.text_to]
            try:
                decoded = text.decode()
            except UnicodeDecodeError:
                break
            if _QUOTE in text or _BACKSLASH in text or not decoded.isprintable():
                if not _PLAIN_TEXT.fullmatch(text):
                    break
                if _BACKSLASH in text:
                    decoded = orjson.loads(f'"{decoded}"')
            frames.append((self.our_before + text + self.our_after, decoded))
        return frames

    def frame_of(self, data: bytes) -> bytes | None:
        """The frame of one chunk, as nearly all reads have; None for one that has escapes, or is no such chunk."""
        text = data[self.text_from : self.text_to]
        if text and data == self.before + text + self.after and _is_printable(text):
            return self.our_before + text + self.our_after
        return None

    def joined(self, batch: list[bytes], start: int = 0) -> JoinedFrames | None:
        """The frames of the chunks from `start` to the first that differs from the learnt one beyond its text, in one
        piece; None where that is the first."""
        before, after = self.before, self.after
        texts: list[bytes] = []
        for data in batch[start:] if start else batch:
            if not (data.startswith(before) and data.endswith(after) and len(data) > self.fixed_bytes):
                break
            texts.append(data[self.text_from : self.text_to])
        if texts and _is_printable(text := b" ".join(texts)):
            between = self.our_after + self.our_before
            frames = b"%b%b%b" % (self.our_before, between.join(texts), self.our_after)
            return JoinedFrames(frames, len(text) - len(texts) + 1, len(texts))
        found = self.frames(batch, start)  # a text has escapes, or is none
        if not found:
            return None
        return JoinedFrames(
            b"".join([each for each, _ in found]), sum(utf8_size(text) for _, text in found), len(found)
        )

    def slot_of(self, event: Event) -> TextSlot:
        """The text of one of this pattern's events, to be read or replaced."""
        return RelayedSlot(event, self.where, self.channel)


def _is_printable(text: bytes) -> bool:
    """Whether this is the inside of a JSON string without escapes."""
    if _QUOTE in text or _BACKSLASH in text:
        return False
    try:
        return text.decode().isprintable()
    except UnicodeDecodeError:
        return False


def split_around_content(data: bytes) -> tuple[bytes, bytes] | None:
    """The bytes before and after a chunk's text, quotes included on both sides.

    None when the chunk has more than one key `content`, or when decoding a probe shows that the string is not
    `choices[0].delta.content` of the only choice. `data` is a chunk that was decoded before.
    """
    keys = _CONTENT_KEY.findall(data)
    start = _CONTENT_KEY.search(data)
    if start is None or len(keys) != 1 or b"\n" in data:  # `joined` puts a line feed between chunks
        return None
    text = _PLAIN_TEXT.match(data, start.end())
    if text is None or data[text.end() : text.end() + 1] != b'"':
        return None
    before, after = data[: start.end()], data[text.end() :]
    try:
        probe = orjson.loads(before + b"X" + after)
    except orjson.JSONDecodeError:  # it was decoded with its invalid UTF-8 replaced, so its bytes cannot be relayed
        return None
    choices = tables_in(probe, "choices")
    if len(choices) != 1 or table_in(choices[0], "delta").get("content") != "X":
        return None
    return before, after
