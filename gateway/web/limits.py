"""How much may run: the gateway's own cap, then the key's concurrency and its minute, held to the end of a stream.

An endpoint whose calls are only known from its body (a batch) is not charged here: its handler charges each.
"""

from functools import partial

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.access.limits import Limiter
from gateway.web.endpoints import ENDPOINT
from gateway.web.in_flight import IN_FLIGHT
from gateway.web.keys import CALLER, CHARGE

LIMITER: web.AppKey[Limiter] = web.AppKey("limiter", object)  # type: ignore[arg-type]


@web.middleware
async def limits(request: web.Request, handler: Handler) -> web.StreamResponse:
    app, caller = request.app, request[CALLER]
    app[IN_FLIGHT].check_room()
    limiter = app[LIMITER]
    request[CHARGE] = charge = partial(limiter.charge, caller)
    async with limiter.slot(caller):
        if request[ENDPOINT].charged:
            await charge()
        return await handler(request)
