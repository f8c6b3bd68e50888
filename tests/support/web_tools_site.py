"""The web-tools path on real sockets: the production chain and runner over a small service that a test can hold."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from gateway.access.keys import KeyFile, KeyRequest, KeyStore
from gateway.access.rate_limits import BadKeyLimiter, Limiter
from gateway.calls.in_flight import InFlight
from gateway.config.settings import Limits, Sanitize
from gateway.mcp.dialect import WebSearchDialect
from gateway.mcp.dispatcher import Dispatcher
from gateway.mcp.running_calls import RunningCalls
from gateway.metrics import Metrics
from gateway.sanitize.guardrail import Guardrail
from gateway.sanitize.pipeline import Sanitizer
from gateway.shared_state.memory import MemoryWindows
from gateway.web.endpoints import Endpoint, EndpointTable
from gateway.web.handlers.mcp import WebSearchHandler
from gateway.web.listen_socket import bind
from gateway.web.request_log import Recorder
from gateway.web.server.runner import Listener, application
from gateway.web.state import ServerState
from tests.support.web_tools import RecordingTools

PATH = "/tools/websearch/mcp"
MOST_BODY_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class WebToolsSite:
    url: str
    port: int
    key: str
    tools: RecordingTools
    listener: Listener
    session: aiohttp.ClientSession

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}

    def post(self, body: Any, headers: Any = ()) -> Any:
        """An aiohttp request context; a body of bytes goes as it is. Headers given as None are left out."""
        given = {**self.headers, **dict(headers)}
        content = {"data": body} if isinstance(body, bytes) else {"json": body}
        kept = {name: value for name, value in given.items() if value is not None}
        skipped = [name for name, value in given.items() if value is None]
        return self.session.post(self.url, headers=kept, skip_auto_headers=skipped, allow_redirects=False, **content)


@asynccontextmanager
async def web_tools_site(
    folder: Path,
    limits: Limits | None = None,
    sanitize: Sanitize | None = None,
    origins: frozenset[str] = frozenset(),
    guardrail: Guardrail | None = None,
) -> AsyncIterator[WebToolsSite]:
    keys = KeyFile(folder / "keys.json")
    key, _ = keys.create(KeyRequest("test", ("web-search",)))
    metrics, tools = Metrics(), RecordingTools()
    handler, dialect = WebSearchHandler(Dispatcher(tools, RunningCalls())), WebSearchDialect()
    rows = [
        Endpoint("websearch", "POST", PATH, handler.handle, dialect, frozenset({"web-search"}), handler.check, False),
        Endpoint("chat", "POST", "/chat", _nothing, dialect),
    ]
    parts = ServerState(
        endpoints=EndpointTable(rows, ""), in_flight=InFlight(100), keys=KeyStore(keys.path),
        bad_keys=BadKeyLimiter(0, MemoryWindows()), limiter=Limiter(MemoryWindows(), limits or Limits()),
        sanitizer=Sanitizer(sanitize or Sanitize(), guardrail), metrics=metrics, recorder=Recorder(metrics),
        allowed_origins=origins, body_timeout_s=5.0,
    )  # fmt: skip
    app = application(parts, MOST_BODY_BYTES)
    listener, sock = Listener(app, header_timeout_s=5), bind("127.0.0.1", 0)
    await listener.start([sock])
    port = sock.getsockname()[1]
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session:
            yield WebToolsSite(f"http://127.0.0.1:{port}{PATH}", port, key, tools, listener, session)
    finally:
        await listener.close()


async def _nothing(request: web.Request) -> web.StreamResponse:
    raise web.HTTPNotFound
