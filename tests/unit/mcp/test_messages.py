"""JSON-RPC and the revisions of MCP at the dispatcher. `flows.test_mcp_http` sends a table of raw requests."""

import asyncio

import pytest

from tests.support.web_tools import Desk, bounded, modern, request, tool_call

REVISIONS = [
    ("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"),
    ("2025-11-25", "2025-11-25"), ("2026-07-28", "2025-11-25"), ("2024-10-07", "2025-11-25"),
    ("nonsense", "2025-11-25"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "agreed"), REVISIONS)
async def test_initialize_agrees_on_every_handshake_revision_and_offers_the_newest_for_any_other(
    asked: str, agreed: str
) -> None:
    _, answer = await Desk().ask(request("initialize", {"protocolVersion": asked}))
    assert answer["result"]["protocolVersion"] == agreed
    assert answer["result"]["capabilities"] == {"tools": {}} and answer["result"]["serverInfo"]["name"] == "gateway"


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "tools/call"])
async def test_modern_results_say_who_answers_that_they_are_complete_and_how_long_they_keep(method: str) -> None:
    params = {"name": "websearch-search_status"} if method == "tools/call" else None
    result = (await Desk().ask(*modern(method, params)))[1]["result"]
    assert result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "gateway"
    if method != "tools/call":
        assert result["ttlMs"] == 300_000 and result["cacheScope"] == "public"
    if method == "server/discover":
        assert result["supportedVersions"] == ["2026-07-28"]


async def test_an_unsupported_version_is_told_what_is_supported() -> None:
    body, headers = modern("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "v\xff9"}})
    _, answer = await Desk().ask(body, {**headers, "MCP-Protocol-Version": "v\xff9"})
    assert answer["error"]["data"] == {"supported": ["2026-07-28"], "requested": "v\\xff9"}


@pytest.mark.parametrize("header", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
async def test_a_modern_header_given_twice_is_refused(header: str) -> None:
    body, headers = modern("tools/call", {"name": "websearch-search_status"})
    status, answer = await Desk().ask(body, [*headers.items(), (header, headers[header])])
    assert (status, answer["error"]["code"]) == (400, -32020)


async def test_modern_checks_come_in_the_order_of_the_specification() -> None:
    """Each request has two faults; the earlier rung of the ladder is told."""
    no_meta_and_bad_headers = (request("x", {}), {"MCP-Protocol-Version": "2026-07-28"})
    assert (await Desk().ask(*no_meta_and_bad_headers))[1]["error"]["code"] == -32602
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}}
    assert (await Desk().ask(*modern("x", meta)))[1]["error"]["code"] == -32020
    assert (await Desk().ask(*modern("x", meta, version="2099-01-01")))[1]["error"]["code"] == -32022


@pytest.mark.parametrize(
    "headers", [{}, {"MCP-Protocol-Version": "2025-03-26"}, {"MCP-Protocol-Version": "2024-11-05"}]
)
async def test_a_batch_is_answered_member_by_member(headers: dict[str, str]) -> None:
    desk = Desk()
    noted, refused = {"jsonrpc": "2.0", "method": "notifications/initialized"}, request("x", None, 2)
    calls = [tool_call("search", asked, call_id=number) for number, asked in ((3, {"query": "ok"}), (4, {}))]
    again, failing = (
        request("initialize", {"protocolVersion": "2025-03-26"}, 5),
        tool_call("search", {"query": "bug"}, call_id=6),
    )
    notes = [
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "websearch-search"}},
        {"jsonrpc": "2.0", "method": "tools/list", "params": []},
    ]
    result = {"jsonrpc": "2.0", "id": 9, "result": {}}
    members = [request("ping", None, "a"), noted, 5, refused, *calls, again, *notes, failing, result]
    status, answers = await desk.ask(members, headers)
    assert status == 200
    told = [(each["id"], each.get("error", {}).get("code"), each.get("result", {}).get("isError")) for each in answers]
    assert told == [
        ("a", None, None), (None, -32600, None), (2, -32601, None), (3, None, False), (4, None, True),
        (5, -32600, None), (6, -32603, None),
    ]  # fmt: skip
    assert desk.charges == 3


async def test_calls_of_a_batch_run_side_by_side() -> None:
    desk = Desk()
    desk.tools.release = asyncio.Event()
    asking = asyncio.ensure_future(desk.ask([tool_call("crawl", {"url": "https://x/"}, call_id=n) for n in range(3)]))
    await bounded(desk.tools.all_started(3))
    desk.tools.release.set()
    status, answers = await bounded(asking)
    assert status == 200 and [answer["id"] for answer in answers] == [0, 1, 2]


async def test_only_tool_calls_are_charged() -> None:
    desk = Desk()
    for method in ("ping", "tools/list", "x"):
        await desk.ask(request(method))
    await desk.ask(request("initialize", {"protocolVersion": "2025-03-26"}))
    await desk.ask({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert desk.charges == 0
    await desk.ask(tool_call("search_status"))
    assert desk.charges == 1


async def test_a_call_over_the_limit_is_429_and_in_a_batch_an_outcome_of_its_own() -> None:
    desk = Desk()
    desk.allowance = 1
    status, answers = await desk.ask([tool_call("search_status", call_id=n) for n in range(2)])
    assert status == 200 and [answer["result"]["isError"] for answer in answers] == [False, True]
    status, answer = await desk.ask(tool_call("search_status", call_id=5))
    assert status == 429 and answer["id"] == 5
    assert answer["error"]["data"]["retryable"] is True and answer["error"]["data"]["retry_after_s"] == 12


@pytest.mark.parametrize("blank", ["", " ", "\t"])
async def test_headers_that_agree_but_for_blanks_are_accepted(blank: str) -> None:
    """The naive form strips and decodes each header; equal ones are compared first."""
    body, headers = modern("tools/call", {"name": "websearch-search_status"})
    headers = {name: blank + value for name, value in headers.items()}
    status, answer = await Desk().ask(body, headers)
    assert status == 200 and "result" in answer
