"""The operations listener serves requests that name it, in Host and in the request's target."""

import asyncio

import pytest
from aiohttp import web

from gateway.web.own_hosts import only_own_hosts

LIMIT_S = 10


async def status(request: str) -> int:
    """Of a listener that is also called `ops.test`; `request` has its lines without the line ends."""

    async def serve(_: web.Request) -> web.Response:
        return web.Response(text="metrics")

    app = web.Application(middlewares=[only_own_hosts(("ops.test",))])
    app.router.add_get("/metrics", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with asyncio.timeout(LIMIT_S):
            reader, writer = await asyncio.open_connection(*runner.addresses[0][:2])
            writer.write(f"{request}\nConnection: close\n\n".replace("\n", "\r\n").encode())
            head = await reader.readline()
            writer.close()
    finally:
        await runner.cleanup()
    return int(head.split()[1])


OWN = ["/metrics", "http://localhost/metrics", "http://OPS.test:9464/metrics", "http://127.0.0.1/metrics?a=://b"]


@pytest.mark.parametrize("target", OWN)
async def test_a_target_that_names_the_listener_or_no_host_is_served(target: str) -> None:
    assert await status(f"GET {target} HTTP/1.1\nHost: localhost") == 200


OTHERS = [
    "http://evil.test/metrics", "http://evil.test:9464/metrics", "http://ops.test@evil.test/metrics",
    "https://user:word@ops.test/metrics", "http://10.0.0.1/metrics",
]  # fmt: skip


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("rest", [" HTTP/1.1\nHost: localhost", " HTTP/1.0"])
async def test_a_target_that_names_another_host_is_refused_whatever_host_says(target: str, rest: str) -> None:
    assert await status(f"GET {target}{rest}") == 403


async def test_a_host_of_somebody_else_is_refused_also_when_the_target_names_the_listener() -> None:
    assert await status("GET http://ops.test/metrics HTTP/1.1\nHost: evil.test") == 403
