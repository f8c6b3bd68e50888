"""The rules for browser origins: which pages may call, what a preflight is answered, which pages may read answers.

`auth` calls the first two for requests with an Origin header, `observe` the third.
Source: fetch.spec.whatwg.org, "CORS protocol"; modelcontextprotocol.io, "Transports" (read 2026-11-21), which asks
servers to check Origin.
"""

import re

from aiohttp import hdrs, web

from gateway.errors import Forbidden
from gateway.web.state import CALL, ServerState

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
SDKs send about a dozen names."""

_MAX_AGE_S = 600
"""How long a browser may remember a preflight's answer. Chromium keeps an answer two hours at most, and a changed list
of origins takes this long to reach open pages."""


def check_origin(request: web.Request, origin: str) -> None:
    """Raises Forbidden (`origin_not_allowed`) unless the origin is listed or is this machine's own.

    A request without Origin does not come from a page and needs no check. Browsers send one Origin; with several,
    different programs on the way could go by different ones.
    """
    if len(request.headers.getall(hdrs.ORIGIN)) > 1:
        raise Forbidden("more than one Origin header; send one", code="origin_not_allowed")
    server = request[CALL].server
    if server.origin_is_checked or origin in server.allowed_origins:
        return
    if not _is_local(origin) or (is_preflight(request) and not may_read(server, origin)):
        hint = "set server.local_origins" if _is_local(origin) else "list it under server.allowed_origins"
        raise Forbidden(f"this Origin is not allowed; the operator can {hint}", code="origin_not_allowed")


def _is_local(origin: str) -> bool:
    scheme, separator, rest = origin.partition("://")
    host = rest.rpartition(":")[0] if rest.rpartition(":")[2].isdigit() else rest
    return bool(separator) and scheme in ("http", "https") and host in _LOCAL_HOSTS


def may_read(server: ServerState, origin: str) -> bool:
    """Whether pages of an origin may read answers: it is listed, or this machine's own where these are allowed."""
    return origin in server.allowed_origins or (server.local_origins and _is_local(origin))


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
    """Let a page that may read answers read this one, which is of a request with an Origin."""
    origin = request.headers[hdrs.ORIGIN]
    if may_read(request[CALL].server, origin):
        reply.headers["Access-Control-Allow-Origin"] = origin
        reply.headers["Access-Control-Expose-Headers"] = _READABLE_HEADERS
        reply.headers["Vary"] = "Origin"
