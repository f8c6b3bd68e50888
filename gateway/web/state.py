"""The server's long-lived objects that the middlewares use, in one object on the application. Knows no request."""

import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from gateway.access.budgets import Budgets
from gateway.access.keys import Keys
from gateway.access.rate_limits import BadKeyLimiter, Limiter
from gateway.metrics import Metrics
from gateway.sanitize.pipeline import Sanitizer
from gateway.web.client_address import AddressOf, connection_address
from gateway.web.endpoints import EndpointTable
from gateway.web.in_flight import InFlight
from gateway.web.request_log import Recorder
from gateway.wire.json_body import JsonLimits


def _random_bits() -> Callable[[int], int]:
    return random.Random(secrets.randbits(256)).getrandbits  # noqa: S311 - ids are not secret


@dataclass(frozen=True, slots=True)
class ServerState:
    """Made once by `app`. `allowed_origins`: pages that may call and read. `body_timeout_s`: time for one body.
    `json_limits`: what a body may hold. `address_of`: a request's client. `budgets` None: keys have none. `notes`
    gives what the operator must mend in shared state and the index. `origin_is_checked`: the listener lets no page of
    another origin through (`own_host`).

    `id_bits(n)` makes the n random bits of a request id: a seeded generator, since ids must be unique but not secret,
    and the kernel's randomness costs a system call each.
    """

    endpoints: EndpointTable
    in_flight: InFlight
    keys: Keys
    bad_keys: BadKeyLimiter
    limiter: Limiter
    sanitizer: Sanitizer
    metrics: Metrics
    recorder: Recorder
    budgets: Budgets | None = None
    notes: Callable[[], list[str]] = list
    allowed_origins: frozenset[str] = frozenset()
    origin_is_checked: bool = False
    body_timeout_s: float = 30.0
    json_limits: JsonLimits = field(default_factory=JsonLimits)
    address_of: AddressOf = connection_address
    id_bits: Callable[[int], int] = field(default_factory=_random_bits)


SERVER_STATE = web.AppKey("server_state", ServerState)
