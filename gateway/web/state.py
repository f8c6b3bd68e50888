"""What middlewares and handlers know: of the server (`ServerState`), and of one request (`HttpCall`, stored on the
request under one typed key); and whose a request is by its address.
"""

import ipaddress
import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.helpers import RequestKey

from gateway.access.rate_limits import BadKeyLimiter
from gateway.calls.call import Call, Rules
from gateway.calls.in_flight import InFlight
from gateway.web.endpoints import Endpoint, EndpointTable
from gateway.wire.json_body import JsonLimits

# Whose request it is by network address: the connection's, or what a proxy of ours says of it.
#
# `X-Forwarded-For` (a de-facto standard; nginx, HAProxy and Envoy append to it) can be written by anybody. It is
# believed only on a connection from a trusted proxy, and read from its end: each trusted proxy has appended the address
# of its own client. The last one that is not a trusted proxy is the client.

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


def _random_bits() -> Callable[[int], int]:
    return random.Random(secrets.randbits(256)).getrandbits  # noqa: S311 - ids are not secret


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState(Rules):
    """Made once by `app`. `allowed_origins`: pages that may call and read. `body_timeout_s`: time for one body.
    `json_limits`: what a body may hold. `address_of`: a request's client. `notes`
    gives what the operator must mend in shared state and the index. `origin_is_checked`: the listener lets no page of
    another origin through (`own_host`).

    `id_bits(n)` makes the n random bits of a request id: a seeded generator, since ids must be unique but not secret,
    and the kernel's randomness costs a system call each.
    """

    endpoints: EndpointTable
    bad_keys: BadKeyLimiter
    notes: Callable[[], list[str]] = list
    allowed_origins: frozenset[str] = frozenset()
    local_origins: bool = False
    origin_is_checked: bool = False
    body_timeout_s: float = 30.0
    json_limits: JsonLimits = field(default_factory=JsonLimits)
    address_of: AddressOf = connection_address
    id_bits: Callable[[int], int] = field(default_factory=_random_bits)

    def new_id(self) -> str:
        """The id of a call, `req_` and 24 hex digits."""
        return f"req_{self.id_bits(96):024x}"


SERVER_STATE = web.AppKey("server_state", ServerState)
IN_FLIGHT = web.AppKey("in_flight", InFlight)
"""What runs in an application, for who must wait for its end."""


@dataclass(slots=True)
class HttpCall(Call):
    """The call of one request of HTTP, made by the outermost middleware (`observe`)."""

    server: ServerState = field(kw_only=True)
    endpoint: Endpoint = field(kw_only=True)


CALL = RequestKey("call", HttpCall)
