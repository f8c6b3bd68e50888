"""A scene with a configured MCP server `words`, a key that may use it, and the questions that tests ask."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.support.gateways import Serve
from tests.support.hosted_search import Scene, post, scene
from tests.support.mcp_server import McpServer
from tests.support.websites import Site, serving

LIMIT_S = 8
WORDS = {"type": "mcp", "server_label": "words", "require_approval": "never"}


class Stage:
    """A scene with an MCP server `words`; `key` has every scope and that of the server."""

    def __init__(self, made: Scene, server: McpServer, key: str) -> None:
        self.scene = made
        self.server = server
        self.key = key

    async def respond(self, *rounds: Any, key: str = "", **body: Any) -> tuple[int, Any]:
        """Status, and the response or the events."""
        if rounds:
            self.scene.model.will(*rounds)
        asked = {"model": "SvcLLM", "input": "go", "tools": [WORDS], **body}
        return await post(self.scene, "/v1/responses", asked, key or self.key)


def words_toml(url: str, approval: str = "never", more: str = "") -> str:
    return (
        f"[[mcp_servers]]\nlabel = 'words'\nurl = '{url}'\nrequire_approval = '{approval}'\ntimeout_s = 2\n"
        f"headers = {{ Authorization = {{ credential = 'words' }} }}\n{more}\n"
    )


@asynccontextmanager
async def mcp_stage(serve: Serve, approval: str = "never", more: str = "") -> AsyncIterator[Stage]:
    server, site = McpServer(), Site()

    async def handle(request: web.Request) -> web.StreamResponse:
        return await server.handle(request)

    async def start(*settings: Any) -> Any:
        return await serve(*settings, GATEWAY_CREDENTIAL_WORDS="Bearer SECRET-OF-WORDS")

    site.pages["/mcp"] = handle
    async with serving(site), scene(start, words_toml(f"{site.url}/mcp", approval, more)) as made:
        yield Stage(made, server, made.server.make_key("responses", "web-search", "mcp:words"))


def kinds(output: Any) -> list[str]:
    return [item["type"] for item in output]


def tool_messages(stage: Stage) -> list[str]:
    return [message["content"] for message in stage.scene.sent[-1]["messages"] if message["role"] == "tool"]
