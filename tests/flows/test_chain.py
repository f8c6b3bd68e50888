"""What the chain answers before any service is asked: keys, scopes, paths, bodies, origins, limits."""

from tests.support.asking import send
from tests.support.gateways import Serve
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


async def test_a_preflight_allows_the_methods_of_its_path_and_the_headers_that_sdks_add(serve: Serve) -> None:
    server = await serve('[server]\nallowed_origins = ["https://app.example"]\n')
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


async def test_no_request_leaves_its_key_prompt_or_query_in_the_log(serve: Serve) -> None:
    server = await serve("")
    marker = "canary-7f3a9c"
    body = {**CHAT, "messages": [{"role": "user", "content": marker}], "user": marker}
    await send(server, f"/v1/chat/completions?q={marker}", {**body, "model": marker})
    await send(server, MCP_PATH, tool_call(marker, {"query": marker}))
    await send(server, "/v1/chat/completions", b"{" + marker.encode())
    log = server.log_text()
    assert '"event":"request"' in log
    assert marker not in log and server.key not in log
