"""`POST /v1/messages` over a chat upstream, read by the official SDK: whole answers, streams, tools, images, refusals."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import pytest

from tests.support import upstream as up
from tests.support.gateways import InProcessGateway
from tests.support.upstream import Upstream

LIMIT_S = 10
MODEL: dict[str, Any] = {"model": "SvcLLM", "max_tokens": 100}
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
ADD = {"name": "add", "description": "adds", "input_schema": {"type": "object", "properties": {"a": {}}}}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}


@pytest.fixture
async def client(server: InProcessGateway) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(base_url=server.url, api_key=server.key, max_retries=0) as made:
        yield made


async def answered(client: anthropic.AsyncAnthropic, **body: Any) -> anthropic.types.Message:
    async with asyncio.timeout(LIMIT_S):
        message = await client.messages.create(**{**MODEL, "messages": HELLO, **body})
    assert isinstance(message, anthropic.types.Message)
    return message


async def streamed(client: anthropic.AsyncAnthropic, **body: Any) -> tuple[list[Any], anthropic.types.Message]:
    """All events, through the client's own accumulator, and its message."""
    async with asyncio.timeout(LIMIT_S):
        async with client.messages.stream(**{**MODEL, "messages": HELLO, **body}) as stream:
            own = ("text", "input_json", "thinking", "signature", "citation")
            events = [event async for event in stream if event.type not in own]
            return events, await stream.get_final_message()


async def test_a_text_is_a_whole_message(client: anthropic.AsyncAnthropic, upstream: Upstream) -> None:
    upstream.will(up.answer())
    message = await answered(client, system="be brief", temperature=0.5, top_p=0.9, top_k=3, stop_sequences=["END"])
    assert [block.type for block in message.content] == ["text"] and message.stop_reason == "end_turn"
    assert message.content[0].type == "text" and message.content[0].text == "Hello there"
    assert message.model == "SvcLLM" and message.role == "assistant" and message.id.startswith("msg_")
    assert (message.usage.input_tokens, message.usage.output_tokens) == (3, 2)
    sent = upstream.last.body
    assert [each["role"] for each in sent["messages"]] == ["system", "user"]
    assert sent["stop"] == ["END"] and sent["max_tokens"] == 100 and sent["top_k"] == 3


async def test_a_streamed_text_has_the_documented_order(client: anthropic.AsyncAnthropic, upstream: Upstream) -> None:
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
