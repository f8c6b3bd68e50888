"""Puts an application on sockets in production, and takes it off again. Tests use the same runner.

What aiohttp 3.14 does by default and this does not (read and measured 2026-11-21): a malformed request is answered
with its own raw bytes, and logged with them (a fixed JSON answer here); a client that leaves does not stop its handler
(`handler_cancellation`); idle and slow-header connections live for an hour (`keep_alive_s`, `header_timeout_s`);
request bodies are inflated; send buffers grow to megabytes a stream.

Theory of operation of `Listener`; the supervisor calls its methods, in this order, each once:

| state     | entered by | new connections | open connections                                   | ends when           |
|-----------|------------|-----------------|----------------------------------------------------|---------------------|
| made      | `__init__` | none            | none                                               | `start` is called   |
| serving   | `start`    | accepted        | served                                             | `drain` is called   |
| leaving   | `drain`    | refused         | closed when idle for `LINGER_S`                    | none is left, or 1 s|
| finishing | `drain`    | refused         | running requests go on; each answer closes its own | none runs, `drain_s`|
| stopping  | `drain`    | refused         | running requests are cancelled and answered so     | none runs, `_STOP_S`|
| closed    | `close`    | refused         | cut                                                |                     |

With `keep_accepting`, for a socket whose queue another process will serve later, two states replace the middle ones:

| state     | entered by | new connections | open connections                                   | ends when           |
|-----------|------------|-----------------|----------------------------------------------------|---------------------|
| handing   | `drain`    | accepted        | served; each answer closes its own; closed when    | what ran at the     |
|           |            |                 | idle for `LINGER_S`                                | call ended,`drain_s`|
| ending    | `drain`    | wait in the     | as before                                          | none is left, or    |
|           |            | queue           |                                                    | `_SHORT_S`          |

A listener whose place another one has taken leaves by `let_go`: as leaving, until none is left or its limit is over.
Invariants: `InFlight.draining` is True from the call of `drain` on; a request that was accepted is answered, at worst
with an error: a 503, or an error event where a stream has begun. `close` may be called in any state after `made`.
"""

import asyncio
import secrets
import socket
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from gateway import logs
from gateway.config.certificate import LoadedTls
from gateway.web.aiohttp_internals import ConnectionBase, RunnerBase, ServerBase
from gateway.web.in_flight import IN_FLIGHT
from gateway.web.listen_socket import BACKLOG
from gateway.web.server.fast_routes import Front

_STOP_S = 5.0
"""Time for cancelled requests to write their error. Chosen: writing takes milliseconds, so half would still do for all
but clients that read slowly; double would delay every restart that has such a client."""

_SHORT_S = 0.5
"""How long what is short may still finish after a listener that kept accepting has stopped. Chosen: new connections
wait meanwhile, and for the start of the next process. At half, answers of slow tools are ended that a moment would have
finished; at double, new connections wait for more than two seconds in all."""

LINGER_S = 0.5
"""How long a connection that is idle when the server begins to drain may still bring a request, which is answered.
Chosen: longer than a round trip to any client. Half could cut clients far away; double would delay each restart."""

STALLED_S = 60.0
"""How long a client may leave more unread than the buffers hold. Chosen: nginx's `send_timeout`. A client must take
some 85 KB in it (a third of the kernel's buffer), 1.4 KB a second; at half, slow mobile connections are cut, at double
a client that reads nothing holds an answer, a connection and its place among the requests for two minutes."""

_LOOK_S = 0.025
"""Pause between two looks whether all connections are gone, which aiohttp does not report."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """Of one connection, in seconds: for a request's header, and for a client that does not read."""

    header_s: float
    stalled_s: float


class _Connection(ConnectionBase):
    """Answers requests that cannot be parsed, and failures outside every middleware, with fixed words.

    A request's header has a time limit of its own, from the connection or its first byte on: idle connections may
    live longer. So has a client that does not read.
    """

    __slots__ = ("__weakref__", "_header_timer", "_limits", "_linger_timer", "_stall_timer", "_was_paused")

    def __init__(self, server: web.Server, limits: _Limits, **settings: Any) -> None:
        super().__init__(server, **settings)
        self._limits = limits
        self._header_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        self._was_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if isinstance(self.server, _Server):
            self.server.connecting.discard(self)
            if self.server.is_leaving:
                self.leave()
        self._start_header_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._header_timer is not None and self.has_requests:
            self._stop_header_timer()
        elif self._header_timer is None and self.awaits_header:  # a header has begun but is not complete
            self._start_header_timer()

    def pause_reading(self) -> None:
        self._was_paused = True
        super().pause_reading()

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Nothing on a connection whose reading was never paused. aiohttp calls it twice for each body, and each time
        lets the parser parse an empty piece (3 % of the instructions of a small call)."""
        if self._was_paused:
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
        request_id = f"req_{secrets.token_hex(12)}"
        logs.event("malformed", request_id=request_id, status=status)
        reply.headers["Server"] = "gateway"
        reply.headers["X-Request-Id"] = request_id
        reply.force_close()
        return reply


class _Server(ServerBase):
    """`connecting`: accepted, and not yet among `connections`: for a turn of the loop or two, or for a TLS handshake.
    Held weakly, since nobody is told of a handshake that fails."""

    def __init__(self, limits: _Limits, *parts: Any, **settings: Any) -> None:
        super().__init__(*parts, **settings)
        self._limits = limits
        self.is_leaving = False
        self.connecting: weakref.WeakSet[RequestHandler] = weakref.WeakSet()

    def leave(self) -> None:
        """Let every connection go, those to come included."""
        self.is_leaving = True
        for connection in self.connections:
            if isinstance(connection, _Connection):
                connection.leave()

    def __call__(self) -> RequestHandler:
        connection = self.connect(_Connection, self._limits)
        self.connecting.add(connection)
        return connection


class _Runner(RunnerBase):
    def __init__(self, app: web.Application, limits: _Limits, **settings: Any) -> None:
        super().__init__(app, **settings)
        self._limits = limits

    def replace_server(self, app: web.Application, server: web.Server, settings: dict[str, Any]) -> web.Server:
        return _Server(self._limits, Front(app, server.request_handler), **settings)


class Listener:
    """One application on its sockets. See the module's table for the order of the calls."""

    def __init__(
        self,
        app: web.Application,
        header_timeout_s: float,
        keep_alive_s: float = 75,
        backlog: int = BACKLOG,
        stalled_s: float = STALLED_S,
    ) -> None:
        """`header_timeout_s`: time for a request's header. `keep_alive_s`: how long an idle connection stays open.
        `backlog`: connections that may wait to be accepted. `stalled_s`: see STALLED_S."""
        self._app = app
        self._backlog = backlog
        self._sockets: Sequence[socket.socket] = ()
        self._runner = _Runner(
            app,
            _Limits(header_timeout_s, stalled_s),
            handler_cancellation=True,
            keepalive_timeout=keep_alive_s,
            access_log=None,
            auto_decompress=False,
            shutdown_timeout=_STOP_S,
        )

    async def start(self, sockets: Sequence[socket.socket], tls: LoadedTls | None = None) -> None:
        """Run the application's start-up and serve on bound sockets.

        Raises OSError, and what the start-up raises.
        """
        await self._runner.setup()
        self._sockets = sockets
        context = tls.context() if tls else None
        for sock in sockets:
            # its own default is 128, and replaces the backlog that the socket has
            await web.SockSite(self._runner, sock, ssl_context=context, backlog=self._backlog).start()

    async def drain(self, drain_s: float, keep_accepting: bool = False) -> int:
        """Let running requests finish for `drain_s`, cancel the rest; returns how many that were.

        New connections are refused from the call on; with `keep_accepting` they are served until what runs now has
        ended.
        """
        in_flight = self._app[IN_FLIGHT]
        in_flight.draining = True
        server = self._runner.server
        assert server is None or isinstance(server, _Server)
        if keep_accepting:
            if server is not None:
                server.leave()
            await in_flight.wait_for_current(drain_s)
            await self._stop_accepting()
            await self._wait_for_no_connection(server, _SHORT_S)
        else:
            await self._stop_accepting()
            if server is not None:
                server.leave()
            await self._wait_for_no_connection(server, 2 * LINGER_S)
            await in_flight.wait_empty(drain_s)
        stopped = in_flight.stop_all()
        if stopped:
            await in_flight.wait_empty(_STOP_S)
        return stopped

    async def let_go(self, limit_s: float) -> None:
        """Accept no more, and let connections end within `limit_s`: the idle after LINGER_S, others once answered."""
        await self._stop_accepting()
        server = self._runner.server
        if isinstance(server, _Server):
            server.leave()
            await self._wait_for_no_connection(server, limit_s)

    async def _stop_accepting(self) -> None:
        """Close the listening sockets, and lose none of the connections accepted from them.

        asyncio makes an accepted connection's transport one turn of the loop later, and drops the connection without a
        word if its server was closed meanwhile (`asyncio.base_events.Server._attach` of Python 3.11, read 2026-11-22).
        """
        loop = asyncio.get_running_loop()
        for sock in self._sockets:
            if sock.fileno() >= 0:
                loop.remove_reader(sock)
        await asyncio.sleep(0)
        for site in list(self._runner.sites):
            await site.stop()

    async def _wait_for_no_connection(self, server: "_Server | None", limit_s: float) -> None:
        for _ in range(round(limit_s / _LOOK_S)):
            if server is None or not (server.connections or server.connecting):
                return
            await asyncio.sleep(_LOOK_S)

    async def close(self) -> None:
        """Give running handlers at most `_STOP_S`, cut every connection and run the application's clean-up."""
        await self._stop_accepting()
        await self._runner.cleanup()
