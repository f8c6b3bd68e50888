"""The only module that uses private names of aiohttp: the rest of the gateway gets them as public ones from here.

Each name was read in aiohttp 3.14.5 on 2026-11-22; setup.cfg pins the minor version for their sake, and
tests/contract/test_private_parts.py lists every one with its reason. Knows no request, no limit and no time.
"""

import asyncio
from collections.abc import Callable
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


class ConnectionBase(RequestHandler):
    """A connection's protocol object, with the parts of its state that a subclass may read."""

    __slots__ = ()

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
