"""Several answers to one request (`n`) from an upstream that is asked for each alone, side by side.

llama.cpp gives at most as many answers as it has slots and counts the tokens of one of them (tried 2026-11-21); asked
for each alone it gives any number, and the counts add up. Knows no HTTP.
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

_WAITING_BATCHES = 16


@dataclass(frozen=True, slots=True)
class _Said:
    """What one of the streams said, what it failed with, or, with neither, that it ended."""

    index: int
    batch: list[bytes] | None = None
    fault: Exception | None = None


class FanOutUpstream:
    """Implements ports.CompletionUpstream over another. The prompt is counted once, the answers' tokens together."""

    def __init__(self, upstream: CompletionUpstream) -> None:
        self._upstream = upstream

    @property
    def name(self) -> str:
        return self._upstream.name

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        """Raises UpstreamError: the first one; the other requests are let go."""
        bodies = _alone(body)
        if len(bodies) == 1:
            return await self._upstream.complete(body, stats, route=route)
        accounts = [RequestStats() for _ in bodies]
        try:
            async with asyncio.TaskGroup() as group:
                pairs = zip(bodies, accounts, strict=True)
                tasks = [group.create_task(self._upstream.complete(*pair, route=route)) for pair in pairs]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        finally:
            stats.upstream_s += max(each.upstream_s for each in accounts)
        return _joined([task.result() for task in tasks])

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions"
    ) -> AsyncGenerator[list[bytes], None]:
        """The chunks as they come, each with its answer's index; the usage of all, and `[DONE]`, at the end."""
        bodies = _alone(body)
        if len(bodies) == 1:
            async with aclosing(self._upstream.stream(body, stats, route=route)) as batches:
                async for batch in batches:
                    yield batch
            return
        accounts = [RequestStats() for _ in bodies]
        said: asyncio.Queue[_Said] = asyncio.Queue(_WAITING_BATCHES)
        readers = [
            asyncio.ensure_future(self._read(index, each, accounts[index], route, said))
            for index, each in enumerate(bodies)
        ]
        usages: list[Json] = []
        try:
            running = len(readers)
            while running:
                heard = await said.get()
                if heard.fault is not None:
                    raise heard.fault
                if heard.batch is None:
                    running -= 1
                else:
                    yield [_numbered(data, heard.index, usages) for data in heard.batch if data.strip() != b"[DONE]"]
            if len(usages) == len(bodies):
                yield [orjson.dumps({"object": "chat.completion.chunk", "choices": [], "usage": _sum(usages)})]
            yield [b"[DONE]"]
        finally:
            for reader in readers:
                reader.cancel()
            await asyncio.wait(readers, timeout=5)
            stats.upstream_s += max(each.upstream_s for each in accounts)

    async def _read(self, index: int, body: Json, stats: RequestStats, route: str, said: asyncio.Queue[_Said]) -> None:
        try:
            async with aclosing(self._upstream.stream(body, stats, route=route)) as batches:
                async for batch in batches:
                    await said.put(_Said(index, batch))
        except Exception as fault:
            await said.put(_Said(index, fault=fault))
        else:
            await said.put(_Said(index))


def _alone(body: Json) -> list[Json]:
    """A body for each answer; a seed is counted up, or all would be the same."""
    single = {name: value for name, value in body.items() if name != "n"}
    seed = body.get("seed")
    seeds = [{"seed": seed + index} if isinstance(seed, int) else {} for index in range(body.get("n") or 1)]
    return [{**single, **each} for each in seeds]


def _joined(answers: list[Json]) -> Json:
    choices: list[Json] = []
    for answer in answers:
        given = answer.get("choices")
        if not isinstance(given, list) or not given or not isinstance(given[0], dict):
            raise UpstreamError("the upstream's answer has no choices")
        choices.append({**given[0], "index": len(choices)})
    usages = [answer["usage"] for answer in answers if isinstance(answer.get("usage"), dict)]
    usage = {"usage": _sum(usages)} if len(usages) == len(answers) else {"usage": None}
    return {**answers[0], "choices": choices, **usage}


def _numbered(data: bytes, index: int, usages: list[Json]) -> bytes:
    """The chunk with the index of its answer, its usage kept back. What is no chunk goes on as it is."""
    try:
        chunk: Any = orjson.loads(data)
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
    """Token counts of all; missing or strange ones are mended by whoever reads them."""
    completion = [usage.get("completion_tokens") for usage in usages]
    total = sum(count for count in completion if isinstance(count, int))
    return {**usages[0], "completion_tokens": total}
