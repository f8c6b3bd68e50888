"""Bodies for `POST /v1/messages`, and its stream read without the official client."""

from typing import Any

import orjson

from tests.support.asking import MESSAGES, posting
from tests.support.gateways import Gateway

LIMIT_S = 10
MODEL: dict[str, Any] = {"model": "SvcLLM", "max_tokens": 100}
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
ADD = {"name": "add", "description": "adds", "input_schema": {"type": "object", "properties": {"a": {}}}}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}


async def raw_stream(server: Gateway, **body: Any) -> list[Any]:
    async with posting(server, MESSAGES, {**MODEL, "messages": HELLO, "stream": True, **body}) as answer:
        frames = [frame for frame in (await answer.read()).decode().split("\n\n") if frame and frame[0] != ":"]
    events = []
    for frame in frames:
        name, data = frame.split("\n")
        events.append(orjson.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    return events
