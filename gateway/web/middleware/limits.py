"""Bounds what runs: the gateway's own cap, dealt out by key, then the key's concurrent requests and calls a minute.

Place and slot are held to the end of a stream. An endpoint whose calls are only known from its body (a batch) is not
charged here: its handler charges each call. Knows no key store and no Redis: `ServerState.limiter` does.
"""

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.web.context import CONTEXT


@web.middleware
async def limits(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Raises Overloaded for the gateway's cap, RateLimited for the key's."""
    context = request[CONTEXT]
    in_flight, key_id = context.server.in_flight, context.caller.key_id
    in_flight.take_place(key_id)
    try:
        async with context.server.limiter.slot(context.caller):
            if context.endpoint.charged:
                await context.charge()
            return await handler(request)
    finally:
        in_flight.give_back(key_id)
