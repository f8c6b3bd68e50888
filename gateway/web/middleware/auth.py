"""Decides who may come in: browser origins first, then paths and methods, then keys and scopes. Default deny.

Order of the answers: 403 origin, 404 path, 405 method, 400 two keys, 401 key, 403 scope; all before a byte of the body
is read. Host and forwarded headers are never read, and no part of a key reaches a log or an error.
"""

import contextlib
import re
from collections.abc import Collection
from ipaddress import IPv6Address, ip_address

from aiohttp import HttpVersion10, HttpVersion11, hdrs, web
from aiohttp.typedefs import Handler, Middleware
from multidict import MultiMapping, istr

from gateway.domain import Caller
from gateway.errors import Forbidden, InvalidRequest, Unauthenticated, UnsupportedCoding, UnsupportedProtocol
from gateway.web.middleware.errors import from_http_exception
from gateway.web.state import CALL, ServerState

# The rules for browser origins: which pages may call, what a preflight is answered, which pages may read answers.
#
# `auth` calls the first two for requests with an Origin header, `observe` the third.
# Source: fetch.spec.whatwg.org, "CORS protocol"; modelcontextprotocol.io, "Transports" (read 2026-11-21), which asks
# servers to check Origin.

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


# Refuses requests to the operations listener that a web page of somebody else may have sent.
#
# The listener asks for no key. A page whose name was given this machine's address (DNS rebinding) could read it from
# the operator's browser: its requests carry the page's own name in Host, and in Origin where the browser sends one. So
# Host must be a name or an address that is the listener's, and Origin, if there is one, the listener's own.
#
# A request without Host is served: programs that speak HTTP/1.0 send such, browsers never. A target in absolute form
# (`GET http://host/metrics`) names a host too, which counts before Host: both are checked. Source: RFC 9110 §7.2; RFC
# 9112 §3.2.2; fetch.spec.whatwg.org, "Origin header" (read 2026-11-22).

_HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[^\s:/?#@\[\]]{1,253})(?::[0-9]{0,5})?")
"""A host, and perhaps its port, which is not compared: a forwarded port may be another."""

_AUTHORITY_END = re.compile(r"[/?#]")


def only_own_hosts(names: Collection[str]) -> Middleware:
    """A middleware that answers 403 to a Host or an Origin that is not the listener's.

    `names`: hosts that are, beside `localhost`, loopback addresses and the address that the connection came to.
    """
    known = frozenset(name.lower().rstrip(".") for name in (*names, "localhost"))

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        host = request.headers.get(hdrs.HOST)
        hosts = [each for each in (host, _host_of_target(request.raw_path)) if each is not None]
        if not all(_is_own(each.lower(), known, request) for each in hosts):
            raise web.HTTPForbidden(
                text="this Host is not the listener's; the operator can add it to ops.allowed_hosts"
            )
        origins = request.headers.getall(hdrs.ORIGIN, [])
        own = {f"{scheme}://{(host or '').lower()}" for scheme in ("http", "https")}
        if len(origins) > 1 or not own.issuperset(origin.lower() for origin in origins):
            raise web.HTTPForbidden(text="this Origin is not the listener's; pages of other origins are not served")
        return await handler(request)

    return check


def _host_of_target(target: str) -> str | None:
    """The host, and perhaps its port, of a request target in absolute form; None for a path or `*`."""
    _, is_absolute, rest = target.partition("://") if not target.startswith("/") else ("", "", "")
    return _AUTHORITY_END.split(rest, maxsplit=1)[0] if is_absolute else None


def _is_own(host: str, known: Collection[str], request: web.Request) -> bool:
    match = _HOST.fullmatch(host)
    name = match[1].strip("[]").rstrip(".") if match else ""
    if name in known:
        return True
    try:
        address = ip_address(name)
        reached = ip_address(_own_address(request))
    except ValueError:
        return False
    if isinstance(reached, IPv6Address):  # a listener on `::` sees IPv4 addresses so
        reached = reached.ipv4_mapped or reached
    return address.is_loopback or address == reached


def _own_address(request: web.Request) -> str:
    """The address of this machine that the connection came to; loopback when it is gone already."""
    address = request.get_extra_info("sockname") or ("127.0.0.1",)
    return str(address[0])


_API_KEY = istr("X-Api-Key")
"""Where clients of Anthropic's interface send the key; it is taken on every route."""
_NONE = ("",)
"""The values of a header that was not sent."""


@web.middleware
async def auth(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Lets the holder of the key in. Raises GatewayError: Forbidden, NotFound, MethodNotAllowed, InvalidRequest,
    Unauthenticated, UnsupportedProtocol, UnsupportedCoding."""
    headers = request.headers
    if request.version != HttpVersion11 or hdrs.TRANSFER_ENCODING in headers:
        _check_framing(request)
    origin = headers.get(hdrs.ORIGIN)
    if origin is not None:
        check_origin(request, origin)
        if is_preflight(request):
            return preflight_reply(request)
    if request.match_info.http_exception is not None:
        raise from_http_exception(request, request.match_info.http_exception)
    call = request[CALL]
    keys, presented = call.rules.keys, _presented_key(headers)
    try:
        if not presented:
            missing = Unauthenticated(_missing_key(headers.get(hdrs.AUTHORIZATION, "")))
            missing.has_key = hdrs.AUTHORIZATION in headers
            raise missing
        caller = keys.lookup(presented)
    except Unauthenticated:
        known_by_now = await _look_again(request, presented)
        if known_by_now is None:
            raise
        caller = known_by_now
    call.admit(caller)
    return await handler(request)


def _check_framing(request: web.Request) -> None:
    """aiohttp accepts versions and codings that it does not implement: where such a body ends is undefined."""
    if request.version != HttpVersion11 and request.version != HttpVersion10:
        raise UnsupportedProtocol("this version of HTTP is not supported; speak HTTP/1.1")
    coding = request.headers.get(hdrs.TRANSFER_ENCODING)
    if coding is not None and coding.lower() != "chunked":
        raise UnsupportedCoding("this Transfer-Encoding is not supported; the only one is chunked")


def _presented_key(headers: MultiMapping[str]) -> str:
    """The key that was sent. Raises Unauthenticated where there is none, InvalidRequest.

    It is in `Authorization` or in `X-Api-Key`, or the same in both. Two headers of one name are refused whatever
    they hold, and two keys that differ: different programs on the way could go by different ones.
    """
    sent = headers.getall(hdrs.AUTHORIZATION, _NONE)
    if len(sent) > 1:
        raise InvalidRequest("more than one Authorization header; send one")
    scheme, _, presented = sent[0].partition(" ")
    presented = presented.strip() if scheme.lower() == "bearer" else ""
    if _API_KEY not in headers:
        return presented
    sent_apart = headers.getall(_API_KEY)
    if len(sent_apart) > 1:
        raise InvalidRequest(f"more than one {_API_KEY} header; send one")
    presented_apart = sent_apart[0].strip()
    if sent[0] and sent_apart[0] and presented != presented_apart:
        raise InvalidRequest(f"the Authorization and {_API_KEY} headers differ; send one of them")
    return presented_apart or presented


async def _look_again(request: web.Request, presented: str) -> Caller | None:
    """The caller of a key that was not known: it may have been made a moment ago. None for none: then the address is
    noted, which raises RateLimited. A valid key is served even where others behind the same address (a proxy, a NAT)
    guess.
    """
    server = request[CALL].server
    if presented and await server.keys.refresh():
        with contextlib.suppress(Unauthenticated):
            return server.keys.lookup(presented)
    await server.bad_keys.record(server.address_of(request))
    return None


def _missing_key(authorization: str) -> str:
    """What is wrong with a header that has no key where one should be; no part of it is repeated."""
    want = "send the header 'Authorization: Bearer <API key>'"
    if not authorization:
        return f"no API key was sent; {want}"
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return f"no API key follows 'Bearer' (an empty variable?); {want}"
    return f"the Authorization header does not begin with 'Bearer '{' but with another scheme' if rest else ''}; {want}"
