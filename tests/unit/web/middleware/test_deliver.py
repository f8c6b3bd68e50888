"""From replies to bytes, on real sockets under the production runner: late failures, bursts,
the ends of streams, and what is kept of them in memory (nothing)."""

import asyncio
import contextlib
import gc
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from gateway.access.keys import KeyFile, KeyRequest, KeyStore
from gateway.access.rate_limits import BadKeyLimiter, Limiter
from gateway.calls.in_flight import InFlight
from gateway.config.settings import Limits, Sanitize
from gateway.domain import Event, EventStream
from gateway.errors import UpstreamError
from gateway.metrics import Metrics
from gateway.sanitize.pipeline import Sanitizer
from gateway.shared_state.memory import MemoryWindows
from gateway.web.endpoints import Endpoint, EndpointTable, Handler
from gateway.web.replies import EventReply
from gateway.web.request_log import Recorder
from gateway.web.server.runner import application
from gateway.web.state import ServerState
from gateway.wire import sse
from gateway.wire.chat.dialect import ChatDialect
from tests.support.listening import listening
from tests.support.loop_turns import turns_of_others
from tests.support.waiting import until

STREAM_END = b"\r\n0\r\n\r\n"


class Site:
    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key

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
        endpoints=EndpointTable([Endpoint("chat", "POST", "/run", handler, ChatDialect())], ""),
        in_flight=InFlight(10),
        keys=KeyStore(keys.path),
        bad_keys=BadKeyLimiter(0, MemoryWindows()),
        limiter=Limiter(MemoryWindows(), Limits()),
        sanitizer=Sanitizer(Sanitize(routes=())),
        metrics=metrics,
        recorder=Recorder(metrics),
        body_timeout_s=5.0,
    )
    async with listening(application(parts, 1000)) as port:
        yield Site(port, key)


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


async def test_a_slow_first_event_commits_the_stream_and_its_failure_is_an_event(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def events() -> EventStream:
        await gate.wait()
        for error in (UpstreamError("dead"),):  # a loop, so that the checker takes the yield for reachable
            raise error
        yield []

    async with serving(tmp_path, streaming(events, wait_s=0.05)) as site:
        reader, writer = await site.ask()
        assert b" 200 " in await within(reader.readuntil(b"\r\n\r\n"))
        gate.set()
        assert b'"code":"upstream_error"' in await within(reader.readuntil(STREAM_END))
        await gone(writer)


async def test_a_burst_does_not_stall_the_neighbours(tmp_path: Path) -> None:
    async def burst() -> EventStream:
        for number in range(20_000):
            yield [Event.from_data({"n": number})]

    async with serving(tmp_path, streaming(burst)) as site:
        reader, writer = await site.ask(limit=1 << 24)
        async with turns_of_others() as turns:
            await within(reader.readuntil(STREAM_END), 20)
        assert turns.count > 200
        await gone(writer)


@pytest.mark.parametrize("ending", ["whole", "failed", "left"])
async def test_an_ended_stream_lets_its_request_go_without_the_garbage_collector(tmp_path: Path, ending: str) -> None:
    replies: list[weakref.ref[EventReply]] = []

    async def events() -> EventStream:
        yield [Event.from_data({"n": 1})]
        if ending == "failed":
            raise UpstreamError("dead")
        if ending == "left":
            await asyncio.Event().wait()

    async def handler(request: web.Request) -> web.StreamResponse:
        reply = EventReply(events())
        replies.append(weakref.ref(reply))
        return reply

    gc.disable()
    try:
        async with serving(tmp_path, handler) as site:
            reader, writer = await site.ask()
            await within(reader.readuntil(b'{"n":1}' if ending == "left" else STREAM_END))
            await gone(writer)
            await until(lambda: replies[0]() is None, 5)
    finally:
        gc.enable()


async def test_events_that_repeat_a_long_answer_are_written_as_they_are_one_after_the_other(tmp_path: Path) -> None:
    pieces, whole = [f"{number} \U0001f600".ljust(3_000) for number in range(120)], "\U0001f600" + "b" * 360_000

    async def events() -> EventStream:
        for piece in pieces:
            yield [Event.from_data({"delta": piece})]
        yield [Event.from_data({"n": n, "whole": whole}, name="done") for n in (1, 2)] + [Event.from_bytes(sse.DONE)]

    async with serving(tmp_path, streaming(events)) as site, aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {site.key}"}
        async with session.post(f"http://127.0.0.1:{site.port}/run", headers=headers) as answer:
            body = await within(answer.read())
    expected = [sse.frame({"delta": piece}) for piece in pieces]
    expected += [sse.frame({"n": n, "whole": whole}, "done") for n in (1, 2)]
    assert body == b"".join([*expected, sse.DONE])
