"""What an ended stream keeps in memory: nothing."""

import asyncio
import gc
import weakref
from pathlib import Path

import pytest
from aiohttp import web

from gateway.domain import Event, EventStream
from gateway.errors import UpstreamError
from gateway.web.replies import EventReply
from tests.support.waiting import until
from tests.unit.web.middleware.test_deliver import STREAM_END, gone, serving, within


@pytest.mark.parametrize("ending", ["whole", "failed", "left"])
async def test_an_ended_stream_lets_its_request_go_without_the_garbage_collector(tmp_path: Path, ending: str) -> None:
    replies: list[weakref.ref[EventReply]] = []

    async def events() -> EventStream:
        yield [Event.from_data({"n": 1})]
        if ending == "failed":
            raise UpstreamError("dead")
        if ending == "left":
            await asyncio.Event().wait()

    async def handler(request: web.Request) -> web.StreamResponse:
        reply = EventReply(events())
        replies.append(weakref.ref(reply))
        return reply

    gc.disable()
    try:
        async with serving(tmp_path, handler) as site:
            reader, writer = await site.ask()
            await within(reader.readuntil(b'{"n":1}' if ending == "left" else STREAM_END))
            await gone(writer)
            await until(lambda: replies[0]() is None, 5)
    finally:
        gc.enable()
