"""The connections of a listener: what one does with a late header, a malformed request and a client that does not read.

`runner` decides when connections have to end.
"""

import asyncio
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from aiohttp import hdrs, web
from aiohttp.web_protocol import RequestHandler

from gateway import logs
from gateway.random_ids import random_hex
from gateway.web.aiohttp_internals import ConnectionBase, RunnerBase, ServerBase, set_match_info

# Calls the handler of a fixed path directly; every other request goes through aiohttp's router.
#
# The naive form is the application's own entry, `Application._handle`: resolve the route, build the middleware chain,
# call it. For a path without variables both are known when the server starts, so `Front` looks them up in one
# dictionary: a keyed, sanitized, cached search takes 5.4 % fewer instructions (cachegrind over 1,500 requests in one
# process, 2026-11-22).
#
# A subclass of `UrlDispatcher` with its own `resolve` would be plainer, but saves nothing (the same measurement: most
# of the cost is what `_handle` does after the look-up), and aiohttp 3.14 takes one only with a DeprecationWarning.

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Front:
    """The entry of a server's requests. `otherwise` is the application's own entry: it serves paths with variables,
    requests with an Expect header, and what has no route."""

    def __init__(self, app: web.Application, otherwise: Handler) -> None:
        """`app` must have all its routes and middlewares: later ones are not seen."""
        self._otherwise = otherwise
        self._fixed: dict[tuple[str, str], tuple[web.UrlMappingMatchInfo, Handler]] = {}
        # Not `app.router.routes()`: it gives those of sub-applications too, which have middlewares of their own.
        for resource in app.router.resources():
            if isinstance(resource, web.PlainResource):
                for route in resource:
                    info = web.UrlMappingMatchInfo({}, route)
                    info.add_app(app)
                    info.freeze()
                    self._fixed[route.method, resource.canonical] = info, _chained(app, route.handler)

    def __call__(self, request: web.Request) -> Awaitable[web.StreamResponse]:
        """The answer to one request. Raises what the middlewares raise."""
        fixed = self._fixed.get((request.method, request.rel_url.raw_path))
        if fixed is None or hdrs.EXPECT in request.headers:
            return self._otherwise(request)
        info, handler = fixed
        set_match_info(request, info)
        return handler(request)


def _chained(app: web.Application, handler: Handler) -> Handler:
    for middleware in reversed(app.middlewares):
        handler = partial(middleware, handler=handler)
    return handler


LINGER_S = 0.5
"""How long a connection that is idle when the server begins to drain may still bring a request, which is answered.
Longer than a round trip to any client."""

_MANY_REQUESTS = 8
"""Requests that wait on one connection from which the parser may be held: it stops behind 32 messages, of which one may
be served already (aiohttp 3.14.5, `MAX_MSG_QUEUE_SIZE`). Clients that send one request behind another send a few."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of one connection, in seconds: for a request's header, and for a client that does not read."""

    header_s: float
    stalled_s: float


class ClientConnection(ConnectionBase):
    """Answers requests that cannot be parsed, and failures outside every middleware, with fixed words.

    A request's header has a time limit of its own, from the connection or its first byte on: idle connections may
    live longer. So has a client that does not read.
    """

    __slots__ = ("__weakref__", "_header_timer", "_limits", "_linger_timer", "_may_be_held", "_stall_timer")

    def __init__(self, server: web.Server, limits: ConnectionLimits, **settings: Any) -> None:
        super().__init__(server, **settings)
        self._limits = limits
        self._header_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        self._may_be_held = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if isinstance(self.server, ConnectionServer):
            self.server.connecting.discard(self)
            if self.server.is_leaving:
                self.leave()
        self._start_header_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        waiting = self.waiting_requests
        if waiting:
            if self._header_timer is not None:
                self._stop_header_timer()
            if waiting >= _MANY_REQUESTS:
                self._may_be_held = True
        elif self._header_timer is None and self.is_waiting:  # a header has begun but is not complete
            self._start_header_timer()

    def pause_reading(self) -> None:
        self._may_be_held = True
        super().pause_reading()

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Nothing where reading was never paused and where never many requests waited: then neither the transport nor
        the parser holds anything back. aiohttp calls it twice for each body, and lets the parser parse an empty piece
        (3 % of the instructions of a small call)."""
        if self._may_be_held:
            super().resume_reading(resume_parser)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_header_timer()
        for timer in (self._linger_timer, self._stall_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self.transport is not None:
            self._stall_timer = self.event_loop.call_later(self._limits.stalled_s, self.transport.abort)

    def resume_writing(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
        super().resume_writing()

    def leave(self) -> None:
        """Close as soon as nothing runs, but not before `LINGER_S`: a request may be on its way. (aiohttp's own `close`
        stops listening to a connection just made and leaves it open, so its request is never answered.)"""
        self._linger_timer = self.event_loop.call_later(LINGER_S, self._leave_if_idle)

    def _leave_if_idle(self) -> None:
        if self.awaits_header:
            self.force_close()
        else:
            self.leave()

    def _start_header_timer(self) -> None:
        self._header_timer = self.event_loop.call_later(self._limits.header_s, self._end_late_header)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _end_late_header(self) -> None:
        self._header_timer = None
        if self.is_waiting:
            self.force_close()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """A fixed JSON error, and the end of the connection. Raises ConnectionError when an answer has begun."""
        if request.writer.output_size > 0:
            raise ConnectionError("an answer is on its way already")
        text = "the request is not valid HTTP/1.1" if status < 500 else "the gateway failed on this request"
        kind = "invalid_request_error" if status < 500 else "server_error"
        error = {"message": text, "type": kind, "param": None, "code": "bad_request" if status < 500 else kind}
        reply = web.Response(body=orjson.dumps({"error": error}), status=status, content_type="application/json")
        request_id = f"req_{random_hex(12)}"
        logs.event("malformed", request_id=request_id, status=status)
        reply.headers["Server"] = "gateway"
        reply.headers["X-Request-Id"] = request_id
        reply.force_close()
        return reply


class ConnectionServer(ServerBase):
    """`connecting`: accepted, and not yet among `connections`: for a turn of the loop or two, or for a TLS handshake.
    Held weakly, since nobody is told of a handshake that fails."""

    def __init__(self, limits: ConnectionLimits, *parts: Any, **settings: Any) -> None:
        super().__init__(*parts, **settings)
        self._limits = limits
        self.is_leaving = False
        self.connecting: weakref.WeakSet[RequestHandler] = weakref.WeakSet()

    def leave(self) -> None:
        """Let every connection go, those to come included."""
        self.is_leaving = True
        for connection in self.connections:
            if isinstance(connection, ClientConnection):
                connection.leave()

    def __call__(self) -> RequestHandler:
        connection = self.connect(ClientConnection, self._limits)
        self.connecting.add(connection)
        return connection


class ServerRunner(RunnerBase):
    """Serves an application through a `ConnectionServer`."""

    def __init__(self, app: web.Application, limits: ConnectionLimits, **settings: Any) -> None:
        super().__init__(app, **settings)
        self._limits = limits

    def replace_server(self, app: web.Application, server: web.Server, settings: dict[str, Any]) -> web.Server:
        return ConnectionServer(self._limits, Front(app, server.request_handler), **settings)
