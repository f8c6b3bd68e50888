"""The client of MCP servers against a server on a socket: revisions, sessions, faults, what is let go."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.errors import UpstreamError, UpstreamTimeout
from gateway.providers.mcp_client import McpClient, McpServerSettings, McpSession, header_value
from tests.support import upstream as up
from tests.support.mcp_server import McpServer
from tests.support.upstream import Exchange, Upstream
from tests.support.websites import Site, serving

ASKS = "this tool wants to ask its user something, which is not possible here"


@asynccontextmanager
async def connected(
    server: McpServer, timeout_s: float = 5, most: int = 1 << 20
) -> AsyncIterator[Callable[[], McpSession]]:
    site = Site()
    site.pages["/mcp"] = server.handle
    async with serving(site):
        client = McpClient(McpServerSettings(f"{site.url}/mcp", {"Authorization": "Bearer s"}, timeout_s, most))
        try:
            yield client.session
        finally:
            await client.close()


@pytest.mark.parametrize("form", ["json", "events"])
@pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25", "2026-07-28"])
async def test_tools_are_listed_and_called_in_every_revision(form: str, revision: str) -> None:
    server = McpServer(form=form, revision=revision)
    async with connected(server) as session:
        used = session()
        assert [tool["name"] for tool in await used.tools()] == ["lookup", "delete"]
        assert await used.call("lookup", {"word": "sea"}) == ("a word", False)
        await used.close()
    assert server.methods[0] == "initialize" and server.calls == [{"name": "lookup", "arguments": {"word": "sea"}}]
    _, params, headers = server.seen[-1]
    assert headers["Authorization"] == "Bearer s" and headers["MCP-Protocol-Version"] == revision
    assert ("_meta" in params) is (revision == "2026-07-28") and ("Mcp-Name" in headers) is ("_meta" in params)
    assert server.ended.is_set() is (revision != "2026-07-28")


RESULTS = [
    ({"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "x"}]}, ("a\n[image left out]", False)),
    ({"content": [{"type": "resource", "resource": {"text": "r"}}]}, ("r", False)),
    ({"content": [{"type": "resource_link", "uri": "u"}], "isError": True}, ("[resource u]", True)),
    ({"structuredContent": {"a": 1}}, ('{"a":1}', False)), ({"resultType": "input_required"}, (ASKS, True)),
]  # fmt: skip


@pytest.mark.parametrize(("result", "told"), RESULTS)
async def test_a_result_becomes_text(result: Any, told: tuple[str, bool]) -> None:
    async with connected(McpServer(result=result)) as session:
        assert await session().call("lookup", {}) == told


async def test_an_error_of_the_server_is_a_result_that_the_model_may_act_on() -> None:
    async with connected(McpServer(error={"code": -32602, "message": "no such word"})) as session:
        text, is_error = await session().call("lookup", {})
        assert is_error and "no such word" in text


NONSENSE = [
    ({"status": 500}, "failed"),
    ({"status": 401}, "gateway's key"),
    ({"raw": b"<html>"}, "not a JSON-RPC response"),
    ({"raw": b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1999"}}'}, "revision"),
    ({"revision": "1999-01-01"}, "revision"),
    ({"answers_as": {"initialize": 7}}, "another request"),
    ({"answers_as": {"initialize": True}}, "another request"),
    ({"answers_as": {"tools/list": "2"}, "form": "events"}, "without an answer"),
    ({"location": "http://127.0.0.1:1/"}, "redirect"),
]


@pytest.mark.parametrize(("change", "words"), NONSENSE)
async def test_a_server_that_answers_nonsense_is_an_error(change: dict[str, Any], words: str) -> None:
    async with connected(McpServer(**change)) as session:
        with pytest.raises(UpstreamError, match=words):
            await session().tools()


@pytest.mark.parametrize("form", ["json", "events"])
async def test_an_answer_that_is_too_large_is_refused(form: str) -> None:
    server = McpServer(form=form, result={"content": [{"type": "text", "text": "x" * 5_000}]})
    async with connected(server, most=4_000) as session:
        with pytest.raises(UpstreamError, match="large"):
            await session().call("lookup", {})


async def test_a_server_that_is_too_slow_is_told_that_nobody_waits() -> None:
    server = McpServer(waits=True)
    async with connected(server, timeout_s=0.3) as session:
        with pytest.raises(UpstreamTimeout, match="did not answer within"):
            await session().call("lookup", {})
        await asyncio.wait_for(server.cancelled.wait(), 5)


async def test_all_requests_of_one_list_share_one_limit() -> None:
    server = McpServer(delay_s=0.2)
    async with connected(server, timeout_s=0.5) as session:
        with pytest.raises(UpstreamTimeout, match=r"within 0\.5 s"):
            await session().tools()
        await asyncio.wait_for(server.cancelled.wait(), 5)
    assert server.methods[:3] == ["initialize", "notifications/initialized", "tools/list"], "each is quick enough"


async def test_a_caller_who_leaves_lets_the_server_go() -> None:
    server = McpServer(waits=True)
    async with connected(server) as session:
        calling = asyncio.create_task(session().call("lookup", {}))
        await asyncio.wait_for(server.waiting.wait(), 5)
        calling.cancel()
        await asyncio.wait({calling})
        await asyncio.wait_for(server.cancelled.wait(), 5)
        await asyncio.wait_for(server.released.wait(), 5)


def test_a_name_that_no_header_can_hold_is_encoded() -> None:
    assert header_value("look") == "look"
    assert header_value("über") == "=?base64?w7xiZXI=?=" and header_value(" x").startswith("=?base64?")


async def test_a_refusal_that_repeats_a_configured_header_is_shown_without_it() -> None:
    site, server = Site(), McpServer(error={"code": -32000, "message": "who is correct-horse-battery?"})
    site.pages["/mcp"] = server.handle
    async with serving(site):
        client = McpClient(McpServerSettings(f"{site.url}/mcp", {"X-Token": "correct-horse-battery"}, 5))
        told, is_error = await client.session().call("lookup", {})
        assert is_error and told == "the MCP server refused the request: who is [hidden]?"
        await client.close()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "events"])
async def test_a_long_list_of_tools_is_taken_and_an_answer_of_very_many_values_is_refused(form: str) -> None:
    many = {"type": "object", "properties": {f"field{number}": {"type": "string"} for number in range(120)}}
    tools = [{"name": f"tool{number}", "inputSchema": many} for number in range(200)]
    async with connected(McpServer(form=form, tools=tools, page_size=200), most=4 << 20) as session:
        assert len(await session().tools()) == 200
    tools = [{"name": "one", "inputSchema": {"enum": [[]] * 120_000}}]
    async with connected(McpServer(form=form, tools=tools), most=4 << 20) as session:
        with pytest.raises(UpstreamError, match=r"the MCP server's answer has at least \d+ JSON values"):
            await session().tools()


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
