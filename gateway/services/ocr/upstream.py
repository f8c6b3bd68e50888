"""Adapts requests and answers of one upstream that serves DeepSeek-OCR.

Requests: the `<image>` placeholder is removed or set, `max_tokens` is limited to the context. Answers, whole or
streamed: special tokens and invisible characters are removed, repetition loops are cut and reported as `length`. An
upstream that needs none of this is not harmed by it. Sources: vLLM recipes and DeepSeek-OCR's README, read
2026-11-21.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import orjson

from gateway.domain import Json, Relay, RequestStats
from gateway.engines.words.text import visible
from gateway.ports import CompletionUpstream
from gateway.wire import ocr as wire
from gateway.wire.mended_json import mended_json
from gateway.wire.repetition import LoopGuard, cut_loop
from gateway.wire.untrusted_json import list_in, table_in, tables_in

CONTEXT_TOKENS = 8192
"""DeepSeek-OCR's context (its README); a server may refuse a request whose prompt and limit exceed it."""
VISION_TOKENS = 1156
"""The most tokens that an image takes: nine crops of 100 and a base view of 256 ("Gundam" mode in the README)."""
MARGIN_TOKENS = 64
"""Tokens kept free for the chat template's own."""
_MIN_ANSWER_TOKENS = 16
"""The limit is not set lower: a prompt that is too long gets the upstream's own refusal. Any small number would do."""
DONE = b"[DONE]"
LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")
"""Fields of a chat request that limit the answer's tokens."""


class OcrAdapter:
    """A decorator of one ports.CompletionUpstream, for answers with one choice.

    `image_placeholder`: `strip` removes `<image>` from prompts, `keep` puts exactly one at the head.
    `context_tokens`: the model's context, 0 for no limit of `max_tokens`. `reports`: the upstream is our engine, which
    reports how sure it is (wire.ocr.REPORT); of other servers the warnings found here are reported.
    """

    def __init__(
        self,
        inner: CompletionUpstream,
        *,
        image_placeholder: str = "strip",
        context_tokens: int = CONTEXT_TOKENS,
        reports: bool = False,
    ) -> None:
        self._inner = inner
        self._keeps_token = image_placeholder == "keep"
        self._context_tokens = context_tokens
        self._reports = reports

    @property
    def name(self) -> str:
        """The name of the upstream inside."""
        return self._inner.name

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        """See ports.CompletionUpstream; every choice's text is cleaned."""
        answer = await self._inner.complete(self._adapted(body), stats, route=route)
        details = wire.wants_details(body)
        for choice in tables_in(answer, "choices"):
            message = table_in(choice, "message")
            was_cut = False
            if isinstance(message.get("content"), str):
                text, was_cut = cut_loop(
                    visible(wire.strip_special_tokens(message["content"])),
                    stopped_by_limit=choice.get("finish_reason") == "length",
                )
                message["content"] = text
                if was_cut:
                    choice["finish_reason"] = "length"
            if not self._reports:
                choice[wire.REPORT] = _foreign_report(details, was_cut)
        return answer

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions", relay: Relay | None = None
    ) -> AsyncGenerator[list[bytes], None]:
        """See ports.CompletionUpstream; ends early, with `length` and `[DONE]`, when the model is in a loop.

        Closing the upstream's stream then stops the model, which would repeat itself until its context is full.
        """
        cleaner = _StreamCleaner(self._reports, wire.wants_details(body))
        async with aclosing(self._inner.stream(self._adapted(body), stats, route=route)) as events:
            async for batch in events:
                if cleaned := cleaner.take(batch):
                    yield cleaned
                if cleaner.is_over:
                    return

    def _adapted(self, body: Json) -> Json:
        adapted = {**body, "messages": [self._message(message) for message in body["messages"]]}
        if not self._reports:
            adapted.pop(wire.REPORT, None)
        if self._context_tokens:
            prompt_chars = sum(len(text) for message in adapted["messages"] for text in _texts(message))
            room = max(_MIN_ANSWER_TOKENS, self._context_tokens - VISION_TOKENS - MARGIN_TOKENS - prompt_chars // 2)
            for field in LIMIT_FIELDS:
                if isinstance(adapted.get(field), int):
                    adapted[field] = min(adapted[field], room)
        return adapted

    def _message(self, message: Json) -> Json:
        if not isinstance(message.get("content"), list):
            return message
        rewrite = wire.keep_image_token if self._keeps_token else wire.strip_image_token
        return {**message, "content": [_adapted_part(part, rewrite) for part in message["content"]]}


def _adapted_part(part: Json, rewrite: Callable[[str], str]) -> Json:
    """A text part with its text rewritten; other parts as they are."""
    if part.get("type") == "text":
        return {**part, "text": rewrite(part["text"])}
    return part


def _texts(message: Json) -> list[str]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return [part["text"] for part in parts if part.get("type") == "text"]


def _decode_chunk(raw: bytes) -> Json | None:
    """A chunk with at least one choice; None for anything else."""
    try:
        data = mended_json(raw)
    except orjson.JSONDecodeError:
        return None
    choices = list_in(data, "choices")
    return data if choices and isinstance(choices[0], dict) else None


def _foreign_report(details: bool, was_cut: bool) -> Json:
    """`{warnings}` of an answer of a server that says nothing of how sure it is."""
    warnings = ["the model repeated itself: its answer was cut there and may be incomplete"] if was_cut else []
    if details:
        warnings.append("this OCR server reports no lines and confidences: `details` has no effect")
    return {"warnings": warnings}


class _StreamCleaner:
    """Removes special tokens and loops from the chunks of one stream. `is_over`: the stream was ended for a loop."""

    def __init__(self, reports: bool, details: bool) -> None:
        self.is_over = False
        self._reports, self._details = reports, details
        self._tokens = wire.SpecialTokenFilter()
        self._guard = LoopGuard()

    def take(self, batch: list[bytes]) -> list[bytes]:
        """The data of one batch of events, cleaned. Events that are not chunks with choices stay as they are."""
        cleaned: list[bytes] = []
        for raw in batch:
            data = _decode_chunk(raw)
            if data is None:
                cleaned.append(raw)
                continue
            self._clean(data["choices"][0])
            if self._guard.looping:
                self.is_over = True
                data["choices"][0] |= {"finish_reason": "length"} | self._report(was_cut=True)
                return [*cleaned, orjson.dumps(data), DONE]
            if data["choices"][0].get("finish_reason") is not None:
                data["choices"][0] |= self._report(was_cut=False)
            cleaned.append(orjson.dumps(data))
        return cleaned

    def _report(self, *, was_cut: bool) -> Json:
        return {} if self._reports else {wire.REPORT: _foreign_report(self._details, was_cut)}

    def _clean(self, choice: dict[str, Any]) -> None:
        delta = choice["delta"] = table_in(choice, "delta")
        piece = delta["content"] if isinstance(delta.get("content"), str) else None
        reason = choice.get("finish_reason")
        if piece is None and reason is None:
            return
        text = self._guard.feed(self._tokens.feed(visible(piece or "")))
        if reason is not None and not self._guard.looping:
            text += self._guard.feed(self._tokens.finish())
            text += self._guard.finish(stopped_by_limit=reason == "length")
        if text or piece is not None:
            delta["content"] = text
