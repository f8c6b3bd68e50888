"""Decides who may come in: browser origins first, then paths and methods, then keys and scopes. Default deny.

Order of the answers: 403 origin, 404 path, 405 method, 400 two keys, 401 key, 403 scope; all before a byte of the body
is read. Host and forwarded headers are never read, and no part of a key reaches a log or an error.
"""

import contextlib

from aiohttp import HttpVersion10, HttpVersion11, hdrs, web
from aiohttp.typedefs import Handler

from gateway.domain import Caller
from gateway.errors import Unauthenticated, UnsupportedCoding, UnsupportedProtocol
from gateway.web.http_exceptions import from_http_exception
from gateway.web.origins import check_origin, is_preflight, preflight_reply
from gateway.web.presented_key import missing_key, presented_key
from gateway.web.state import CALL


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
    keys, presented = call.rules.keys, presented_key(headers)
    try:
        if not presented:
            missing = Unauthenticated(missing_key(headers.get(hdrs.AUTHORIZATION, "")))
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
