"""The only module that uses private names of aiohttp: the rest of the gateway gets them as public ones from here.

Each name was read in aiohttp 3.14.5 on 2026-11-22; setup.cfg pins the minor version for their sake, and
tests/contract/test_private_parts.py lists every one with its reason.
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from aiohttp import web
from aiohttp.http_writer import _serialize_headers as head_bytes
from aiohttp.web_protocol import RequestHandler

__all__ = ["ConnectionBase", "RunnerBase", "ServerBase", "head_bytes", "set_match_info"]
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


class ConnectionBase(RequestHandler):
    """A connection's protocol object, with the parts of its state that a subclass may read."""

    __slots__ = ()

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
