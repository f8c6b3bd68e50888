"""Decides which addresses may be fetched: public unicast, and those the operator allows by exact host:port or CIDR.

Pure: it looks up no names. Python's `is_global` is True for several ranges that lead back inside (NAT64, 6to4,
IPv4-compatible, cloud metadata), so the ranges are listed here. Sources: IANA special-purpose registries, RFC 6890,
RFC 6052, RFC 9637, read 2026-11-21.
"""

import asyncio
import re
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from gateway.engines.fetch.errors import NO_NAME_SERVER, NO_SUCH_HOST, NOT_PUBLIC, SkippedUrl
from gateway.resilience.bounded_cache import BoundedCache

_DOCUMENT = re.compile(r"/docs/(?:(?!\.{1,2}(?:/|$))[A-Za-z0-9._-]++/?+|(?!))*+")
"""Documentation paths as they are sent: names of letters, digits, dots, hyphens and underscores, no dot segment."""

_LOCALHOST = "localhost"  # the only name that may lead to the listener: RFC 6761 §6.3 fixes its meaning


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


_LOOKUP_THREADS = 16  # half of the 32 fetches that may run at once (host_limits)

_MAX_NAMES = 10_000  # bounds each of the two tables below

_UNKNOWN_TTL_S = 10.0  # how long a name that does not exist is not looked up again

_PRIVATE_ENDINGS = frozenset(
    {
        "alt", "arpa", "corp", "home", "internal", "intranet", "invalid", "lan", "local", "localdomain", "localhost",
        "mail", "onion", "private", "test",
    }
)  # fmt: skip
"""Last labels of names that the public DNS has not. Sources: RFC 6761, RFC 6762, RFC 8375, RFC 9476, ICANN's reserved
`internal` and name collision list, and what routers use; `arpa` holds no web pages."""


class SystemLookup(AbstractResolver):
    """The system's own resolver, getaddrinfo(3), in threads that start at first use."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Every address of the name; nothing is cached. Raises OSError (socket.gaierror) or UnicodeError."""

        def look_up() -> list[ResolveResult]:
            answers = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
            return [
                ResolveResult(
                    hostname=host,
                    host=str(address[0]),
                    port=port,
                    family=kind,
                    proto=proto,
                    flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
                )
                for kind, _, proto, _, address in answers
            ]

        if self._threads is None:
            self._threads = ThreadPoolExecutor(_LOOKUP_THREADS, "lookup")
        return await asyncio.get_running_loop().run_in_executor(self._threads, look_up)

    async def close(self) -> None:
        """Give up lookups that wait; those that run end by themselves."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None


class GuardedResolver(AbstractResolver):
    """Resolves through `inner` and refuses a name as soon as `policy` refuses any one of its addresses."""

    def __init__(self, policy: AddressPolicy, inner: AbstractResolver) -> None:
        self._policy = policy
        self._inner = inner
        self._exempt: BoundedCache[tuple[str, int], bool] = BoundedCache(_MAX_NAMES)
        self._unknown: BoundedCache[str, str] = BoundedCache(_MAX_NAMES, ttl_s=_UNKNOWN_TTL_S)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Every address of the name. Raises SkippedUrl when it does not exist or an address may not be fetched.

        A name that does not exist is remembered for a moment: a page may link to one dead host a hundred times.
        """
        name = _normal_name(host)
        words = self._unknown.get(name)
        if words is not None:
            raise SkippedUrl(words)
        try:
            answers = await self._inner.resolve(host, port, family)
        except (OSError, UnicodeError) as error:
            words = _unknown_words(name, error)
            self._unknown.put(name, words)
            raise SkippedUrl(words) from error
        if not answers or not all(self._policy.permits(host, answer["host"], port) for answer in answers):
            raise SkippedUrl()
        addresses = [parse_address(answer["host"]) for answer in answers]
        if all(address is not None and is_public(address) for address in addresses):
            self._exempt.remove((name, port))
        else:
            self._exempt.put((name, port), True)
        return answers

    def was_exempt(self, host: str, port: int) -> bool:
        """Whether the last `resolve` of this name gave an address that only the operator's list permits."""
        return self._exempt.get((_normal_name(host), port)) is not None

    async def close(self) -> None:
        """Close the inner resolver."""
        await self._inner.close()


def _normal_name(host: str) -> str:
    return host.rstrip(".").lower()


def _unknown_words(name: str, error: Exception) -> str:
    """Why a name has no address. Of a name of private networks it is not told whether it exists."""
    if "." not in name or name.rpartition(".")[2] in _PRIVATE_ENDINGS:
        return NOT_PUBLIC
    return NO_NAME_SERVER if getattr(error, "errno", None) == socket.EAI_AGAIN else NO_SUCH_HOST
