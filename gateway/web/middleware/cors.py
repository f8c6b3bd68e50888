"""The rules for browser origins: which pages may call, what a preflight is answered, which pages may read answers.

`auth` calls the first two for requests with an Origin header, `observe` the third. Knows no key and no endpoint.
Source: fetch.spec.whatwg.org, "CORS protocol"; modelcontextprotocol.io, "Transports" (read 2026-11-21), which asks
servers to check Origin.
"""

import re

from aiohttp import hdrs, web

from gateway.errors import Forbidden
from gateway.web.context import CONTEXT

_LOCAL_HOSTS = frozenset(("localhost", "127.0.0.1", "[::1]"))

_READABLE_HEADERS = (
    "X-Request-Id, Request-Id, Retry-After, X-Should-Retry, WWW-Authenticate, Mcp-Protocol-Version, "
    "X-Gateway-Guardrail, X-Gateway-Warning"
)
"""Response headers a page's script may read beside those that the standard always allows."""

_SENDABLE_HEADERS = (
    "Authorization, Content-Type, X-Api-Key, Accept, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, X-Request-Id"
)
"""Request headers allowed where a preflight does not name well-formed ones itself."""

_HEADER_NAMES = re.compile(r"[A-Za-z0-9-]{1,64}(?: *, *[A-Za-z0-9-]{1,64}){0,63}")
"""A preflight's list that may be repeated in our answer: at most 64 names of at most 64 letters, digits and hyphens.
Chosen: SDKs send about a dozen names; half would still do, double would only allow longer headers in our answer."""

_MAX_AGE_S = 600
"""How long a browser may remember a preflight's answer. Chosen: half costs a page more preflights; Chromium keeps an
answer two hours at most, and a changed list of origins takes this long to reach open pages."""


def check_origin(request: web.Request, origin: str) -> None:
    """Raises Forbidden (`origin_not_allowed`) unless the origin is listed or is this machine's own.

    A request without Origin does not come from a page and needs no check. Browsers send one Origin; with several,
    different programs on the way could go by different ones.
    """
    if len(request.headers.getall(hdrs.ORIGIN)) > 1:
        raise Forbidden("more than one Origin header; send one", code="origin_not_allowed")
    server = request[CONTEXT].server
    if server.origin_is_checked or origin in server.allowed_origins:
        return
    scheme, separator, rest = origin.partition("://")
    host = rest.rpartition(":")[0] if rest.rpartition(":")[2].isdigit() else rest
    if not (separator and scheme in ("http", "https") and host in _LOCAL_HOSTS):
        raise Forbidden(
            "this Origin is not allowed; the operator can list it under server.allowed_origins",
            code="origin_not_allowed",
        )


def is_preflight(request: web.Request) -> bool:
    """Whether a request with an Origin is a browser's question before the request itself."""
    return request.method == hdrs.METH_OPTIONS and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers


def preflight_reply(request: web.Request) -> web.Response:
    """204 with the path's methods and the headers a page may send. Browsers send a preflight without a key.

    Any well-formed header name is allowed: SDKs send headers of their own, and accepting them has no effect.
    """
    missed = request.match_info.http_exception
    methods = sorted(missed.allowed_methods) if isinstance(missed, web.HTTPMethodNotAllowed) else ["POST"]
    wanted = request.headers.get(hdrs.ACCESS_CONTROL_REQUEST_HEADERS, "").strip()
    return web.Response(
        status=204,
        headers={
            "Access-Control-Allow-Methods": ", ".join([*methods, "OPTIONS"]),
            "Access-Control-Allow-Headers": wanted if _HEADER_NAMES.fullmatch(wanted) else _SENDABLE_HEADERS,
            "Access-Control-Max-Age": str(_MAX_AGE_S),
        },
    )


def allow_reading(request: web.Request, reply: web.StreamResponse) -> None:
    """Let a listed page read the answer to a request that has an Origin. Local origins are not listed by themselves."""
    origin = request.headers[hdrs.ORIGIN]
    if origin in request[CONTEXT].server.allowed_origins:
        reply.headers["Access-Control-Allow-Origin"] = origin
        reply.headers["Access-Control-Expose-Headers"] = _READABLE_HEADERS
        reply.headers["Vary"] = "Origin"
