"""HTTP as attackers and broken clients send it, against the whole gateway on the production runner."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.gateways import Gateway, Serve, start_process

CHAT = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CANARY = "canary7f3a9c"
STATUS = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "websearch-search_status", "arguments": {}}}


@pytest.fixture
async def server(serve: Serve) -> Gateway:
    return await serve()


async def spoken(server: Gateway, piece: str | bytes) -> bytes:
    """What the gateway answers until it closes the connection."""
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            writer.write(piece.encode("latin-1") if isinstance(piece, str) else piece)
            return await reader.read()
        finally:
            writer.transport.abort()


async def answered(server: Gateway, request: str) -> bytes:
    """One answer; the connection may stay open for the rest of a body that never comes."""
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            writer.write(request.encode("latin-1"))
            head = await reader.readuntil(b"\r\n\r\n")
            [length] = [int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")]
            return head + await reader.readexactly(length)
        finally:
            writer.transport.abort()


def parts(answer: bytes) -> tuple[int, bytes, dict[str, dict[str, str]]]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head, json.loads(body)


MALFORMED: dict[str, str | bytes] = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00" + CANARY.encode() + b"\xff\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "NUL in a header": f"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {CANARY}\0\r\n\r\n",
    "two hosts": "GET /v1/models HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    "two lengths": CHAT + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "length and chunks": CHAT + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a header too long": f"GET /v1/models HTTP/1.1\r\nHost: x\r\nX: {CANARY * 2000}\r\n\r\n",
    "a space before the colon": f"GET /v1/models HTTP/1.1\r\nHost : {CANARY}\r\n\r\n",
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_malformed_requests_get_one_fixed_answer_and_a_closed_connection(server: Gateway, name: str) -> None:
    status, head, body = parts(await spoken(server, MALFORMED[name]))
    assert status == 400
    assert body["error"]["code"] == "bad_request"
    assert b"Server: gateway" in head
    [request_id] = [line[14:].decode().strip() for line in head.split(b"\r\n") if line.startswith(b"X-Request-Id:")]
    assert request_id in server.log_text()
    assert CANARY not in str(body) + server.log_text(), "nothing of the request is repeated"


async def test_what_follows_a_malformed_request_is_not_run(server: Gateway) -> None:
    models = f"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.key}\r\n\r\n"
    answer = await spoken(server, "BROKEN\r\n\r\n" + models)
    assert answer.count(b"HTTP/1.") == 2  # the status line, and the words of the one answer
    assert b'"object":"list"' not in answer


@pytest.mark.parametrize("version", ["HTTP/2.0", ""])
async def test_other_versions_are_505_and_closed(server: Gateway, version: str) -> None:
    request = f"GET /v1/models {version}".rstrip() + f"\r\nHost: x\r\nAuthorization: Bearer {server.key}\r\n\r\n"
    status, _, body = parts(await spoken(server, request if version else "GET /v1/models\r\n\r\n"))
    assert (status, body["error"]["code"]) == (505, "unsupported_protocol")


async def test_other_transfer_codings_are_501_and_closed(server: Gateway) -> None:
    request = f"{CHAT}Authorization: Bearer {server.key}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
    status, _, body = parts(await spoken(server, request))
    assert (status, body["error"]["code"]) == (501, "unsupported_transfer_encoding")


async def test_a_client_that_waits_for_continue_learns_of_its_wrong_key_first(server: Gateway) -> None:
    expect = "Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
    status, head, _ = parts(await answered(server, f"{CHAT}Authorization: Bearer wrong\r\n{expect}"))
    assert status == 401
    assert b"100 Continue" not in head


async def test_a_client_that_waits_for_continue_gets_it_and_is_answered(server: Gateway) -> None:
    expect = "Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"{CHAT}Authorization: Bearer {server.key}\r\n{expect}".encode())
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"{}")
        status, _, body = parts(await reader.read())
        writer.close()
        await writer.wait_closed()
    assert status == 400
    assert body["error"]["type"] == "invalid_request_error"


@pytest.mark.slow
async def test_silent_and_half_spoken_connections_are_closed_in_time(serve: Serve) -> None:
    server = await serve("[server]\nheader_timeout_s = 0.5\n")
    assert await spoken(server, b"") == b""
    assert await spoken(server, b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX: ") == b""


@pytest.mark.slow
async def test_an_idle_connection_outlives_the_headers_time_and_a_late_second_header_does_not(serve: Serve) -> None:
    server = await serve("[server]\nheader_timeout_s = 0.4\nkeep_alive_s = 30\n")
    request = f"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.key}\r\n\r\n".encode()
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        closed = asyncio.create_task(reader.read())
        for answers in (1, 2):
            writer.write(request)
            done, _ = await asyncio.wait({closed}, timeout=0.9)  # idle for more than twice the header's time
            assert not done, f"closed after {answers} requests"
        writer.write(request[:30])
        assert (await closed).count(b"HTTP/1.1 200") == 2
        writer.transport.abort()


async def test_an_idle_connection_is_closed_at_its_time(serve: Serve) -> None:
    server = await serve("[server]\nkeep_alive_s = 0.3\n")
    request = f"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.key}\r\n\r\n"
    assert (await spoken(server, request)).startswith(b"HTTP/1.1 200")


async def test_bytes_that_are_no_text_are_a_wrong_key_like_any_other(server: Gateway) -> None:
    head = b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer \xff\xfe\xe9\r\n\r\n"
    status, _, body = parts(await spoken(server, head))
    assert (status, body["error"]["code"]) == (401, "invalid_api_key")


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """With a loop of its own: a client that writes faster than the server reads is paused."""
    with start_process(tmp_path_factory.mktemp("pipelined")) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(("filler", "times", "cut"), [(0, 200, 1 << 20), (0, 200, 49), (300_000, 6, 70_000)])
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
async def test_pipelined_requests_are_all_answered_in_order(
    process: Any, filler: int, times: int, cut: int, chunked: bool
) -> None:
    head = f"POST /tools/websearch/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {process.key}\r\n"
    head += "Content-Type: application/json\r\n"
    asked = b""
    for number in range(times):
        raw = json.dumps({**STATUS, "id": number, "filler": "-" * filler}).encode()
        if chunked:
            sent = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (raw[:7], raw[7:])) + b"0\r\n\r\n"
            asked += f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + sent
        else:
            asked += f"{head}Content-Length: {len(raw)}\r\n\r\n".encode() + raw
    assert await pipelined(process.port, asked, cut, times) == list(range(times))


async def pipelined(port: int, asked: bytes, cut: int, times: int) -> list[int]:
    """The ids of so many answers to what is sent in pieces."""
    ids: list[int] = []
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        sending = asyncio.create_task(_sent(writer, asked, cut))
        try:
            while len(ids) < times:
                answer = await reader.readuntil(b"\r\n\r\n")
                [length] = [int(line[15:]) for line in answer.split(b"\r\n") if line.startswith(b"Content-Length:")]
                ids.append(json.loads(await reader.readexactly(length))["id"])
            await sending
        finally:
            sending.cancel()
            writer.transport.abort()
    return ids


async def _sent(writer: asyncio.StreamWriter, data: bytes, cut: int) -> None:
    for place in range(0, len(data), cut):
        writer.write(data[place : place + cut])
        await writer.drain()
        await asyncio.sleep(0)
