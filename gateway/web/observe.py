"""Outermost middleware: request id, the count of what is in flight, and the record of every request."""

import asyncio
import re
import time

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from multidict import istr

from gateway.model import Account
from gateway.web.keys import CONTEXT, RequestContext
from gateway.web.origins import cross_origin
from gateway.web.parts import PARTS
from gateway.web.recorder import Finished
from gateway.web.replies import EventReply

CLIENT_GONE = 499
_REQUEST_ID = istr("X-Request-Id")

_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,64}")


@web.middleware
async def observe(request: web.Request, handler: Handler) -> web.StreamResponse:
    started_s = time.perf_counter()
    parts = request.app[PARTS]
    given = request.headers.get(_REQUEST_ID)
    request_id = given if given and _WELL_FORMED.fullmatch(given) else f"req_{parts.id_bits(96):024x}"
    in_flight = parts.in_flight
    endpoint, account, task = parts.endpoints.of(request), Account(started_s=started_s), in_flight.enter()
    request[CONTEXT] = context = RequestContext(parts, request_id, endpoint, account, task)
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
        parts.recorder.add(
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
    if context.parts.in_flight.draining:
        reply.force_close()
