"""Bounds what runs: the gateway's own cap, dealt out by key, then the key's concurrent requests, calls and budgets.

Place and slot are held to the end of a stream; what was reserved of a budget is settled there. An endpoint whose calls
are only known from its body (a batch) is not charged here: its handler charges each call.
"""

import asyncio
from contextlib import nullcontext

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.access.budgets import Reservation, count_cut_off
from gateway.access.usage import Used
from gateway.web.state import CONTEXT, RequestContext

_NO_SLOT = nullcontext()


@web.middleware
async def limits(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Raises Overloaded for the gateway's cap, RateLimited for the key's."""
    context = request[CONTEXT]
    if context.endpoint.is_socket:
        return await handler(request)
    in_flight, key_id = context.server.in_flight, context.caller.key_id
    in_flight.take_place(key_id)
    has_left = False
    try:
        limiter, is_light = context.server.limiter, context.endpoint.is_light
        async with _NO_SLOT if is_light else limiter.slot(context.caller):
            if context.endpoint.charged:
                await context.charge()
            return await handler(request)
    except asyncio.CancelledError:
        has_left = True
        raise
    finally:
        in_flight.give_back(key_id)
        if context.reservation is not None:
            await settle(context, context.reservation, has_left)


async def reserve(context: RequestContext) -> None:
    """Reserve what the checked body may use of the key's budgets: every body that names a model, whatever its format.

    Raises BudgetSpent, NoPrice.
    """
    budgets = context.server.budgets
    if budgets is not None and isinstance(context.body, dict) and "model" in context.body:
        context.reservation = await budgets.reserve(context.caller, context.body, context.limits)


async def settle(context: RequestContext, reservation: Reservation, has_left: bool) -> None:
    """Count what the request has used."""
    stats = context.stats
    if has_left or stats.outcome in ("client_gone", "truncated"):
        count_cut_off(stats, reservation)
    used = Used(stats.input_tokens, stats.cached_tokens, stats.output_tokens, 0, stats.written_tokens)
    if context.server.budgets is not None:
        await asyncio.shield(context.server.budgets.settle(reservation, stats.model, used, context.limits))
