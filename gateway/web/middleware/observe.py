"""Outermost middleware: gives every request an id, counts it as in flight, and records its end."""

import asyncio
import math
import re
import time
from collections.abc import Mapping

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware
from multidict import istr

from gateway import trace
from gateway.access.rate_limits import LimitState
from gateway.calls.call import CLIENT_GONE
from gateway.domain import RequestStats
from gateway.web.origins import allow_reading
from gateway.web.replies import EventReply
from gateway.web.state import CALL, HttpCall, ServerState

# The headers with what is left of a caller's limits.
#
# Sources: draft-ietf-httpapi-ratelimit-headers-11 (`RateLimit-Policy`, `RateLimit`: lists of quoted names with quota
# `q`, window `w`, remaining `r` and seconds until it grows `t`), OpenAI API reference, "Rate limits" (`x-ratelimit-*`),
# read 2026-11-22.

_WINDOWS_S = {
    "requests": 60,
    "tokens-minute": 60,
    "tokens-day": 86_400,
    "tool-calls-day": 86_400,
    "user-tokens-day": 86_400,
}
"""The length of each limit's period. A key's spend is in no header: it is a sum of money, not a count."""

_OPENAI = {"requests": "requests", "tokens-minute": "tokens"}
"""The limits that OpenAI's headers have, and their names there."""


def limit_headers(limits: Mapping[str, LimitState]) -> dict[str, str]:
    """Headers for the limits of one request, by name; a limit without a known period is left out."""
    policies, states, headers = [], [], {}
    for name, window_s in _WINDOWS_S.items():
        state = limits.get(name)
        if state is None:
            continue
        policies.append(f'"{name}";q={state.limit};w={window_s}')
        states.append(f'"{name}";r={state.remaining};t={math.ceil(state.reset_s)}')
        if openai := _OPENAI.get(name):
            headers[f"x-ratelimit-limit-{openai}"] = str(state.limit)
            headers[f"x-ratelimit-remaining-{openai}"] = str(state.remaining)
            headers[f"x-ratelimit-reset-{openai}"] = f"{math.ceil(state.reset_s)}s"
    if policies:
        headers["RateLimit-Policy"] = ", ".join(policies)
        headers["RateLimit"] = ", ".join(states)
    return headers


_REQUEST_ID, _TRACEPARENT = istr("X-Request-Id"), istr(trace.HEADER)

GUARDRAIL_HEADER = "X-Gateway-Guardrail"
"""`unavailable` when the guardrail failed and the policy let the text go on. For a stream: on its request alone."""

_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""A client's own request id that is taken over: safe in logs and headers. 64 holds a UUID with a prefix; longer ones
are replaced, since each log line carries the id."""


def observing(server: ServerState) -> Middleware:
    """The middleware for one server."""

    @web.middleware
    async def observe(request: web.Request, handler: Handler) -> web.StreamResponse:
        client_id = request.headers.get(_REQUEST_ID)
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
            stats.outcome = stats.outcome or "client_gone"
            raise
        finally:
            if token is not None:
                trace.leave(token)  # the task serves other requests of the connection too
            server.in_flight.leave(task)
            call.record(request.method, status, name=name, events=events, client=server.address_of(request))

    return observe


def stamp(request: web.Request, call: HttpCall, reply: web.StreamResponse) -> None:
    """Set the headers of every answer, whole or streamed; call it before the head is sent."""
    headers = reply.headers
    headers[_REQUEST_ID] = call.request_id
    if call.endpoint.id_header:
        headers[call.endpoint.id_header] = call.request_id
    headers[hdrs.SERVER] = "gateway"
    if call.limits:
        headers.update(limit_headers(call.limits))
    if call.stats.unguarded:
        headers[GUARDRAIL_HEADER] = "unavailable"
    if hdrs.ORIGIN in request.headers:
        allow_reading(request, reply)
    if call.rules.in_flight.draining:
        reply.force_close()
