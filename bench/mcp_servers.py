"""What `bench.mcp` measures beside the gateway: the official Python SDK's server, and the least aiohttp can do; and a
search provider for the gateway to ask once.

`python -m bench.mcp_servers sdk|bare|provider PORT FILE`. The first two answer every tools/call with the `data` in
FILE, without key, limits, validation of output, log or metrics. The SDK runs as its documentation recommends for
speed: stateless, JSON.
"""

import logging
import sys
from pathlib import Path
from typing import Any

import orjson
import uvloop
from aiohttp import web


def sdk(port: int, data: dict[str, Any]) -> None:
    import uvicorn
    from mcp.server import MCPServer
    from mcp.server.transport_security import TransportSecuritySettings

    logging.disable(logging.CRITICAL)
    server = MCPServer("sdk", log_level="CRITICAL")

    @server.tool(name="websearch-search_status", structured_output=False)
    async def status() -> str:
        return orjson.dumps({"success": True, "data": data}).decode()

    @server.tool(name="websearch-search", structured_output=False)
    async def search(query: str, max_results: int = 10, topic: str = "general") -> str:
        return orjson.dumps({"success": True, "data": data}).decode()

    app = server.streamable_http_app(
        streamable_http_path="/tools/websearch/mcp",
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="critical", loop="uvloop")


def bare(port: int, data: dict[str, Any]) -> None:
    async def answer(request: web.Request) -> web.Response:
        body = orjson.loads(await request.read())
        text = orjson.dumps({"success": True, "data": data}).decode()
        result = {"content": [{"type": "text", "text": text}], "isError": False}
        told = orjson.dumps({"jsonrpc": "2.0", "id": body["id"], "result": result})
        return web.Response(body=told, content_type="application/json")

    app = web.Application()
    app.router.add_post("/tools/websearch/mcp", answer)
    web.run_app(app, host="127.0.0.1", port=port, access_log=None, print=None, loop=uvloop.new_event_loop())


def provider(port: int, data: dict[str, Any]) -> None:
    """Speaks Tavily's search endpoint: five results, each with an excerpt of a paragraph's length."""
    text = "An excerpt of some length, as a search provider gives it, with a figure such as 17 in it. " * 6
    found = [{"title": f"Page {n}", "url": f"https://example.org/{n}", "content": text, "score": 0.9} for n in range(5)]

    async def search(request: web.Request) -> web.Response:
        return web.Response(body=orjson.dumps({"results": found, "images": []}), content_type="application/json")

    app = web.Application()
    app.router.add_post("/search", search)
    web.run_app(app, host="127.0.0.1", port=port, access_log=None, print=None, loop=uvloop.new_event_loop())


if __name__ == "__main__":
    kind, at, file = sys.argv[1:]
    {"sdk": sdk, "bare": bare, "provider": provider}[kind](int(at), orjson.loads(Path(file).read_bytes()))
