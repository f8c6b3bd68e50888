"""Bodies that come faster than they are read: the connection is paused and read on, what was sent next is served."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from tests.support.listening import listening


def chunked(pieces: int, piece: bytes) -> bytes:
    """A request whose body is so many chunks."""
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%b\r\n" % (len(piece), piece) * pieces + b"0\r\n\r\n"


def whole(size: int) -> bytes:
    """A request whose body has a known length."""
    return b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (size, b"a" * size)


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server that reads bodies slowly and answers with their lengths."""

    async def answer(request: web.Request) -> web.StreamResponse:
        size = 0
        while part := await request.content.readany():
            size += len(part)
            await asyncio.sleep(0.002)
        return web.Response(text=f"<{size}>")

    async with listening(answer) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        yield reader, writer
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("first", [4_097, 5_000, 20_000], ids=["ends with its pause", "paused once", "paused often"])
async def test_requests_behind_a_paused_body_are_served_without_waiting_for_more(first: int) -> None:
    requests = [chunked(first, b"a"), chunked(40, b"b" * 9_000), whole(700_000), whole(3), chunked(1, b"c")]
    async with asyncio.timeout(20), connected() as (reader, writer):
        writer.write(b"".join(requests))
        for size in (first, 360_000, 700_000, 3, 1):
            assert (await reader.readuntil(b">")).endswith(b"<%d>" % size)


async def test_more_requests_than_the_parser_takes_at_once_are_served_behind_a_body_that_is_awaited() -> None:
    """aiohttp's parser stops behind 32 messages. Of these one is served already, so that the queue of 31 is not full:
    nothing but the reading of a body lets the parser go on."""
    request = whole(5)
    async with asyncio.timeout(20), connected() as (reader, writer):
        writer.write(request[:-5])
        await asyncio.sleep(0.05)
        writer.write(request[-5:] + request * 60)
        for _ in range(61):
            assert (await reader.readuntil(b">")).endswith(b"<5>")
