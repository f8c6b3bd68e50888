"""Bounds what runs: the gateway's own cap, dealt out by key, then the key's concurrent requests and calls.

Place and slot are held to the end of a stream. An endpoint whose calls are only known from its body (a batch) is not
charged here: its handler charges each call. A socket is no request: each of its turns is limited. Budgets are kept
where models are called (`access.budgets`).
"""

from functools import partial

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.web.state import CALL


@web.middleware
async def limits(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Raises Overloaded for the gateway's cap, RateLimited for the key's."""
    call = request[CALL]
    if call.endpoint.is_socket:
        return await handler(request)
    return await call.served(partial(handler, request))
