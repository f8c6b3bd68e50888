"""An embedded server as an upstream like any other, but one that may have to be started first."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import orjson

from gateway.model import Account, Json
from gateway.providers.openai_compat import OpenAICompatUpstream

_FINGERPRINT = re.compile(rb'"system_fingerprint":"[^"\\]*"')


class EmbeddedCompletions:
    """Implements ports.CompletionUpstream. `wake` waits until the server answers; it raises GatewayError."""

    def __init__(self, upstream: OpenAICompatUpstream, wake: Callable[[], Awaitable[None]], fingerprint: str) -> None:
        self._upstream = upstream
        self._wake = wake
        self._fingerprint = fingerprint
        self._ours = b'"system_fingerprint":' + orjson.dumps(fingerprint)

    @property
    def name(self) -> str:
        return self._upstream.name

    async def close(self) -> None:
        await self._upstream.close()

    async def complete(self, body: Json, account: Account, *, route: str = "chat/completions") -> Json:
        await self._wake()
        answer = await self._upstream.complete(body, account, route=route)
        if self._fingerprint:
            answer["system_fingerprint"] = self._fingerprint
        return answer

    async def stream(
        self, body: Json, account: Account, *, route: str = "chat/completions"
    ) -> AsyncGenerator[list[bytes], None]:
        await self._wake()
        theirs = b""
        async with aclosing(self._upstream.stream(body, account, route=route)) as events:
            async for batch in events:
                if self._fingerprint and not theirs and (found := _FINGERPRINT.search(b"".join(batch))):
                    theirs = found[0]
                yield [data.replace(theirs, self._ours) for data in batch] if theirs else batch
