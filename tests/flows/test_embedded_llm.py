"""What the embedded language model cannot do, asked of the real one: told by a 4xx, streamed or not."""

import base64
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from openai import APIError, BadRequestError, OpenAI

from gateway.embedded.llm_server import CONTEXT_TOKENS, SLOTS
from tests.support.gateways import NEEDS_MODEL

pytestmark = NEEDS_MODEL

LONG = "word and other words " * CONTEXT_TOKENS
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def png() -> str:
    """A white pixel, as a data URL."""

    def piece(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\xff\xff")
    whole = b"\x89PNG\r\n\x1a\n" + piece(b"IHDR", header) + piece(b"IDAT", pixels) + piece(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(whole).decode()


def chat(client: OpenAI, content: Any, **more: Any) -> Any:
    """The answer, read to its end."""
    answer = client.chat.completions.create(
        model="SvcLLM", messages=[{"role": "user", "content": content}], max_tokens=4, **more
    )
    return list(answer) if more.get("stream") else answer


@both_ways
def test_a_prompt_longer_than_the_context_is_told_apart(client: OpenAI, stream: bool) -> None:
    with pytest.raises(BadRequestError) as caught:
        chat(client, LONG, stream=stream)
    assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "messages")


@both_ways
def test_a_response_longer_than_the_context_is_told_apart(client: OpenAI, stream: bool) -> None:
    if stream:  # the status stays 200: Codex shortens its conversation when it reads this event
        with pytest.raises(APIError, match="context"):
            list(client.responses.create(model="SvcLLM", input=LONG, stream=True))
        return
    with pytest.raises(BadRequestError) as caught:
        client.responses.create(model="SvcLLM", input=LONG)
    assert caught.value.code == "context_length_exceeded"


def test_more_choices_than_the_engine_has_slots_are_answered_and_counted(client: OpenAI) -> None:
    answer = chat(client, "Say hello.", n=2 * SLOTS)
    assert [choice.index for choice in answer.choices] == list(range(2 * SLOTS))
    assert 2 * SLOTS <= answer.usage.completion_tokens <= 2 * SLOTS * 4
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_more_choices_than_slots_are_streamed_to_their_ends(client: OpenAI) -> None:
    chunks = chat(client, "Say hello.", n=2 * SLOTS, stream=True, stream_options={"include_usage": True})
    ended = [choice.index for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    assert sorted(ended) == list(range(2 * SLOTS))
    assert 2 * SLOTS <= chunks[-1].usage.completion_tokens <= 2 * SLOTS * 4


@both_ways
def test_an_image_is_refused(client: OpenAI, stream: bool) -> None:
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": png()}}]
    with pytest.raises(BadRequestError) as caught:
        chat(client, parts, stream=stream)
    assert "images" in caught.value.message


def test_more_callers_than_slots_wait_their_turn(client: OpenAI) -> None:
    with ThreadPoolExecutor(SLOTS * 2) as pool:
        answers = list(pool.map(lambda number: chat(client, f"Say {number}."), range(SLOTS * 2)))
    assert all(answer.choices[0].finish_reason in ("stop", "length") for answer in answers)
