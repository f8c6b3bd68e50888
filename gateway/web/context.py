"""The state of one request in the chain: one object, stored on the request under one typed key. Knows no interface."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp.helpers import RequestKey

from gateway.access.budgets import Reservation
from gateway.access.rate_limits import LimitState
from gateway.domain import Caller, RequestStats
from gateway.errors import RateLimited
from gateway.sanitize.pipeline import RequestWork, Verdict
from gateway.sanitize.restoring import Placeholders
from gateway.web.endpoints import Endpoint
from gateway.web.state import ServerState


@dataclass(slots=True)
class RequestContext:
    """Made by the outermost middleware (`observe`); `auth` sets `caller`, `body` sets `body`.

    `body`: the result of `Endpoint.check`, None where no body was read. `history_verdicts`: the verdicts on stored
    turns that a handler added to the body. `work`: what decoding, checking and sanitizing it has cost. `placeholders`:
    what stands for the values that its answer gets back; `addresses`: those that the caller wrote; `earlier_values`:
    what the placeholders of turns before it stand for, where its connection remembers them. `limits`: the state of the
    key's limits after this request was counted, by name; empty for none. `reservation`: what the request may use of its
    key's budgets, until it is settled.
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
    reservation: Reservation | None = None

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
                model = self.stats.model or (self.reservation.model if self.reservation is not None else "")
                await budgets.charge_tool(self.caller, tool, self.limits, model)
            tools = self.stats.tools
            tools[tool] = tools.get(tool, 0) + 1


CONTEXT = RequestKey("context", RequestContext)
