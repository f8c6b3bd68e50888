"""`POST /v1/responses` over a chat upstream, read by the official client: objects, events, tools, state."""

import asyncio
from typing import Any

import openai
import orjson
import pytest
from openai import AsyncOpenAI
from openai.types.responses import ResponseOutputMessage

from tests.support import upstream as up
from tests.support.asking import ask, send
from tests.support.gateways import Gateway
from tests.support.sockets import TEXT_EVENTS
from tests.support.upstream import Upstream

TOOL = {"type": "function", "name": "add", "description": "adds", "parameters": {"type": "object", "properties": {}}}
LIMIT_S = 10


def call_chunks(number: int = 0, call_id: str = "c1") -> list[bytes]:
    return up.call_chunks(up.called("add", '{"a":1}', call_id), 4, number)


async def streamed(client: AsyncOpenAI, **body: Any) -> tuple[list[Any], Any]:
    """All events through the client's own state machine, and its final response."""
    async with asyncio.timeout(LIMIT_S), client.responses.stream(model="SvcLLM", **body) as stream:
        events = [event async for event in stream]
        return events, await stream.get_final_response()


async def raw_events(client: AsyncOpenAI, **body: Any) -> list[Any]:
    async with asyncio.timeout(LIMIT_S):
        stream = await client.responses.create(model="SvcLLM", stream=True, **body)
        return [event async for event in stream]


async def test_a_text_is_a_whole_response_object(client: AsyncOpenAI, upstream: Upstream) -> None:
    upstream.will(up.answer())
    response = await client.responses.create(model="SvcLLM", input="hello", instructions="be brief", user="u1")
    assert response.output_text == "Hello there" and response.status == "completed" and response.model == "SvcLLM"
    assert response.object == "response" and response.id.startswith("resp_")
    [item] = response.model_dump()["output"]
    assert (item["type"], item["role"], item["content"][0]["type"]) == ("message", "assistant", "output_text")
    used = response.usage
    assert used is not None and (used.input_tokens, used.output_tokens, used.total_tokens) == (3, 2, 5)
    extra = response.model_extra or {}
    assert extra["created"] == response.created_at
    assert extra["provider_specific_fields"]["finish_reason"] == "stop"
    sent = upstream.last.body
    assert [m["role"] for m in sent["messages"]] == ["system", "user"] and sent["user"].startswith("user_")


async def test_a_streamed_text_has_the_exact_sequence(client: AsyncOpenAI, upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream(["Hel", "lo"])))
    events = await raw_events(client, input="hello")
    assert [event.type for event in events] == TEXT_EVENTS
    assert [event.sequence_number for event in events] == list(range(10))
    assert len({e.item_id for e in events if hasattr(e, "item_id")} | {events[2].item.id, events[-2].item.id}) == 1
    assert events[0].response.output == [] and events[0].response.status == "in_progress"
    final = events[-1].response
    assert final.output_text == "Hello" and final.usage.total_tokens == 5 and final.id == events[0].response.id


TEXTS_AND_CALLS: dict[str, tuple[list[bytes], list[str]]] = {
    "a text, then parallel calls": (
        [up.chunk({"content": "a"}), *call_chunks(), *call_chunks(1, "c2"), up.chunk({}, "tool_calls")],
        ["message", "function_call", "function_call"]),
    "a call alone opens no message": ([*call_chunks(), up.chunk({}, "stop")], ["function_call"]),
    "a text after a call is an item of its own": (
        [up.chunk({"content": "a"}), *call_chunks(), up.chunk({"content": "b"}), up.chunk({}, "tool_calls")],
        ["message", "function_call", "message"]),
    "no text at all is one empty message": (
        [up.chunk({"role": "assistant", "content": ""}), up.chunk({}, "stop")], ["message"]),
}  # fmt: skip


@pytest.mark.parametrize("case", TEXTS_AND_CALLS)
async def test_the_clients_own_accumulator_follows_texts_and_calls(
    client: AsyncOpenAI, upstream: Upstream, case: str
) -> None:
    chunks, kinds = TEXTS_AND_CALLS[case]
    upstream.will(up.stream(*chunks, up.usage_chunk(), up.DONE))
    events, final = await streamed(client, input="add", tools=[TOOL])
    assert [item.type for item in final.output] == kinds
    calls = [item for item in final.output if item.type == "function_call"]
    assert [item.call_id for item in calls] == ["c1", "c2"][: len(calls)]
    assert all(orjson.loads(item.arguments) == {"a": 1} for item in calls)
    done = [event.item.id for event in events if event.type == "response.output_item.done"]
    assert sorted(done) == sorted(item.id for item in final.output) and len(set(done)) == len(kinds)
    assert (final.output_text == "") is not any(b'"content": "a"' in chunk for chunk in chunks)


@pytest.mark.parametrize(("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
async def test_a_cut_answer_is_incomplete_with_its_reason(
    client: AsyncOpenAI, upstream: Upstream, finish: str, reason: str
) -> None:
    upstream.will(up.answer(up.completion("Hel", finish)), up.stream(*up.text_stream(["Hel"], finish)))
    whole = await client.responses.create(model="SvcLLM", input="hello")
    events = await raw_events(client, input="hello")
    assert events[-1].type == "response.incomplete"
    assert events[-2].item.status == "incomplete"
    for response in (whole, events[-1].response):
        assert response.status == "incomplete"
        assert response.incomplete_details is not None and response.incomplete_details.reason == reason
        item = response.output[-1]
        assert isinstance(item, ResponseOutputMessage) and item.status == "incomplete"
        assert response.usage is not None and response.usage.output_tokens == 2


async def test_a_late_failure_is_an_error_then_failed(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.stream(up.chunk({"content": "Hel"}), end=False))
    _, events, _ = await send(server, "/v1/responses", {"model": "SvcLLM", "input": "x", "stream": True})
    assert [event["type"] for event in events[-2:]] == ["error", "response.failed"]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    error = events[-2]["error"]
    assert isinstance(error["message"], str) and isinstance(error["code"], str) and events[-2]["code"] == error["code"]
    failed = events[-1]["response"]
    assert failed["status"] == "failed" and failed["error"]["message"] and failed["id"] == events[0]["response"]["id"]


async def test_tools_go_both_ways_and_calls_are_merged(client: AsyncOpenAI, upstream: Upstream) -> None:
    upstream.will(up.answer(up.completion(None, "tool_calls", tool_calls=[up.called("add", '{"a":1}', "c9")])))
    items: list[Any] = [
        {"role": "user", "content": "add"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "a", "name": "add", "arguments": "{}"},
        {"type": "tool_call", "call_id": "b", "name": "add", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"type": "tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "2"}]},
    ]
    tools: list[Any] = [TOOL, {"type": "file_search"}]
    made = await client.responses.with_raw_response.create(
        model="SvcLLM", input=items, tools=tools, tool_choice={"type": "function", "name": "add"}
    )
    response = made.parse()
    assert "file_search" in made.headers["x-gateway-warning"]
    assert response.output[0].type == "function_call" and response.output[0].call_id == "c9"
    sent = upstream.last.body
    assert [m["role"] for m in sent["messages"]] == ["user", "assistant", "tool", "tool"]
    assert [c["id"] for c in sent["messages"][1]["tool_calls"]] == ["a", "b"]
    assert sent["messages"][1]["content"] == "Yes." and sent["messages"][3]["content"] == "2"
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "add"}} and len(sent["tools"]) == 1


ADD = {"type": "function", "function": {"name": "add"}}


async def test_tools_that_are_left_out_are_named_in_a_header_that_nothing_can_be_put_into(server: Gateway) -> None:
    for kinds, named in (
        (["file_search", "file_search", "computer"], "file_search, computer"),
        (["a\r\nSet-Cookie: x=y", "\x00", "ä"], "aSet-Cookiexy, unnamed"),
        ([f"tool{number}" for number in range(256)], ", ".join(f"tool{number}" for number in range(8)) + " and more"),
    ):
        server.upstream.will(up.answer(up.completion("done")))
        status, _, headers = await ask(server, "/v1/responses", input="x", tools=[{"type": kind} for kind in kinds])
        assert (status, headers["X-Gateway-Warning"]) == (200, f"tools not available here were left out: {named}")
        assert "Set-Cookie" not in headers


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (ADD, {"type": "function", "name": "add"}),
        ({"type": "function", "name": "add"}, {"type": "function", "name": "add"}),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [ADD]},
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "add"}]},
        ),
        ("required", "required"),
    ],
)
async def test_a_tool_choice_is_shown_in_this_routes_form(server: Gateway, given: Any, shown: Any) -> None:
    server.upstream.will(up.answer())
    nested = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
    status, data, _ = await ask(server, "/v1/responses", input="x", tools=[nested], tool_choice=given)
    assert status == 200 and data["tool_choice"] == shown
    assert data["tools"][0] == {
        "type": "function", "name": "add", "description": None, "parameters": {"type": "object"}, "strict": None,
    }  # fmt: skip


async def test_stored_responses_are_found_again_by_their_own_key_alone(
    server: Gateway, client: AsyncOpenAI, upstream: Upstream
) -> None:
    stranger = server.make_key("responses")
    upstream.will(up.answer(up.completion("One")), up.answer(up.completion("Two")))
    first = await client.responses.create(model="SvcLLM", input="first")
    second = await client.responses.create(model="SvcLLM", input="second", previous_response_id=first.id)
    texts = [m["content"] for m in upstream.last.body["messages"]]
    assert texts == ["first", "One", "second"] and second.previous_response_id == first.id
    assert (await client.responses.retrieve(first.id)).output_text == "One"
    listed = await client.responses.input_items.list(second.id, order="asc")
    assert [item.role for item in listed.data] == ["user", "assistant", "user"]  # type: ignore[union-attr]
    upstream.will(up.answer())
    referred: list[Any] = [{"type": "item_reference", "id": first.output[0].id}, {"role": "user", "content": "go on"}]
    await client.responses.create(model="SvcLLM", input=referred)
    assert [m["content"] for m in upstream.last.body["messages"]] == ["One", "go on"]
    with pytest.raises(openai.NotFoundError) as unknown:
        await client.responses.create(model="SvcLLM", input=[{"type": "item_reference", "id": "msg_none"}])
    assert (unknown.value.code, unknown.value.param) == ("item_not_found", "input[0].id")
    async with AsyncOpenAI(base_url=server.url + "/v1", api_key=stranger, max_retries=0) as other:
        with pytest.raises(openai.NotFoundError):
            await other.responses.retrieve(first.id)
        with pytest.raises(openai.BadRequestError) as refused:
            await other.responses.create(model="SvcLLM", input="x", previous_response_id=first.id)
        assert refused.value.code == "previous_response_not_found"
    await client.responses.delete(first.id)
    with pytest.raises(openai.NotFoundError):
        await client.responses.retrieve(first.id)
    kept_not = await client.responses.create(model="SvcLLM", input="x", store=False)
    with pytest.raises(openai.NotFoundError):
        await client.responses.retrieve(kept_not.id)
