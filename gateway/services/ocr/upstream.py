"""Adapts one upstream of an OCR model: what a DeepSeek-OCR server needs, and what it leaves behind.

On the way in: the `<image>` placeholder stripped or kept, `max_tokens` clamped to the context. On the way out, whole or
streamed: special tokens removed, repetition loops cut and reported as `length`. Harmless for an upstream that needs
none of it. Sources: vLLM recipes and DeepSeek-OCR's README, read 2026-11-21.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import orjson

from gateway.domain import Json, RequestStats
from gateway.ports import CompletionUpstream
from gateway.wire import ocr as wire
from gateway.wire.large_json import LongText
from gateway.wire.repetition import LoopGuard, cut_loop
from gateway.wire.untrusted_json import list_in, table_in, tables_in

CONTEXT_TOKENS = 8192
VISION_TOKENS = 1156
"""The most an image takes: nine crops of 100 and a base view of 256 ("Gundam" mode)."""
MARGIN_TOKENS = 64
DONE = b"[DONE]"
LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")


class OcrAdapter:
    """A CompletionUpstream around another. `image_placeholder` is `strip` or `keep`; 0 `context_tokens`: no clamp."""

    def __init__(
        self, inner: CompletionUpstream, *, image_placeholder: str = "strip", context_tokens: int = CONTEXT_TOKENS
    ) -> None:
        self._inner = inner
        self._keeps_token = image_placeholder == "keep"
        self._context_tokens = context_tokens

    @property
    def name(self) -> str:
        return self._inner.name

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        answer = await self._inner.complete(self._adapted(body), stats, route=route)
        for choice in tables_in(answer, "choices"):
            message = table_in(choice, "message")
            if isinstance(message.get("content"), str):
                text, was_cut = cut_loop(
                    wire.strip_special_tokens(message["content"]),
                    stopped_by_limit=choice.get("finish_reason") == "length",
                )
                message["content"] = text
                if was_cut:
                    choice["finish_reason"] = "length"
        return answer

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions"
    ) -> AsyncGenerator[list[bytes], None]:
        cleaner = _StreamCleaner()
        # A model in a loop would go on until its context is full: closing the stream stops it.
        async with aclosing(self._inner.stream(self._adapted(body), stats, route=route)) as events:
            async for batch in events:
                if shown := cleaner.take(batch):
                    yield shown
                if cleaner.is_over:
                    return

    def _adapted(self, body: Json) -> Json:
        adapted = {**body, "messages": [self._message(message) for message in body["messages"]]}
        if self._context_tokens:
            prompt_chars = sum(len(text) for message in adapted["messages"] for text in _texts(message))
            room = max(16, self._context_tokens - VISION_TOKENS - MARGIN_TOKENS - prompt_chars // 2)
            for field in LIMIT_FIELDS:
                if isinstance(adapted.get(field), int):
                    adapted[field] = min(adapted[field], room)
        return adapted

    def _message(self, message: Json) -> Json:
        if not isinstance(message.get("content"), list):
            return message
        rewrite = wire.keep_image_token if self._keeps_token else wire.strip_image_token
        return {**message, "content": [_part(part, rewrite) for part in message["content"]]}


def _part(part: Json, rewrite: Callable[[str], str]) -> Json:
    """The text rewritten; the image's megabytes marked, so that they are sent in pieces."""
    if part.get("type") == "text":
        return {**part, "text": rewrite(part["text"])}
    if part.get("type") == "image_url":
        return {**part, "image_url": {**part["image_url"], "url": LongText.of(part["image_url"]["url"])}}
    return part


def _texts(message: Json) -> list[str]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return [part["text"] for part in parts if part.get("type") == "text"]


def _chunk(raw: bytes) -> Json | None:
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    choices = list_in(data, "choices")
    return data if choices and isinstance(choices[0], dict) else None


class _StreamCleaner:
    """Special tokens and loops, over the pieces of one stream."""

    def __init__(self) -> None:
        self.is_over = False
        self._tokens = wire.SpecialTokenFilter()
        self._guard = LoopGuard()

    def take(self, batch: list[bytes]) -> list[bytes]:
        """The data of one read's events, cleaned. What is not a chunk with choices passes as it is."""
        shown: list[bytes] = []
        for raw in batch:
            data = _chunk(raw)
            if data is None:
                shown.append(raw)
                continue
            self._clean(data["choices"][0])
            if self._guard.looping:
                self.is_over = True
                data["choices"][0]["finish_reason"] = "length"
                return [*shown, orjson.dumps(data), DONE]
            shown.append(orjson.dumps(data))
        return shown

    def _clean(self, choice: dict[str, Any]) -> None:
        delta = choice["delta"] = table_in(choice, "delta")
        piece = delta["content"] if isinstance(delta.get("content"), str) else None
        reason = choice.get("finish_reason")
        if piece is None and reason is None:
            return
        text = self._guard.feed(self._tokens.feed(piece or ""))
        if reason is not None and not self._guard.looping:
            text += self._guard.feed(self._tokens.finish())
            text += self._guard.finish(stopped_by_limit=reason == "length")
        if text or piece is not None:
            delta["content"] = text
