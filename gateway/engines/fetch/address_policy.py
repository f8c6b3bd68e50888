"""Decides which addresses may be fetched: public unicast, and those the operator allows by exact host:port or CIDR.

Pure: it looks up no names. Python's `is_global` is True for several ranges that lead back inside (NAT64, 6to4,
IPv4-compatible, cloud metadata), so the ranges are listed here. Sources: IANA special-purpose registries, RFC 6890,
RFC 6052, RFC 9637, read 2026-11-21.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from gateway.engines.fetch.own_listener import OwnListener

_DENIED_V4 = tuple(
    IPv4Network(net)
    for net in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's wire server, reachable from every virtual machine there
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_UNICAST_V6 = IPv6Network("2000::/3")
_DENIED_V6 = tuple(
    IPv6Network(net)
    for net in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",
        "2002::/16",  # 6to4 carries an IPv4 address and is obsolete
        "3fff::/20",
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """True for a unicast address of the public internet; for an IPv4 address within an IPv6 one that one decides."""
    if isinstance(address, IPv4Address):
        return not any(address in net for net in _DENIED_V4)
    if address.scope_id is not None:
        return False
    inner = address.ipv4_mapped
    if inner is None and address in _NAT64:
        inner = IPv4Address(int(address) & 0xFFFFFFFF)
    if inner is not None:
        return is_public(inner)
    return address in _UNICAST_V6 and not any(address in net for net in _DENIED_V6)


class AddressPolicy:
    """The operator's allow-list beside the public addresses.

    `allow` has exact `host:port` entries (names or addresses, `[v6]:port`) and CIDR networks. Raises ValueError for
    any other entry. `own`: the operations listener, of which no list allows more than the documentation.
    """

    def __init__(self, allow: Iterable[str] = (), own: OwnListener | None = None) -> None:
        self.own = own
        self._exact: set[tuple[str, int]] = set()
        self._networks: list[IPv4Network | IPv6Network] = []
        for entry in allow:
            self._add(entry)

    def _add(self, entry: str) -> None:
        if "/" in entry:
            self._networks.append(ip_network(entry))
            return
        host, _, port = entry.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise ValueError(f"{entry!r} is not allowed here; use an exact host:port or a network such as 10.0.0.0/8")
        host = host.strip("[]").rstrip(".").lower()
        address = parse_address(host)
        self._exact.add((host if address is None else str(address), int(port)))

    def public_only(self) -> "AddressPolicy":
        """The policy without the operator's list: public addresses alone, and nothing of the operations listener."""
        return AddressPolicy((), self.own.closed() if self.own is not None else None)

    def names(self, host: str, port: int) -> bool:
        """True when the list has exactly this host and port, whatever address the name resolves to."""
        return (host.rstrip(".").lower(), port) in self._exact

    def permits(self, host: str, address: str, port: int) -> bool:
        """True when `host`, which resolved to `address`, may be connected to on `port`."""
        parsed = parse_address(address)
        if parsed is None:
            return False
        if self.own is not None and self.own.is_at(parsed, port) and not self.own.admits(host):
            return False
        return is_public(parsed) or self.is_exempt(host, parsed, port)

    def is_exempt(self, host: str, address: IPv4Address | IPv6Address, port: int) -> bool:
        """True when the operator's list allows the host, address and port, or they hold the documentation."""
        if self.names(host, port) or (str(address), port) in self._exact:
            return True
        if self.own is not None and self.own.reads_docs and self.own.is_at(address, port):
            return True
        return any(address.version == net.version and address in net for net in self._networks)


def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """The IP address that `text` is, or None."""
    try:
        return ip_address(text)
    except ValueError:
        return None
