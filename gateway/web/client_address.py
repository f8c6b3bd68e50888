"""Whose request it is by network address: the connection's, or what a proxy of ours says of it.

`X-Forwarded-For` (a de-facto standard; nginx, HAProxy and Envoy append to it) can be written by anybody. It is
believed only on a connection from a trusted proxy, and read from its end: each trusted proxy has appended the address
of its own client. The last one that is not a trusted proxy is the client.
"""

import ipaddress
from collections.abc import Callable, Sequence

from aiohttp import web

_MAX_HOPS = 10
"""Entries that are read from the end of the header: chains of trusted proxies have two or three."""

AddressOf = Callable[[web.Request], str]
"""The client's address as text; empty when the connection has none."""


def client_address(trusted: Sequence[str]) -> AddressOf:
    """The function for a server behind these proxies (`server.trusted_proxies`: addresses and networks)."""
    if not trusted:
        return connection_address
    networks = [ipaddress.ip_network(each, strict=False) for each in trusted]

    def is_trusted(address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        if isinstance(parsed, ipaddress.IPv6Address):  # a listener on `::` sees IPv4 addresses so
            parsed = parsed.ipv4_mapped or parsed
        return any(parsed in network for network in networks)

    def address_of(request: web.Request) -> str:
        address = connection_address(request)
        if not is_trusted(address):
            return address
        entries = ",".join(request.headers.getall("X-Forwarded-For", ())).rsplit(",", _MAX_HOPS)[-_MAX_HOPS:]
        for entry in reversed(entries):
            try:
                address = str(ipaddress.ip_address(entry.strip()))
            except ValueError:
                return address  # the last that can be believed
            if not is_trusted(address):
                return address
        return address

    return address_of


def connection_address(request: web.Request) -> str:
    """The address at the other end of the connection."""
    return request.remote or ""
