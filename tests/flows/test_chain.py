"""What the chain answers before any service is asked: keys, scopes, paths, bodies, origins, limits."""

import asyncio
from collections.abc import Mapping
from typing import Any

import aiohttp
import pytest

from tests.support.gateways import InProcessGateway, StartGateway

CHAT = {"model": "SvcLLM", "messages": [{"role": "user", "content": "hello"}]}
RPC = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
MCP_PATH = "/tools/websearch/mcp"


async def post(server: InProcessGateway, path: str, **options: Any) -> tuple[int, Any, Mapping[str, str]]:
    headers = {
        "Authorization": f"Bearer {server.key}",
        "Content-Type": "application/json",
        **options.pop("headers", {}),
    }
    headers = {name: value for name, value in headers.items() if value is not None}
    async with (
        aiohttp.ClientSession() as session,
        session.post(server.url + path, headers=headers, **options) as answer,
    ):
        return answer.status, await answer.json(content_type=None), answer.headers


# Nothing listens there: what these tests ask is answered before an upstream is.
MODEL = """
[[models]]
name = "SvcLLM"
[[models.upstreams]]
base_url = "http://127.0.0.1:9/v1"
model = "m"
"""


@pytest.fixture
async def server(start_gateway: StartGateway) -> InProcessGateway:
    return await start_gateway(MODEL)


@pytest.mark.parametrize("authorization", [None, "Bearer wrong", "Basic abc", "Bearer", "Bearer \xff\xfe", "x" * 5000])
async def test_without_a_valid_key_every_route_is_401_and_says_how(
    server: InProcessGateway, authorization: str | None
) -> None:
    for path, body in (
        ("/v1/chat/completions", CHAT),
        ("/v1/responses", {"model": "SvcLLM", "input": "x"}),
        (MCP_PATH, RPC),
    ):
        status, answer, headers = await post(server, path, json=body, headers={"Authorization": authorization})
        assert status == 401 and headers["WWW-Authenticate"].startswith("Bearer")
        assert headers["X-Request-Id"]
        error = answer["error"]
        assert "Bearer" in error["message"] or "key" in error["message"]


async def test_a_key_without_the_scope_is_403_naming_it(start_gateway: StartGateway) -> None:
    server = await start_gateway("")
    search_only, chat_only = server.make_key("web-search"), server.make_key("chat")
    status, answer, _ = await post(
        server, "/v1/chat/completions", json=CHAT, headers={"Authorization": f"Bearer {search_only}"}
    )
    assert (status, answer["error"]["code"]) == (403, "insufficient_scope") and "chat" in answer["error"]["message"]
    status, answer, _ = await post(server, MCP_PATH, json=RPC, headers={"Authorization": f"Bearer {chat_only}"})
    assert status == 403 and answer["jsonrpc"] == "2.0" and "web-search" in answer["error"]["message"]


async def test_unknown_paths_are_404_without_a_key_and_wrong_methods_405_with_allow(server: InProcessGateway) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(server.url + "/nowhere") as answer:
            assert answer.status == 404 and (await answer.json())["error"]["code"] == "not_found"
        for path in ("/v1/chat/completions", "/v1/messages", MCP_PATH):
            async with session.get(server.url + path) as answer:
                assert answer.status == 405 and "POST" in answer.headers["Allow"]
        async with session.post(server.url + MCP_PATH + "/", json=RPC, allow_redirects=False) as answer:
            assert answer.status == 404


@pytest.mark.parametrize(
    ("data", "headers", "status", "code"),
    [
        (b"{", {}, 400, "invalid_json"),
        (b"\xff\xfe", {}, 400, "invalid_json"),
        (b'{"model": NaN}', {}, 400, "invalid_json"),
        (b"[" * 2000, {}, 400, "invalid_json"),
        (b"[]", {}, 400, "invalid_value"),
        (b"{}", {"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
        (b"{}", {"Content-Encoding": "br"}, 415, "unsupported_media_type"),
    ],
)
async def test_a_bad_body_is_refused_in_the_openai_form(
    server: InProcessGateway, data: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    got, answer, _ = await post(server, "/v1/chat/completions", data=data, headers=headers)
    assert (got, answer["error"]["code"]) == (status, code)
    assert set(answer["error"]) == {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "messages[0].role"),
        ({"temperature": 3}, "temperature"),
        ({"top_p": -1}, "top_p"),
        ({"n": 9}, "n"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": ["a"] * 5}, "stop"),
        ({"presence_penalty": 5}, "presence_penalty"),
        ({"stream": "yes"}, "stream"),
        ({"model": 5}, "model"),
    ],
)
async def test_a_schema_violation_names_the_field(server: InProcessGateway, change: dict[str, Any], param: str) -> None:
    status, answer, _ = await post(server, "/v1/chat/completions", json={**CHAT, **change})
    assert status == 400 and answer["error"]["param"] == param, answer
    assert answer["error"]["type"] == "invalid_request_error"


async def test_an_oversized_body_is_413_naming_the_limit(start_gateway: StartGateway) -> None:
    server = await start_gateway("[server]\nmax_body_bytes = 2000\n")
    body = {**CHAT, "messages": [{"role": "user", "content": "x" * 5000}]}
    status, answer, _ = await post(server, "/v1/chat/completions", json=body)
    assert status == 413 and "2000" in answer["error"]["message"]


async def test_a_body_that_never_arrives_is_408(start_gateway: StartGateway) -> None:
    server = await start_gateway("[server]\nbody_timeout_s = 0.2\n")
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n"
        b"Authorization: Bearer " + server.key.encode() + b"\r\n\r\n{"
    )
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    assert b" 408 " in head
    writer.close()
    await writer.wait_closed()


async def test_an_unknown_model_is_404_and_another_case_is_told_the_right_one(server: InProcessGateway) -> None:
    status, answer, _ = await post(server, "/v1/chat/completions", json={**CHAT, "model": "none"})
    assert (status, answer["error"]["code"], answer["error"]["param"]) == (404, "model_not_found", "model")
    status, answer, _ = await post(server, "/v1/chat/completions", json={**CHAT, "model": "svcllm"})
    assert status == 404 and "SvcLLM" in answer["error"]["message"]


async def test_foreign_origins_are_403_and_listed_ones_get_cors(start_gateway: StartGateway) -> None:
    server = await start_gateway('[server]\nallowed_origins = ["https://app.example"]\n')
    status, _, _ = await post(server, MCP_PATH, json=RPC, headers={"Origin": "https://evil.example"})
    assert status == 403
    status, _, headers = await post(server, MCP_PATH, json=RPC, headers={"Origin": "https://app.example"})
    assert status == 200 and headers["Access-Control-Allow-Origin"] == "https://app.example"
    preflight = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    async with (
        aiohttp.ClientSession() as session,
        session.options(server.url + MCP_PATH, headers=preflight) as answer,
    ):
        assert answer.status == 204 and answer.headers["Access-Control-Allow-Origin"] == "https://app.example"
    status, _, _ = await post(server, MCP_PATH, json=RPC, headers={"Origin": "http://localhost:3000"})
    assert status == 200


async def test_a_preflight_allows_the_methods_of_its_path_and_the_headers_that_sdks_add(
    start_gateway: StartGateway,
) -> None:
    server = await start_gateway('[server]\nallowed_origins = ["https://app.example"]\n')
    asked = "authorization,content-type,x-stainless-lang"
    preflight = {
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "DELETE",
        "Access-Control-Request-Headers": asked,
    }
    async with aiohttp.ClientSession() as session:
        async with session.options(server.url + "/v1/responses/resp_1", headers=preflight) as answer:
            assert answer.headers["Access-Control-Allow-Methods"] == "DELETE, GET, HEAD, OPTIONS"
            assert answer.headers["Access-Control-Allow-Headers"] == asked
        strange = {**preflight, "Access-Control-Request-Headers": "a b, <c>"}
        async with session.options(server.url + "/v1/embeddings", headers=strange) as answer:
            assert answer.headers["Access-Control-Allow-Methods"] == "POST, OPTIONS"
            assert answer.headers["Access-Control-Allow-Headers"].startswith("Authorization, Content-Type")


async def test_a_key_over_its_minute_is_429_with_retry_after(start_gateway: StartGateway) -> None:
    server = await start_gateway("")
    key = server.make_key("chat", per_minute=2)
    statuses = []
    for _ in range(3):
        status, answer, headers = await post(
            server, "/v1/chat/completions", json={**CHAT, "model": "none"}, headers={"Authorization": f"Bearer {key}"}
        )
        statuses.append(status)
    assert statuses == [404, 404, 429]
    assert int(headers["Retry-After"]) >= 1 and answer["error"]["code"] == "rate_limit_exceeded"


async def test_guessing_keys_is_slowed_down(start_gateway: StartGateway) -> None:
    server = await start_gateway("[access]\nbad_keys_per_minute = 3\n")
    statuses = [
        (await post(server, MCP_PATH, json=RPC, headers={"Authorization": f"Bearer guess{n}"}))[0] for n in range(5)
    ]
    assert statuses == [401, 401, 401, 429, 429]
    status, _, _ = await post(server, MCP_PATH, json=RPC)
    assert status == 200, "a valid key is served although its neighbours guess"


async def test_no_request_leaves_its_key_prompt_or_query_in_the_log(start_gateway: StartGateway) -> None:
    server = await start_gateway("")
    marker = "canary-7f3a9c"
    body = {**CHAT, "messages": [{"role": "user", "content": marker}], "user": marker}
    await post(server, f"/v1/chat/completions?q={marker}", json={**body, "model": marker})
    await post(
        server,
        MCP_PATH,
        json={**RPC, "method": "tools/call", "params": {"name": marker, "arguments": {"query": marker}}},
    )
    await post(server, "/v1/chat/completions", data=b"{" + marker.encode())
    log = server.log_text()
    assert '"event":"request"' in log
    assert marker not in log and server.key not in log
