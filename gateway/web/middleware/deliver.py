"""From replies to bytes: the first event before the headers, then a stream relayed without a queue.

One task reads the upstream and writes to the client, so a slow reader stops the reading. An upstream that fails
before its first event is still a true status; after that the dialect's error events end the stream, never a clean
end. A client that leaves cancels this task, and closing the events lets the upstream go. Knows no interface.
"""

import asyncio
import time
from collections.abc import Awaitable
from contextlib import aclosing

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.domain import EventBatch
from gateway.errors import GatewayError, Unauthenticated, UpstreamError
from gateway.web.context import CONTEXT, RequestContext
from gateway.web.middleware.errors import as_gateway_error
from gateway.web.middleware.observe import stamp
from gateway.web.replies import EventReply, JsonReply
from gateway.wire import sse

_EVENTS_BETWEEN_YIELDS = 16
_GONE = (ConnectionError, RuntimeError)
"""What a write to a client raises that has left. RuntimeError: the pings found it gone and closed."""


class ClientGone(ConnectionError):
    """Writing to the client failed. Its own class: the same error from an upstream is the upstream's fault."""


@web.middleware
async def deliver(request: web.Request, handler: Handler) -> web.StreamResponse:
    reply = await handler(request)
    if isinstance(reply, JsonReply):
        try:
            reply.render()
        except TypeError as error:
            raise UpstreamError("the answer holds text that is not valid Unicode") from error
    elif isinstance(reply, EventReply):
        try:
            await _stream(request, reply)
        except ClientGone:
            request[CONTEXT].stats.outcome = "client_gone"
    return reply


async def _stream(request: web.Request, reply: EventReply) -> None:
    context = request[CONTEXT]
    async with aclosing(reply.events) as events:
        first = asyncio.ensure_future(anext(events, None))
        try:
            await asyncio.wait({first}, timeout=reply.first_event_wait_s)
            if first.done():
                first.result()  # an early failure is raised here, before any header: a true status
            stamp(request, context, reply)
            if reply.late_headers is not None:
                reply.headers.update(reply.late_headers())
            await _written(reply.prepare(request))
            waited_s = time.perf_counter() - context.stats.started_s
            context.server.metrics.first_event.labels(context.endpoint.name).observe(waited_s)
            try:
                await _pump(request, context, reply, first)
            finally:
                reply.stop_streaming()
        finally:
            if not first.done():
                first.cancel()
                await asyncio.wait({first}, timeout=5)


async def _pump(
    request: web.Request, context: RequestContext, reply: EventReply, first: Awaitable[EventBatch | None]
) -> None:
    keys, key_id, since_yield = context.server.keys, context.caller.key_id, 0
    following = first
    while True:
        fault: GatewayError | None = None
        try:
            batch = await following  # aiohttp-sse sends its pings meanwhile
        except StopAsyncIteration:
            break
        except (asyncio.CancelledError, Exception) as error:
            batch, fault = [], _fault(request, context, error)
        if batch is None:
            break
        if fault is None and not keys.is_live(key_id):
            fault = Unauthenticated("this API key was revoked")
        if fault is not None:
            context.stats.outcome = "truncated"
            told = reply.failure_events or context.endpoint.dialect.error_events
            await _written(reply.write(sse.encode_all(told(fault))))
            break
        if batch:
            data = sse.encode_all(batch)
            try:
                await reply.write(data)
            except _GONE as error:
                raise ClientGone from error
            reply.event_count += len(batch)
            since_yield += len(batch)
        if since_yield >= _EVENTS_BETWEEN_YIELDS:
            since_yield = 0
            await asyncio.sleep(0)  # a burst at hand must not stall the neighbours
        following = reply.events.__anext__()
    await _written(reply.write_eof())


def _fault(request: web.Request, context: RequestContext, error: Exception | asyncio.CancelledError) -> GatewayError:
    """What the caller is told when the stream failed or the server stops. Raises what means that the caller left."""
    if not isinstance(error, asyncio.CancelledError):
        return as_gateway_error(request, error)
    stopping = context.server.in_flight.take_back()
    if stopping is None:
        raise error
    return stopping


async def _written(write: Awaitable[object]) -> None:
    try:
        await write
    except _GONE as error:
        raise ClientGone from error
