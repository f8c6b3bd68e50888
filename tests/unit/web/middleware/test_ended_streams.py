"""The ends of streams: what comes together after much, and what is kept in memory (nothing)."""

import asyncio
import gc
import weakref
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from gateway.domain import Event, EventStream
from gateway.errors import UpstreamError
from gateway.web.replies import EventReply
from gateway.wire import sse
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


async def test_events_that_repeat_a_long_answer_are_written_as_they_are_one_after_the_other(tmp_path: Path) -> None:
    pieces, whole = [f"{number} \U0001f600".ljust(3_000) for number in range(120)], "\U0001f600" + "b" * 360_000

    async def events() -> EventStream:
        for piece in pieces:
            yield [Event.from_data({"delta": piece})]
        yield [Event.from_data({"n": n, "whole": whole}, name="done") for n in (1, 2)] + [Event.from_bytes(sse.DONE)]

    async def handler(request: web.Request) -> web.StreamResponse:
        return EventReply(events())

    async with serving(tmp_path, handler) as site, aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {site.key}"}
        async with session.post(f"http://127.0.0.1:{site.port}/run", headers=headers) as answer:
            body = await within(answer.read())
    expected = [sse.frame({"delta": piece}) for piece in pieces]
    expected += [sse.frame({"n": n, "whole": whole}, "done") for n in (1, 2)]
    assert body == b"".join([*expected, sse.DONE])
