"""Outermost middleware: request id, the count of what is in flight, and the record of every request."""

import asyncio
import re
import time

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware
from multidict import istr

from gateway.domain import RequestStats
from gateway.web.context import CONTEXT, RequestContext
from gateway.web.middleware.cors import cross_origin
from gateway.web.replies import EventReply
from gateway.web.request_log import Finished
from gateway.web.state import ServerState

CLIENT_GONE = 499
_REQUEST_ID = istr("X-Request-Id")

_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,64}")


def observing(server: ServerState) -> Middleware:
    """The middleware, over what the server consists of."""

    @web.middleware
    async def observe(request: web.Request, handler: Handler) -> web.StreamResponse:
        started_s = time.perf_counter()
        given = request.headers.get(_REQUEST_ID)
        request_id = given if given and _WELL_FORMED.fullmatch(given) else f"req_{server.id_bits(96):024x}"
        row = server.endpoints.of(request)
        name, endpoint = ("unmatched", server.endpoints.nearest(request)) if row is None else (row.name, row)
        stats, task = RequestStats(started_s=started_s), server.in_flight.enter()
        request[CONTEXT] = context = RequestContext(server, request_id, endpoint, stats, task)
        status, events = CLIENT_GONE, 0
        try:
            reply = await handler(request)
            if not reply.prepared:
                stamp(request, context, reply)
            elif isinstance(reply, EventReply):
                events = reply.event_count
            status = CLIENT_GONE if stats.outcome == "client_gone" else reply.status
            return reply
        except asyncio.CancelledError:
            stats.outcome = stats.outcome or "client_gone"
            raise
        finally:
            server.in_flight.leave(task)
            total_s = time.perf_counter() - started_s
            server.recorder.add(Finished(stats, request_id, name, request.method, status, total_s, events))

    return observe


def stamp(request: web.Request, context: RequestContext, reply: web.StreamResponse) -> None:
    """What every answer carries, whole or streamed; before its headers are sent."""
    headers = reply.headers
    headers[_REQUEST_ID] = context.request_id
    headers[hdrs.SERVER] = "gateway"
    if hdrs.ORIGIN in request.headers:
        cross_origin(request, reply)
    if context.server.in_flight.draining:
        reply.force_close()
