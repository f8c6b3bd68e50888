"""The yardstick: the least an aiohttp + uvloop proxy can do (key check, pooled client, bytes passed through).

`python -m bench.bare_proxy PORT UPSTREAM_URL KEY`.
"""

import hmac
import sys
from collections.abc import AsyncIterator

import aiohttp
import uvloop
from aiohttp import web


class BareProxy:
    def __init__(self, upstream_url: str, key: str) -> None:
        self.url = upstream_url + "/chat/completions"
        self.expected = f"Bearer {key}".encode()

    async def session(self, app: web.Application) -> AsyncIterator[None]:
        connector = aiohttp.TCPConnector(limit=0)
        self.client = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        yield
        await self.client.close()

    async def chat(self, request: web.Request) -> web.StreamResponse:
        if not hmac.compare_digest(request.headers.get("Authorization", "").encode(), self.expected):
            raise web.HTTPUnauthorized
        body = await request.read()
        headers = {"Content-Type": "application/json", "Authorization": "Bearer upstream"}
        async with self.client.post(self.url, data=body, headers=headers) as answer:
            if answer.content_type != "text/event-stream":
                return web.Response(body=await answer.read(), content_type="application/json")
            reply = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await reply.prepare(request)
            async for piece in answer.content.iter_any():
                await reply.write(piece)
            await reply.write_eof()
            return reply


def main() -> None:
    port, upstream_url, key = sys.argv[1:]
    proxy = BareProxy(upstream_url, key)
    app = web.Application(client_max_size=1 << 26)
    app.cleanup_ctx.append(proxy.session)
    app.router.add_post("/v1/chat/completions", proxy.chat)
    web.run_app(
        app, host="127.0.0.1", port=int(port), access_log=None, handler_cancellation=True, print=None,
        loop=uvloop.new_event_loop(),
    )  # fmt: skip


if __name__ == "__main__":
    main()
