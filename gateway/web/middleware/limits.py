"""Bounds what runs: the gateway's own cap, dealt out by key, then the key's concurrent requests and calls.

Place and slot are held to the end of a stream. An endpoint whose calls are only known from its body (a batch) is not
charged here: its handler charges each call. Budgets are kept where models are called (`access.budgets`).
"""

from contextlib import nullcontext

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.web.state import CONTEXT

_NO_SLOT = nullcontext()


@web.middleware
async def limits(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Raises Overloaded for the gateway's cap, RateLimited for the key's."""
    context = request[CONTEXT]
    if context.endpoint.is_socket:
        return await handler(request)
    in_flight, key_id = context.server.in_flight, context.caller.key_id
    in_flight.take_place(key_id)
    try:
        limiter, is_light = context.server.limiter, context.endpoint.is_light
        async with _NO_SLOT if is_light else limiter.slot(context.caller):
            if context.endpoint.charged:
                await context.charge()
            return await handler(request)
    finally:
        in_flight.give_back(key_id)
