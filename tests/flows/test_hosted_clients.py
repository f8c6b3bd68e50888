"""Hosted web search read by the official client: its own accumulators and types."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai.types.responses import ResponseFunctionWebSearch, ResponseOutputMessage
from openai.types.responses.response_output_text import AnnotationURLCitation

from tests.support.asking import official
from tests.support.hosted_search import Scene, round_of, search
from tests.support.model_clients import ai_sdk_command, python_of
from tests.support.official import run_client
from tests.support.paths import CLIENTS

LIMIT_S = 10
PARIS = "https://a.example.com/paris"


@pytest.fixture
async def client(stage: Scene) -> AsyncIterator[openai.AsyncOpenAI]:
    async with official(stage.server) as made:
        yield made


async def test_the_clients_own_stream_follows_search_and_citations(stage: Scene, client: openai.AsyncOpenAI) -> None:
    stage.model.will(round_of("I look.", search()), round_of("Paris [", "1]."))
    tools: Any = [{"type": "web_search", "search_context_size": "low"}]
    asked: Any = {"input": "x", "tools": tools, "include": ["web_search_call.action.sources"]}
    async with asyncio.timeout(LIMIT_S), client.responses.stream(model="SvcLLM", **asked) as stream:
        events = [event async for event in stream]
        final = await stream.get_final_response()
    assert [event.type for event in events if "web_search" in event.type] == [
        f"response.web_search_call.{phase}" for phase in ("in_progress", "searching", "completed")
    ]
    made, message = final.output[1:]
    assert isinstance(made, ResponseFunctionWebSearch) and made.action.type == "search"
    assert made.action.query == "capital of France" and made.action.sources is not None
    assert isinstance(message, ResponseOutputMessage) and message.content[0].type == "output_text"
    cited = message.content[0].annotations[0]
    assert isinstance(cited, AnnotationURLCitation) and cited.url == PARIS
    assert message.content[0].text[cited.start_index : cited.end_index] == "[1]"


def rounds(stage: Scene, is_stream: bool) -> dict[str, object]:
    """Lets the model search and answer; the plan of a client."""
    stage.model.will(round_of(search(), is_stream=is_stream), round_of("Paris 里昂 [1].", is_stream=is_stream))
    return {"url": stage.server.url + "/v1", "key": stage.server.key, "stream": is_stream}


@pytest.mark.slow
async def test_the_agents_sdk_searches_with_its_own_tool(stage: Scene) -> None:
    parts: list[list[Any]] = [[search()], ["Paris 里昂 [1]."]]
    stage.model.will(*(round_of(*each, is_stream=streamed) for streamed in (False, True) for each in parts))
    plans = [
        {"url": stage.server.url + "/v1", "key": stage.server.key, "stream": each, "tool": "search"}
        for each in (False, True)
    ]
    for report in await run_client([python_of("clients"), str(CLIENTS / "agents_sdk.py")], plans):
        assert report["output"] == "Paris 里昂 [1]." and report["kinds"] == ["web_search_call", "message"]
        assert report["cited"] == [["[1]", PARIS]]


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "streamed"])
async def test_the_ai_sdk_searches_with_its_own_tool(stage: Scene, is_stream: bool) -> None:
    report = await run_client(ai_sdk_command("search.mjs"), rounds(stage, is_stream))
    assert report["text"] == "Paris 里昂 [1]." and report["sources"] == [PARIS] and report["calls"] == ["web_search"]
