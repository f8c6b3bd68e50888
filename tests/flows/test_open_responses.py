"""The public compliance tests of Open Responses 2026-04-24, by their names, over an upstream that speaks chat alone.

Each test makes the request of the public one, and holds what it holds. The models of the specification are compared in
`tests/clients/openresponses.py`, in the clients' own environment.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support import upstream as up
from tests.support.asking import ask
from tests.support.gateways import InProcessGateway
from tests.support.model_clients import python_of
from tests.support.official import run_client
from tests.support.paths import CLIENTS
from tests.support.sockets import opened
from tests.support.upstream import Exchange, Upstream

RED_DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WEATHER = {
    "type": "function", "name": "get_weather", "description": "Get the current weather for a location",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
}  # fmt: skip


async def talking(exchange: Exchange) -> None:
    """A model that calls the first tool it has, summarizes when asked to, and otherwise says OK."""
    body = exchange.seen.body
    if body.get("tools"):
        call = {
            "id": "call_1",
            "type": "function",
            "function": {"name": "get_weather", "arguments": '{"location":"SF"}'},
        }
        await up.answer(up.completion(None, "tool_calls", tool_calls=[call]))(exchange)
    elif body.get("stream"):
        await up.stream(*up.text_stream(["O", "K"]))(exchange)
    else:
        await up.answer(up.completion("OK"))(exchange)


@pytest.fixture
async def model(server: InProcessGateway, upstream: Upstream) -> AsyncIterator[InProcessGateway]:
    upstream.will(talking)
    yield server


def said(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": text, **more}


async def completed(server: InProcessGateway, items: Any, **more: Any) -> Any:
    status, data, _ = await ask(server, "/v1/responses", input=items, **more)
    assert status == 200 and data["status"] == "completed" and data["output"], data
    required = {"temperature", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs", "usage", "background"}
    assert required <= data.keys() and all(data[name] is not None for name in required)
    return data


async def test_basic_response(model: InProcessGateway) -> None:
    await completed(model, [said("Say hello in exactly 3 words.")])


async def test_system_prompt(model: InProcessGateway) -> None:
    await completed(model, [said("You are a pirate.", "system"), said("Say hello.")])


async def test_multi_turn(model: InProcessGateway) -> None:
    await completed(model, [said("My name is Alice."), said("Hello Alice!", "assistant"), said("What is my name?")])


async def test_assistant_phase(model: InProcessGateway) -> None:
    thought = said("I should answer with the saved number.", "assistant", phase="commentary")
    answer = said("The number is four.", "assistant", phase="final_answer")
    await completed(model, [thought, answer, said("Repeat only the number.")])


async def test_image_input(model: InProcessGateway, upstream: Upstream) -> None:
    parts = [{"type": "input_text", "text": "What do you see?"}, {"type": "input_image", "image_url": RED_DOT}]
    await completed(model, [{"type": "message", "role": "user", "content": parts}])
    assert upstream.last.body["messages"][0]["content"][1]["image_url"]["url"] == RED_DOT


async def test_tool_calling(model: InProcessGateway) -> None:
    data = await completed(model, [said("What's the weather like in San Francisco?")], tools=[WEATHER])
    assert [item["type"] for item in data["output"]] == ["function_call"]


async def test_streaming_response(model: InProcessGateway) -> None:
    events = await streamed(model)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[-1]["type"] == "response.completed" and events[-1]["response"]["status"] == "completed"


async def test_compact_response(model: InProcessGateway) -> None:
    items = [said("We agreed to launch on Tuesday."), said("Understood.", "assistant")]
    status, data, _ = await ask(
        model, "/v1/responses/compact", input=items, prompt_cache_key="openresponses-compact-test"
    )
    assert status == 200 and data["object"] == "response.compaction"
    assert "compaction" in [item["type"] for item in data["output"]] and data["usage"]["total_tokens"] == 5
    assert {"id", "created_at"} <= data.keys()


async def test_compact_missing_model(model: InProcessGateway) -> None:
    status, _, _ = await ask(model, "/v1/responses/compact", model=None, input=[said("Compact this conversation.")])
    assert status == 400


async def test_websocket_response(model: InProcessGateway) -> None:
    async with opened(model) as socket:
        await socket.answer(input=[said("Count from 1 to 3.")])


async def test_websocket_sequential_responses(model: InProcessGateway) -> None:
    async with opened(model) as socket:
        for text in ("Reply with exactly: first", "Reply with exactly: second"):
            await socket.answer(store=False, input=text)


async def test_websocket_continuation(model: InProcessGateway) -> None:
    async with opened(model) as socket:
        first = await socket.answer(store=False, input="Remember the code word: cobalt.")
        await socket.answer(store=False, input="What is the code word?", previous_response_id=first["id"])


async def test_websocket_reconnect_store_false_recovery(model: InProcessGateway) -> None:
    async with opened(model) as socket:
        first = await socket.answer(store=False, input="Remember the code word: copper.")
    async with opened(model) as socket:
        lost = await socket.turn(store=False, input="Try to continue.", previous_response_id=first["id"])
        assert lost[-1]["error"]["code"] == "previous_response_not_found"
        await socket.answer(store=False, input=[said("Start a new response.")])


async def test_websocket_previous_response_not_found(model: InProcessGateway) -> None:
    async with opened(model) as socket:
        events = await socket.turn(
            store=False, input="This fails.", previous_response_id="resp_openresponses_missing_1"
        )
    assert [event["type"] for event in events] == ["error"]
    assert events[0]["status"] == 400 and events[0]["error"]["code"] == "previous_response_not_found"


async def test_websocket_failed_continuation_evicts_cache(model: InProcessGateway) -> None:
    async with opened(model) as socket:
        first = await socket.answer(store=False, input="Remember the code word: ember.")
        orphan = {"type": "function_call_output", "call_id": "call_openresponses_missing", "output": "none"}
        failed = await socket.turn(store=False, input=[orphan], previous_response_id=first["id"])
        assert failed[-1]["error"]["code"]
        stale = await socket.turn(store=False, input="stale", previous_response_id=first["id"])
        assert stale[-1]["error"]["code"] == "previous_response_not_found"


async def test_websocket_compact_new_chain(model: InProcessGateway) -> None:
    items = [said("Remember: slate."), said("OK.", "assistant"), said("Compress this conversation.")]
    _, compacted, _ = await ask(model, "/v1/responses/compact", input=items)
    async with opened(model) as socket:
        await socket.answer(store=False, input=[*compacted["output"], said("Continue from here.")], tools=[])


@pytest.mark.slow
async def test_response_output_phase_schema(model: InProcessGateway) -> None:
    """And every object and event of ours, by the specification's models."""
    whole = await completed(model, [said("hello")])
    called = await completed(model, [said("weather?")], tools=[WEATHER])
    phases = [{**item, "phase": "final_answer"} for item in whole["output"]]
    async with opened(model) as socket:
        turn = await socket.turn(input="hello", store=False)
        warm = await socket.turn(input="hello", store=False, generate=False)
    _, compacted, _ = await ask(model, "/v1/responses/compact", input=[said("hello"), said("OK", "assistant")])
    given = {
        "responses": [whole, called, {**whole, "output": phases}, turn[-1]["response"]],
        "events": [*(await streamed(model)), *turn, *warm],
        "compactions": [compacted],
    }
    report = await run_client([python_of("clients"), str(CLIENTS / "openresponses.py")], given)
    assert report["problems"] == []


async def streamed(server: InProcessGateway) -> list[Any]:
    return list((await ask(server, "/v1/responses", input=[said("Count from 1 to 5.")], stream=True))[1])
