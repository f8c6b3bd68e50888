"""Bounds what runs: the gateway's own cap, then the key's concurrent requests and its calls a minute.

The key's slot is held to the end of a stream. An endpoint whose calls are only known from its body (a batch) is not
charged here: its handler charges each call. Knows no key store and no Redis: `ServerState.limiter` does.
"""

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.web.context import CONTEXT


@web.middleware
async def limits(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Raises Overloaded for the gateway's cap, RateLimited for the key's."""
    context = request[CONTEXT]
    context.server.in_flight.check_room()
    async with context.server.limiter.slot(context.caller):
        if context.endpoint.charged:
            await context.charge()
        return await handler(request)
