"""Requests whose head was made once: what they say, and connections that end when they are sent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest

from gateway.errors import UpstreamError
from gateway.providers.exchange import RequestHead, start_of
from gateway.providers.http import DISCONNECTED, HttpClient, Timeouts

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
LONG = b"x" * 30_000_000
"""More than the buffers of a connection hold."""

Serving = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(serve: Serving) -> AsyncIterator[tuple[HttpClient, str]]:
    at_work = set[asyncio.Task[object] | None]()

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        at_work.add(asyncio.current_task())
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve_and_close, "127.0.0.1", 0)
    client = HttpClient(Timeouts(3, 5, 5, 5))
    try:
        async with asyncio.timeout(20):
            yield client, f"127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        await client.close()
        server.close()
        await asyncio.wait([task for task in at_work if task is not None], timeout=5)


async def test_each_request_has_the_same_head_but_for_the_length_of_its_body() -> None:
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            await reader.readexactly(int(heads[-1].rsplit(b" ", 1)[1]))
            writer.write(OK)

    async with serving(serve) as (client, address):
        for body in (b"", b"{}"):
            answer = await client.post(f"http://{address}?a=b", body, {"Content-Type": "text/plain"})
            assert await answer.read() == b"{}"
            answer.close()
    lines = f"Host: {address.partition('/')[0]}\r\nAccept: */*\r\nAccept-Encoding: identity\r\nUser-Agent: gateway\r\n"
    start = f"POST /v1?a=b HTTP/1.1\r\n{lines}Content-Type: text/plain\r\nContent-Length: "
    assert heads == [f"{start}{size}\r\n\r\n".encode() for size in (0, 2)]


async def test_an_answer_that_comes_before_the_end_of_a_long_request_is_read() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
        await asyncio.wait({asyncio.ensure_future(reader.read())}, timeout=5)

    async with serving(serve) as (client, address):
        answer = await client.post(f"http://{address}", LONG, {})
        assert (answer.status, await answer.read()) == (413, b"big")
        answer.close()


async def test_a_connection_that_was_closed_meanwhile_is_told_and_the_next_request_has_another() -> None:
    served = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        served += 1
        await reader.readuntil(b"\r\n\r\n")
        if served > 1:
            writer.write(OK)

    async with serving(serve) as (client, address):
        with pytest.raises(UpstreamError) as told:
            await client.post(f"http://{address}", b"{}", {})
        assert told.value.code == DISCONNECTED
        served = 0
        with pytest.raises(aiohttp.ClientError):
            await client.delete(f"http://{address}", {})
        answer = await client.post(f"http://{address}", b"{}", {})
        assert await answer.read() == b"{}"
        answer.close()


@pytest.mark.parametrize("value", ["a\r\nX: b", "a\0", "\x7f"])
def test_no_header_can_hold_a_control_character(value: str) -> None:
    with pytest.raises(ValueError, match="control character"):
        start_of("POST", "/v1", [("Authorization", value)])
    with pytest.raises(ValueError, match="control character"):
        RequestHead("POST", "http://a/v1", {"Authorization": value})
