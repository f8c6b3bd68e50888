"""What a request gathers on its way through the chain: one object, hung on the request under one typed name."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp.helpers import RequestKey

from gateway.model import Account, Caller
from gateway.web.endpoints import Endpoint
from gateway.web.parts import Parts


@dataclass(slots=True)
class RequestContext:
    """Put there by the outermost middleware; `caller` is set by auth, `charge` by limits, `body` by body.

    `task` serves the request to the end of its answer. `body` is what `Endpoint.check` returned, None where nothing
    was read. `charge` takes one more call from the key's minute and raises RateLimited. `clean` masks, in place, what a
    handler adds to a body from what was kept, and raises ContentBlocked; None where requests are not looked at.
    """

    parts: Parts
    request_id: str
    endpoint: Endpoint
    account: Account
    task: asyncio.Task[object]
    caller: Caller = field(init=False)
    charge: Callable[[], Awaitable[None]] = field(init=False)
    body: Any = None
    clean: Callable[[Any], Awaitable[object]] | None = None


CONTEXT = RequestKey("context", RequestContext)
