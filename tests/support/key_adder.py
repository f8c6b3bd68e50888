"""A reverse proxy on loopback that adds the key: for checkers that cannot send one themselves."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

_HOP_BY_HOP = frozenset({"connection", "transfer-encoding", "content-length", "keep-alive", "date", "server"})


@asynccontextmanager
async def key_adder(url: str, key: str) -> AsyncIterator[str]:
    """The URL to give to the checker; every request goes to `url` as it came, with the key. Host is not passed on."""
    async with aiohttp.ClientSession(auto_decompress=False) as session:

        async def pass_on(request: web.Request) -> web.StreamResponse:
            headers = request.headers.copy()
            headers.popall("Host", None)
            headers["Authorization"] = f"Bearer {key}"
            body = await request.read()
            async with session.request(request.method, url, headers=headers, data=body) as answer:
                kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP]
                reply = web.StreamResponse(status=answer.status, headers=kept)
                await reply.prepare(request)
                async for piece in answer.content.iter_any():
                    await reply.write(piece)
                await reply.write_eof()
                return reply

        app = web.Application()
        app.router.add_route("*", "/mcp", pass_on)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
        finally:
            await runner.cleanup()
