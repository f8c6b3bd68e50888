"""What becomes of a connection that a stream was sent on, read off the wire: both versions of HTTP, both interfaces."""

import asyncio
import json
from contextlib import suppress

import aiohttp
import orjson
import pytest

from gateway.calls.delivery import ClientGone
from gateway.web.http_sink import HttpSink
from tests.support.asking import posting
from tests.support.doors import TOOLS, body_for
from tests.support.gateways import Gateway
from tests.support.upstream import Exchange, Upstream, stream, text_stream
from tests.support.waiting import until
from tests.support.web_tools import tool_call

CHAT = ("/v1/chat/completions", {"model": "SvcLLM", "stream": True, "messages": [{"role": "user", "content": "hi"}]})
TOOL = ("/tools/websearch/mcp", tool_call("search_status"))
KEEP, CLOSE = "Connection: keep-alive\r\n", "Connection: close\r\n"

both = pytest.mark.parametrize(("path", "body"), [CHAT, TOOL], ids=["chat", "tools"])


@pytest.fixture(autouse=True)
def answering(upstream: Upstream) -> None:
    upstream.will(stream(*text_stream()))


async def said(server: Gateway, path: str, body: object, version: str, more: str) -> tuple[list[str], str, bool]:
    """Header lines, what follows them, and whether the server closed the connection after the last event."""
    raw = orjson.dumps(body).decode()
    head = f"POST {path} HTTP/{version}\r\nHost: x\r\nAuthorization: Bearer {server.key}\r\n{more}"
    head += f"Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write((head + raw).encode())
        got, closed = b"", False
        try:
            while piece := await asyncio.wait_for(reader.read(65_536), 0.7):
                got += piece
            closed = True
        except TimeoutError:
            pass
        finally:
            writer.transport.abort()
    answer, _, rest = got.decode().partition("\r\n\r\n")
    return answer.split("\r\n"), rest, closed


def connection_lines(head: list[str]) -> list[str]:
    return [line for line in head if line.lower().startswith("connection:")]


@both
@pytest.mark.slow
async def test_over_1_1_the_connection_is_kept_and_no_more_said_of_it(server: Gateway, path: str, body: object) -> None:
    for more in ("", KEEP):
        head, rest, closed = await said(server, path, body, "1.1", more)
        assert head[0] == "HTTP/1.1 200 OK" and connection_lines(head) == []
        assert "Transfer-Encoding: chunked" in head and rest.endswith("\r\n0\r\n\r\n") and not closed


@both
async def test_over_1_1_a_client_that_wants_it_closed_is_told_so(server: Gateway, path: str, body: object) -> None:
    head, rest, closed = await said(server, path, body, "1.1", CLOSE)
    assert connection_lines(head) == ["Connection: close"] and rest.endswith("\r\n0\r\n\r\n") and closed


@both
@pytest.mark.parametrize("more", ["", KEEP, CLOSE])
async def test_over_1_0_a_stream_ends_with_its_connection(server: Gateway, path: str, body: object, more: str) -> None:
    head, rest, closed = await said(server, path, body, "1.0", more)
    assert head[0] == "HTTP/1.0 200 OK" and connection_lines(head) == ["Connection: close"] and closed
    assert not [line for line in head if line.startswith(("Transfer-Encoding", "Content-Length"))]
    assert "data: " in rest.split("\n\n")[-2] and rest.endswith("\n\n")


async def slowly(exchange: Exchange) -> None:
    await exchange.stream_head()
    for piece in text_stream():
        await asyncio.sleep(0.05)
        await exchange.piece(piece)
    await exchange.finish()


@pytest.mark.parametrize("left", [ClientGone, asyncio.CancelledError])
@pytest.mark.parametrize("path", TOOLS)
async def test_a_client_that_leaves_with_the_last_event_has_its_answer_and_its_times_are_told_once(
    server: Gateway, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, path: str, left: type[BaseException]
) -> None:
    async def finish(sink: HttpSink) -> None:
        raise left

    monkeypatch.setattr(HttpSink, "finish", finish)
    upstream.will(slowly)
    async with posting(server, path, body_for(path, stream=True)) as answer:
        with suppress(aiohttp.ClientError):
            await answer.read()
    await until(lambda: '"event":"request"' in server.log_text(), 5)
    (line,) = [json.loads(line) for line in server.log_text().splitlines() if '"event":"request"' in line]
    assert (line["status"], line["outcome"]) == (200, "ok") and line["upstream_ms"] <= line["total_ms"]
