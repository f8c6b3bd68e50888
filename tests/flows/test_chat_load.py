"""Many streams at once, and readers that stop reading."""

import asyncio
import os
from pathlib import Path

import orjson
import pytest

from gateway.embedded.llm_server import SLOTS
from gateway.embedded.servers import MAX_CALLS, Embedded
from tests.support import upstream as up
from tests.support.asking import ASK, ask, ask_stream, said, toml
from tests.support.gateways import Gateway, Serve, engine_at
from tests.support.upstream import Upstream
from tests.support.waiting import until

STREAMS = 200
MOST_BYTES_A_STREAM = 512 * 1024
MOST_BYTES = 24 * 1024 * 1024


def resident_bytes() -> int:
    """Memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
async def test_two_hundred_streams_run_together_and_a_neighbour_is_answered(serve: Serve, upstream: Upstream) -> None:
    """The upstream holds all streams half-way until every one has begun; both ends and the gateway share a process."""
    before_bytes, held_bytes = resident_bytes(), 0
    server = await serve(toml(upstream, idle_timeout_s=20, first_byte_timeout_s=20, connect_timeout_s=10))
    begun, go_on = 0, asyncio.Event()
    texts = [f"w{n} " for n in range(12)]

    async def halting(exchange: up.Exchange) -> None:
        nonlocal begun, held_bytes
        if not exchange.seen.body.get("stream"):
            await up.answer()(exchange)
            return
        first, rest = up.text_stream(texts)[:6], up.text_stream(texts)[6:]
        await exchange.stream_head()
        for piece in first:
            await exchange.piece(piece)
        begun += 1
        if begun == STREAMS:
            held_bytes = resident_bytes() - before_bytes
            go_on.set()
        async with asyncio.timeout(20):
            await go_on.wait()
        for piece in rest:
            await exchange.piece(piece)
        await exchange.finish()

    upstream.will(halting)
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(ask_stream(server)) for _ in range(STREAMS)]
        await upstream.arrived.wait()
        async with asyncio.timeout(5):
            status, _, _ = await ask(server)
        assert status == 200
    for each in running:
        status, events = each.result()
        assert status == 200 and events[-1] is None and said(events) == "".join(texts)
    await server.in_flight.wait(2)
    assert len(server.in_flight) == 0
    assert held_bytes < STREAMS * MOST_BYTES_A_STREAM


async def test_an_embedded_model_has_a_bounded_number_of_callers(serve: Serve, upstream: Upstream) -> None:
    """The engine itself would let any number wait without end. It is given as many as it answers at once."""

    llm = engine_at(upstream.url, "embedded-llm")
    server = await serve(embedded=Embedded(llm=llm))
    gate = up.Gate(up.answer())
    upstream.will(gate)
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(ask(server)) for _ in range(MAX_CALLS)]
        await until(lambda: len(llm.queue) + llm.queue.waiting == MAX_CALLS and len(upstream.seen) == SLOTS, 5)
        for streamed in (False, True):
            status, told, headers = await ask(server, stream=streamed)
            assert status == 429 and told["error"]["code"] == "rate_limit_exceeded" and int(headers["Retry-After"]) > 0
        gate.go_on.set()
    assert [each.result()[0] for each in waiting] == [200] * MAX_CALLS
    status, _, _ = await ask(server)
    assert status == 200


async def test_a_reader_that_stops_stops_the_upstream_and_is_let_go(server: Gateway, upstream: Upstream) -> None:
    """Nothing is queued in between: what the upstream could send is what sockets hold."""
    stuck = asyncio.Event()
    piece = up.chunk({"content": "x" * 8000}) * 8
    sent = 0

    async def endless(exchange: up.Exchange) -> None:
        nonlocal sent
        await exchange.stream_head()
        try:
            while sent < 2 * MOST_BYTES:
                async with asyncio.timeout(0.7):
                    await exchange.piece(piece)
                sent = exchange.sent_bytes
        except TimeoutError:
            stuck.set()
            await exchange.gone(10)
        finally:
            upstream.released.set()

    upstream.will(endless)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
    body = orjson.dumps({**ASK, "stream": True})
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.key}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    await reader.readline()
    async with asyncio.timeout(20):
        await stuck.wait()
    assert sent < MOST_BYTES
    writer.transport.abort()
    async with asyncio.timeout(2):
        await upstream.released.wait()
