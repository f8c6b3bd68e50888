"""Calls to upstreams over pooled connections: limits in time and size, faults as errors of the domain.

One pool an upstream, so that one upstream's trouble does not starve another. No redirects, no proxies from the
environment; compression is not asked for, and bounded where it comes. aiohttp 3.14.5 waits for ever on some broken
answers (a bad chunk in a later segment, read 2026-11-21): every wait here has its own limit. Knows no wire format.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass

import aiohttp

from gateway.engines.fetch.decompress import DamagedBody, Decompressor, OutputTooLarge
from gateway.errors import UpstreamError, UpstreamTimeout
from gateway.wire.large_json import Pieces
from gateway.wire.retry_after import retry_after_s

MAX_ANSWER_BYTES = 16 * 1024 * 1024
UNREACHABLE = "upstream_unreachable"
DISCONNECTED = "upstream_disconnected"
"""Error codes of faults after which the same request may be sent again: no byte of an answer had come."""

_POOL_IDLE_S = 15.0
_LINGER_S = 0.5


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. `first_byte_s`: from sending until the answer's headers. `idle_s`: between two reads of a body."""

    connect_s: float = 3
    first_byte_s: float = 60
    idle_s: float = 60
    total_s: float = 900


class Answer:
    """An upstream's answer whose headers are there. Read it once, whole or in pieces."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        timeouts: Timeouts,
        started_s: float,
        lingering: set[asyncio.Task[None]],
    ) -> None:
        self._lingering = lingering
        self._response = response
        self._timeouts = timeouts
        self._deadline_s = started_s + timeouts.total_s
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self.content_type = response.content_type
        self._decompressor = _decompressor_for(response.headers.get("Content-Encoding", ""))

    async def read(self, max_bytes: int = MAX_ANSWER_BYTES) -> bytes:
        """The whole body. Raises UpstreamError when it is cut, too large, or too slow."""
        now_s = asyncio.get_running_loop().time()
        limit_s = max(0.0, min(self._timeouts.idle_s, self._deadline_s - now_s))
        try:
            async with asyncio.timeout(limit_s):
                return await self._read_all(max_bytes)
        except (aiohttp.ClientError, ConnectionError, ValueError) as error:
            raise UpstreamError("the upstream's answer broke off") from error
        except TimeoutError:
            raise UpstreamTimeout(f"the upstream's answer was not whole after {limit_s:g} s") from None

    async def _read_all(self, max_bytes: int) -> bytes:
        content, size = self._response.content, self._response.content_length or 0
        parts: list[bytes] = []
        if size <= max_bytes:
            size = 0
            while part := await content.readany():
                part = self._decompressed(part, max_bytes)
                size += len(part)
                if size > max_bytes:
                    break
                parts.append(part)
        if size > max_bytes:
            raise UpstreamError("the upstream's answer is too large")
        if self._decompressor is not None and not self._decompressor.is_complete:
            raise UpstreamError("the upstream's answer broke off")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it arrives, never empty pieces. Raises UpstreamError, UpstreamTimeout."""
        content = self._response.content
        watch = _Watch(self._response, self._timeouts.idle_s, self._deadline_s)
        clock, is_packed = asyncio.get_running_loop().time, self._decompressor is not None
        try:
            while True:
                watch.since_s = clock()
                part = await content.readany()
                watch.since_s = None
                if not part:
                    return
                if is_packed:
                    part = self._decompressed(part, MAX_ANSWER_BYTES)
                if part:
                    yield part
        except (aiohttp.ClientError, ConnectionError, ValueError) as error:
            raise UpstreamError("the upstream's answer broke off") from error
        except TimeoutError:
            raise UpstreamTimeout(f"the upstream sent nothing for {watch.limit_s:g} s") from None
        finally:
            watch.close()

    def _decompressed(self, piece: bytes, max_bytes: int) -> bytes:
        """The output of a piece that the upstream compressed though it was asked not to; at most `max_bytes`."""
        if self._decompressor is None:
            return piece
        try:
            return self._decompressor.feed(piece, max_bytes)
        except DamagedBody:
            raise UpstreamError("the upstream's answer is not what its Content-Encoding says") from None
        except OutputTooLarge:
            raise UpstreamError("the upstream's answer is too large") from None

    def close(self, *, said_all: bool = False) -> None:
        """A body read to its end gives the connection back to the pool; any other closes it.

        `said_all`: only the end of the body is still to come. It is waited for in the background for a moment, so that
        a stream need not cost the next one a new connection.
        """
        if said_all and not self._response.content.at_eof():
            task = asyncio.create_task(self._linger())
            self._lingering.add(task)
            task.add_done_callback(self._lingering.discard)
            return
        if not self._response.content.at_eof():
            self._response.close()
        self._response.release()

    async def _linger(self) -> None:
        content = self._response.content
        with contextlib.suppress(aiohttp.ClientError, ConnectionError, ValueError, TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                await content.readany()  # at most the last bytes: whoever goes on talking is hung up on
        self.close()

    @property
    def retry_after_s(self) -> float | None:
        """See wire.retry_after."""
        return retry_after_s(self._response.headers.get("Retry-After", ""))


def _decompressor_for(coding: str) -> Decompressor | None:
    """None for a body that is read as it is: without a coding, or with one that is not known here."""
    name = coding.strip().lower()
    if name in ("gzip", "x-gzip"):
        return Decompressor("gzip")
    return Decompressor("deflate") if name == "deflate" else None


class _Watch:
    """Ends a read that takes too long, by one timer a body, not one a read. A reader's own pauses do not count."""

    def __init__(self, response: aiohttp.ClientResponse, idle_s: float, deadline_s: float) -> None:
        self._response = response
        self._idle_s = idle_s
        self._deadline_s = deadline_s
        self._loop = asyncio.get_running_loop()
        self.since_s: float | None = None
        """When the read under way began; None between two reads."""
        self.limit_s = idle_s
        self._handle = self._loop.call_at(min(self._loop.time() + idle_s, deadline_s), self._check)

    def close(self) -> None:
        self._handle.cancel()

    def _check(self) -> None:
        now_s = self._loop.time()
        due_s = self._deadline_s
        if self.since_s is not None:
            due_s = min(due_s, self.since_s + self._idle_s)
        if now_s < due_s:
            wait_s = due_s if self.since_s is not None else min(due_s, now_s + self._idle_s)
            self._handle = self._loop.call_at(wait_s, self._check)
            return
        self._response.content.set_exception(TimeoutError())
        self._response.close()


async def _in_turn(pieces: Pieces) -> AsyncIterator[bytes]:
    """Pieces to be written, with a turn for everyone else on the loop after each."""
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)


class HttpClient:
    """A pool of connections to one upstream. Make it inside a running loop or before; close it once."""

    def __init__(self, timeouts: Timeouts) -> None:
        self.timeouts = timeouts
        self._session: aiohttp.ClientSession | None = None
        self._lingering: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        for task in self._lingering:
            task.cancel()
        if self._lingering:
            await asyncio.wait(self._lingering)
        if self._session is not None:
            await self._session.close()

    async def post(
        self, url: str, body: bytes | Pieces, headers: Mapping[str, str], *, first_byte_s: float | None = None
    ) -> Answer:
        """The answer to a POST once its headers are there, whatever its status. The caller closes it, in any case.

        Raises UpstreamError (unreachable, disconnected, not HTTP, redirect) and UpstreamTimeout.
        """
        started_s = asyncio.get_running_loop().time()
        response = await self._send(url, body, headers, first_byte_s or self.timeouts.first_byte_s)
        if 300 <= response.status < 400:
            response.close()
            raise UpstreamError("the upstream answered with a redirect, which is not followed")
        return Answer(response, self.timeouts, started_s, self._lingering)

    async def _send(
        self, url: str, body: bytes | Pieces, headers: Mapping[str, str], first_byte_s: float
    ) -> aiohttp.ClientResponse:
        data: bytes | AsyncIterator[bytes] = body if isinstance(body, bytes) else _in_turn(body)
        if isinstance(body, Pieces):
            headers = {**headers, "Content-Length": str(body.size)}
        try:
            async with asyncio.timeout(first_byte_s):
                return await self._opened().post(url, data=data, headers=headers, allow_redirects=False)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise UpstreamError("the upstream cannot be reached", code=UNREACHABLE) from error
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, ConnectionError) as error:
            raise UpstreamError("the upstream closed the connection without an answer", code=DISCONNECTED) from error
        except TimeoutError:
            raise UpstreamTimeout(f"the upstream did not begin to answer within {first_byte_s:g} s") from None
        except (aiohttp.ClientError, ValueError) as error:
            raise UpstreamError("the upstream's answer is not valid HTTP") from error

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            timeouts = self.timeouts
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_POOL_IDLE_S, ttl_dns_cache=30),
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=timeouts.connect_s, connect=2 * timeouts.connect_s, sock_read=None
                ),
                headers={"Accept-Encoding": "identity", "User-Agent": "gateway"},
                auto_decompress=False,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=64 * 1024,
            )
        return self._session
