"""The web-tools path without a server: a small service behind the real handler, dispatcher and dialect."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import orjson
from multidict import CIMultiDict

from gateway.domain import CrawlRequest, ExtractRequest, Json, RequestStats, SearchRequest, WebCall
from gateway.errors import GatewayError, RateLimited, UpstreamUnavailable
from gateway.mcp.dialect import WebSearchDialect
from gateway.mcp.dispatcher import Dispatcher, RpcCaller
from gateway.mcp.messages import RpcBatch, render, render_all
from gateway.mcp.running_calls import RunningCalls
from gateway.web.handlers.mcp import WebSearchHandler
from gateway.wire.json_body import JsonBody

Seen = tuple[str, Any, WebCall]


class RecordingTools:
    """Remembers what it was asked, and answers from the request. `crawl` waits for `release` when given one."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.release: asyncio.Event | None = None
        self.started = asyncio.Semaphore(0)
        self.cancelled = asyncio.Event()

    async def all_started(self, crawls: int) -> None:
        for _ in range(crawls):
            await self.started.acquire()

    async def search(self, request: SearchRequest, call: WebCall) -> Json:
        self.seen.append(("search", request, call))
        if request.query == "fail":
            raise UpstreamUnavailable("the search provider does not answer", retry_after_s=7)
        if request.query == "bug":
            raise KeyError("a secret 4539148803436467")
        results = [{"title": "T", "url": "https://example.com/", "content": request.query, "score": 0.5}]
        return {"query": request.query, "results": results, "images": [], "response_time": 0.1, "provider": "p"}

    async def extract(self, request: ExtractRequest, call: WebCall) -> Json:
        self.seen.append(("extract", request, call))
        results = [{"url": url, "title": "T", "raw_content": "half a pair: \ud800"} for url in request.urls]
        return {"results": results, "failed_results": [], "response_time": 2**70}

    async def crawl(self, request: CrawlRequest, call: WebCall) -> Json:
        self.seen.append(("crawl", request, call))
        for done in (0, 1, 1, 2, 2):
            if call.progress is not None:
                call.progress.step(done, 3, f"page {done}")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        self.started.release()
        try:
            if self.release is not None:
                await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return {"base_url": request.url, "results": [], "failed_results": [], "response_time": 0.1}

    async def map(self, request: CrawlRequest, call: WebCall) -> Json:
        self.seen.append(("map", request, call))
        return {"base_url": request.url, "results": [request.url], "response_time": 0.1}

    async def status(self, call: WebCall) -> Json:
        self.seen.append(("status", None, call))
        return {"server_version": "1", "search_provider": {"name": "p", "healthy": True, "error": None}}


class Desk:
    """Hands bodies in and takes answers out, as the chain would."""

    def __init__(self, longest_call_s: float = 30) -> None:
        self.tools = RecordingTools()
        self.dispatcher = Dispatcher(self.tools, RunningCalls(longest_call_s=longest_call_s))
        self.handler = WebSearchHandler(self.dispatcher)
        self.dialect = WebSearchDialect()
        self.account = RequestStats()
        self.charges = 0
        self.allowance = 1000
        self.sanitize: Callable[[RpcBatch], object] = lambda exchange: [
            None for _ in self.dialect.request_units(exchange)
        ]

    async def charge(self, tool: str) -> None:
        self.charges += 1
        if self.charges > self.allowance:
            raise RateLimited("too many calls this minute", retry_after_s=12)

    def caller(self, client: str = "client") -> RpcCaller:
        return RpcCaller("key1", lambda: client, "req_1", self.charge, self.account)

    def check(self, body: Any, headers: Any = ()) -> RpcBatch:
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        exchange = self.handler.check(JsonBody(raw), CIMultiDict(headers))
        self.sanitize(exchange)
        return exchange

    async def ask(self, body: Any, headers: Any = (), change: Callable[[Any], None] | None = None) -> tuple[int, Any]:
        """HTTP status and decoded body (None for 202). `change` works on the answer as the sanitizer would."""
        exchange: RpcBatch | None = None
        try:
            exchange = self.check(body, headers)
            self.dispatcher.notify(exchange, self.caller())
            if not exchange.answered:
                return 202, None
            data = await self.dispatcher.answer(exchange, self.caller())
        except GatewayError as error:
            return error.status, orjson.loads(orjson.dumps(self.dialect.error_body(error, exchange)))
        if change is not None:
            change(data)
        finished = render_all(data) if isinstance(data, list) else render(data)
        return 200, orjson.loads(orjson.dumps(finished))

    async def stream(self, body: Any, headers: Any = ()) -> list[Any]:
        exchange = self.check(body, headers)
        assert exchange.wants_events
        found = []
        async for batch in self.dispatcher.events(exchange, self.caller()):
            for event in batch:
                assert event.name == "message" and event.data is not None
                data = event.finish(event.data) if event.finish else event.data
                found.append(orjson.loads(orjson.dumps(data)))
        return found

    async def call(self, tool: str, arguments: Any, revision: str = "2025-11-25") -> SimpleNamespace:
        """One tools/call: `is_error`, `outcome` (from the text), `result`, `error` of data."""
        status, answer = await self.ask(tool_call(tool, arguments), {"MCP-Protocol-Version": revision})
        assert status == 200 and answer["id"] == 1, answer
        result = answer["result"]
        outcome = orjson.loads(result["content"][0]["text"])
        assert outcome["success"] is not result["isError"]
        error = outcome["data"].get("error", {})
        return SimpleNamespace(is_error=result["isError"], outcome=outcome, result=result, error=error)


def request(method: str, params: Any = None, call_id: Any = 1) -> Json:
    body = {"jsonrpc": "2.0", "id": call_id, "method": method}
    return body if params is None else {**body, "params": params}


def tool_call(tool: str, arguments: Any = None, *, call_id: Any = 1, token: Any = None) -> Json:
    params: Json = {"name": f"websearch-{tool}"}
    if arguments is not None:
        params["arguments"] = arguments
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return request("tools/call", params, call_id)


def modern(
    method: str, params: Json | None = None, /, *, call_id: Any = 1, **changes: Any
) -> tuple[Json, dict[str, str]]:
    """A 2026-07-28 request: body and headers. `changes` override headers; None leaves one out."""
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        **(params or {}).get("_meta", {}),
    }
    body = request(method, {**(params or {}), "_meta": meta}, call_id)
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    if method == "tools/call" and isinstance((params or {}).get("name"), str):
        headers["Mcp-Name"] = (params or {})["name"]
    for name, value in changes.items():
        headers[{"version": "MCP-Protocol-Version", "method": "Mcp-Method", "name": "Mcp-Name"}[name]] = value
    return body, {name: value for name, value in headers.items() if value is not None}


async def bounded(waiting: Awaitable[Any], seconds: float = 10) -> Any:
    async with asyncio.timeout(seconds):
        return await waiting
