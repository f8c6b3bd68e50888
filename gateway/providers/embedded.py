"""An embedded server as an upstream like any other, but one that may have to be started first."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager

import orjson

from gateway.domain import Json, RequestStats
from gateway.errors import UpstreamRefused
from gateway.ports import CompletionUpstream

_BUSY_RETRY_AFTER_S = 5.0
_FINGERPRINT = re.compile(rb'"system_fingerprint":"[^"\\]*"')


class OnDemandUpstream:
    """Implements ports.CompletionUpstream. `wake` waits until the server answers; it raises GatewayError.

    At most `max_calls` are answered or waiting at once; one more raises UpstreamRefused with status 429: the engine
    itself would let it wait without end.
    """

    def __init__(
        self, upstream: CompletionUpstream, wake: Callable[[], Awaitable[None]], fingerprint: str, max_calls: int
    ) -> None:
        self._max_calls = max_calls
        self._calls = 0
        self._upstream = upstream
        self._wake = wake
        self._fingerprint = fingerprint
        self._ours = b'"system_fingerprint":' + orjson.dumps(fingerprint)

    @property
    def name(self) -> str:
        return self._upstream.name

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        with self._place():
            await self._wake()
            answer = await self._upstream.complete(body, stats, route=route)
        if self._fingerprint:
            answer["system_fingerprint"] = self._fingerprint
        return answer

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions"
    ) -> AsyncGenerator[list[bytes], None]:
        theirs = b""
        with self._place():
            await self._wake()
            async with aclosing(self._upstream.stream(body, stats, route=route)) as events:
                async for batch in events:
                    if self._fingerprint and not theirs and (found := _FINGERPRINT.search(b"".join(batch))):
                        theirs = found[0]
                    yield [data.replace(theirs, self._ours) for data in batch] if theirs else batch

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._calls >= self._max_calls:
            raise UpstreamRefused(
                f"the embedded model has {self._calls} callers already; try again later",
                status=429,
                code="rate_limit_exceeded",
                retry_after_s=_BUSY_RETRY_AFTER_S,
            )
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
