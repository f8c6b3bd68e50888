"""A session that an MCP server does not know any more is opened again, once for a call."""

import pytest

from gateway.errors import UpstreamError
from gateway.providers.mcp_client import McpClient, McpServerSettings
from tests.support import upstream as up
from tests.support.upstream import Exchange, Upstream

GONE = {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "unknown session"}}


@pytest.mark.parametrize("forever", [False, True])
async def test_a_session_that_is_gone_is_opened_again_once(upstream: Upstream, forever: bool) -> None:
    opened: list[str | None] = []

    async def script(exchange: Exchange) -> None:
        body, session = exchange.seen.body, exchange.seen.headers.get("mcp-session-id")
        number = {"jsonrpc": "2.0", "id": body.get("id")}
        if body["method"] == "initialize":
            opened.append(session)
            result = {"protocolVersion": body["params"]["protocolVersion"], "capabilities": {}}
            answer = up.answer({**number, "result": result}, Mcp_Session_Id=f"s-{len(opened)}")
        elif body["method"] != "tools/call":
            answer = up.answer({}, status=202)
        elif forever or session == "s-1":
            answer = up.answer(GONE, status=404)
        else:
            answer = up.answer({**number, "result": {"content": [{"type": "text", "text": "17 tickets"}]}})
        await answer(exchange)

    upstream.will(script)
    client = McpClient(McpServerSettings(upstream.url))
    try:
        if forever:
            with pytest.raises(UpstreamError, match="does not know its session"):
                await client.session().call("tickets", {})
        else:
            assert await client.session().call("tickets", {}) == ("17 tickets", False)
    finally:
        await client.close()
    assert opened == [None, None], "the second session is opened without the id of the first"
