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
|           |            | queue           |                                                    | `_LATE_S`           |

A listener whose place another one has taken leaves by `let_go`: as leaving, until none is left or its limit is over.
Invariants: `InFlight.draining` is True from the call of `drain` on; a request that was accepted is answered, at worst
with an error: a 503, or an error event where a stream has begun. `close` may be called in any state after `made`.
"""

import asyncio
import logging
import socket
import sys
import time
from collections.abc import AsyncIterator, Collection, Sequence
from pathlib import Path

from aiohttp import web

from gateway import logs
from gateway.config.loader import LoadedTls, read_certificate
from gateway.config.settings import Tls
from gateway.web.listen_socket import BACKLOG
from gateway.web.middleware.auth import auth
from gateway.web.middleware.body import body
from gateway.web.middleware.deliver import deliver
from gateway.web.middleware.errors import errors
from gateway.web.middleware.limits import limits
from gateway.web.middleware.observe import observing
from gateway.web.middleware.sanitize import sanitize
from gateway.web.server.connections import LINGER_S, ConnectionLimits, ConnectionServer, ServerRunner
from gateway.web.state import IN_FLIGHT, SERVER_STATE, ServerState

# Whether the files of `server.tls` could be read again: a broken one is reported before a reload or a restart needs it.


class CertificateWatch:
    """Looks at the files when they have changed. `tls` None: there is nothing to look at."""

    def __init__(self, tls: Tls | None) -> None:
        self._tls = tls
        self._stamps: tuple[object, ...] = ()
        self._problem = ""

    def problem(self) -> str:
        """What is wrong with the files as they are now; empty when they can be used. A new problem is logged once."""
        if self._tls is not None and (stamps := (_stamp(self._tls.cert), _stamp(self._tls.key))) != self._stamps:
            self._stamps = stamps
            self._look(self._tls)
        return self._problem

    def _look(self, tls: Tls) -> None:
        try:
            read_certificate(tls)
            self._problem = ""
        except OSError as error:
            self._problem = f"{error}; the certificate that was read last is served; mend the files, then reload"
            logs.event("certificate_unusable", level=logging.ERROR, error=str(error))


def _stamp(path: str) -> tuple[int, int, int, int] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


# Samples how late the event loop runs its timers, its tasks, and the requests in flight, for the metrics.
#
# All are sampled here so that no request pays for them.

_PAUSE_S = 0.25
"""Time between samples. Four wake-ups a second cost nothing measurable."""

_THREAD_TURN_S = 0.001
"""Longest that a busy thread (a scan of a long text, a write to the index) keeps Python's lock while the event loop
wants it, at each of the loop's turns; a small request takes about ten. Python's default is five times as long, which
makes a request of 5 ms one of 50 under a flood of long texts."""


async def loop_watch(app: web.Application) -> AsyncIterator[None]:
    """For `Application.cleanup_ctx`: samples while the application serves, and writes the last log lines.

    Keeps threads from holding the loop up meanwhile.
    """
    sys.setswitchinterval(_THREAD_TURN_S)
    task = asyncio.create_task(_watch(app[SERVER_STATE]))
    yield
    task.cancel()
    await asyncio.wait({task})
    app[SERVER_STATE].recorder.flush()


async def _watch(server: ServerState) -> None:
    metrics, in_flight = server.metrics, server.in_flight
    while True:
        in_flight.end_streams(server.keys.is_live)
        metrics.in_flight.set(len(in_flight))
        metrics.tasks.set(len(asyncio.all_tasks()))
        due_s = time.perf_counter() + _PAUSE_S
        await asyncio.sleep(_PAUSE_S)
        metrics.loop_lag.observe(max(0.0, time.perf_counter() - due_s))


# The order of the middlewares, in one place, and the application that has them.
#
# observe   outermost: whatever happens inside, there is one log line and an id
# errors    so that everything below may raise
# auth      before a byte of the body is read
# limits    before any work; its slot is held to the end of a stream, so deliver must be inside
# deliver   makes the bytes, so everything that changes data must be inside
# body      after auth; gives sanitize and handlers decoded, checked data
# sanitize  innermost: sees exactly what the handler will see, and what it answers


def application(server: ServerState, max_body_bytes: int) -> web.Application:
    """An application with the middlewares and the routes. `max_body_bytes`: larger request bodies are refused (413).

    The caller (`app`) adds the clean-up of the services.
    """
    app = same_application(server, max_body_bytes)
    app.cleanup_ctx.append(loop_watch)
    return app


def same_application(server: ServerState, max_body_bytes: int) -> web.Application:
    """As `application`, for a second listener of a process whose loop is watched already."""
    chain = (observing(server), errors, auth, limits, deliver, body, sanitize)
    app = web.Application(middlewares=chain, client_max_size=max_body_bytes)
    app[SERVER_STATE], app[IN_FLIGHT] = server, server.in_flight
    server.endpoints.register(app)
    return app


_STOP_S = 5.0
"""Time for cancelled requests to write their error."""

_LATE_S, _SHORT_S = 10.0, 0.5
"""How long what came during a drain may go on after a listener that kept accepting has stopped, within the drain, and
beyond it. New connections wait meanwhile, and for the start of the next process."""

STALLED_S = 60.0
"""How long a client may leave more unread than the buffers hold: nginx's `send_timeout`. A client must take some 85 KB
in it (a third of the kernel's buffer), 1.4 KB a second."""

_LOOK_S = 0.025
"""Pause between two looks whether all connections are gone, which aiohttp does not report."""


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
        self._runner = ServerRunner(
            app,
            ConnectionLimits(header_timeout_s, stalled_s),
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

    async def drain(
        self, drain_s: float, keep_accepting: bool = False, older: Collection["asyncio.Task[None]"] = ()
    ) -> int:
        """Let running requests finish for `drain_s`, cancel the rest; returns how many that were.

        New connections are refused from the call on; with `keep_accepting` they are served until what runs now has
        ended, and `older` drains of this process too; what came meanwhile has `_LATE_S` more.
        """
        in_flight = self._app[IN_FLIGHT]
        in_flight.draining = True
        server = self._runner.server
        assert server is None or isinstance(server, ConnectionServer)
        if keep_accepting:
            if server is not None:
                server.leave()
            end_s = time.monotonic() + drain_s
            ran = asyncio.ensure_future(in_flight.wait(drain_s, current_alone=True))
            await asyncio.wait({ran, *older}, timeout=drain_s)
            await self._stop_accepting()
            left_s = min(_LATE_S, end_s - time.monotonic())
            await self._wait_for_no_connection(server, max(_SHORT_S, left_s))
        else:
            await self._stop_accepting()
            if server is not None:
                server.leave()
            await self._wait_for_no_connection(server, 2 * LINGER_S)
            await in_flight.wait(drain_s)
        stopped = in_flight.stop_all()
        if stopped:
            await in_flight.wait(_STOP_S)
        return stopped

    async def let_go(self, limit_s: float) -> None:
        """Accept no more, and let connections end within `limit_s`: the idle after LINGER_S, others once answered."""
        await self._stop_accepting()
        server = self._runner.server
        if isinstance(server, ConnectionServer):
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

    async def _wait_for_no_connection(self, server: "ConnectionServer | None", limit_s: float) -> None:
        for _ in range(round(limit_s / _LOOK_S)):
            if server is None or not (server.connections or server.connecting):
                return
            await asyncio.sleep(_LOOK_S)

    async def close(self) -> None:
        """Give running handlers at most `_STOP_S`, cut every connection and run the application's clean-up."""
        await self._stop_accepting()
        await self._runner.cleanup()
