"""Outermost middleware: request id, the count of what is in flight, and the record of every request."""

import asyncio
import re
import time
from collections.abc import Callable

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from multidict import istr

from gateway.metrics import Metrics
from gateway.model import Account
from gateway.web.endpoints import ENDPOINTS
from gateway.web.in_flight import IN_FLIGHT
from gateway.web.keys import CONTEXT, RequestContext
from gateway.web.origins import cross_origin
from gateway.web.recorder import RECORDER, Finished
from gateway.web.replies import EventReply

METRICS = web.AppKey("metrics", Metrics)
ID_BITS: web.AppKey[Callable[[int], int]] = web.AppKey("id_bits", object)  # type: ignore[arg-type]
"""Random bits for request ids: they need to be different, not secret, and the kernel's cost a system call each."""

CLIENT_GONE = 499
_REQUEST_ID = istr("X-Request-Id")

_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,64}")


@web.middleware
async def observe(request: web.Request, handler: Handler) -> web.StreamResponse:
    started_s = time.perf_counter()
    app = request.app
    given = request.headers.get(_REQUEST_ID)
    request_id = given if given and _WELL_FORMED.fullmatch(given) else f"req_{app[ID_BITS](96):024x}"
    in_flight = app[IN_FLIGHT]
    endpoint, account, task = app[ENDPOINTS].of(request), Account(started_s=started_s), in_flight.enter()
    request[CONTEXT] = context = RequestContext(app, request_id, endpoint, account, task)
    status = CLIENT_GONE
    reply: web.StreamResponse | None = None
    try:
        reply = await handler(request)
        if not reply.prepared:
            stamp(request, context, reply)
        status = CLIENT_GONE if account.outcome == "client_gone" else reply.status
        return reply
    except asyncio.CancelledError:
        account.outcome = account.outcome or "client_gone"
        raise
    finally:
        in_flight.leave(task)
        app[RECORDER].add(
            Finished(
                account,
                request_id,
                endpoint.name if request.match_info.http_exception is None else "unmatched",
                request.method,
                status,
                time.perf_counter() - started_s,
                reply.event_count if type(reply) is EventReply else 0,
            )
        )


def stamp(request: web.Request, context: RequestContext, reply: web.StreamResponse) -> None:
    """What every answer carries, whole or streamed; before its headers are sent."""
    headers = reply.headers
    headers[_REQUEST_ID] = context.request_id
    headers[hdrs.SERVER] = "gateway"
    if hdrs.ORIGIN in request.headers:
        cross_origin(request, reply)
    if context.app[IN_FLIGHT].draining:
        reply.force_close()
