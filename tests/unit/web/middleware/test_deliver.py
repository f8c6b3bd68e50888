"""From replies to bytes, on real sockets under the production runner: late failures, and a burst."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from gateway.access.keys import KeyFile, KeyRequest, KeyStore
from gateway.access.rate_limits import BadKeyLimiter, Limiter
from gateway.calls.in_flight import InFlight
from gateway.config.settings import Limits, Sanitize
from gateway.domain import Event, EventStream
from gateway.errors import GatewayError, UpstreamError
from gateway.mcp.dialect import WebSearchDialect
from gateway.metrics import Metrics
from gateway.sanitize.pipeline import Sanitizer
from gateway.shared_state.memory import MemoryWindows
from gateway.web.endpoints import Endpoint, EndpointTable, Handler
from gateway.web.listen_socket import bind
from gateway.web.replies import EventReply
from gateway.web.request_log import Recorder
from gateway.web.server.runner import Listener, application
from gateway.web.state import ServerState
from tests.support.loop_turns import turns_of_others

STREAM_END = b"\r\n0\r\n\r\n"


class PlainDialect(WebSearchDialect):
    """Errors as one line each, so that a test can read them."""

    def error_body(self, error: GatewayError, body: object) -> dict[str, object]:
        return {"error": error.code}

    def error_events(self, error: GatewayError) -> list[Event]:
        return [Event.from_data({"error": error.code})]


class Site:
    def __init__(self, port: int, key: str, listener: Listener, in_flight: InFlight) -> None:
        self.port, self.key, self.listener, self.in_flight = port, key, listener, in_flight

    async def ask(self, limit: int = 1 << 16) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=limit)
        writer.write(f"POST /run HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.key}\r\n\r\n".encode())
        return reader, writer


@asynccontextmanager
async def serving(tmp_path: Path, handler: Handler) -> AsyncIterator[Site]:
    keys = KeyFile(tmp_path / "keys.json")
    key, _ = keys.create(KeyRequest("test", ("chat",)))
    metrics = Metrics()
    parts = ServerState(
        endpoints=EndpointTable([Endpoint("chat", "POST", "/run", handler, PlainDialect())], ""),
        in_flight=InFlight(10),
        keys=KeyStore(keys.path),
        bad_keys=BadKeyLimiter(0, MemoryWindows()),
        limiter=Limiter(MemoryWindows(), Limits()),
        sanitizer=Sanitizer(Sanitize(routes=())),
        metrics=metrics,
        recorder=Recorder(metrics),
        body_timeout_s=5.0,
    )
    app = application(parts, 1000)
    listener, sock = Listener(app, header_timeout_s=5), bind("127.0.0.1", 0)
    await listener.start([sock])
    try:
        yield Site(sock.getsockname()[1], key, listener, parts.in_flight)
    finally:
        await listener.close()


Start = Callable[[Handler], Awaitable[Site]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    sites = []

    async def start_one(handler: Handler) -> Site:
        context = serving(tmp_path, handler)
        sites.append(context)
        return await context.__aenter__()

    yield start_one
    for context in sites:
        await context.__aexit__(None, None, None)


async def within(wait: Awaitable[bytes], limit_s: float = 5) -> bytes:
    return await asyncio.wait_for(wait, limit_s)


async def gone(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with contextlib.suppress(ConnectionError):
        await asyncio.wait_for(writer.wait_closed(), 5)


def streaming(events: Callable[[], EventStream], wait_s: float = 5) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        return EventReply(events(), first_event_wait_s=wait_s)

    return handler


async def test_a_slow_first_event_commits_the_stream_and_its_failure_is_an_event(start: Start) -> None:
    gate = asyncio.Event()

    async def events() -> EventStream:
        await gate.wait()
        for error in (UpstreamError("dead"),):  # a loop, so that the checker takes the yield for reachable
            raise error
        yield []

    reader, writer = await (await start(streaming(events, wait_s=0.05))).ask()
    head = await within(reader.readuntil(b"\r\n\r\n"))
    assert b" 200 " in head
    gate.set()
    assert b'{"error":"upstream_error"}' in await within(reader.readuntil(STREAM_END))
    await gone(writer)


async def test_a_burst_does_not_stall_the_neighbours(start: Start) -> None:
    async def burst() -> EventStream:
        for number in range(20_000):
            yield [Event.from_data({"n": number})]

    reader, writer = await (await start(streaming(burst))).ask(limit=1 << 24)
    async with turns_of_others() as turns:
        await within(reader.readuntil(STREAM_END), 20)
    assert turns.count > 200
    await gone(writer)
