"""MCP servers of other makers that answer as the gateway did, and a search provider for the gateway to ask once.

`python mcp_servers.py sdk|fastmcp|provider PORT ANSWERS`. ANSWERS is a JSON file, `{tool: text}`. The first two run in
environments of their own, which have nothing of this project: without key, limits, sanitizing, log or metrics, and as
the SDK's documentation recommends for production, stateless and in JSON.
"""

import json
import logging
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

PATH = "/tools/websearch/mcp"
STATUS, SEARCH = "websearch-search_status", "websearch-search"


def _tools(answers: Mapping[str, str]) -> dict[str, Callable[..., Any]]:
    """By name, the two tools that are called."""

    async def status() -> str:
        return answers[STATUS]

    async def search(query: str, max_results: int = 10) -> str:
        return answers[SEARCH]

    return {STATUS: status, SEARCH: search}


def sdk(port: int, answers: Mapping[str, str]) -> None:
    import uvicorn
    from mcp.server import MCPServer
    from mcp.server.transport_security import TransportSecuritySettings

    server = MCPServer("sdk", log_level="CRITICAL")
    for name, tool in _tools(answers).items():
        server.tool(name=name, structured_output=False)(tool)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="critical")


def fastmcp(port: int, answers: Mapping[str, str]) -> None:
    from fastmcp import FastMCP  # type: ignore[import-not-found]

    server = FastMCP("fastmcp")
    for name, tool in _tools(answers).items():
        server.tool(tool, name=name, output_schema=None)
    more = {"json_response": True, "stateless_http": True, "show_banner": False, "log_level": "critical"}
    server.run(transport="http", host="127.0.0.1", port=port, path=PATH, **more)


def provider(port: int, answers: Mapping[str, str]) -> None:
    """Speaks Tavily's search endpoint: five results, each with an excerpt of a paragraph's length."""
    from aiohttp import web

    text = "An excerpt of some length, as a search provider gives it, with a figure such as 17 in it. " * 6
    found = [{"title": f"Page {n}", "url": f"https://example.org/{n}", "content": text, "score": 0.9} for n in range(5)]

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"results": found, "images": []})

    app = web.Application()
    app.router.add_post("/search", answer)
    app.router.add_get("/usage", answer)  # the gateway's probe
    web.run_app(app, host="127.0.0.1", port=port, access_log=None, print=None)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    kind, at, file = sys.argv[1:]
    told = json.loads(Path(file).read_bytes()) if file else {}
    {"sdk": sdk, "fastmcp": fastmcp, "provider": provider}[kind](int(at), told)
