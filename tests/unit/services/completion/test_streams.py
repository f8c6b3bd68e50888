"""Batches of an upstream's stream, as they may come: empty ones, short ones and long ones."""

from collections.abc import AsyncGenerator

import orjson

from gateway.domain import Json, RequestStats
from gateway.services.completion.attempts import ModelEntry, Target
from gateway.services.completion.service import CompletionService
from gateway.wire.chat.request import UpstreamOptions


def chunk(text: str, finish: str | None = None) -> bytes:
    return orjson.dumps({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})


class Batches:
    """An upstream that streams fixed batches."""

    name = "batches"

    def __init__(self, *batches: list[bytes]) -> None:
        self._batches = batches

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "") -> Json:
        raise NotImplementedError

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "", relay: object = None
    ) -> AsyncGenerator[list[bytes], None]:
        for batch in self._batches:
            yield list(batch)


async def text_of(*batches: list[bytes]) -> tuple[str, int]:
    """The text that the service streams, and the number of events with text."""
    entry = ModelEntry("m", "text", (Target(Batches(*batches), UpstreamOptions("theirs")),))
    service = CompletionService([entry], images=None, user_key=b"k")
    events = service.stream({"model": "m", "messages": [{"role": "user", "content": "x"}]}, RequestStats())
    texts = []
    async for batch in events:
        for event in batch:
            data = event.data or (orjson.loads(event.raw[6:]) if event.raw and b"[DONE]" not in event.raw else {})
            texts += [each["delta"].get("content") or "" for each in data.get("choices", [])]
    return "".join(texts), len([text for text in texts if text])


async def test_batches_without_events_change_nothing() -> None:
    assert await text_of([], [chunk("one ")], [], [chunk("two", "stop")], [], [b"[DONE]"]) == ("one two", 2)
