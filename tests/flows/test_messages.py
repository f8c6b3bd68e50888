"""`POST /v1/messages` over a chat upstream, read by the official SDK: whole answers, streams, tools."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic
from anthropic.tools.memory import BetaAsyncLocalFilesystemMemoryTool

from tests.support import upstream as up
from tests.support.backends import streamed as chunks_of
from tests.support.gateways import Gateway
from tests.support.messages_route import ADD, HELLO, LIMIT_S, MODEL
from tests.support.paths import GOLDEN
from tests.support.upstream import Upstream


@pytest.fixture
async def client(server: Gateway) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(base_url=server.url, api_key=server.key, max_retries=0) as made:
        yield made


async def answered(client: AsyncAnthropic, **body: Any) -> anthropic.types.Message:
    async with asyncio.timeout(LIMIT_S):
        message = await client.messages.create(**{**MODEL, "messages": HELLO, **body})
    assert isinstance(message, anthropic.types.Message)
    return message


async def streamed(client: AsyncAnthropic, **body: Any) -> tuple[list[Any], anthropic.types.Message]:
    """All events, through the client's own accumulator, and its message."""
    async with asyncio.timeout(LIMIT_S):
        async with client.messages.stream(**{**MODEL, "messages": HELLO, **body}) as stream:
            own = ("text", "input_json", "thinking", "signature", "citation")
            events = [event async for event in stream if event.type not in own]
            return events, await stream.get_final_message()


async def test_a_text_is_a_whole_message(client: AsyncAnthropic, upstream: Upstream) -> None:
    upstream.will(up.answer())
    message = await answered(client, system="be brief", stop_sequences=["END"], extra_body={"top_k": 3})
    assert [block.type for block in message.content] == ["text"] and message.stop_reason == "end_turn"
    assert message.content[0].type == "text" and message.content[0].text == "Hello there"
    assert message.model == "SvcLLM" and message.role == "assistant" and message.id.startswith("msg_")
    assert (message.usage.input_tokens, message.usage.output_tokens) == (3, 2)
    sent = upstream.last.body
    assert [each["role"] for each in sent["messages"]] == ["system", "user"]
    assert sent["stop"] == ["END"] and sent["max_tokens"] == 100 and sent["top_k"] == 3


async def test_a_streamed_text_has_the_documented_order(client: AsyncAnthropic, upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream(["Hel", "lo"])))
    events, message = await streamed(client)
    assert [event.type for event in events] == [
        "message_start", "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
        "message_delta", "message_stop",
    ]  # fmt: skip
    assert events[0].message.usage.input_tokens > 0 and events[0].message.usage.output_tokens > 0
    assert events[0].message.content == [] and events[0].message.stop_reason is None
    assert message.content[0].type == "text" and message.content[0].text == "Hello"
    assert (message.usage.input_tokens, message.usage.output_tokens, message.stop_reason) == (3, 2, "end_turn")


CALL = up.called("add", '{"a":1}')


def shape(message: anthropic.types.Message) -> list[Any]:
    """The blocks as short values."""
    return [
        block.text if block.type == "text"
        else (block.id, block.name, block.input) if block.type == "tool_use"
        else (block.type, getattr(block, "thinking", None))
        for block in message.content
    ]  # fmt: skip


STREAMS = {row["case"]: row for row in json.loads((GOLDEN / "streams_to_blocks.json").read_text())}


@pytest.mark.parametrize("case", STREAMS)
async def test_a_stream_becomes_its_blocks(client: AsyncAnthropic, upstream: Upstream, case: str) -> None:
    row = STREAMS[case]
    chunks = [up.frame({"id": "x", "choices": [{"index": 0, **choice}]}) for choice in row["choices"]]
    upstream.will(up.stream(*chunks, up.usage_chunk(), up.DONE))
    events, message = await streamed(client, **row["asked"])
    blocks = [list(block) if isinstance(block, tuple) else block for block in shape(message)]
    assert blocks == row["blocks"] and message.stop_reason == row["reason"]
    assert [event.type for event in events].count("message_delta") == 1
    starts = [event for event in events if event.type == "content_block_start"]
    assert [event.index for event in starts] == list(range(len(blocks)))
    assert all(event.content_block.input == {} for event in starts if event.content_block.type == "tool_use")
    assert all(block.signature for block in message.content if block.type == "thinking")


THINKING = {"thinking": {"type": "enabled"}}
MESSAGES: dict[str, tuple[dict[str, Any], str, dict[str, Any], list[Any], str]] = {
    "calls beside a text": (
        {"content": "I add", "tool_calls": [CALL, {**CALL, "id": "call_2"}]}, "tool_calls", {"tools": [ADD]},
        ["I add", ("call_1", "add", {"a": 1}), ("call_2", "add", {"a": 1})], "tool_use"),
    "thoughts": ({"reasoning_content": "2 and 2", "content": "4"}, "stop", THINKING, [("thinking", "2 and 2"), "4"],
                 "end_turn"),
    "thoughts that nobody wished for": ({"reasoning": "2 and 2", "content": "4"}, "stop", {}, ["4"], "end_turn"),
    "a cut text": ({"content": "4"}, "length", {}, ["4"], "max_tokens"),
    "a cut call": ({"content": None, "tool_calls": [{**CALL, "function": {"name": "add", "arguments": '{"a"'}}]},
                   "length", {"tools": [ADD]}, [("call_1", "add", {})], "max_tokens"),
    "a refusal": ({"content": None, "refusal": "no"}, "stop", {}, ["no"], "refusal"),
    "a refusal after a text": ({"content": "so", "refusal": "no"}, "stop", {}, ["so", "no"], "refusal"),
    "nothing": ({"content": ""}, "stop", {}, [], "end_turn"),
}  # fmt: skip


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("case", MESSAGES)
async def test_an_answer_becomes_its_blocks(
    client: AsyncAnthropic, upstream: Upstream, case: str, is_stream: bool
) -> None:
    said, finish, body, blocks, reason = MESSAGES[case]
    whole = up.completion(said.get("content"), finish, **{k: v for k, v in said.items() if k != "content"})
    upstream.will(up.stream(*chunks_of(said, finish)) if is_stream else up.answer(whole))
    message = (await streamed(client, **body))[1] if is_stream else await answered(client, **body)
    assert shape(message) == blocks and message.stop_reason == reason


async def test_arguments_that_are_no_object_are_an_error_and_no_invented_input(
    client: AsyncAnthropic, upstream: Upstream
) -> None:
    broken = {**CALL, "function": {"name": "add", "arguments": "[1]"}}
    upstream.will(up.answer(up.completion(None, "tool_calls", tool_calls=[broken])))
    with pytest.raises(anthropic.InternalServerError, match="not a JSON object"):
        await answered(client, tools=[ADD])


async def test_tokens_read_from_a_cache_are_counted_apart(client: AsyncAnthropic, upstream: Upstream) -> None:
    usage = {"prompt_tokens": 30, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 20}}
    upstream.will(up.answer({**up.completion(), "usage": usage}))
    message = await answered(client)
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (10, 20)


async def test_a_model_keeps_notes_with_the_sdks_own_memory_tool(
    client: AsyncAnthropic, upstream: Upstream, tmp_path: Path
) -> None:
    note = {"command": "create", "path": "/memories/a.txt", "file_text": "Tea, no milk."}
    asked = enumerate([note, {"command": "view", "path": "/memories/a.txt"}])
    calls = [up.called("memory", json.dumps(arguments), f"c{number}") for number, arguments in asked]
    rounds = [up.answer(up.completion(None, "tool_calls", tool_calls=[each])) for each in calls]
    upstream.will(*rounds, up.answer(up.completion("You take tea.")))
    memory = BetaAsyncLocalFilesystemMemoryTool(str(tmp_path))
    async with asyncio.timeout(LIMIT_S):
        message = await client.beta.messages.tool_runner(**MODEL, messages=HELLO, tools=[memory]).until_done()
    assert message.content[0].type == "text" and message.content[0].text == "You take tea."
    assert (tmp_path / "memories" / "a.txt").read_text() == "Tea, no milk."
    assert "Tea, no milk." in upstream.last.body["messages"][-1]["content"]
    assert upstream.last.body["tools"][0]["function"]["parameters"]["properties"]["command"]["enum"]


async def test_a_format_of_the_sdk_forces_the_upstreams_schema(client: AsyncAnthropic, upstream: Upstream) -> None:
    upstream.will(up.answer(up.completion('{"size": 3}')))
    schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
    form = {"type": "json_schema", "schema": schema}
    message = await answered(client, output_config={"effort": "max", "format": form})
    assert json.loads(str(shape(message)[0])) == {"size": 3}
    sent = upstream.last.body
    assert sent["response_format"]["json_schema"]["schema"] == schema and sent["reasoning_effort"] == "max"
