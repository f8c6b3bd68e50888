"""Hosted MCP where the server or the client fails: told, bounded, let go."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from tests.support.asking import RESPONSES, posting
from tests.support.gateways import Serve
from tests.support.hosted_mcp import WORDS, Stage, mcp_stage, tool_messages
from tests.support.hosted_search import call, round_of


@pytest.fixture
async def stage(serve: Serve, request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    async with mcp_stage(serve, getattr(request, "param", "never")) as made:
        yield made


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": 500}, "failed"),
        ({"status": 401}, "credentials"),
        ({"raw": b"<html>"}, "not a JSON-RPC response"),
        ({"location": "http://127.0.0.1:1/"}, "redirect"),
        ({"revision": "1999-01-01"}, "revision"),
    ],
)
async def test_a_server_that_fails_is_told_and_the_answer_goes_on(
    stage: Stage, change: dict[str, Any], words: str
) -> None:
    for name, value in change.items():
        setattr(stage.server, name, value)
    status, events = await stage.respond(round_of("Without it."), stream=True)
    assert status == 200 and events[-1]["type"] == "response.completed"
    listing, message = events[-1]["response"]["output"]
    assert words in listing["error"] and message["content"][0]["text"] == "Without it."
    assert "response.mcp_list_tools.failed" in [event["type"] for event in events]


APPROVED = [
    {"type": "message", "role": "user", "content": "go"},
    {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "words", "tools": []},
    {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "words", "name": "lookup", "arguments": "{}"},
    {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
]


@pytest.mark.parametrize(
    ("method", "asked"),
    [("tools/list", "go"), ("tools/call", "go"), ("tools/call", APPROVED)],
    ids=["list", "call", "approved call"],
)
async def test_a_client_that_leaves_ends_what_the_server_does(stage: Stage, method: str, asked: Any) -> None:
    stage.server.waits, stage.server.waits_at = True, method
    stage.scene.model.will(round_of(call("words__lookup", word="x")))
    body = {"model": "SvcLLM", "input": asked, "tools": [WORDS], "stream": True}
    async with posting(stage.scene.server, RESPONSES, body, stage.key) as answer:
        await stage.server.waiting.wait()
        answer.close()
    async with asyncio.timeout(1):
        await stage.server.released.wait()


async def test_an_answer_that_never_ends_is_cut(stage: Stage) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        while True:
            await answer.write(b": " + b"x" * 65536 + b"\n\n")

    stage.server.handle = endless  # type: ignore[method-assign]
    status, data = await stage.respond(round_of("x", is_stream=False))
    assert status == 200 and data["output"][0]["tools"] == []


async def test_results_are_masked_cut_and_without_invisible_characters(stage: Stage) -> None:
    long = "The card is 4539 1488 0343 6467. He\u200bllo. " + "x" * 100_000
    stage.server.result = {"content": [{"type": "text", "text": long}, {"type": "image", "data": "AA"}]}
    asked = round_of(call("words__lookup", word="4539 1488 0343 6467"), is_stream=False)
    status, data = await stage.respond(asked, round_of("x", is_stream=False))
    output = data["output"][1]["output"]
    assert status == 200 and "[REDACTED:CREDIT_CARD]" in output and "Hello" in output
    assert len(output) < 81_000 and output.endswith("[cut after 80,000 characters]")
    assert "4539" not in json.dumps(stage.server.calls)


@pytest.mark.slow
async def test_an_approved_call_that_takes_too_long_has_failed_and_the_model_is_told(stage: Stage) -> None:
    stage.server.waits = True
    status, data = await stage.respond(round_of("Sorry.", is_stream=False), input=APPROVED)
    assert status == 200 and [item["type"] for item in data["output"]] == ["mcp_call", "message"], data
    assert data["output"][0]["status"] == "failed" and "did not answer within 2 s" in tool_messages(stage)[0]
