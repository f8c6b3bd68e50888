"""A connection serves its requests in one task: what one of them did to the task is nothing to the next."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

from tests.support.listening import Answer, listening


@asynccontextmanager
async def connected(answer: Answer) -> AsyncIterator[Callable[[bytes], Awaitable[str]]]:
    """A function that posts a body over the one connection and returns the answer's text."""
    async with listening(answer) as port, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as session:

        async def post(body: bytes) -> str:
            async with asyncio.timeout(10), session.post(f"http://127.0.0.1:{port}/", data=body) as response:
                return await response.text()

        yield post


async def test_a_request_that_took_back_its_cancellation_leaves_time_limits_to_the_next() -> None:
    tasks = []

    async def answer(request: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        if await request.read() == b"cancelled":
            asyncio.get_running_loop().call_soon(task.cancel)
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                return web.Response(text=f"taken back, {task.uncancel()} left")
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(10)
        except TimeoutError:
            return web.Response(text=f"out of time, {task.cancelling()} left")
        return web.Response(text="never")

    async with connected(answer) as post:
        assert await post(b"cancelled") == "taken back, 0 left" and await post(b"limited") == "out of time, 0 left"
    assert (tasks[0] is tasks[1]) is (sys.version_info < (3, 12))


async def test_a_failure_of_one_request_is_answered_and_the_connection_ends() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        raise ValueError("of the handler")

    async with connected(answer) as post:
        assert '"server_error"' in await post(b"") and '"server_error"' in await post(b"")
