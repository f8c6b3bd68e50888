"""QueuedUpstream: lets so many calls through to an upstream as it serves at once; the others wait, dealt out by key.

Without it a server that serves few calls at once queues the rest itself, first come first served, and one key's flood
keeps every other key waiting. Knows no HTTP and no wire format.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from gateway.config.settings import Upstream
from gateway.domain import Json, RequestStats
from gateway.errors import UpstreamRefused
from gateway.ports import CompletionUpstream
from gateway.resilience.fair_queue import FairQueue, QueueFull

_SPARE_PART = 4
"""One call in so many is sent beyond the configured number, for keys that have none. Chosen: enough for the short calls
of a second key; at double the part, a server is given half more calls than it was said to serve; at half, two short
calls at once wait for the first key's long ones."""
_BUSY_RETRY_AFTER_S = 5.0
"""Suggested to callers who are refused. Chosen: about one short answer of the embedded model; at half clients are
refused more often, at double places stay free longer."""


class QueuedUpstream:
    """A decorator of one ports.CompletionUpstream.

    A call holds one of the slots of `queue`, for the key in its `stats`, from before it is sent until its answer ends.
    One that finds the queue full, or waits for `wait_limit_s` seconds, raises UpstreamRefused with status 429.
    """

    def __init__(self, upstream: CompletionUpstream, queue: FairQueue, wait_limit_s: float) -> None:
        self._upstream = upstream
        self._queue = queue
        self._wait_limit_s = wait_limit_s

    @property
    def name(self) -> str:
        """The name of the upstream inside."""
        return self._upstream.name

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        """See ports.CompletionUpstream. Raises UpstreamRefused, status 429."""
        async with self._slot(stats.key_id):
            return await self._upstream.complete(body, stats, route=route)

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions"
    ) -> AsyncGenerator[list[bytes], None]:
        """See ports.CompletionUpstream. Raises UpstreamRefused, status 429."""
        async with self._slot(stats.key_id), aclosing(self._upstream.stream(body, stats, route=route)) as events:
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
