"""The cap on requests at once: one key may fill it while it is alone, and keeps nobody else out."""

import asyncio

import aiohttp

from tests.support import upstream as up
from tests.support.asking import ASK
from tests.support.gateways import Serve, upstream_toml
from tests.support.upstream import Upstream
from tests.support.waiting import until


async def test_a_key_that_fills_the_cap_is_refused_more_and_another_is_served(serve: Serve, upstream: Upstream) -> None:
    server = await serve("[server]\nmax_in_flight = 8\n" + upstream_toml(upstream.url))
    other = server.make_key("chat")
    upstream.will(up.silent(upstream, head=False))
    url = server.url + "/v1/chat/completions"

    async def status(session: aiohttp.ClientSession, key: str) -> int:
        async with session.post(url, json=ASK, headers={"Authorization": f"Bearer {key}"}) as answer:
            await answer.read()
            return answer.status

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session, asyncio.timeout(20):
        flood = [asyncio.create_task(status(session, server.key)) for _ in range(8)]
        await until(lambda: len(upstream.seen) == 8, 10)
        assert await status(session, server.key) == 503
        upstream.will(up.answer())
        assert [await status(session, other) for _ in range(20)] == [200] * 20
        assert await status(session, server.key) == 503
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)
        await server.in_flight.wait(5)
        assert await status(session, server.key) == 200
