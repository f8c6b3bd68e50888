"""OnDemandUpstream: starts an embedded server before the first call.

Knows neither how a server is started nor HTTP.
"""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import orjson

from gateway.domain import Json, RequestStats
from gateway.ports import CompletionUpstream

_FINGERPRINT = re.compile(rb'"system_fingerprint":"[^"\\]*"')
"""The field as llama.cpp writes it into a chunk. It is the same in all chunks of a stream."""


class OnDemandUpstream:
    """A decorator of one ports.CompletionUpstream, for an embedded server that is started on demand.

    `wake` starts the server unless it runs and returns when it answers; it raises GatewayError. `fingerprint`, unless
    empty, replaces the `system_fingerprint` of answers.
    """

    def __init__(self, upstream: CompletionUpstream, wake: Callable[[], Awaitable[None]], fingerprint: str) -> None:
        self._upstream = upstream
        self._wake = wake
        self._fingerprint = fingerprint
        self._our_field = b'"system_fingerprint":' + orjson.dumps(fingerprint)

    @property
    def name(self) -> str:
        """The name of the upstream inside."""
        return self._upstream.name

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        """See ports.CompletionUpstream. Raises what `wake` raises."""
        await self._wake()
        answer = await self._upstream.complete(body, stats, route=route)
        if self._fingerprint:
            answer["system_fingerprint"] = self._fingerprint
        return answer

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions"
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
