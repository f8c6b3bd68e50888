"""Outermost middleware: gives every request an id, counts it as in flight, and records its end."""

import asyncio
import re
import time

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from multidict import istr

from gateway import trace
from gateway.calls.call import CLIENT_GONE
from gateway.domain import RequestStats
from gateway.web.answer_headers import REQUEST_ID, stamp
from gateway.web.replies import EventReply
from gateway.web.state import CALL, HttpCall, ServerState

_TRACEPARENT = istr(trace.HEADER)

_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""A client's own request id that is taken over: safe in logs and headers. 64 holds a UUID with a prefix; longer ones
are replaced, since each log line carries the id."""


def observing(server: ServerState) -> Middleware:
    """The middleware for one server."""

    @web.middleware
    async def observe(request: web.Request, handler: Handler) -> web.StreamResponse:
        client_id = request.headers.get(REQUEST_ID)
        request_id = client_id if client_id and _WELL_FORMED.fullmatch(client_id) else server.new_id()
        matched = server.endpoints.of(request)
        endpoint = matched or server.endpoints.nearest(request)
        name = "unmatched" if matched is None else matched.name
        stats, task = RequestStats(started_s=time.perf_counter()), server.in_flight.enter()
        sent_trace, token = request.headers.get(_TRACEPARENT), None
        if sent_trace is not None and (parent := trace.parent_of(sent_trace)) is not None:
            stats.trace_id = trace.trace_id(parent)
            token = trace.enter(parent)
        request[CALL] = call = HttpCall(
            server, endpoint, request_id, stats, path=request.match_info, server=server, endpoint=endpoint
        )
        status, events = CLIENT_GONE, 0
        try:
            reply = await handler(request)
            if not reply.prepared:
                stamp(request, call, reply)
            elif isinstance(reply, EventReply):
                events = reply.sent
            status = CLIENT_GONE if stats.outcome == "client_gone" else reply.status
            return reply
        except asyncio.CancelledError:
            events = stats.sent_events
            if stats.is_whole:
                status = 200
            else:
                stats.outcome = stats.outcome or "client_gone"
            raise
        finally:
            if token is not None:
                trace.leave(token)  # the task serves other requests of the connection too
            server.in_flight.leave(task)
            call.record(request.method, status, name=name, events=events, client=server.address_of(request))

    return observe
