"""The public compliance tests of Open Responses 2026-04-24, by their names, over an upstream that speaks chat alone.

Each case makes the request of the public one, and holds what it holds; those over a socket stand in `test_websocket`,
those of compaction in `test_compaction`. The models of the specification are compared by
`tests/clients/openresponses.py`, in the clients' own environment.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support import upstream as up
from tests.support.asking import ask
from tests.support.gateways import Gateway
from tests.support.messages_route import PIXEL
from tests.support.model_clients import python_of
from tests.support.official import run_client
from tests.support.paths import CLIENTS
from tests.support.sockets import opened
from tests.support.upstream import Exchange, Upstream

RED_DOT = f"data:image/png;base64,{PIXEL}"
WEATHER = {
    "type": "function", "name": "get_weather", "description": "Get the current weather for a location",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
}  # fmt: skip


async def talking(exchange: Exchange) -> None:
    """A model that calls the first tool it has, summarizes when asked to, and otherwise says OK."""
    body = exchange.seen.body
    if body.get("tools"):
        call = up.called("get_weather", '{"location":"SF"}')
        await up.answer(up.completion(None, "tool_calls", tool_calls=[call]))(exchange)
    elif body.get("stream"):
        await up.stream(*up.text_stream(["O", "K"]))(exchange)
    else:
        await up.answer(up.completion("OK"))(exchange)


@pytest.fixture
async def model(server: Gateway, upstream: Upstream) -> AsyncIterator[Gateway]:
    upstream.will(talking)
    yield server


def said(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": text, **more}


async def completed(server: Gateway, items: Any, **more: Any) -> Any:
    status, data, _ = await ask(server, "/v1/responses", input=items, **more)
    assert status == 200 and data["status"] == "completed" and data["output"], data
    required = {"temperature", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs", "usage", "background"}
    assert required <= data.keys() and all(data[name] is not None for name in required)
    return data


CASES: dict[str, tuple[list[Any], dict[str, Any], str]] = {
    "basic response": ([said("Say hello in exactly 3 words.")], {}, "message"),
    "system prompt": ([said("You are a pirate.", "system"), said("Say hello.")], {}, "message"),
    "multi turn": (
        [said("My name is Alice."), said("Hello Alice!", "assistant"), said("What is my name?")], {}, "message"),
    "assistant phase": (
        [said("I answer with the saved number.", "assistant", phase="commentary"),
         said("The number is four.", "assistant", phase="final_answer"), said("Repeat only the number.")],
        {}, "message"),
    "image input": (
        [{"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "What do you see?"}, {"type": "input_image", "image_url": RED_DOT}]}],
        {}, "message"),
    "tool calling": ([said("What's the weather like in San Francisco?")], {"tools": [WEATHER]}, "function_call"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
async def test_a_public_request_is_completed(model: Gateway, upstream: Upstream, name: str) -> None:
    items, more, kind = CASES[name]
    data = await completed(model, items, **more)
    assert [item["type"] for item in data["output"]] == [kind]
    assert (RED_DOT in str(upstream.last.body)) is (name == "image input")


@pytest.mark.slow
async def test_response_output_phase_schema(model: Gateway, upstream: Upstream) -> None:
    """And every object and event of ours, by the specification's models."""
    whole = await completed(model, [said("hello")])
    called = await completed(model, [said("weather?")], tools=[WEATHER])
    phases = [{**item, "phase": "final_answer"} for item in whole["output"]]
    async with opened(model) as socket:
        turn = await socket.turn(input="hello", store=False)
        warm = await socket.turn(input="hello", store=False, generate=False)
    _, compacted, _ = await ask(model, "/v1/responses/compact", input=[said("hello"), said("OK", "assistant")])
    reasoned, cut = [up.chunk({"reasoning": "2 and 2"}), *up.text_stream()], up.text_stream(finish="length")
    calls, broken = up.call_stream(up.called("get_weather", "{}"), 7), up.stream(up.chunk({"content": "a"}), end=False)
    upstream.will(*(up.stream(*each) for each in (up.text_stream(), calls, cut, reasoned)), broken)
    streams = [await ask(model, "/v1/responses", input="x", stream=True, tools=[WEATHER]) for _ in range(5)]
    events = [event for _, stream, _ in streams for event in stream if event["type"] != "error"]
    upstream.will(up.answer(up.completion("cut", "length")))
    _, incomplete, _ = await ask(model, "/v1/responses", input="x")
    given = {
        "responses": [whole, called, incomplete, {**whole, "output": phases}, turn[-1]["response"]],
        "events": [*events, *turn, *warm],
        "compactions": [compacted],
    }
    report = await run_client([python_of("clients"), str(CLIENTS / "openresponses.py")], given)
    assert report["known"] > 10 and report["problems"] == []
