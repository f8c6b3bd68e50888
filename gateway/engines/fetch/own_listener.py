"""Recognises the gateway's own operations listener, and the one part of it that callers may read: `/docs/`.

The listener asks for no key, so whatever the operator's list of private addresses says, a fetch for a caller may reach
nothing else of it. Three rules hold that, each by construction:

- An address is this machine's own if a socket can be bound to it, so no spelling and no interface can be forgotten.
- A path is documentation if it has the form of one: a grammar of what is allowed, so there is no way round it with
  dots, escapes, backslashes or letters of another case. What is compared is the path that is sent.
- Only an address, or `localhost`, may lead to the listener, never another name. A name can be given another address
  between two requests, and a connection kept open under that name would then carry a path that was not looked at.

Knows no HTTP and no configuration.
"""

import re
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

from yarl import URL

_DOCUMENT = re.compile(r"/docs/(?:(?!\.{1,2}(?:/|$))[A-Za-z0-9._-]++/?+)*+")
"""Documentation paths as they are sent: names of letters, digits, dots, hyphens and underscores, no dot segment."""

_LOCALHOST = "localhost"
"""The only name that may lead to the listener: RFC 6761 §6.3 fixes its meaning."""


class OwnListener:
    """The listener at `address`, its `host:port` (`[v6]:port` too). `reads_docs`: callers may fetch `/docs/` though
    the address is private."""

    def __init__(self, address: str, *, reads_docs: bool) -> None:
        self._port = int(address.rpartition(":")[2])
        self._reads_docs = reads_docs

    def closed(self) -> "OwnListener":
        """The same listener, of which nothing may be fetched unless the operator's list allows it."""
        return OwnListener(f":{self._port}", reads_docs=False)

    def is_at(self, address: IPv4Address | IPv6Address, port: int) -> bool:
        """Whether a connection to this address and port would reach the listener.

        Other sockets of this machine on the same port count as the listener as well.
        """
        return port == self._port and _is_own(_inner(address))

    def refuses(self, url: URL) -> bool:
        """Whether `url` names the listener, and something else there than documentation."""
        if url.port != self._port:
            return False
        host = (url.raw_host or "").rstrip(".")
        try:
            is_here = self.is_at(ip_address(host), self._port)
        except ValueError:
            is_here = host == _LOCALHOST  # other names are refused when they are resolved
        return is_here and _DOCUMENT.fullmatch(url.raw_path) is None

    def admits(self, host: str) -> bool:
        """Whether this spelling of the listener's host may be connected to, if its address is allowed."""
        name = host.rstrip(".").lower()
        return name == _LOCALHOST or _is_address(name)

    @property
    def reads_docs(self) -> bool:
        """Whether callers may read the documentation without being allowed the address by the operator."""
        return self._reads_docs


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that the kernel connects to where an IPv6 one maps it."""
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _is_own(address: IPv4Address | IPv6Address) -> bool:
    """Whether the address belongs to this machine. Opens no connection.

    Where the kernel lets foreign addresses be bound (`net.ipv4.ip_nonlocal_bind`) every address counts, which refuses
    more than it must, on this one port.
    """
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    if address.is_loopback or address.is_unspecified:
        return True
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True
