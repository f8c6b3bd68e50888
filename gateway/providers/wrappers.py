"""Upstreams around an upstream: a queue before it, one that is woken for a call, one that asks for several answers.

Each implements ports.CompletionUpstream. llama.cpp gives at most as many answers as it has slots and counts the
tokens of one of them (tried 2026-11-21), so `FanOutUpstream` sends a request for each answer.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any, TypeAlias

import orjson

from gateway.config.settings import Upstream
from gateway.domain import Json, Relay, RequestStats
from gateway.errors import UpstreamError, UpstreamRefused
from gateway.ports import CompletionUpstream
from gateway.resilience.fair_queue import FairQueue, QueueFull
from gateway.wire.chat.over_responses import ChunksOfEvents, to_completion, to_responses
from gateway.wire.mended_json import mended_json

_CHAT = "chat/completions"
_SPARE_PART = 4
"""One call in so many is sent beyond the configured number, for keys that have none."""
_BUSY_RETRY_AFTER_S = 5.0
"""Seconds after which refused callers are told to try again, about one short answer of the embedded model."""


class Wrapper:
    """A decorator of one ports.CompletionUpstream; subclasses answer in its name."""

    def __init__(self, upstream: CompletionUpstream) -> None:
        self._upstream = upstream

    @property
    def name(self) -> str:
        """The name of the upstream inside."""
        return self._upstream.name


class QueuedUpstream(Wrapper):
    """Lets a bounded number of calls through at once.

    A call holds one of the slots of `queue`, for the key in its `stats`, from before it is sent until its answer ends.
    One that finds the queue full, or waits for `wait_limit_s` seconds, raises UpstreamRefused with status 429.
    """

    def __init__(self, upstream: CompletionUpstream, queue: FairQueue, wait_limit_s: float) -> None:
        super().__init__(upstream)
        self._queue = queue
        self._wait_limit_s = wait_limit_s

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        """See ports.CompletionUpstream. Raises UpstreamRefused, status 429."""
        async with self._slot(stats.key_id):
            return await self._upstream.complete(body, stats, route=route)

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions", relay: Relay | None = None
    ) -> AsyncGenerator[list[bytes], None]:
        """See ports.CompletionUpstream. Raises UpstreamRefused, status 429."""
        events = self._upstream.stream(body, stats, route=route, relay=relay)
        async with self._slot(stats.key_id), aclosing(events):
            async for batch in events:
                yield batch

    @asynccontextmanager
    async def _slot(self, key_id: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._wait_limit_s):
                await self._queue.acquire(key_id)
        except (QueueFull, TimeoutError):
            raise UpstreamRefused(
                f"the model has {len(self._queue) + self._queue.waiting} callers already; try again later",
                status=429,
                code="rate_limit_exceeded",
                retry_after_s=_BUSY_RETRY_AFTER_S,
            ) from None
        try:
            yield
        finally:
            self._queue.release(key_id)


def queued_as_configured(upstream: CompletionUpstream, settings: Upstream) -> CompletionUpstream:
    """The upstream behind a queue for `settings.concurrent` calls at once; the upstream itself when that is 0."""
    slots = settings.concurrent
    if not slots:
        return upstream
    queue = FairQueue(slots, spare=max(1, slots // _SPARE_PART))
    return QueuedUpstream(upstream, queue, settings.first_byte_timeout_s)


_FINGERPRINT = re.compile(rb'"system_fingerprint":"[^"\\]*"')
"""The field as llama.cpp writes it into a chunk. It is the same in all chunks of a stream."""


class OnDemandUpstream(Wrapper):
    """For an embedded server that is started on demand.

    `wake` starts the server unless it runs and returns when it answers; it raises GatewayError. `fingerprint`, unless
    empty, replaces the `system_fingerprint` of answers.
    """

    def __init__(self, upstream: CompletionUpstream, wake: Callable[[], Awaitable[None]], fingerprint: str) -> None:
        super().__init__(upstream)
        self._wake = wake
        self._fingerprint = fingerprint
        self._our_field = b'"system_fingerprint":' + orjson.dumps(fingerprint)

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        """See ports.CompletionUpstream. Raises what `wake` raises."""
        await self._wake()
        answer = await self._upstream.complete(body, stats, route=route)
        if self._fingerprint:
            answer["system_fingerprint"] = self._fingerprint
        return answer

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions", relay: Relay | None = None
    ) -> AsyncGenerator[list[bytes], None]:
        """See ports.CompletionUpstream. Raises what `wake` raises.

        Chunks are changed by their bytes. Naive form: decode each, replace the field where it is, encode it again.
        """
        their_field = b""
        await self._wake()
        async with aclosing(self._upstream.stream(body, stats, route=route)) as events:
            async for batch in events:
                if self._fingerprint and not their_field and (match := _FINGERPRINT.search(b"".join(batch))):
                    their_field = match[0]
                yield [data.replace(their_field, self._our_field) for data in batch] if their_field else batch


_MOST_ANSWERS = 8
_WAITING_BATCHES = 16
"""Batches of all streams together that wait for a slow reader; then the upstreams wait for the client."""
_CLOSE_S = 5
"""Seconds that cancelled requests have to close their connections."""


_Messages: TypeAlias = "asyncio.Queue[tuple[int, list[bytes] | Exception | None]]"
"""A batch or an error of the stream of an answer, behind its index; None: the stream has ended."""


class FanOutUpstream(Wrapper):
    """A request with `n` above 1 becomes `n` requests without it.

    Usage has the prompt's tokens once and the sum of the answers' tokens. A whole-number `seed` grows by one from
    answer to answer, or all answers would be the same.
    """

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

    def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions", relay: Relay | None = None
    ) -> AsyncGenerator[list[bytes], None]:
        """The chunks as they come, each with its answer's index; at the end one chunk with usage, and `[DONE]`.

        Raises the first UpstreamError; the other requests are cancelled.
        """
        bodies = _single_bodies(body)
        if len(bodies) == 1:
            return self._upstream.stream(body, stats, route=route, relay=relay)
        return self._streams(bodies, stats, route)

    async def _streams(self, bodies: list[Json], stats: RequestStats, route: str) -> AsyncGenerator[list[bytes], None]:
        each_stats = [RequestStats(key_id=stats.key_id, warnings=stats.warnings) for _ in bodies]
        messages: _Messages = asyncio.Queue(_WAITING_BATCHES)
        readers = [
            asyncio.ensure_future(self._forward(index, each, each_stats[index], route, messages))
            for index, each in enumerate(bodies)
        ]
        usages: list[Json] = []
        try:
            running = len(readers)
            while running:
                index, came = await messages.get()
                if isinstance(came, Exception):
                    raise came
                if came is None:
                    running -= 1
                else:
                    chunks = (data for data in came if data.strip() != b"[DONE]")
                    yield [_with_index(data, index, usages) for data in chunks]
            if len(usages) == len(bodies):
                yield [orjson.dumps({"object": "chat.completion.chunk", "choices": [], "usage": _sum(usages)})]
            yield [b"[DONE]"]
        finally:
            for reader in readers:
                reader.cancel()
            await asyncio.wait(readers, timeout=_CLOSE_S)
            stats.upstream_s += max(each.upstream_s for each in each_stats)

    async def _forward(self, index: int, body: Json, stats: RequestStats, route: str, messages: _Messages) -> None:
        try:
            async with aclosing(self._upstream.stream(body, stats, route=route)) as batches:
                async for batch in batches:
                    await messages.put((index, batch))
        except Exception as error:
            await messages.put((index, error))
        else:
            await messages.put((index, None))


def _single_bodies(body: Json) -> list[Json]:
    """One body for each answer, each with its own seed where the request has one. Raises UpstreamRefused for more
    answers than one request may have made here."""
    count, seed = body.get("n") or 1, body.get("seed")
    if count > _MOST_ANSWERS:
        raise UpstreamRefused(f"n: must be at most {_MOST_ANSWERS} here", status=400, code="invalid_value", param="n")
    single = {name: value for name, value in body.items() if name != "n"}
    return [{**single, **({"seed": seed + index} if isinstance(seed, int) else {})} for index in range(count)]


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
        chunk: Any = mended_json(data)
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


class ChatOverResponses(Wrapper):
    """For an upstream that speaks /responses: one without a chat route is asked there.

    Whether it has one is found out at the first chat request, and remembered.
    """

    def __init__(self, upstream: CompletionUpstream) -> None:
        super().__init__(upstream)
        self._has_chat = True

    async def complete(self, body: Json, stats: RequestStats, *, route: str = _CHAT) -> Json:
        """See ports.CompletionUpstream."""
        if route != _CHAT or self._has_chat:
            try:
                return await self._upstream.complete(body, stats, route=route)
            except UpstreamError as error:
                self._note(error, route)
        with self._noting_responses():
            answer = await self._upstream.complete(to_responses(body), stats, route="responses")
        return to_completion(answer) if "output" in answer else answer

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = _CHAT, relay: Relay | None = None
    ) -> AsyncGenerator[list[bytes], None]:
        """See ports.CompletionUpstream."""
        if route != _CHAT or self._has_chat:
            try:
                async with aclosing(self._upstream.stream(body, stats, route=route, relay=relay)) as batches:
                    async for batch in batches:
                        yield batch
                return
            except UpstreamError as error:
                self._note(error, route)
        chunks = ChunksOfEvents()
        events = self._upstream.stream(to_responses(body), stats, route="responses")
        with self._noting_responses():
            async with aclosing(events) as batches:
                async for batch in batches:
                    if made := [chunk for data in batch for chunk in chunks.take(data)]:
                        yield made

    @contextmanager
    def _noting_responses(self) -> Iterator[None]:
        """An upstream that has neither route has another fault: its model's name, say."""
        try:
            yield
        except UpstreamError as error:
            self._has_chat = error.code == "upstream_misconfigured"
            raise

    def _note(self, error: UpstreamError, route: str) -> None:
        """Raises the error again, unless it says that there is no chat route."""
        if route != _CHAT or error.code != "upstream_misconfigured":
            raise error
        self._has_chat = False
