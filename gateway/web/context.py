"""What a request gathers on its way through the chain: one object, hung on the request under one typed name."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp.helpers import RequestKey

from gateway.domain import Caller, RequestStats
from gateway.sanitize.pipeline import Verdict
from gateway.web.endpoints import Endpoint
from gateway.web.state import ServerState


@dataclass(slots=True)
class RequestContext:
    """Put there by the outermost middleware; `caller` is set by auth, `body` by body.

    `task` serves the request to the end of its answer. `body` is what `Endpoint.check` returned, None where nothing
    was read. `recalled`: what was found in what a handler added to the body from what was kept.
    """

    server: ServerState
    request_id: str
    endpoint: Endpoint
    stats: RequestStats
    task: asyncio.Task[object]
    caller: Caller = field(init=False)
    body: Any = None
    recalled: Sequence[Verdict] = ()

    def charge(self) -> Awaitable[None]:
        """Take one call from the key's minute. Raises RateLimited."""
        return self.server.limiter.charge(self.caller)


CONTEXT = RequestKey("context", RequestContext)
