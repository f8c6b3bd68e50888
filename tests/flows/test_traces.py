"""The trace of a request goes on to what it calls, and to nothing else."""

import json
import re
from typing import Any

import pytest

from gateway import trace
from tests.support.asking import send
from tests.support.gateways import Gateway, Serve, upstream_toml
from tests.support.upstream import answer, scripted_upstream, stream, text_stream

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
CHAT = {"model": "SvcLLM", "messages": [{"role": "user", "content": "hi"}]}
SEARCH = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
          "params": {"name": "websearch-search", "arguments": {"query": "anything"}}}  # fmt: skip


async def post(gateway: Gateway, path: str, body: Any, **headers: Any) -> None:
    status, answer, _ = await send(gateway, path, body, **headers)
    assert status == 200, answer


def is_child_of_trace(sent: str | None) -> bool:
    found = re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-01", sent or "")
    return found is not None and found[1] == TRACE and found[2] != "00f067aa0ba902b7"


async def test_a_trace_reaches_the_upstream_and_the_log_and_ends_with_its_request(serve: Serve) -> None:
    async with scripted_upstream() as upstream:
        upstream.will(answer(), stream(*text_stream()), answer())
        gateway = await serve('[guardrail]\nenabled = "off"\n' + upstream_toml(upstream.url))
        await post(gateway, "/v1/chat/completions", CHAT, traceparent=PARENT)
        await post(gateway, "/v1/chat/completions", {**CHAT, "stream": True}, traceparent=PARENT)
        await post(gateway, "/v1/chat/completions", CHAT)
        sent = [seen.headers.get("traceparent") for seen in upstream.seen]
        assert [is_child_of_trace(each) for each in sent] == [True, True, False] and sent[2] is None
        assert sent[0] != sent[1]
        lines = [json.loads(line) for line in gateway.log_text().splitlines()]
        assert [line.get("trace_id") for line in lines if line["event"] == "request"] == [TRACE, TRACE, None]


async def test_a_trace_of_a_tool_call_reaches_the_search_provider(serve: Serve) -> None:
    async with scripted_upstream() as upstream:
        upstream.will(answer({"results": []}))
        gateway = await serve(f'[search]\nprovider = "searxng"\nbase_url = "{upstream.url}"\ncache_ttl_s = 0\n')
        params = {**SEARCH["params"], "_meta": {"traceparent": PARENT}}  # type: ignore[dict-item]
        await post(gateway, "/tools/websearch/mcp", {**SEARCH, "params": params})
        await post(gateway, "/tools/websearch/mcp", SEARCH, traceparent=PARENT)
        await post(gateway, "/tools/websearch/mcp", SEARCH)
        sent = [seen.headers.get("traceparent") for seen in upstream.seen]
        assert [is_child_of_trace(each) for each in sent] == [True, True, False]


@pytest.mark.parametrize(
    "value",
    [None, 7, "", "00", PARENT.upper(), PARENT[:-1], f"ff-{TRACE}-00f067aa0ba902b7-01",
     f"00-{'0' * 32}-00f067aa0ba902b7-01", f"00-{TRACE}-{'0' * 16}-01", PARENT + "\r\nX: y", PARENT + "-" + "x" * 300],
)  # fmt: skip
def test_what_is_no_trace_is_ignored(value: object) -> None:
    assert trace.parent_of(value) is None


def test_a_later_version_may_say_more() -> None:
    assert is_child_of_trace(trace.parent_of(f"cc-{TRACE}-00f067aa0ba902b7-01-what-the-future-holds"))
