"""A scripted completion service and a scripted upstream of it, with the bodies they are asked with."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import orjson

from gateway.domain import Event, EventBatch, Json, RequestStats
from gateway.wire import sse


def part(url: Any) -> Json:
    return {"type": "image_url", "image_url": {"url": url}}


def body(*parts: Json, **more: Any) -> Json:
    return {"model": "SvcOCR", "messages": [{"role": "user", "content": list(parts)}], **more}


_USAGE = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
TEXT = {"type": "text", "text": "<image>\nFree OCR."}


class _Script:
    """A completion service (and upstream) that answers with given texts and keeps the bodies it was sent."""

    name = "scripted"

    def __init__(self, *texts: str, finish: str = "stop", error: Exception | None = None) -> None:
        self.texts = list(texts)
        self.finish = finish
        self.error = error
        self.bodies: list[Json] = []
        self.closed = 0
        self.cut = "|"

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "") -> Json:
        self.bodies.append(body)
        if self.error is not None:
            raise self.error
        number = len(self.bodies)
        fields = {"provider": "p", "model": "m", "latency_ms": 5, "attempts": number}
        message = {"role": "assistant", "content": self.texts[number - 1]}
        choice = {"index": 0, "message": message, "finish_reason": self.finish, "provider_specific_fields": fields}
        head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": "SvcOCR"}
        return {**head, "choices": [choice], "usage": dict(_USAGE)}

    async def _events(self, body: Json) -> AsyncGenerator[EventBatch, None]:
        self.bodies.append(body)
        number = len(self.bodies)
        shared = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": number, "model": "SvcOCR"}
        try:
            yield [self._event(shared, {"role": "assistant", "content": ""})]
            for piece in self.texts[number - 1].split(self.cut):
                yield [self._event(shared, {"content": piece})]
            if self.error is not None:
                raise self.error
            fields = {"provider_specific_fields": {"provider": "p", "latency_ms": 5, "attempts": len(self.bodies)}}
            yield [
                self._event(shared, {}, finish_reason=self.finish, **fields),
                Event.from_data({**shared, "choices": [], "usage": dict(_USAGE)}),
                Event.from_bytes(sse.DONE),
            ]
        finally:
            self.closed += 1

    @staticmethod
    def _event(shared: Json, delta: Json, finish_reason: str | None = None, **more: Any) -> Event:
        data = {**shared, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason, **more}]}
        return Event(None, sse.frame(data), False)


class Scripted(_Script):
    """A completion service."""

    async def stream(self, body: Json, stats: RequestStats) -> AsyncGenerator[EventBatch, None]:
        async with aclosing(self._events(body)) as events:
            async for batch in events:
                yield batch


class ScriptedUpstream(_Script):
    """The same below the completion service: the data of its events as bytes."""

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "", relay: object = None
    ) -> AsyncGenerator[list[bytes], None]:
        async with aclosing(self._events(body)) as events:
            async for batch in events:
                yield [sse.encode(event)[6:].strip() for event in batch]


async def raw_chunks(events: AsyncIterator[list[bytes]]) -> list[Json | None]:
    return [None if data == b"[DONE]" else orjson.loads(data) async for batch in events for data in batch]
