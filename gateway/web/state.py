"""What middlewares and handlers know: of the server (`ServerState`), and of one request (`RequestContext`, stored on
the request under one typed key).
"""

import random
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.helpers import RequestKey

from gateway.access.budgets import Budgets
from gateway.access.keys import Keys
from gateway.access.rate_limits import BadKeyLimiter, Limiter, LimitState
from gateway.domain import Caller, RequestStats
from gateway.errors import RateLimited
from gateway.metrics import Metrics
from gateway.sanitize.pipeline import RequestWork, Sanitizer, Verdict
from gateway.sanitize.restoring import Placeholders
from gateway.web.client_address import AddressOf, connection_address
from gateway.web.endpoints import Endpoint, EndpointTable
from gateway.web.in_flight import InFlight
from gateway.web.masking_maps import MaskingMaps
from gateway.web.request_log import Recorder
from gateway.wire.json_body import JsonLimits


def _random_bits() -> Callable[[int], int]:
    return random.Random(secrets.randbits(256)).getrandbits  # noqa: S311 - ids are not secret


@dataclass(frozen=True, slots=True)
class ServerState:
    """Made once by `app`. `allowed_origins`: pages that may call and read. `body_timeout_s`: time for one body.
    `json_limits`: what a body may hold. `address_of`: a request's client. `budgets` None: keys have none.
    `masking_maps`: what stored responses have beside them where values become placeholders. `notes`
    gives what the operator must mend in shared state and the index. `origin_is_checked`: the listener lets no page of
    another origin through (`own_hosts`).

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
    masking_maps: MaskingMaps | None = None
    notes: Callable[[], list[str]] = list
    allowed_origins: frozenset[str] = frozenset()
    local_origins: bool = False
    origin_is_checked: bool = False
    body_timeout_s: float = 30.0
    json_limits: JsonLimits = field(default_factory=JsonLimits)
    address_of: AddressOf = connection_address
    id_bits: Callable[[int], int] = field(default_factory=_random_bits)


SERVER_STATE = web.AppKey("server_state", ServerState)


@dataclass(slots=True)
class RequestContext:
    """Made by the outermost middleware (`observe`); `auth` sets `caller`, `body` sets `body`.

    `body`: the result of `Endpoint.check`, None where no body was read. `history_verdicts`: the verdicts on stored
    turns that a handler added to the body. `work`: what decoding, checking and sanitizing it has cost. `placeholders`:
    what stands for the values that its answer gets back; `addresses`: those that the caller wrote; `earlier_values`:
    what the placeholders of turns before it stand for, where its connection remembers them. `limits`: the state of the
    key's limits after this request was counted, by name; empty for none.
    """

    server: ServerState
    request_id: str
    endpoint: Endpoint
    stats: RequestStats
    caller: Caller = field(init=False)
    body: Any = None
    history_verdicts: Sequence[Verdict] = ()
    work: RequestWork = field(default_factory=RequestWork)
    placeholders: Placeholders | None = None
    addresses: frozenset[str] = frozenset()
    earlier_values: Mapping[str, str] = field(default_factory=dict)
    limits: dict[str, LimitState] = field(default_factory=dict)

    def pay(self) -> None:
        """From here on what is used of models is paid from the caller's budgets, where it has any."""
        budgets = self.server.budgets
        self.stats.spend = budgets.of(self.caller, self.limits) if budgets is not None else None

    async def charge(self, tool: str = "") -> None:
        """Take one call from the key's calls a minute, and of a tool (a web tool, or `mcp:LABEL`) from its budgets.
        Raises RateLimited."""
        try:
            state = await self.server.limiter.charge(self.caller)
        except RateLimited as error:
            self.limits["requests"] = LimitState(error.limit, 0, error.retry_after_s or 0.0)
            raise
        if state is not None:
            self.limits["requests"] = state
        if tool:
            budgets = self.server.budgets
            if budgets is not None and budgets.may_bind(self.caller):
                asked = self.body.get("model") if isinstance(self.body, dict) else None
                await budgets.charge_tool(self.caller, tool, self.limits, self.stats.model or str(asked or ""))
            tools = self.stats.tools
            tools[tool] = tools.get(tool, 0) + 1


CONTEXT = RequestKey("context", RequestContext)
