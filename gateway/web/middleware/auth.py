"""Who may come in: browser origins first, then paths and methods, then keys and scopes. Default deny.

Order of the answers: 403 origin, 404 path, 405 method, 401 key, 403 scope; all before a byte of the body is read.
Nothing here looks at Host or at a forwarded header, and nothing of a key reaches a log or an error.
"""

import re

from aiohttp import HttpVersion10, HttpVersion11, hdrs, web
from aiohttp.typedefs import Handler

from gateway.domain import Caller
from gateway.errors import Forbidden, Unauthenticated, UnsupportedCoding, UnsupportedProtocol
from gateway.web.context import CONTEXT
from gateway.web.middleware.errors import from_http_exception
from gateway.web.state import ServerState

_LOCAL_HOSTS = frozenset(("localhost", "127.0.0.1", "[::1]"))
_CORS_HEADERS = "Authorization, Content-Type, Accept, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, X-Request-Id"
_HEADER_NAMES = re.compile(r"[A-Za-z0-9-]{1,64}(?: *, *[A-Za-z0-9-]{1,64}){0,63}")


@web.middleware
async def auth(request: web.Request, handler: Handler) -> web.StreamResponse:
    headers = request.headers
    if request.version != HttpVersion11 or hdrs.TRANSFER_ENCODING in headers:
        _check_framing(request)
    origin = headers.get(hdrs.ORIGIN)
    if origin is not None:
        _check_origin(request, origin)
        if request.method == hdrs.METH_OPTIONS and hdrs.ACCESS_CONTROL_REQUEST_METHOD in headers:
            return _preflight(request)
    if request.match_info.http_exception is not None:
        raise from_http_exception(request, request.match_info.http_exception)
    context = request[CONTEXT]
    context.caller = caller = _caller(request, context.server)
    context.stats.key_id = caller.key_id
    scopes = context.endpoint.scopes
    if scopes and not scopes & caller.scopes:
        raise Forbidden(
            f"this key lacks the scope {' or '.join(sorted(scopes))}; the operator can make one that has it"
        )
    return await handler(request)


def _check_framing(request: web.Request) -> None:
    """aiohttp lets versions and codings through that it does not speak; what they mean is anybody's guess."""
    if request.version != HttpVersion11 and request.version != HttpVersion10:
        raise UnsupportedProtocol("speak HTTP/1.1")
    coding = request.headers.get(hdrs.TRANSFER_ENCODING)
    if coding is not None and coding.lower() != "chunked":
        raise UnsupportedCoding("the only Transfer-Encoding is chunked")


def _caller(request: web.Request, server: ServerState) -> Caller:
    """The key's caller. A valid key is served even where others behind the same address (a proxy, a NAT) guess."""
    scheme, _, presented = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    presented = presented.strip()
    try:
        if not presented or scheme.lower() != "bearer":
            raise Unauthenticated("send the header 'Authorization: Bearer <API key>'")
        return server.keys.lookup(presented)
    except Unauthenticated:
        server.bad_keys.record(request.remote or "")
        raise


def _check_origin(request: web.Request, origin: str) -> None:
    """A browser page may call only when its origin is listed, or is this machine's own. Absent = not a browser.

    A browser sends one: of several, nobody can say which another program would go by.
    """
    if len(request.headers.getall(hdrs.ORIGIN)) > 1:
        raise Forbidden("send one Origin", code="origin_not_allowed")
    if origin in request[CONTEXT].server.allowed_origins:
        return
    scheme, separator, rest = origin.partition("://")
    host = rest.rpartition(":")[0] if rest.rpartition(":")[2].isdigit() else rest
    if not (separator and scheme in ("http", "https") and host in _LOCAL_HOSTS):
        raise Forbidden(
            "this Origin is not allowed; the operator can list it under server.allowed_origins",
            code="origin_not_allowed",
        )


def _preflight(request: web.Request) -> web.Response:
    """CORS preflight: browsers send it without a key. SDKs send headers of their own, and reading them does no harm."""
    missed = request.match_info.http_exception
    methods = sorted(missed.allowed_methods) if isinstance(missed, web.HTTPMethodNotAllowed) else ["POST"]
    asked = request.headers.get(hdrs.ACCESS_CONTROL_REQUEST_HEADERS, "").strip()
    return web.Response(
        status=204,
        headers={
            "Access-Control-Allow-Methods": ", ".join([*methods, "OPTIONS"]),
            "Access-Control-Allow-Headers": asked if _HEADER_NAMES.fullmatch(asked) else _CORS_HEADERS,
            "Access-Control-Max-Age": "600",
        },
    )
