"""What middlewares and handlers know: of the server (`ServerState`), and of one request (`HttpCall`, stored on the
request under one typed key).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.helpers import RequestKey

from gateway.access.rate_limits import BadKeyLimiter
from gateway.calls.call import Call, CallRules
from gateway.calls.in_flight import InFlight
from gateway.random_ids import random_hex
from gateway.web.client_address import AddressOf, connection_address
from gateway.web.endpoints import Endpoint, EndpointTable
from gateway.wire.json_body import JsonLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState(CallRules):
    """Made once by `app`. `allowed_origins`: pages that may call and read. `body_timeout_s`: time for one body.
    `json_limits`: what a body may hold. `address_of`: a request's client. `notes`
    gives what the operator must mend in shared state and the index. `own_url`, `console_url`: as configured, without a
    slash at the end; the second is empty without a console. `origin_is_checked`: the listener lets no page of
    another origin through (`own_hosts`).
    """

    endpoints: EndpointTable
    bad_keys: BadKeyLimiter
    notes: Callable[[], list[str]] = list
    allowed_origins: frozenset[str] = frozenset()
    local_origins: bool = False
    own_url: str = ""
    console_url: str = ""
    origin_is_checked: bool = False
    body_timeout_s: float = 30.0
    json_limits: JsonLimits = field(default_factory=JsonLimits)
    address_of: AddressOf = connection_address

    def new_id(self) -> str:
        """The id of a call, `req_` and 24 hex digits."""
        return f"req_{random_hex(12)}"


SERVER_STATE = web.AppKey("server_state", ServerState)
IN_FLIGHT = web.AppKey("in_flight", InFlight)
"""What runs in an application, for who must wait for its end."""


@dataclass(slots=True)
class HttpCall(Call):
    """The call of one request of HTTP, made by the outermost middleware (`observe`)."""

    server: ServerState = field(kw_only=True)
    endpoint: Endpoint = field(kw_only=True)


CALL = RequestKey("call", HttpCall)
