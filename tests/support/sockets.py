"""A client of the responses route over WebSocket, by hand: what a test sends is what goes over the wire."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson

from tests.support.gateways import Gateway

LIMIT_S = 20
TEXT_EVENTS = [
    "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
    "response.output_text.delta", "response.output_text.delta", "response.output_text.done",
    "response.content_part.done", "response.output_item.done", "response.completed",
]  # fmt: skip
"""The events of a text in two pieces."""
ENDS = ("response.completed", "response.incomplete", "response.failed", "error")


class Socket:
    """One connection. `create` sends a request, `turn` sends one and reads to its end."""

    def __init__(self, raw: aiohttp.ClientWebSocketResponse) -> None:
        self.raw = raw

    async def create(self, **body: Any) -> None:
        await self.raw.send_str(orjson.dumps({"type": "response.create", "model": "SvcLLM", **body}).decode())

    async def event(self) -> Any:
        """The next event; None when the connection was closed."""
        async with asyncio.timeout(LIMIT_S):
            message = await self.raw.receive()
        return orjson.loads(message.data) if message.type is aiohttp.WSMsgType.TEXT else None

    async def turn(self, **body: Any) -> list[Any]:
        """The events of one response, to its end or its error."""
        await self.create(**body)
        events = [await self.event()]
        while events[-1]["type"] not in ENDS:
            events.append(await self.event())
        return events

    async def answer(self, **body: Any) -> Any:
        """The response object of one turn."""
        last = (await self.turn(**body))[-1]
        assert last["type"] == "response.completed", last
        return last["response"]


@asynccontextmanager
async def opened(server: Gateway, key: str = "", **headers: str) -> AsyncIterator[Socket]:
    """A connection with a key; header names take `-` for `_`."""
    sent = {"Authorization": f"Bearer {key or server.key}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    async with (
        aiohttp.ClientSession(headers=sent) as session,
        session.ws_connect(server.url.replace("http", "ws", 1) + "/v1/responses") as raw,
    ):
        yield Socket(raw)
