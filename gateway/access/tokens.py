"""How many tokens texts have, without a tokenizer: their bytes, times what the model's upstream has told of others.

Until an upstream has told anything, a token has two bytes: no usual tokenizer makes more tokens of a language, so the
count is rarely too low. Each model then has its own ratio: of bytes, since a byte of Chinese and one of English
make about as many tokens, and a character of each does not.

    counts = TokenCounts()
    counts.most("SvcLLM", Size(400))            # 200
    counts.note("SvcLLM", Size(40_000), 10_000) # the upstream has told that 40,000 bytes were 10,000 tokens
    counts.most("SvcLLM", Size(400))            # about 125
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from gateway.domain import Json
from gateway.wire.chat.request import IMAGE_PARTS
from gateway.wire.untrusted_json import utf8_size

_UNKNOWN = 0.5
"""Tokens of a byte where nothing is known of the model."""
_USUAL = 0.25
"""The same for an estimate that may err to both sides: OpenAI's rule of thumb for English."""
_LEAST, _MOST = 1 / 16, 1.0
"""What a tokenizer may make of a byte: o200k makes a token of up to ten bytes of Tamil, and bytes are the smallest
tokens. A number outside says that something else was counted, or nothing."""
_SURE_BYTES = 4096
"""A text of this size says how a model counts; of a shorter one, its part of this says it."""
_MOST_OVERHEAD = 1024
"""Tokens that a template may add to a request, whatever its size."""
_RENEW_S = 30.0
_TOLERANCE = 0.8
"""Answers of one model differ by about so much in their tokens of a byte."""

_IMAGE_TOKENS = 1000
"""Tokens of an image."""
_MEDIA_CHARS_A_TOKEN = 64
"""Characters of base64 for one token of sound, film or a paged document that goes on as it is, beside _IMAGE_TOKENS."""
_MEDIA_PARTS = (*IMAGE_PARTS, "computer_screenshot", "file", "input_file", "input_audio", "audio_url", "video_url")
_MEDIA_DATA = ("url", "image_url", "audio_url", "video_url", "data", "file_data")
_MEDIA_TYPES = ("image/", "audio/", "video/", "application/pdf", "application/vnd.", "application/epub")
_TALKS = ("messages", "input")
_UNREAD = ("model", "user", "metadata", "stream_options", "thinking", "reasoning", "reasoning_effort")
_READ = ("messages", "tools", "response_format")
"""Fields of a chat body that a model reads."""


class Size(NamedTuple):
    """`bytes` of text in UTF-8, names of members included, and the tokens of what is no text."""

    bytes: int
    media_tokens: int = 0


def size_of(body: Json) -> Size:
    """The size of what a model may read of a decoded body: of its conversation (`messages`, `input`), parts that hold
    media count as such."""
    media: list[Json] = []
    read = [(name, value) for name, value in body.items() if name not in _UNREAD and not isinstance(value, int)]
    size = _text_bytes([_without_media(value, media) if name in _TALKS else value for name, value in read])
    tokens = 0
    for part in media:
        more = _media_size(part)
        size, tokens = size + more.bytes, tokens + more.media_tokens
    return Size(size, tokens)


def estimate(items: Any) -> int:
    """About how many tokens items have, for a model of which nothing is known."""
    size = size_of({"input": items})
    return round(size.bytes * _USUAL) + size.media_tokens


def read_size(chat: Json) -> Size:
    """The size of what a model reads of a chat body."""
    return size_of({name: chat.get(name) for name in _READ})


def _without_media(talk: Any, media: list[Json]) -> Any:
    """Messages or items without the parts that hold media, which are added to `media`."""
    return [_item_without(item, media) if isinstance(item, dict) else item for item in talk] if (
        isinstance(talk, list)
    ) else talk  # fmt: skip


def _item_without(item: Json, media: list[Json]) -> Json:
    for name in ("content", "output"):
        value = item.get(name)
        parts = value if isinstance(value, list) else [value]
        found = [part for part in parts if isinstance(part, dict) and part.get("type") in _MEDIA_PARTS]
        if found:
            media += found
            taken = set(map(id, found))
            item = {**item, name: [part for part in parts if id(part) not in taken]}
    return item


def _media_size(part: Json) -> Size:
    """The size of a part with an image, a file or sound. A file that holds text counts by its text."""
    size, tokens = 0, 0
    for name, text in _named_texts(part):
        if name not in _MEDIA_DATA:
            size += utf8_size(text)
        elif part.get("type") in ("file", "input_file") and not text[5:].startswith(_MEDIA_TYPES):
            size += len(text) * 3 // 4
        else:
            is_image = part["type"] in IMAGE_PARTS or part["type"] == "computer_screenshot"
            tokens += _IMAGE_TOKENS + (0 if is_image else len(text) // _MEDIA_CHARS_A_TOKEN)
    return Size(size, tokens)


def _named_texts(part: Json) -> Iterator[tuple[str, str]]:
    """The strings of a part with the names of their members; those of a list have none."""
    waiting: list[tuple[str, Any]] = [("", part)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, dict):
            waiting.extend(value.items())
        elif isinstance(value, list):
            waiting.extend(("", each) for each in value)


def _text_bytes(body: Any) -> int:
    """Bytes of all strings and names of a decoded value, without recursion; a number of a list (a token's id, say)
    counts as two."""
    size = 0
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            size += utf8_size(value)
        elif isinstance(value, dict):
            size += sum(map(len, value))
            waiting.extend(value.values())
        elif isinstance(value, list):
            if value and set(map(type, value)) <= {int, float}:
                size += 2 * len(value)
            else:
                waiting.extend(value)
        elif type(value) is int:
            size += 2
    return size


@dataclass(slots=True)
class _Known:
    """What is known of a model. `most`: tokens of a byte, at once raised and slowly lowered; `overhead`: tokens that
    come on top, of a template. `last`: tokens of a byte in the last answer. `thinks`: its last answer had thoughts that
    nobody saw."""

    most: float = _UNKNOWN
    overhead: float = 0.0
    last: float = 0.0
    noted_s: float = -_RENEW_S
    thinks: bool = False


class TokenCounts:
    """What is known of each model of the table."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def most(self, model: str, size: Size) -> int:
        """As many tokens as an input of this size may have, at least 1."""
        known = self._known.get(model) or _Known()
        return max(1, math.ceil(size.bytes * known.most + known.overhead) + size.media_tokens)

    def ratio(self, model: str) -> float:
        """As many tokens as a byte of an answer may have."""
        known = self._known.get(model)
        return known.most if known is not None else _UNKNOWN

    def least_ratio(self, model: str) -> float:
        """So few tokens that a byte of an answer has hardly less."""
        known = self._known.get(model)
        return (known.last if known is not None and known.last else _USUAL) * _TOLERANCE

    def of(self, model: str, chat: Json) -> tuple[int, bool]:
        """Tokens of a chat body, too many or too few, and whether nothing is known of how its model counts."""
        known, size = self._known.get(model), read_size(chat)
        is_known = known is not None and known.last > 0
        ratio = known.last if known is not None and is_known else _USUAL
        return max(1, round(size.bytes * ratio) + size.media_tokens), not is_known

    def thinks(self, model: str) -> bool:
        """Whether the model has thoughts that nobody sees."""
        known = self._known.get(model)
        return known is not None and known.thinks

    def wants(self, model: str) -> bool:
        """Whether what the model's upstream has counted should be noted again."""
        known = self._known.get(model)
        return known is None or time.monotonic() - known.noted_s >= _RENEW_S

    def note(self, model: str, size: Size, told: int) -> None:
        """The upstream has counted so many tokens for an input. What no tokenizer makes says nothing."""
        if size.media_tokens or not _LEAST * size.bytes <= told <= _MOST * size.bytes + _MOST_OVERHEAD:
            return
        known = self._known.setdefault(model, _Known())
        seen, weight = min(told / size.bytes, _MOST), min(1.0, size.bytes / _SURE_BYTES)
        known.last, known.noted_s = seen, time.monotonic()
        known.most += (seen - known.most) * weight * (1.0 if seen > known.most else 0.25)
        over = told - size.bytes * known.most
        known.overhead = min(max(over, known.overhead * 0.875), _MOST_OVERHEAD)

    def note_answer(self, model: str, written: int, told: int) -> None:
        """The upstream has counted so many tokens for an answer in which `written` bytes were seen."""
        known = self._known.setdefault(model, _Known())
        known.thinks = told > written + _SURE_BYTES // 64


def believed(told: int, size: int, counted: int) -> int:
    """The tokens of a text of `size` bytes: what the upstream has told, or, where no tokenizer makes so few of it, the
    larger of that and what was `counted`.

        believed(100, 400, 200)  # 100
        believed(1, 400, 200)  # 200: an upstream that counts badly, or not at all
    """
    return told if told >= size * _LEAST else max(told, counted)
