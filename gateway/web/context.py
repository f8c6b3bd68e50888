"""The state of one request in the chain: one object, stored on the request under one typed key. Knows no interface."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp.helpers import RequestKey

from gateway.domain import Caller, RequestStats
from gateway.sanitize.pipeline import RequestWork, Verdict
from gateway.web.endpoints import Endpoint
from gateway.web.state import ServerState


@dataclass(slots=True)
class RequestContext:
    """Made by the outermost middleware (`observe`); `auth` sets `caller`, `body` sets `body`.

    `task` serves the request to the end of its answer. `body`: the result of `Endpoint.check`, None where no body was
    read. `history_verdicts`: the verdicts on stored turns that a handler added to the body. `work`: what decoding,
    checking and sanitizing it has cost.
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

    def charge(self) -> Awaitable[None]:
        """Take one call from the key's calls a minute. Raises RateLimited when awaited."""
        return self.server.limiter.charge(self.caller)


CONTEXT = RequestKey("context", RequestContext)
