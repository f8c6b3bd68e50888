"""The table of product endpoints: one row holds everything the middlewares need to know about a route.

A route without a row does not exist, and a row without scopes still needs a valid key: default deny. The table knows
no service: a row's handler is a method of an object that `app` has made with the services it calls.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from multidict import MultiMapping

from gateway.calls.call import Call
from gateway.calls.masking import Earlier
from gateway.wire.dialect import Dialect
from gateway.wire.json_body import JsonBody

_IDS = {"{response_id}": "{response_id:(?!(?:compact|input_tokens)(?:/|$))[^{}/]+}"}
"""Parts of paths, and what they match: where others have an id, OpenAI's API has endpoints."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
"""Serves a request whose `HttpCall` is complete. May raise GatewayError."""

Check = Callable[[JsonBody, MultiMapping[str]], Any]
"""Turns a decoded body and the request's headers into the checked body. Raises GatewayError."""


Reads = Callable[[Call], Awaitable[Earlier | None]]
"""Finds the stored items that a call goes on with, before its texts are masked. Raises GatewayError."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One row. `name` is the interface's one word (`chat`), `path` follows the base path (`/v1/models/{model}`).

    `scopes`: a key needs any one of them; none = any valid key. `check` is None where no body is read. `charged`: the
    limits middleware takes one call from the key's minute; where False, the handler charges for each call in the body.
    `max_body_bytes`: a smaller limit than the server's, for routes without images; 0 for none of its own.
    `covered_by`: the value of `sanitize.routes` that covers it, where that is not its name. `id_header`: the response
    header in which its clients look for the request id, where that is not `X-Request-Id`. `is_socket`: what it serves
    is no request; each of its turns is limited. `is_light`: it takes none of the key's requests at once.
    `reads`: what finds the stored items that a request goes on with. `may_be_empty`: a request without a body, which
    needs no Content-Type, is one with an empty object. `error_forms`: who words the errors of a request with one of
    these headers, by which other clients make themselves known. `sanitized_as`: the value of `sanitize.routes`
    that decides whether its texts are inspected.
    """

    name: str
    method: str
    path: str
    handler: Handler
    dialect: Dialect
    scopes: frozenset[str] = frozenset()
    check: Check | None = None
    charged: bool = True
    max_body_bytes: int = 0
    covered_by: str = ""
    id_header: str = ""
    is_socket: bool = False
    is_light: bool = False
    reads: Reads | None = None
    may_be_empty: bool = False
    error_forms: Mapping[str, Dialect] = field(default_factory=dict)
    sanitized_as: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sanitized_as", self.covered_by or self.name)  # every request asks: no property


class EndpointTable:
    """The rows, found by handler or path."""

    def __init__(self, endpoints: Iterable[Endpoint], base_path: str, mounted_at: str = "") -> None:
        """`base_path` is empty or begins with a slash and has none at its end. One row must be named `chat`.

        `mounted_at`: where the application of these routes is a part of another one.
        """
        rows = tuple(endpoints)
        self._base_path = base_path
        self._by_handler = {row.handler: row for row in rows}
        self._by_path = {mounted_at + base_path + row.path: row for row in rows}
        self._fallback = next(row for row in rows if row.name == "chat")

    @property
    def rows(self) -> tuple[Endpoint, ...]:
        """Every row."""
        return tuple(self._by_handler.values())

    def register(self, app: web.Application) -> None:
        """Add a route for every row, and for HEAD where it is one for GET; call it once, before the application
        starts."""
        for row in self._by_handler.values():
            path = self._base_path + row.path
            for part, pattern in _IDS.items():
                path = path.replace(part, pattern)
            for method in ("GET", "HEAD") if row.method == "GET" else (row.method,):  # RFC 9110, 9.1
                app.router.add_route(method, path, row.handler, expect_handler=_answer_expect_later)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all rows, with the base path, each once."""
        return tuple(self._by_path)

    def of_handler(self, handler: Handler) -> Endpoint:
        """The row of a handler that has one."""
        return self._by_handler[handler]

    def of(self, request: web.Request) -> Endpoint | None:
        """The row of the matched route; None for a path or method that no row has."""
        return self._by_handler.get(request.match_info.handler)

    def nearest(self, request: web.Request) -> Endpoint:
        """The endpoint whose dialect words the 404 or 405 of an unmatched request: the path's own, else chat's."""
        return self._by_path.get(request.path, self._fallback)


async def _answer_expect_later(request: web.Request) -> None:
    """Do nothing: a client that waits for `100 Continue` gets it from the body middleware, once its key is checked."""
