"""Refuses requests to the operations listener that a web page of somebody else may have sent.

The listener asks for no key. A page whose name was given this machine's address (DNS rebinding) could read it from
the operator's browser: its requests carry the page's own name in Host, and in Origin where the browser sends one. So
Host must be a name or an address that is the listener's, and Origin, if there is one, the listener's own.

A request without Host is served: programs that speak HTTP/1.0 send such, browsers never. A target in absolute form
(`GET http://host/metrics`) names a host too, which counts before Host: both are checked. Source: RFC 9110 §7.2; RFC
9112 §3.2.2; fetch.spec.whatwg.org, "Origin header" (read 2026-11-22).
"""

import re
from collections.abc import Collection
from ipaddress import IPv6Address, ip_address

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

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
