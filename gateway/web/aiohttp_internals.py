"""The only module that uses private names of aiohttp: the rest of the gateway gets them as public ones from here.

Each name was read in aiohttp 3.14.5 on 2026-11-22; setup.cfg pins the minor version for their sake, and
tests/contract/test_private_parts.py lists every one with its reason.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

from aiohttp import web
from aiohttp.http_writer import _serialize_headers as head_bytes
from aiohttp.web_protocol import RequestHandler

__all__ = ["ConnectionBase", "Incoming", "RunnerBase", "ServerBase", "head_bytes", "set_match_info"]
"""`head_bytes(status_line, headers)`: the head of an answer up to its blank line, as aiohttp's own writer makes it.
Raises ValueError for a line break or another control character in a header."""


def set_match_info(request: web.Request, info: web.UrlMappingMatchInfo) -> None:
    """Give a request its route, as `Application._handle` does after the router found it. `info` must be frozen."""
    request._match_info = info


class _RequestLoop:
    """The loop of a connection that serves its requests in its own task.

    aiohttp makes a task for each request. To begin it and to be told of its end takes two more turns of the loop, a
    twentieth of the time of a small call (Python 3.11). Here `create_task` gives the coroutine back, and the connection
    awaits that. What a request sets in the task's context it must therefore reset.
    """

    __slots__ = ("call_at", "call_later", "create_future", "time")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.call_at = loop.call_at
        self.call_later = loop.call_later
        self.create_future = loop.create_future
        self.time = loop.time

    @staticmethod
    def create_task(serving: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
        return serving


def _forget_cancellation(task: asyncio.Task[None]) -> None:
    """Take the error out of a cancelled task: its traceback leads to the request, and that may lead to the task. As a
    circle they would wait for the garbage collector."""
    with contextlib.suppress(asyncio.CancelledError):
        task.exception()


_MAX_FRAMES, _FRAME_BYTES = 4_096, 256
"""Frames that any message may have, and one more for so many of its bytes: each costs a microsecond and more."""
_MAX_CONTROLS = 20_000
"""Pings, pongs and the like of one connection."""


class Incoming:
    """The message that a WebSocket is receiving. `since_s`: when its first frame came, monotonic seconds, 0 while none
    is unfinished; `size`: its bytes so far. `is_flood`: it came in more frames than any honest one, or more pings came;
    nothing is read from then on.

    aiohttp puts the frames of a message together before it tells of any. This reads the heads of the frames alone
    (RFC 6455, 5.2): a final frame of a message ends it, and control frames, which may stand between, are none of it.
    """

    def __init__(self, parser: Any) -> None:
        self._parser = parser
        self.since_s, self.size = 0.0, 0
        self._head, self._left = bytearray(), 0
        self._is_control = self._is_final = self.is_flood = False
        self._frames = self._controls = 0

    def feed_eof(self) -> None:
        """As the parser that it stands before."""
        self._parser.feed_eof()

    def feed_data(self, data: bytes) -> Any:
        """Read the heads, then pass the bytes on."""
        start, end = 0, len(data)
        while start < end:
            if self.is_flood:
                return False, b""
            if not self._left:
                start, is_whole = self._read_head(data, start)
                if is_whole and not self._left:
                    self._end_frame()  # an empty frame
                continue
            taken = min(self._left, end - start)
            self._left, start = self._left - taken, start + taken
            if not self._is_control:
                self.size += taken
            if not self._left:
                self._end_frame()
        return self._parser.feed_data(data)

    def _read_head(self, data: bytes, start: int) -> tuple[int, bool]:
        """Take bytes of a frame's head: where they end, and whether it is whole; then `_left` is set."""
        head = self._head
        while start < len(data):
            head.append(data[start])
            start += 1
            if len(head) < 2:
                continue
            short = head[1] & 0x7F
            extended = {126: 2, 127: 8}.get(short, 0)
            if len(head) < 2 + extended + (4 if head[1] & 0x80 else 0):
                continue
            self._left = int.from_bytes(head[2 : 2 + extended], "big") if extended else short
            self._is_final, self._is_control = bool(head[0] & 0x80), bool(head[0] & 0x08)
            head.clear()
            if not self._is_control and not self.since_s:
                self.since_s = time.monotonic()
            return start, True
        return start, False

    def _end_frame(self) -> None:
        if self._is_control:
            self._controls += 1
            self.is_flood = self._controls > _MAX_CONTROLS
        elif self._is_final:
            self.since_s, self.size, self._frames = 0.0, 0, 0
        else:
            self._frames += 1
            self.is_flood = self._frames > _MAX_FRAMES + self.size // _FRAME_BYTES


class ConnectionBase(RequestHandler):
    """A connection's protocol object, with the parts of its state that a subclass may read. `incoming`: the message
    that it receives, once it is a WebSocket."""

    __slots__ = ("incoming",)

    def set_parser(self, parser: Any, data_received_cb: Callable[[], None] | None = None) -> None:
        """Called by aiohttp when the connection becomes a WebSocket."""
        self.incoming: Incoming | None = Incoming(parser)
        super().set_parser(self.incoming, data_received_cb)  # type: ignore[arg-type]

    def connection_lost(self, exc: BaseException | None) -> None:
        """Called by asyncio at the end; what is left of a WebSocket leads back here."""
        super().connection_lost(exc)
        self.incoming = self._data_received_cb = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if sys.version_info < (3, 12):  # from there on aiohttp begins a request's task in the connection's turn
            self._loop = _RequestLoop(self._loop)  # type: ignore[assignment]
            if self._task_handler is not None:
                self._task_handler.add_done_callback(_forget_cancellation)

    @property
    def server(self) -> web.Server | None:
        """The server it belongs to; None once the connection is lost."""
        return self._manager

    @property
    def event_loop(self) -> asyncio.AbstractEventLoop:
        """The loop it runs on."""
        return self._loop

    @property
    def waiting_requests(self) -> int:
        """Requests whose whole header was parsed and that wait to be served."""
        return len(self._messages)

    @property
    def is_waiting(self) -> bool:
        """Whether nothing is being served: the connection waits for the next header."""
        return self._waiter is not None

    @property
    def awaits_header(self) -> bool:
        """Whether nothing is being served, and no request's whole header was parsed."""
        return self._waiter is not None and not self._messages


class ServerBase(web.Server):
    """Makes connections of its subclass's own kind."""

    def connect(self, kind: Callable[..., RequestHandler], *parts: Any) -> RequestHandler:
        """A connection `kind(self, *parts, **settings)` with the settings that the runner was given."""
        return kind(self, *parts, loop=self._loop, **self._kwargs)


class RunnerBase(web.AppRunner):
    """Serves through a server of its subclass's own kind."""

    def replace_server(self, app: web.Application, server: web.Server, settings: dict[str, Any]) -> web.Server:
        """The server to use instead of aiohttp's own `server`; `settings` are the keywords it was made with."""
        raise NotImplementedError

    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        settings = {
            "request_factory": made.request_factory,
            "handler_cancellation": made.handler_cancellation,
            "loop": made._loop,
            **made._kwargs,
        }
        return self.replace_server(self._app, made, settings)
