"""The state of one request in the chain: one object, stored on the request under one typed key. Knows no interface."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp.helpers import RequestKey

from gateway.access.rate_limits import LimitState
from gateway.domain import Caller, RequestStats
from gateway.errors import RateLimited
from gateway.sanitize.pipeline import RequestWork, Verdict
from gateway.web.endpoints import Endpoint
from gateway.web.state import ServerState


@dataclass(slots=True)
class RequestContext:
    """Made by the outermost middleware (`observe`); `auth` sets `caller`, `body` sets `body`.

    `task` serves the request to the end of its answer. `body`: the result of `Endpoint.check`, None where no body was
    read. `history_verdicts`: the verdicts on stored turns that a handler added to the body. `work`: what sanitizing it
    has cost. `limits`: the state of the key's limits after this request was counted, by name; empty for none.
    """

    server: ServerState
    request_id: str
    endpoint: Endpoint
    stats: RequestStats
    task: asyncio.Task[object]
    caller: Caller = field(init=False)
    body: Any = None
    history_verdicts: Sequence[Verdict] = ()
    work: RequestWork = field(default_factory=RequestWork)

    limits: dict[str, LimitState] = field(default_factory=dict)

    async def charge(self) -> None:
        """Take one call from the key's calls a minute. Raises RateLimited."""
        try:
            state = await self.server.limiter.charge(self.caller)
        except RateLimited as error:
            self.limits["requests"] = LimitState(error.limit, 0, error.retry_after_s or 0.0)
            raise
        if state is not None:
            self.limits["requests"] = state


CONTEXT = RequestKey("context", RequestContext)
