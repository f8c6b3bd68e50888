"""What the chain answers before any service is asked: keys, scopes, paths, bodies, origins, limits."""

import pytest

from tests.support.asking import send
from tests.support.gateways import InProcessGateway, StartGateway
from tests.support.web_tools import tool_call

CHAT = {"model": "SvcLLM", "messages": [{"role": "user", "content": "hello"}]}
RPC = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
MCP_PATH = "/tools/websearch/mcp"


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
        status, answer, headers = await send(server, path, body, Authorization=authorization)
        assert status == 401 and headers["WWW-Authenticate"].startswith("Bearer")
        assert headers["X-Request-Id"]
        error = answer["error"]
        assert "Bearer" in error["message"] or "key" in error["message"]


async def test_a_key_without_the_scope_is_403_naming_it(start_gateway: StartGateway) -> None:
    server = await start_gateway("")
    search_only, chat_only = server.make_key("web-search"), server.make_key("chat")
    status, answer, _ = await send(server, "/v1/chat/completions", CHAT, key=search_only)
    assert (status, answer["error"]["code"]) == (403, "insufficient_scope") and "chat" in answer["error"]["message"]
    status, answer, _ = await send(server, MCP_PATH, RPC, key=chat_only)
    assert status == 403 and answer["jsonrpc"] == "2.0" and "web-search" in answer["error"]["message"]


async def test_an_oversized_body_is_413_naming_the_limit(start_gateway: StartGateway) -> None:
    server = await start_gateway("[server]\nmax_body_bytes = 2000\n")
    body = {**CHAT, "messages": [{"role": "user", "content": "x" * 5000}]}
    status, answer, _ = await send(server, "/v1/chat/completions", body)
    assert status == 413 and "2000" in answer["error"]["message"]


async def test_foreign_origins_are_403_and_listed_ones_get_cors(start_gateway: StartGateway) -> None:
    server = await start_gateway('[server]\nallowed_origins = ["https://app.example"]\n')
    status, _, _ = await send(server, MCP_PATH, RPC, Origin="https://evil.example")
    assert status == 403
    status, _, headers = await send(server, MCP_PATH, RPC, Origin="https://app.example")
    assert status == 200 and headers["Access-Control-Allow-Origin"] == "https://app.example"
    asked = {"Origin": "https://app.example", "Access_Control_Request_Method": "POST"}
    status, _, headers = await send(server, MCP_PATH, method="OPTIONS", **asked)
    assert status == 204 and headers["Access-Control-Allow-Origin"] == "https://app.example"
    status, _, _ = await send(server, MCP_PATH, RPC, Origin="http://localhost:3000")
    assert status == 200


async def test_a_preflight_allows_the_methods_of_its_path_and_the_headers_that_sdks_add(
    start_gateway: StartGateway,
) -> None:
    server = await start_gateway('[server]\nallowed_origins = ["https://app.example"]\n')
    asked = "authorization,content-type,x-stainless-lang"
    preflight = {
        "Origin": "https://app.example", "Access_Control_Request_Method": "DELETE",
        "Access_Control_Request_Headers": asked,
    }  # fmt: skip
    _, _, told = await send(server, "/v1/responses/resp_1", method="OPTIONS", **preflight)
    assert told["Access-Control-Allow-Methods"] == "DELETE, GET, HEAD, OPTIONS"
    assert told["Access-Control-Allow-Headers"] == asked
    strange = {**preflight, "Access_Control_Request_Headers": "a b, <c>"}
    _, _, told = await send(server, "/v1/embeddings", method="OPTIONS", **strange)
    assert told["Access-Control-Allow-Methods"] == "POST, OPTIONS"
    assert told["Access-Control-Allow-Headers"].startswith("Authorization, Content-Type")


async def test_a_key_over_its_minute_is_429_with_retry_after(start_gateway: StartGateway) -> None:
    server = await start_gateway("")
    key = server.make_key("chat", per_minute=2)
    statuses = []
    for _ in range(3):
        status, answer, headers = await send(server, "/v1/chat/completions", {**CHAT, "model": "none"}, key=key)
        statuses.append(status)
    assert statuses == [404, 404, 429]
    assert int(headers["Retry-After"]) >= 1 and answer["error"]["code"] == "rate_limit_exceeded"


async def test_guessing_keys_is_slowed_down(start_gateway: StartGateway) -> None:
    server = await start_gateway("[access]\nbad_keys_per_minute = 3\n")
    statuses = [(await send(server, MCP_PATH, RPC, key=f"guess{n}"))[0] for n in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    status, _, _ = await send(server, MCP_PATH, RPC)
    assert status == 200, "a valid key is served although its neighbours guess"


async def test_no_request_leaves_its_key_prompt_or_query_in_the_log(start_gateway: StartGateway) -> None:
    server = await start_gateway("")
    marker = "canary-7f3a9c"
    body = {**CHAT, "messages": [{"role": "user", "content": marker}], "user": marker}
    await send(server, f"/v1/chat/completions?q={marker}", {**body, "model": marker})
    await send(server, MCP_PATH, tool_call(marker, {"query": marker}))
    await send(server, "/v1/chat/completions", b"{" + marker.encode())
    log = server.log_text()
    assert '"event":"request"' in log
    assert marker not in log and server.key not in log
