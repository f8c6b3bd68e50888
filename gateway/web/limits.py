"""How much may run: the gateway's own cap, then the key's concurrency and its minute, held to the end of a stream.

An endpoint whose calls are only known from its body (a batch) is not charged here: its handler charges each.
"""

from functools import partial

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.access.limits import Limiter
from gateway.web.in_flight import IN_FLIGHT
from gateway.web.keys import CONTEXT

LIMITER: web.AppKey[Limiter] = web.AppKey("limiter", object)  # type: ignore[arg-type]


@web.middleware
async def limits(request: web.Request, handler: Handler) -> web.StreamResponse:
    context = request[CONTEXT]
    app, caller = context.app, context.caller
    app[IN_FLIGHT].check_room()
    limiter = app[LIMITER]
    context.charge = partial(limiter.charge, caller)
    async with limiter.slot(caller):
        if context.endpoint.charged:
            await context.charge()
        return await handler(request)
