"""The table of product endpoints: one row says everything the middlewares need to know about a route.

A route without a row does not exist, and a row without scopes still needs a valid key: default deny. The table knows
no service; handlers find theirs on the application.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from multidict import MultiMapping

from gateway.wire.dialect import Dialect

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Check = Callable[[bytes, MultiMapping[str]], Any]
"""Bytes and headers in, the decoded and checked body out. Raises GatewayError subclasses."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`name` is the interface's one word. `scopes`: any one of them lets a key in; none = any valid key.

    `check` is None where no body is read. `charged` says that the limits middleware charges the request to the key's
    minute; where it does not, the handler charges for what it finds in the body.
    """

    name: str
    method: str
    path: str
    handler: Handler
    dialect: Dialect
    scopes: frozenset[str] = frozenset()
    check: Check | None = None
    charged: bool = True


class EndpointTable:
    def __init__(self, endpoints: Iterable[Endpoint], base_path: str) -> None:
        rows = tuple(endpoints)
        self._base_path = base_path
        self._by_handler = {row.handler: row for row in rows}
        self._by_path = {base_path + row.path: row for row in rows}
        self._fallback = next(row for row in rows if row.name == "chat")

    def register(self, app: web.Application) -> None:
        for row in self._by_handler.values():
            path = self._base_path + row.path
            app.router.add_route(row.method, path, row.handler, expect_handler=_answer_expect_later)

    def of(self, request: web.Request) -> Endpoint | None:
        """The row of a request, if it has one."""
        return self._by_handler.get(request.match_info.handler)

    def nearest(self, request: web.Request) -> Endpoint:
        """The row in whose dialect a request that has none is told so."""
        return self._by_path.get(request.path, self._fallback)


async def _answer_expect_later(request: web.Request) -> None:
    """A client that waits for `100 Continue` gets it from the body middleware: after its key, not before."""
