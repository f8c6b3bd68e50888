"""Small rules of the edge: headers sent twice or too large, unknown paths, and what the words of upstreams reveal."""

import asyncio
import json
import socket
from pathlib import Path

import aiohttp
import pytest

from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.fetch.fetcher import Fetcher
from gateway.web.listen_socket import bind
from tests.support import upstream as up
from tests.support.asking import ask, ask_stream, call_tool, send, toml
from tests.support.gateways import Gateway, Serve, start_process
from tests.support.upstream import Exchange, Script, Upstream


def many_headers(count: int, chars: int = 1) -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.head(200, "application/json", **{f"X_{number}": "a" * chars for number in range(count)})
        await exchange.raw(json.dumps(up.completion()).encode())

    return script


@pytest.mark.parametrize("script", [many_headers(200), many_headers(1, 40_000)], ids=["many", "long"])
async def test_an_upstream_whose_headers_are_too_large_is_named_so(server: Gateway, script: Script) -> None:
    server.upstream.will(script)
    status, data, _ = await ask(server)
    assert (status, data["error"]["code"]) == (502, "upstream_headers_too_large")
    assert "128" in data["error"]["message"]
    status, [event] = await ask_stream(server)
    assert (status, event["error"]["code"]) == (502, "upstream_headers_too_large")


async def test_an_upstream_with_as_many_headers_as_are_allowed_is_heard(server: Gateway, upstream: Upstream) -> None:
    upstream.will(many_headers(100, 300))
    assert (await ask(server))[0] == 200


@pytest.mark.parametrize("script", [many_headers(200), many_headers(1, 40_000)], ids=["many", "long"])
async def test_a_page_whose_headers_are_too_large_is_not_said_to_be_silent(upstream: Upstream, script: Script) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await script(Exchange(up.Seen("GET", "/", {}, None), reader, writer))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as site:
        port = site.sockets[0].getsockname()[1]
        fetcher = Fetcher(AddressPolicy([f"127.0.0.1:{port}"]), "test")
        with pytest.raises(FetchFailed, match="headers are too large") as caught:
            await fetcher.fetch(f"http://127.0.0.1:{port}/")
        assert caught.value.code == "too_large"
        await fetcher.close()


@pytest.mark.parametrize("second", ["", "Bearer wrong", "the same"])
async def test_two_authorization_headers_are_refused(server: Gateway, second: str) -> None:
    own = server.headers["Authorization"]
    for values in ((own, second.replace("the same", own)), (second.replace("the same", own), own)):
        headers = [("Authorization", value) for value in values]
        async with (
            aiohttp.ClientSession() as session,
            session.get(server.url + "/v1/models", headers=headers) as answer,
        ):
            data = await answer.json()
            assert (answer.status, data["error"]["code"]) == (400, "invalid_value")
            assert "Authorization" in data["error"]["message"]


async def test_an_unknown_path_is_told_the_paths_there_are(serve: Serve) -> None:
    server = await serve("[server]\nbase_path = '/ai'\n")
    message = (await send(server, "/v1/chat", method="GET"))[1]["error"]["message"]
    for path in ("/ai/v1/chat/completions", "/ai/v1/responses", "/ai/v1/models", "/ai/tools/websearch/mcp"):
        assert path in message


REVEALING = [
    "connection to {host} failed", "http://{host}/v1 says no", "no route to 10.1.2.3:8000", "ask llm-7.internal:8000",
    "grpc://10.0.0.9:50051 is down", "[fd00::1]:8000 refused", "bad thing at {host}/v1/chat", "peer 192.168.7.9",
]  # fmt: skip


@pytest.mark.parametrize("text", REVEALING)
@pytest.mark.parametrize("status", [400, 422, 429, 500, 503])
@pytest.mark.slow  # every refusal on every route
async def test_an_upstreams_address_reaches_no_caller(server: Gateway, text: str, status: int) -> None:
    host = server.upstream.url.split("/")[2]
    message = text.format(host=host)
    error = {"message": f"Sorry: {message}.", "code": message, "param": host}
    server.upstream.will(up.answer({"error": error}, status=status))
    _, data, headers = await ask(server)
    told = json.dumps(data) + str(headers)
    for word in (host, "10.1.2.3", "llm-7.internal", "10.0.0.9", "fd00::", "192.168.7.9"):
        assert word not in told


async def test_answers_name_the_upstream_as_the_operator_does(serve: Serve, upstream: Upstream) -> None:
    upstream.will(up.answer())
    for settings, shown in (({}, "upstream-1"), ({"name": "'gpu-a'"}, "gpu-a")):
        server = await serve(toml(upstream, **settings).replace("name = \"'gpu-a'\"", "name = 'gpu-a'"))
        _, data, headers = await ask(server)
        assert data["choices"][0]["provider_specific_fields"]["provider"] == shown
        assert upstream.url.split("/")[2] not in json.dumps(data) + str(headers) + server.log_text()


async def test_the_status_names_the_gateways_own_chat_route_and_public_model(serve: Serve, upstream: Upstream) -> None:
    server = await serve(toml(upstream) + "[guardrail]\nmodel = 'assistant'\n")
    _, status = await call_tool(server, "search_status")
    guardrail, text = status["guardrail"], str(status)
    assert guardrail["endpoint"].endswith("/v1/chat/completions") and guardrail["model"] == "SvcLLM"
    assert upstream.url.split("/")[2] not in text and "up-model" not in text


async def test_the_words_of_an_upstreams_refusals_make_no_new_time_series(server: Gateway, upstream: Upstream) -> None:
    for number in range(20):
        upstream.will(up.answer({"error": {"message": "no", "code": f"odd_{number}"}}, status=400))
        assert (await ask(server))[1]["error"]["code"] == f"odd_{number}"
    _, metrics, _ = await send(server, server.ops_url + "/metrics", method="GET")
    lines = [line for line in metrics.splitlines() if line.startswith("gateway_rejected_total")]
    assert len(lines) == 1 and 'code="upstream_refused"' in lines[0] and lines[0].endswith(" 20.0")


LONGEST_QUEUE = int(Path("/proc/sys/net/core/somaxconn").read_text())


def backlog(sock: socket.socket) -> int:
    """The longest queue of connections that the kernel keeps for a listening socket (tcp_info.tcpi_sacked)."""
    return int.from_bytes(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)[28:32], "little")


async def test_the_listen_queue_is_as_long_on_an_inherited_socket_as_on_our_own(tmp_path: Path) -> None:
    ours = bind("127.0.0.1", 0)
    assert backlog(ours) == min(1024, LONGEST_QUEUE)
    gateway = start_process(tmp_path)
    with ours:
        async with gateway.begun(ours):
            await gateway.wait_for_text("The gateway answers on")
            assert backlog(ours) == min(1024, LONGEST_QUEUE)
