"""FanOutUpstream: turns a request for several answers (`n`) into requests for one answer each, side by side.

llama.cpp gives at most as many answers as it has slots and counts the tokens of one of them (tried 2026-11-21); with
one request for each answer it gives any number, and the counts add up. Knows no HTTP.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.domain import Json, RequestStats
from gateway.errors import UpstreamError
from gateway.ports import CompletionUpstream
from gateway.wire import repaired_json

_WAITING_BATCHES = 16
"""Batches of all streams together that wait for a slow reader. Chosen: any bound makes the upstreams wait for the
client; at double twice the memory, at half the streams wait for each other more often."""
_CLOSE_S = 5
"""Seconds that cancelled requests have to close their connections. Chosen: they need milliseconds; a bound only keeps a
broken one from holding the answer's end."""


@dataclass(frozen=True, slots=True)
class _Message:
    """From the stream of answer `index`: a batch, an error, or, with neither, its end."""

    index: int
    batch: list[bytes] | None = None
    error: Exception | None = None


class FanOutUpstream:
    """A decorator of one ports.CompletionUpstream. A request with `n` above 1 becomes `n` requests without it.

    Usage has the prompt's tokens once and the sum of the answers' tokens. A whole-number `seed` grows by one from
    answer to answer, or all answers would be the same.
    """

    def __init__(self, upstream: CompletionUpstream) -> None:
        self._upstream = upstream

    @property
    def name(self) -> str:
        """The name of the upstream inside."""
        return self._upstream.name

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        """One `chat.completion` with all choices. Raises the first UpstreamError; the other requests are cancelled."""
        bodies = _single_bodies(body)
        if len(bodies) == 1:
            return await self._upstream.complete(body, stats, route=route)
        each_stats = [RequestStats(key_id=stats.key_id, warnings=stats.warnings) for _ in bodies]
        try:
            async with asyncio.TaskGroup() as group:
                pairs = zip(bodies, each_stats, strict=True)
                tasks = [group.create_task(self._upstream.complete(*pair, route=route)) for pair in pairs]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        finally:
            stats.upstream_s += max(each.upstream_s for each in each_stats)
        return _join([task.result() for task in tasks])

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions"
    ) -> AsyncGenerator[list[bytes], None]:
        """The chunks as they come, each with its answer's index; at the end one chunk with usage, and `[DONE]`.

        Raises the first UpstreamError; the other requests are cancelled.
        """
        bodies = _single_bodies(body)
        if len(bodies) == 1:
            async with aclosing(self._upstream.stream(body, stats, route=route)) as batches:
                async for batch in batches:
                    yield batch
            return
        each_stats = [RequestStats(key_id=stats.key_id, warnings=stats.warnings) for _ in bodies]
        messages: asyncio.Queue[_Message] = asyncio.Queue(_WAITING_BATCHES)
        readers = [
            asyncio.ensure_future(self._forward(index, each, each_stats[index], route, messages))
            for index, each in enumerate(bodies)
        ]
        usages: list[Json] = []
        try:
            running = len(readers)
            while running:
                message = await messages.get()
                if message.error is not None:
                    raise message.error
                if message.batch is None:
                    running -= 1
                else:
                    chunks = (data for data in message.batch if data.strip() != b"[DONE]")
                    yield [_with_index(data, message.index, usages) for data in chunks]
            if len(usages) == len(bodies):
                yield [orjson.dumps({"object": "chat.completion.chunk", "choices": [], "usage": _sum(usages)})]
            yield [b"[DONE]"]
        finally:
            for reader in readers:
                reader.cancel()
            await asyncio.wait(readers, timeout=_CLOSE_S)
            stats.upstream_s += max(each.upstream_s for each in each_stats)

    async def _forward(
        self, index: int, body: Json, stats: RequestStats, route: str, messages: asyncio.Queue[_Message]
    ) -> None:
        try:
            async with aclosing(self._upstream.stream(body, stats, route=route)) as batches:
                async for batch in batches:
                    await messages.put(_Message(index, batch))
        except Exception as error:
            await messages.put(_Message(index, error=error))
        else:
            await messages.put(_Message(index))


def _single_bodies(body: Json) -> list[Json]:
    """One body for each answer, each with its own seed where the request has one."""
    single = {name: value for name, value in body.items() if name != "n"}
    seed = body.get("seed")
    seeds = [{"seed": seed + index} if isinstance(seed, int) else {} for index in range(body.get("n") or 1)]
    return [{**single, **each} for each in seeds]


def _join(answers: list[Json]) -> Json:
    choices: list[Json] = []
    for answer in answers:
        own = answer.get("choices")
        if not isinstance(own, list) or not own or not isinstance(own[0], dict):
            raise UpstreamError("the upstream's answer has no choices")
        choices.append({**own[0], "index": len(choices)})
    usages = [answer["usage"] for answer in answers if isinstance(answer.get("usage"), dict)]
    usage = {"usage": _sum(usages)} if len(usages) == len(answers) else {"usage": None}
    return {**answers[0], "choices": choices, **usage}


def _with_index(data: bytes, index: int, usages: list[Json]) -> bytes:
    """The chunk with its answer's index; its usage is moved to `usages`. Anything but a chunk is returned unchanged."""
    try:
        chunk: Any = repaired_json.loads(data)
    except orjson.JSONDecodeError:
        return data
    if not isinstance(chunk, dict) or not isinstance(chunk.get("choices"), list):
        return data
    usage = chunk.pop("usage", None)
    if isinstance(usage, dict):
        usages.append(usage)
    for choice in chunk["choices"]:
        if isinstance(choice, dict):
            choice["index"] = index
    return orjson.dumps(chunk)


def _sum(usages: list[Json]) -> Json:
    """The first usage with the sum of all completion tokens; `wire.chat.answer` repairs what is missing or invalid."""
    completion = [usage.get("completion_tokens") for usage in usages]
    total = sum(count for count in completion if isinstance(count, int))
    return {**usages[0], "completion_tokens": total}
