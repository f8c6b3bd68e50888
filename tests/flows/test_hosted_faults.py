"""Hosted web search when something goes wrong: the model, the search, the time, the tokens, or the client leaves."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gateway.errors import GatewayError
from tests.support import upstream as up
from tests.support.errors_alive import errors_alive, no_collections
from tests.support.gateways import Serve
from tests.support.hosted_checks import kinds_of
from tests.support.hosted_search import SEARCH, Scene, call, message_of, post, respond, round_of, scene, search
from tests.support.upstream import Script

LEFT_S = 1.0
"""Seconds in which search and upstream are released when the client has left."""
ASK: dict[str, Any] = {"model": "SvcLLM", "input": "What is the capital of France?", "tools": [SEARCH]}
CHAT = {"model": "SvcLLM", "messages": [{"role": "user", "content": "x"}], "web_search_options": {}}
TOOLS = [{"type": "web_search_20250305", "name": "web_search"}, {"type": "web_fetch_20250910", "name": "web_fetch"}]
ASKED: dict[str, dict[str, Any]] = {
    "/v1/responses": ASK,
    "/v1/chat/completions": CHAT,
    "/v1/messages": {"model": "SvcLLM", "messages": CHAT["messages"], "max_tokens": 99, "tools": TOOLS},
}


@pytest.fixture
async def stage(serve: Serve) -> AsyncIterator[Scene]:
    async with scene(serve, idle_timeout_s=20, first_byte_timeout_s=20) as made:
        yield made


@pytest.mark.parametrize(
    "last",
    [
        up.answer({"error": {"message": "broken"}}, status=400),
        up.stream(up.chunk({"role": "assistant"}), up.chunk({"content": "Par"}), end=False),
        up.stream(up.chunk({"content": "Par"}), up.frame({"error": {"message": "broken"}})),
        up.raw(b"no HTTP"),
    ],
    ids=["refuses", "is cut", "sends an error", "sends nonsense"],
)  # fmt: skip
async def test_a_model_that_fails_after_the_search_ends_the_stream_as_failed(stage: Scene, last: Script) -> None:
    stage.model.will(round_of(search()), last)
    _, events = await post(stage, "/v1/responses", {**ASK, "stream": True})
    kinds = [event["type"] for event in events]
    assert kinds[-2:] == ["error", "response.failed"] and events[-1]["response"]["status"] == "failed"
    assert "response.web_search_call.completed" in kinds
    stage.model.will(round_of(search(), is_stream=False), last)
    status, answer = await post(stage, "/v1/responses", ASK)
    assert status >= 400 and answer["error"]["message"]
    stage.model.will(round_of(search()), last)
    _, chunks = await post(stage, "/v1/chat/completions", {**CHAT, "stream": True})
    assert "error" in chunks[-1]


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "whole"])
async def test_logprobs_are_not_asked_for_and_the_caller_is_told(stage: Scene, is_stream: bool) -> None:
    stage.model.will(round_of("Paris.", is_stream=is_stream))
    body = {**CHAT, "logprobs": True, "top_logprobs": 2, "stream": is_stream}
    _, answer = await post(stage, "/v1/chat/completions", body)
    choices = [choice for chunk in answer for choice in chunk["choices"]] if is_stream else answer["choices"]
    assert "logprobs were left out" in str(choices[-1]["provider_specific_fields"]["warnings"])
    assert not {"logprobs", "top_logprobs"} & stage.sent[0].keys()
    for more in ({"top_logprobs": 2}, {"include": ["message.output_text.logprobs"]}):
        stage.model.will(round_of("Paris.", is_stream=is_stream))
        response = await respond(stage, stream=is_stream, **more)
        assert "logprobs were left out" in str(response["provider_specific_fields"]["warnings"])


async def test_time_that_is_used_up_fails_the_call_and_ends_the_search(serve: Serve) -> None:
    async with scene(serve, more="[hosted_search]\ntotal_s = 1\n") as stage:
        stage.provider.answer = stage.provider.silent
        stage.model.will(round_of(search()), round_of("x", search("b")))
        response = await respond(stage)
        assert kinds_of(response["output"]) == ["search!", "message"] and message_of(response)["text"] == "x"
        assert stage.sent[1]["tool_choice"] == "none"
        async with asyncio.timeout(LEFT_S):
            await stage.provider.released.wait()


async def test_every_call_counts_against_the_minute_of_the_key(stage: Scene) -> None:
    key = stage.server.make_key("responses", "web-search", per_minute=2)
    stage.model.will(round_of(search("a"), search("b", "c2", 1), is_stream=False), round_of("x", is_stream=False))
    status, response = await post(stage, "/v1/responses", ASK, key)
    assert status == 200 and kinds_of(response["output"]) == ["search", "search!", "message"]
    assert stage.provider.asked == ["a"]


async def leave(stage: Scene, path: str, body: dict[str, Any], *waits: asyncio.Event) -> None:
    """Ask, and leave once one of the events is set."""
    asking = asyncio.create_task(post(stage, path, body))
    for event in waits:
        async with asyncio.timeout(5):
            await event.wait()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize("phase", ["first round", "search", "open page", "second round", "last text"])
async def test_a_client_that_leaves_releases_search_and_model(
    stage: Scene, phase: str, path: str, is_stream: bool
) -> None:
    body = {**ASKED[path], "stream": is_stream}
    waiting = asyncio.Event()

    async def held(exchange: up.Exchange) -> None:
        if phase == "last text" and is_stream:
            await exchange.stream_head()
            await exchange.piece(up.chunk({"content": "Par"}))
        waiting.set()
        try:
            await exchange.gone(30)
        finally:
            stage.model.released.set()

    released = stage.model.released
    if phase == "first round":
        stage.model.will(held)
    elif phase in ("search", "open page"):
        released, waiting = stage.provider.released, stage.provider.waiting
        stage.provider.answer = stage.provider.silent if phase == "search" else None
        stage.site.pages["/page"] = stage.provider.silent
        asked = search() if phase == "search" else call("open_page", url=f"{stage.site.url}/page")
        text = f"Read {stage.site.url}/page"
        body |= {"input": text} if "input" in body else {"messages": [{"role": "user", "content": text}]}
        stage.model.will(round_of(asked, is_stream=is_stream))
    else:
        stage.model.will(round_of(search(), is_stream=is_stream), held)
    await leave(stage, path, body, waiting)
    async with asyncio.timeout(LEFT_S):
        await released.wait()


async def test_a_search_that_failed_is_let_go_without_the_garbage_collector(stage: Scene) -> None:
    stage.provider.answer = stage.provider.broken
    with no_collections():
        before = errors_alive()
        for is_stream in (True, False):
            rounds: list[list[Any]] = [[search("a"), search("b", "c2", 1)], ["I cannot look it up."]]
            stage.model.will(*[round_of(*parts, is_stream=is_stream) for parts in rounds])
            response = await respond(stage, stream=is_stream)
            assert kinds_of(response["output"]) == ["search!", "search!", "message"]
        assert [each for each in errors_alive() if isinstance(each, GatewayError) and each not in before] == []
