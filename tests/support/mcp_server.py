"""An MCP server on a real socket, for tests of the client: any revision, JSON or events, sessions, and faults."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

TOOLS: list[dict[str, Any]] = [
    {
        "name": "lookup",
        "description": "Looks a word up.",
        "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
        "annotations": {"readOnlyHint": True},
    },
    {"name": "delete", "description": "Deletes a word.", "inputSchema": {"type": "object"}},
]


@dataclass
class McpServer:
    """`form`: `json` or `events`. `revision`: what it agrees on; 2026-07-28 knows no initialize. `result` answers every
    call; `status` other than 200 answers every request; each takes `delay_s`.
    `answers_as`: the id that answers to a
    method have in place of the request's. `seen`: `(method, params, headers)`."""

    form: str = "json"
    revision: str = "2025-11-25"
    tools: list[dict[str, Any]] = field(default_factory=lambda: list(TOOLS))
    result: dict[str, Any] = field(default_factory=lambda: {"content": [{"type": "text", "text": "a word"}]})
    error: dict[str, Any] | None = None
    status: int = 200
    raw: bytes | None = None
    location: str = ""
    waits: bool = False
    waits_at: str = "tools/call"
    delay_s: float = 0
    answers_as: dict[str, Any] = field(default_factory=dict)
    page_size: int = 1
    seen: list[tuple[str, Any, Any]] = field(default_factory=list)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def methods(self) -> list[str]:
        return [method for method, _, _ in self.seen]

    @property
    def calls(self) -> list[Any]:
        """`{name, arguments}` of the calls."""
        return [
            {n: params[n] for n in ("name", "arguments")} for method, params, _ in self.seen if method == "tools/call"
        ]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "DELETE":
            self.ended.set()
            return web.Response(status=204)
        message = await request.json()
        method, number = message["method"], message.get("id")
        self.seen.append((method, message["params"], request.headers.copy()))
        if self.location:
            return web.Response(status=307, headers={"Location": self.location})
        if self.status != 200 or self.raw is not None:
            return web.Response(status=self.status, body=self.raw or b"no", content_type="application/json")
        if number is None:
            if method == "notifications/cancelled":
                self.cancelled.set()
            return web.Response(status=202)
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        if method == self.waits_at and self.waits:
            self.waiting.set()
            try:
                await asyncio.sleep(30)
            finally:
                self.released.set()
        answer = {
            "jsonrpc": "2.0",
            "id": self.answers_as.get(method, number),
            **self._answer(method, message["params"]),
        }
        headers = {"Mcp-Session-Id": "s1"} if method == "initialize" else {}
        if self.form == "json":
            return web.json_response(answer, headers=headers)
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
        text = "".join(f"event: message\ndata: {json.dumps(each)}\n\n" for each in (note, answer))
        return web.Response(body=text.encode(), content_type="text/event-stream", headers=headers)

    def _answer(self, method: str, params: Any) -> dict[str, Any]:
        if method == "initialize":
            if self.revision == "2026-07-28":
                return {"error": {"code": -32601, "message": "no such method"}}
            return {"result": {"protocolVersion": self.revision, "capabilities": {"tools": {}}, "serverInfo": {}}}
        if method == "tools/list":
            start = int(params.get("cursor", "0"))
            end = start + self.page_size
            more = {"nextCursor": str(end)} if end < len(self.tools) else {}
            return {"result": {"tools": self.tools[start:end], **more}}
        return {"error": self.error} if self.error else {"result": self.result}
