"""How an application is put on sockets in production, and taken off them again. Tests use the same runner.

What aiohttp 3.14 does by default and this does not (read and measured 2026-11-21): a malformed request is answered
with its own raw bytes, and logged with them (a fixed JSON answer here); a client that leaves does not stop its handler
(`handler_cancellation`); idle and slow-header connections live for an hour (`keep_alive_s`, `header_timeout_s`);
request bodies are inflated; send buffers grow to megabytes a stream.
"""

import asyncio
import secrets
import socket
import ssl
from collections.abc import Sequence
from typing import Any

import orjson
from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from gateway import logs
from gateway.config.settings import Tls
from gateway.web.in_flight import IN_FLIGHT
from gateway.web.server.fast_routes import Front

_SEND_BUFFER_BYTES = 128 * 1024
_STOP_S = 5.0
LINGER_S = 0.5
"""So long a connection that is idle when the server begins to drain may still bring a request, which is answered."""


class _Connection(RequestHandler):
    """Answers what cannot be parsed, and what failed outside every middleware, with fixed words. A request's header
    has a time of its own, from the connection or its first byte on: idle connections may live longer."""

    __slots__ = ("_header_limit_s", "_header_timer", "_linger_timer")

    def __init__(self, manager: web.Server, header_limit_s: float, **settings: Any) -> None:
        super().__init__(manager, **settings)
        self._header_limit_s = header_limit_s
        self._header_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if isinstance(self._manager, _Server) and self._manager.is_leaving:
            self.leave()
        self._header_timer = self._loop.call_later(self._header_limit_s, self._header_is_late)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._messages:
            self._end_timer()
        elif self._header_timer is None and self._waiter is not None:  # a header has begun, and is not whole
            self._header_timer = self._loop.call_later(self._header_limit_s, self._header_is_late)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._end_timer()
        if self._linger_timer is not None:
            self._linger_timer.cancel()
        super().connection_lost(exc)

    def leave(self) -> None:
        """Close as soon as nothing runs, but not before `LINGER_S`: a request may be on its way. (aiohttp's own `close`
        stops listening to what has just connected and leaves it open, so its request is never answered.)"""
        self._linger_timer = self._loop.call_later(LINGER_S, self._leave_if_idle)

    def _leave_if_idle(self) -> None:
        if self._waiter is not None and not self._messages:
            self.force_close()
        else:
            self.leave()

    def _end_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _header_is_late(self) -> None:
        self._header_timer = None
        if self._waiter is not None:  # nothing runs: aiohttp waits for a request
            self.force_close()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        if request.writer.output_size > 0:
            raise ConnectionError("an answer is on its way already")
        told = "the request is not valid HTTP/1.1" if status < 500 else "the gateway failed on this request"
        kind = "invalid_request_error" if status < 500 else "server_error"
        error = {"message": told, "type": kind, "param": None, "code": "bad_request" if status < 500 else kind}
        reply = web.Response(body=orjson.dumps({"error": error}), status=status, content_type="application/json")
        request_id = f"req_{secrets.token_hex(12)}"
        logs.event("malformed", request_id=request_id, status=status)
        reply.headers["Server"] = "gateway"
        reply.headers["X-Request-Id"] = request_id
        reply.force_close()
        return reply


class _Server(web.Server):
    def __init__(self, header_limit_s: float, *parts: Any, **settings: Any) -> None:
        super().__init__(*parts, **settings)
        self._header_limit_s = header_limit_s
        self.is_leaving = False

    def leave(self) -> None:
        """Let every connection go, those to come included."""
        self.is_leaving = True
        for connection in self.connections:
            if isinstance(connection, _Connection):
                connection.leave()

    def __call__(self) -> RequestHandler:
        return _Connection(self, self._header_limit_s, loop=self._loop, **self._kwargs)


class _Runner(web.AppRunner):
    def __init__(self, app: web.Application, header_limit_s: float, **settings: Any) -> None:
        super().__init__(app, **settings)
        self._header_limit_s = header_limit_s

    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        return _Server(
            self._header_limit_s,
            Front(self._app, made.request_handler),
            request_factory=made.request_factory,
            handler_cancellation=made.handler_cancellation,
            loop=made._loop,
            **made._kwargs,
        )


class Listener:
    """One application on its sockets."""

    def __init__(self, app: web.Application, header_timeout_s: float, keep_alive_s: float = 75) -> None:
        self._app = app
        self._runner = _Runner(
            app,
            header_timeout_s,
            handler_cancellation=True,
            keepalive_timeout=keep_alive_s,
            access_log=None,
            auto_decompress=False,
            shutdown_timeout=_STOP_S,
        )

    async def start(self, sockets: Sequence[socket.socket], tls: Tls | None = None) -> None:
        await self._runner.setup()
        context = _ssl_context(tls) if tls else None
        for sock in sockets:
            await web.SockSite(self._runner, sock, ssl_context=context).start()

    async def drain(self, drain_s: float) -> int:
        """Stop accepting, let what runs finish for `drain_s`, end the rest with errors. Returns how many were ended."""
        in_flight = self._app[IN_FLIGHT]
        in_flight.draining = True
        for site in list(self._runner.sites):
            await site.stop()
        server = self._runner.server
        if isinstance(server, _Server):
            server.leave()
            await self._lingered(server)
        await in_flight.wait_empty(drain_s)
        stopped = in_flight.stop_all()
        if stopped:
            await in_flight.wait_empty(_STOP_S)
        return stopped

    async def _lingered(self, server: "_Server") -> None:
        """Until the connections that were idle are gone, or have had their time."""
        looks = 20
        for _ in range(looks):  # aiohttp tells nobody when a connection ends
            if not server.connections:
                return
            await asyncio.sleep(2 * LINGER_S / looks)

    async def close(self) -> None:
        await self._runner.cleanup()


def _ssl_context(tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tls.cert, tls.key)
    return context


def bind(host: str, port: int, shared: bool = False) -> socket.socket:
    """A listening socket whose connections have bounded send buffers: a slow reader holds kilobytes. Raises OSError.

    `shared`: the kernel deals the connections out to all such sockets on the port (SO_REUSEPORT), by their addresses.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        sock.bind((host, port))
        sock.listen(1024)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock
