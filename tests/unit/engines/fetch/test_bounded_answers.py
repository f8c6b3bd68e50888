"""Servers that send without end what is no page: their connection ends at once, and honest answers pass."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler

from gateway.engines.fetch import bounded_connector
from gateway.engines.fetch.bounded_connector import MAX_INTERIM, BoundedConnector
from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.fetch.fetcher import FetchLimits
from gateway.engines.fetch.robots import RobotsCache
from tests.support.fetching import fetching

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nread"


@asynccontextmanager
async def sending(first: bytes, again: bytes = b"", times: int = 20_000) -> AsyncIterator[tuple[str, list[int]]]:
    """A server that answers with `first`, then with `again`, many times; its address, and the bytes it got rid of."""
    sent: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(first)
            sent.append(0)
            for _ in range(times if again else 0):
                writer.write(again)
                await writer.drain()
                sent[-1] += len(again)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = "{}:{}".format(*server.sockets[0].getsockname())
    try:
        yield address, sent
    finally:
        server.close()


async def fetched(address: str) -> bytes:
    async with fetching([address], limits=FetchLimits(total_s=10)) as fetcher:
        return (await fetcher.fetch(f"http://{address}/")).body


@asynccontextmanager
async def asked(serve: Serve, **options: int) -> AsyncIterator[aiohttp.ClientResponse]:
    """The answer of a server to a request through the bounded connector."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server, aiohttp.ClientSession(connector=BoundedConnector(), **options) as session:  # type: ignore[arg-type]
        url = "http://{}:{}/".format(*server.sockets[0].getsockname())
        async with asyncio.timeout(30), session.get(url) as answer:
            yield answer


@pytest.mark.parametrize(
    ("first", "again", "words"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2_600, "interim answers without end"),
        (b"", b"\r\n" * 32_768, "no complete header"),
        (CHUNKED + b"4;", b"a=b;" * 16_384, "more framing than body"),
        (CHUNKED, b"1\r\na\r\n" * 10_000, "more framing than body"),
        (CHUNKED + b"1;x=" + b"y" * 16_384 + b"\r\na\r\n", (b"1;x=" + b"y" * 16_384 + b"\r\na\r\n") * 4, "framing"),
    ],
    ids=["interim answers", "blank lines", "one extension", "chunks of a byte", "chunks with extensions"],
)
async def test_what_never_becomes_a_page_is_given_up_at_once(first: bytes, again: bytes, words: str) -> None:
    async with sending(first, again) as (address, sent):
        with pytest.raises(FetchFailed, match=words) as caught:
            await fetched(address)
    assert caught.value.code == "too_large"
    assert sent[0] < 16_000_000, "the buffers of both ends, not all that the server has"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n<p>words",
        CHUNKED + b"8\r\n<p>words\r\n",
        CHUNKED + b"20\r\n<p>words",
    ],
    ids=["length", "no last chunk", "half a chunk"],
)
async def test_of_a_page_that_breaks_off_what_came_is_read(answer: bytes) -> None:
    async with sending(answer) as (address, _), fetching([address], limits=FetchLimits(total_s=10)) as fetcher:
        page = await fetcher.fetch(f"http://{address}/")
        assert page.body == b"<p>words"
        assert page.ended_early
        with pytest.raises(FetchFailed, match="broke off"):
            await fetcher.fetch_image(f"http://{address}/", 10_000)


async def test_a_robots_file_that_breaks_off_allows_nothing() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nUser-agent: *\nDisallow: /a\n"
    async with sending(answer) as (address, _), fetching([address]) as fetcher:
        assert not (await RobotsCache(fetcher, "test").of(f"http://{address}/")).known


async def test_a_page_of_which_nothing_came_has_failed() -> None:
    async with sending(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n") as (address, _):
        with pytest.raises(FetchFailed, match="no web page"):
            await fetched(address)


async def test_a_few_interim_answers_and_small_chunks_are_read() -> None:
    async with sending(INTERIM * MAX_INTERIM + WHOLE) as (address, _):
        assert await fetched(address) == b"read"
    lines = b"".join(b"2\r\n%d\n\r\n" % (number % 10) for number in range(20_000))
    async with sending(CHUNKED + lines + b"0\r\n\r\n") as (address, _):
        assert len(await fetched(address)) == 40_000


async def test_an_answer_behind_the_answer_is_nobodys_page() -> None:
    forged = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged" * 3
    async with sending(WHOLE + forged) as (address, sent), fetching([address]) as fetcher:
        assert [(await fetcher.fetch(f"http://{address}/{n}")).body for n in range(2)] == [b"read", b"read"]
        assert len(sent) == 2, "its connection is not used again"


@pytest.mark.parametrize(
    "rest",
    [
        b"zz\r\nread\r\n",
        b"-4\r\nread",
        b"4\r\nreadXX",
        b"0\r\nno colon\r\n\r\n",
        b"0\r\nT: " + b"x" * 99_999 + b"\r\n\r\n",
    ],
    ids=["size", "negative size", "no line end", "trailer", "long trailer"],
)
async def test_wrong_framing_behind_the_first_piece_ends_the_wait(rest: bytes) -> None:
    is_read = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED + b"4\r\nread\r\n")
        await is_read.wait()
        writer.write(rest)
        await asyncio.wait_for(reader.read(), 10)  # until the other end closes: nothing here ends the wait
        writer.close()

    async with asked(serve) as answer:
        assert await answer.content.readany() == b"read"
        is_read.set()
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.content.read()


@asynccontextmanager
async def answering(pieces: Iterable[bytes], pause_s: float | None) -> AsyncIterator[aiohttp.ClientResponse]:
    """A chunked answer of these pieces, each written `pause_s` after the one before it (None: at once)."""
    has_ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED)
        for piece in pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            if pause_s is not None:
                await asyncio.sleep(pause_s)
        writer.write(b"0\r\n\r\n")
        writer.close()
        await writer.wait_closed()
        has_ended.set()

    async with asked(serve, read_bufsize=4_096) as answer:
        yield answer
        await asyncio.wait_for(has_ended.wait(), 10)


@pytest.mark.parametrize("size", [3, 700, 90_000])
async def test_a_reader_slower_than_its_server_gets_every_byte(size: int) -> None:
    pieces = [bytes([65 + number % 26]) * size for number in range(max(40, 60_000 // size))]
    read = b""
    async with answering(pieces, None) as answer:
        while part := await answer.content.readany():
            read += part
            await asyncio.sleep(0.005)  # the buffer fills up: the connection is paused, and read on
    assert read == b"".join(pieces)


async def test_a_piece_that_comes_alone_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    parse = bounded_connector._parse

    def noted(protocol: ResponseHandler, data: bytes) -> None:
        parsed.append(len(data))
        parse(protocol, data)

    monkeypatch.setattr(bounded_connector, "_parse", noted)
    async with answering([b"word"] * 20, 0.005) as answer:
        assert await answer.content.read() == b"word" * 20
    assert 0 < len(parsed) <= 23 and 0 not in parsed, "aiohttp by itself parses nothing after each read"


async def test_what_comes_behind_a_pause_is_read_although_nothing_follows_it() -> None:
    is_read, has_ended = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED + b"1\r\na\r\n" * 257)  # the last is one more than a reader with this buffer lets come
        await is_read.wait()
        writer.write(b"1\r\nb\r\n" * 4)  # parsed up to the first: aiohttp pauses there, once more
        await asyncio.wait_for(reader.read(), 10)
        writer.close()
        has_ended.set()

    async with asked(serve, read_bufsize=4_096) as answer:
        assert await answer.content.readexactly(257) == b"a" * 257
        is_read.set()
        assert await answer.content.readexactly(4) == b"bbbb"
    await asyncio.wait_for(has_ended.wait(), 10)
