"""How many tokens texts have, without a tokenizer: their bytes, times what the model's upstream has told of others.

Until an upstream has told anything, a token has two bytes: no usual tokenizer makes more tokens of a language, so the
count is rarely too low. Each model then has its own ratio: of bytes, since a byte of Chinese and one of English
make about as many tokens, and a character of each does not.

    counts = TokenCounts()
    counts.most(TEXT_MODEL, Size(400))            # 200
    counts.note(TEXT_MODEL, Size(40_000), 10_000) # the upstream has told that 40,000 bytes were 10,000 tokens
    counts.most(TEXT_MODEL, Size(400))            # about 125
"""

import math
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateway.domain import Json
from gateway.wire.chat.request import IMAGE_PARTS
from gateway.wire.token_estimate import tokens_in

_UNKNOWN = 0.5
"""Tokens of a byte where nothing is known of the model."""
_USUAL = 0.25
"""The same for an estimate that may err to both sides: OpenAI's rule of thumb for English."""
_LEAST, _MOST = 1 / 16, 1.0
"""What a tokenizer may make of a byte: o200k makes a token of up to ten bytes of Tamil, and bytes are the smallest
tokens. A number outside says that something else was counted, or nothing."""
_SURE_BYTES = 4096
"""Texts of this size together say how a model counts."""
_DENSE = ((b"0123456789", 1.0), (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 0.8), (b"\xf0\xf1\xf2\xf3\xf4", 3.0))
"""Bytes and the most tokens of each: Llama's and Qwen's tokenizers part all digits, and random letters of both cases
are joined in pairs at most. The last are the first bytes of four, such as an emoji's."""
_MARGIN, _MARGIN_TOKENS, _FORGETS = 1.05, 8, 1 / 64
"""What a known ratio is raised by, as texts differ; and the part of the difference by which each answer lowers it."""
_MOST_OVERHEAD = 1024
"""Tokens that a template may add to a request, whatever its size."""
_HIDDEN_TOKENS = 64
"""Tokens beyond one for each byte of an answer that say of hidden thoughts."""
_RENEW_S = 30.0
_THINKS_S = 3600.0
"""So long after hidden thoughts a model is taken for one that has them."""
_TOLERANCE = 0.75
"""Answers of one model differ by about so much in their tokens of a byte."""

_IMAGE_TOKENS = 1000
"""Tokens of an image."""
_MEDIA_CHARS_A_TOKEN = 64
"""Characters of base64 for one token of sound, film or a paged document that goes on as it is, beside _IMAGE_TOKENS."""
_MEDIA_PARTS = (*IMAGE_PARTS, "computer_screenshot", "file", "input_file", "input_audio", "audio_url", "video_url")
_MEDIA_TYPES = ("image/", "audio/", "video/", "application/pdf", "application/vnd.", "application/epub")
_ELEMENTS = {"messages": "item", "input": "item", "parts": "part"}
_NO_MEMBERS: dict[str, str] = {}
_MEMBERS = {
    "item": {"content": "parts", "output": "parts"},
    "media": dict.fromkeys(("url", "image_url", "audio_url", "video_url", "data"), "data") | {"file_data": "file"},
}
_MEMBERS["data"] = _MEMBERS["media"]
"""The places of the values in a list, and in an object, by its own place."""
_UNREAD = ("model", "user", "metadata", "stream_options", "thinking", "reasoning", "reasoning_effort")
_READ = ("messages", "tools", "response_format")
"""Fields of a chat body that a model reads."""


class Size(NamedTuple):
    """`bytes` of text in UTF-8, names of members included, and the tokens of what is no text. `dense`: those of the
    bytes that tokenizers hardly join, digits, capitals and characters of four bytes, and the most tokens that they
    have."""

    bytes: int
    media_tokens: int = 0
    dense: tuple[int, float] = (0, 0.0)

    def plus(self, other: "Size") -> "Size":
        """Of both together."""
        dense = (self.dense[0] + other.dense[0], self.dense[1] + other.dense[1])
        return Size(self.bytes + other.bytes, self.media_tokens + other.media_tokens, dense)


def size_of(body: Json, texts: list[str] | None = None) -> Size:
    """The size of what a model may read of a decoded body. Parts of its conversation that hold media count as such, and
    a number of a list as a token, whose id it may be. Without recursion: each value waits with its place. `texts`: gets
    the texts and the names of members.
    """
    size = tokens = dense = 0
    dense_tokens = 0.0
    waiting = [(name, value) for name, value in body.items() if name not in _UNREAD and not isinstance(value, int)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str):
            if place in ("data", "file"):
                more = _media_size(value, is_file=place == "file")
                size, tokens = size + more.bytes, tokens + more.media_tokens
            else:
                if texts is not None:
                    texts.append(value)
                raw = value.encode("utf-8", "surrogatepass")
                size += len(raw)
                for kind, most in _DENSE:
                    dense += (count := len(raw) - len(raw.translate(None, kind)))
                    dense_tokens += count * most
        elif isinstance(value, dict):
            if place in ("part", "parts"):
                place = "media" if value.get("type") in _MEDIA_PARTS else ""
            inner = _MEMBERS.get(place, _NO_MEMBERS)
            size += sum(map(len, value))
            if texts is not None:
                texts += value
            waiting += [(inner.get(name, "media" if place == "media" else ""), each) for name, each in value.items()]
        elif isinstance(value, list):
            if value and set(map(type, value)) <= {int, float}:
                tokens += len(value)
            else:
                waiting += [(_ELEMENTS.get(place, ""), each) for each in value]
        elif type(value) is int:
            size += 2
    return Size(size, tokens, (dense, dense_tokens))


def _media_size(data: str, *, is_file: bool) -> Size:
    """The size of an image, a file or sound: an address or base64. A file that holds text counts by its text."""
    if is_file and not data[5:].startswith(_MEDIA_TYPES):
        return Size(len(data) * 3 // 4)
    is_image = data.startswith(("data:image/", "http"))
    return Size(0, _IMAGE_TOKENS + (0 if is_image else len(data) // _MEDIA_CHARS_A_TOKEN))


def estimate(items: Any) -> int:
    """About how many tokens items have, for a model of which nothing is known."""
    return _estimate({"input": items})


def _estimate(body: Json) -> int:
    texts = list[str]()
    size = size_of(body, texts)
    return round(tokens_in(texts)) + size.media_tokens


def read_size(chat: Json) -> Size:
    """The size of what a model reads of a chat body."""
    return size_of(_read_of(chat))


def _read_of(chat: Json) -> Json:
    return {name: chat.get(name) for name in _READ}


@dataclass(slots=True)
class Ratio:
    """Tokens of a byte in the texts that one model reads, or writes. `most`: hardly a text has more; raised at once and
    lowered slowly, once `bytes` of texts are known. `usual`: that of the last texts."""

    most: float = _UNKNOWN
    usual: float = _USUAL
    bytes: int = 0

    @property
    def likely(self) -> float:
        """Most texts have more."""
        return self.usual * _TOLERANCE

    @property
    def least(self) -> float:
        """Hardly a text has less."""
        return self.likely if self.bytes >= _SURE_BYTES else _USUAL / 2

    def note(self, size: int, told: int) -> bool:
        """A text of so many bytes has so many tokens. Returns False for what no tokenizer makes, which says nothing."""
        if not size or not _LEAST * size <= told <= _MOST * size + _MOST_OVERHEAD:
            return False
        ratio, share = min(told / size, _MOST), min(1.0, size / _SURE_BYTES)
        seen, is_sure = ratio * _MARGIN, self.bytes >= _SURE_BYTES
        self.usual += (ratio - self.usual) * min(1.0, share * 8)
        self.most += (seen - self.most) * share * (_FORGETS if is_sure and seen < self.most else 1)
        self.bytes += size
        return True


@dataclass(slots=True)
class _Known:
    """What is known of a model. `overhead`: tokens that come on top of an input, of a template. `thought_s`:
    when an answer last had thoughts that nobody saw."""

    input: Ratio = field(default_factory=Ratio)
    output: Ratio = field(default_factory=Ratio)
    overhead: float = 0.0
    noted_s: float = -_RENEW_S
    thought_s: float = -_THINKS_S


class TokenCounts:
    """What is known of each model of the table."""

    def __init__(self) -> None:
        self._known: defaultdict[str, _Known] = defaultdict(_Known)

    def most(self, model: str, size: Size) -> int:
        """As many tokens as an input of this size may have, at least 1."""
        known, (dense, dense_tokens) = self._known[model], size.dense
        ratio = known.input.most
        text = (size.bytes - dense) * ratio + max(dense * ratio, dense_tokens)
        return max(1, math.ceil(text + known.overhead) + size.media_tokens)

    def of(self, model: str, chat: Json) -> tuple[int, bool]:
        """Tokens of a chat body, too many or too few, and whether nothing is known of how its model counts."""
        ratio = self._known[model].input
        if not ratio.bytes:
            return max(1, _estimate(_read_of(chat))), True
        size = read_size(chat)
        return max(1, round(size.bytes * ratio.usual) + size.media_tokens), False

    def output(self, model: str) -> Ratio:
        """That of the model's answers."""
        return self._known[model].output

    def thinks(self, model: str) -> bool:
        """Whether the model has thoughts that nobody sees: it had some of late."""
        return time.monotonic() - self._known[model].thought_s < _THINKS_S

    def wants(self, model: str) -> bool:
        """Whether what the model's upstream has counted should be noted again."""
        return time.monotonic() - self._known[model].noted_s >= _RENEW_S

    def note(self, model: str, size: Size, told: int) -> None:
        """The upstream has counted so many tokens for an input."""
        known = self._known[model]
        if not size.media_tokens and known.input.note(size.bytes, told):
            known.noted_s = time.monotonic()
            over = told - size.bytes * known.input.most
            known.overhead *= 1 - _FORGETS
            if over > 0:
                known.overhead = min(max(over + _MARGIN_TOKENS, known.overhead), _MOST_OVERHEAD)

    def note_answer(self, model: str, written: int, told: int) -> None:
        """The upstream has counted so many tokens for an answer in which `written` bytes were seen."""
        known = self._known[model]
        if told > written + _HIDDEN_TOKENS:
            known.thought_s = time.monotonic()
        else:
            known.output.note(written, told)


def believed(told: int, size: int, counted: int) -> int:
    """The tokens of a text of `size` bytes: what the upstream has told, or, where no tokenizer makes so few of it, the
    larger of that and what was `counted`.

        believed(100, 400, 200)  # 100
        believed(1, 400, 200)  # 200: an upstream that counts badly, or not at all
    """
    return told if told >= size * _LEAST else max(told, counted)
