"""HTTP client for upstreams: pooled connections, limits on time and size, failures as errors of the domain.

One pool for each upstream, so that a slow upstream does not take the connections of another. No redirects;
compression is not requested, and bounded where an upstream sends it. Every wait here has its own limit.
"""

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass

import aiohttp
import orjson

from gateway import trace
from gateway.domain import Relay
from gateway.engines.fetch.bounded_connector import (
    MAX_FIELD_BYTES,
    MAX_HEADERS,
    CountingConnection,
    are_headers_too_large,
)
from gateway.engines.fetch.decompression import DamagedBody, Decompressor, OutputTooLarge, steps_of
from gateway.errors import UpstreamError, UpstreamTimeout
from gateway.providers.egress import DIRECT, Egress
from gateway.providers.exchange import Exchange, Outgoing, RequestHead
from gateway.wire.json_counts import value_count
from gateway.wire.mended_json import mended_json
from gateway.wire.retry_after import wait_s

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Most bytes of a whole answer, decompressed, where no setting says another, and of one piece of a stream."""
MAX_ANSWER_VALUES = 2_000_000
"""JSON values in an answer, counted as `wire.json_counts.value_count`: 16 MiB of log probabilities have as many."""
_PIECE_BYTES = 1 << 15
"""Most bytes of a stream that are read at once: converting 300 small events takes 20 ms (measured)."""
UNREACHABLE = "upstream_unreachable"
_NOT_REACHED = "the upstream cannot be reached; `gateway doctor` on the gateway's machine says why"
DISCONNECTED = "upstream_disconnected"
"""Error codes of failures before any byte of an answer, after which the same request may be sent again."""
CERTIFICATE = "upstream_certificate"

_LARGE_HEADERS = (
    f"the upstream's headers are too large; at most {MAX_HEADERS} of {MAX_FIELD_BYTES:,} bytes are read, "
    "the operator must shorten them"
)
_REDIRECT = (
    "the upstream answered with a redirect, which is not followed; the operator must write the address that it leads "
    "to into base_url"
)
_POOL_IDLE_S = 15.0
"""Seconds that an idle connection is kept."""
_HEADS = 64
"""Addresses and headers whose heads are kept."""
_LINGER_S = 0.5
"""Seconds to wait for the end of a body after its last event."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds.

    `connect_s`: to open a connection. `first_byte_s`: from sending until the answer's headers. `idle_s`: between two
    reads of a body. `total_s`: from sending until the end of the body. The defaults are those of the configuration.
    """

    connect_s: float = 3
    first_byte_s: float = 60
    idle_s: float = 60
    total_s: float = 900


class Answer:
    """An upstream's answer whose headers have arrived. Call `read` or `chunks` once, then `close`."""

    def __init__(
        self, response: aiohttp.ClientResponse, timeouts: Timeouts, started_s: float, lingering: set[asyncio.Task[None]]
    ) -> None:
        self._lingering = lingering
        self._response = response
        self._timeouts = timeouts
        self._deadline_s = started_s + timeouts.total_s
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._decompressor = _decompressor_for(response.headers.get("Content-Encoding", ""))

    @property
    def content_type(self) -> str:
        """The media type of the body; `application/octet-stream` where the answer has no Content-Type."""
        return self._response.content_type

    async def read(self, max_bytes: int = MAX_ANSWER_BYTES) -> bytes:
        """The whole body, decompressed. Raises UpstreamError when it is cut or has more than `max_bytes`,
        UpstreamTimeout when it is not whole within `idle_s` seconds, or at the total limit."""
        limit_s = max(0.0, min(self._timeouts.idle_s, self._deadline_s - asyncio.get_running_loop().time()))
        try:
            content = self._response.content
            if content.is_eof() and content.exception() is None and self._decompressor is None:
                body = content.read_nowait()  # it came with the headers: nothing to wait for
                if len(body) > max_bytes:
                    raise _too_large(max_bytes)
                return body
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
            while size <= max_bytes and (part := await content.readany()):
                if self._decompressor is None:
                    parts.append(part)
                    size += len(part)
                    continue
                async for piece in _unpacked(self._decompressor, part, max_bytes - size):
                    parts.append(piece)
                    size += len(piece)
        if size > max_bytes:
            raise _too_large(max_bytes)
        if self._decompressor is not None and not self._decompressor.is_complete:
            raise UpstreamError("the upstream's answer broke off")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def chunks(self, relay: Relay | None = None) -> AsyncGenerator[bytes, None]:
        """The body, decompressed, as it arrives; pieces are never empty. What an open `relay` takes is not among them,
        and an empty piece means that something is `left` there. Raises UpstreamError, UpstreamTimeout.

        A compressed body that ends too early is not an error here: event streams mark their own end.
        """
        content, decompressor = self._response.content, self._decompressor
        timer = _ReadTimer(self._response, self._timeouts.idle_s, self._deadline_s)
        clock = asyncio.get_running_loop().time
        try:
            while True:
                timer.since_s = clock()
                if relay is not None and relay.is_open and decompressor is None:
                    await self._pass_on(relay, timer)
                    if relay.left or relay.is_over:
                        timer.since_s = None
                        yield b""
                        continue
                part = await content.readany()
                timer.since_s = None
                if not part:
                    return
                if decompressor is not None:
                    async for output in _unpacked(decompressor, part, MAX_ANSWER_BYTES):
                        async for piece in _in_turns(output, _PIECE_BYTES):
                            yield piece
                elif len(part) <= _PIECE_BYTES:
                    yield part
                else:
                    async for piece in _in_turns(part, _PIECE_BYTES):
                        yield piece
        except (aiohttp.ClientError, ConnectionError, ValueError) as error:
            raise UpstreamError("the upstream's answer broke off") from error
        except TimeoutError:
            raise UpstreamTimeout(timer.reason) from None
        finally:
            timer.close()

    async def _pass_on(self, relay: Relay, timer: "_ReadTimer") -> None:
        """Hand what comes to a relay, without a turn of this task, as long as it takes it and the body goes on. Raises
        UpstreamError."""
        content, connection, loop = self._response.content, self._response.connection, asyncio.get_running_loop()
        protocol = connection.protocol if connection is not None else None
        if not isinstance(protocol, CountingConnection):
            return
        over: asyncio.Future[None] = loop.create_future()

        def on_read() -> None:
            if over.done():
                return
            timer.since_s = loop.time()
            try:
                if (
                    content.is_eof()
                    or content.exception() is not None
                    or protocol.has_paused
                    or ((data := content.read_nowait()) and not relay.take(data))
                ):
                    over.set_result(None)
            except Exception as error:  # it would end the connection, and nobody would know
                over.set_exception(error)

        protocol.on_read = on_read
        try:
            on_read()
            await over
        finally:
            protocol.on_read = None

    def close(self, *, is_complete: bool = False) -> None:
        """Returns the connection to the pool if the body was read to its end; closes it otherwise.

        `is_complete`: only the end of the body is missing. It is read in the background within _LINGER_S, so that the
        next request can reuse the connection.
        """
        if is_complete and not self._response.content.at_eof():
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
                await content.readany()  # if this is not the end of the body, the connection is closed
        self.close()

    @property
    def retry_after_s(self) -> float | None:
        """Seconds from the headers that say when to come back; None without one (`wire.retry_after.wait_s`)."""
        return wait_s(self._response.headers)


def decoded_answer(
    raw: bytes, *, max_values: int = MAX_ANSWER_VALUES, sender: str = "the upstream", repairs: bool = False
) -> object:
    """The value of an answer; None for what is no JSON. With `repairs` half a character is U+FFFD. Raises
    UpstreamError, which names the `sender`: the answer has too many values."""
    if len(raw) > max_values and (values := value_count(raw)) > max_values:
        raise UpstreamError(f"{sender}'s answer has at least {values} JSON values; the limit is {max_values}")
    try:
        value: object = mended_json(raw) if repairs else orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return value


async def _in_turns(body: bytes, size: int) -> AsyncIterator[bytes]:
    """A body in pieces, with a turn for other tasks on the event loop after each."""
    for start in range(0, len(body), size):
        yield body[start : start + size]
        await asyncio.sleep(0)


async def _unpacked(decompressor: Decompressor, part: bytes, max_bytes: int) -> AsyncIterator[bytes]:
    """The output of a part of a compressed body, none empty, with turns for others. Raises UpstreamError when it is
    damaged, or more than `max_bytes`."""
    limit = max_bytes
    for step in steps_of(part):
        try:
            output = decompressor.feed(step, max_bytes)
        except DamagedBody:
            raise UpstreamError("the upstream's answer is not what its Content-Encoding says") from None
        except OutputTooLarge:
            raise _too_large(limit) from None
        max_bytes -= len(output)
        if output:
            yield output
        if len(output) > _PIECE_BYTES:
            await asyncio.sleep(0)


def _too_large(max_bytes: int) -> UpstreamError:
    return UpstreamError(f"the upstream's answer is too large; the limit is {max_bytes} bytes (max_answer_bytes)")


def _decompressor_for(coding: str) -> Decompressor | None:
    """None for a body that is read as it is: without a coding, or with one that is not known here."""
    name = coding.strip().lower()
    if name in ("gzip", "x-gzip"):
        return Decompressor("gzip")
    return Decompressor("deflate") if name == "deflate" else None


class _ReadTimer:
    """Ends a read that takes too long, with one timer for the whole body.

    Naive form: `asyncio.timeout` around each read. The reader sets `since_s` before a read and None after it; its own
    pauses between reads do not count.
    """

    def __init__(self, response: aiohttp.ClientResponse, idle_s: float, deadline_s: float) -> None:
        self._response = response
        self._idle_s = idle_s
        self._deadline_s = deadline_s
        self._loop = asyncio.get_running_loop()
        self.since_s: float | None = None
        """Loop time at which the present read began; None between two reads."""
        self.reason = f"the upstream sent nothing for {idle_s:g} s"
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
        if now_s >= self._deadline_s:
            self.reason = "the upstream's answer took longer than it may in all"
        self._response.content.set_exception(TimeoutError())
        self._response.close()


def caused(fault: UpstreamError, cause: str) -> UpstreamError:
    """The same error, with `cause` set: the words for the operator's log."""
    fault.cause = cause
    return fault


_EXPIRED, _WRONG_NAME = 10, (62, 64)
"""Codes of OpenSSL (X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH)."""


def _certificate_refused(error: aiohttp.ClientConnectorCertificateError) -> UpstreamError:
    """What is wrong with the upstream's certificate, without its name or address."""
    code = getattr(error.certificate_error, "verify_code", 0)
    reason, remedy = {
        _EXPIRED: ("has expired", "it must be renewed there"),
        **dict.fromkeys(_WRONG_NAME, ("is for another name", "the operator must write that name into base_url")),
    }.get(code, ("is of an unknown authority", "the operator must name it in ca_file"))
    fault = UpstreamError(f"the upstream's certificate {reason}; {remedy}", code=CERTIFICATE)
    fault.retryable = False
    return caused(fault, f"tls: the certificate {reason}")


def _cause(error: BaseException) -> str:
    """Why a connection could not be made, without its address."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "dns"
    if isinstance(error, aiohttp.ClientSSLError):
        return "tls"
    if isinstance(error, aiohttp.ConnectionTimeoutError | TimeoutError):
        return "timeout"
    os_error = getattr(error, "os_error", None)
    return "refused" if isinstance(os_error, ConnectionRefusedError) else "unreachable"


class HttpClient:
    """A pool of connections to one upstream. It may be made before the loop runs; close it once.

    With `reuses_connections` False every call has a connection of its own.
    """

    def __init__(self, timeouts: Timeouts, egress: Egress = DIRECT, *, reuses_connections: bool = True) -> None:
        self.timeouts = timeouts
        self._egress = egress
        self._reuses_connections = reuses_connections
        self._session: aiohttp.ClientSession | None = None
        self._lingering: set[asyncio.Task[None]] = set()
        self._head = functools.lru_cache(_HEADS)(self._made_head)

    async def close(self) -> None:
        """Closes all connections, and stops reads in the background."""
        for task in self._lingering:
            task.cancel()
        if self._lingering:
            await asyncio.wait(self._lingering)
        if self._session is not None:
            await self._session.close()

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, first_byte_s: float | None = None
    ) -> Answer:
        """The answer to a POST, of any status but a redirect, once its headers have arrived. The caller closes it.

        `first_byte_s` replaces the limit of the client. Raises UpstreamError (codes UNREACHABLE and DISCONNECTED; not
        HTTP; a redirect) and UpstreamTimeout.
        """
        started_s = asyncio.get_running_loop().time()
        response = await self._send("POST", url, body, headers, first_byte_s or self.timeouts.first_byte_s)
        return Answer(response, self.timeouts, started_s, self._lingering)

    async def get(self, url: str, headers: Mapping[str, str]) -> Answer:
        """As `post`, for a GET."""
        started_s = asyncio.get_running_loop().time()
        response = await self._send("GET", url, b"", headers, self.timeouts.first_byte_s)
        return Answer(response, self.timeouts, started_s, self._lingering)

    async def delete(self, url: str, headers: Mapping[str, str]) -> None:
        """A DELETE whose answer is not read. Raises aiohttp.ClientError, OSError, TimeoutError."""
        (await self._ask("DELETE", url, b"", headers)).close()

    async def _send(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], first_byte_s: float
    ) -> aiohttp.ClientResponse:
        try:
            async with asyncio.timeout(first_byte_s):
                response = await self._ask(method, url, body, headers)
        except aiohttp.ClientHttpProxyError as error:
            fault = UpstreamError(f"the proxy before the upstream answered {error.status}", code=UNREACHABLE)
            raise caused(fault, f"proxy status {error.status}") from None
        except aiohttp.ClientConnectorCertificateError as error:
            raise _certificate_refused(error) from error
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise caused(UpstreamError(_NOT_REACHED, code=UNREACHABLE), _cause(error)) from error
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, ConnectionError) as error:
            fault = UpstreamError("the upstream closed the connection without an answer", code=DISCONNECTED)
            raise caused(fault, "disconnected") from error
        except TimeoutError:
            fault = UpstreamTimeout(f"the upstream did not begin to answer within {first_byte_s:g} s")
            raise caused(fault, "timeout") from None
        except (aiohttp.ClientError, ValueError) as error:
            if are_headers_too_large(error):
                raise UpstreamError(_LARGE_HEADERS, code="upstream_headers_too_large") from error
            raise UpstreamError("the upstream's answer is not valid HTTP") from error
        if 300 <= response.status < 400:
            response.close()
            raise caused(UpstreamError(_REDIRECT), f"status {response.status}")
        return response

    async def _ask(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> aiohttp.ClientResponse:
        session = self._session or self._opened()
        head = self._head(method, url, *headers.items())
        outgoing = Outgoing(head, body, trace.outgoing())
        return await session.request(method, head.url, data=outgoing, allow_redirects=False)

    def _made_head(self, method: str, url: str, *headers: tuple[str, str]) -> RequestHead:
        own = {"Accept-Encoding": "identity", "User-Agent": "gateway"}
        last = {} if self._reuses_connections else {"Connection": "close"}
        return RequestHead(method, url, {**own, **dict(headers), **last})

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            timeouts = self.timeouts
            reuse = {"keepalive_timeout": _POOL_IDLE_S} if self._reuses_connections else {"force_close": True}
            self._session = self._egress.open_session(
                {"limit": 0, "ttl_dns_cache": 30, **reuse},
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=timeouts.connect_s, connect=2 * timeouts.connect_s, sock_read=None
                ),
                request_class=Exchange,
                auto_decompress=False,
                read_bufsize=64 * 1024,
                max_field_size=MAX_FIELD_BYTES,
                max_headers=MAX_HEADERS,
            )
        return self._session
