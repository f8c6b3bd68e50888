"""Turns replies into bytes: a whole answer at once, a stream event by event without a queue. Knows no interface.

One task reads the upstream and writes to the client, so a slow client slows the reading down.

Theory of operation of a stream:

| state     | entered when                                     | on failure                     | next               |
|-----------|--------------------------------------------------|--------------------------------|--------------------|
| waiting   | the handler has returned an EventReply           | raised: an error status        | committed          |
| committed | a first batch came, or `first_event_wait_s` over | error events, then the end     | pumping            |
| pumping   | the head was sent                                | error events, then the end     | ended              |
| ended     | the events ended, failed, or the key was revoked | -                              | -                  |

Invariants: a failed stream never ends cleanly: its last events are the dialect's error events. `reply.events` is
closed in every case, which lets the upstream go. The key is checked again before each batch is written. A client that
leaves ends everything with `ClientGone`, from a failed write, or with the task's cancellation by aiohttp.
"""

import asyncio
import time
from collections.abc import Awaitable
from contextlib import aclosing

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.domain import EventBatch
from gateway.errors import GatewayError, Unauthenticated, UpstreamError
from gateway.resilience.freed_memory import give_back
from gateway.resilience.slices import in_slices
from gateway.web.context import CONTEXT, RequestContext
from gateway.web.middleware.errors import as_gateway_error
from gateway.web.middleware.observe import stamp
from gateway.web.replies import EventReply, JsonReply
from gateway.wire import sse

_EVENTS_BETWEEN_YIELDS = 16
"""Events written before other tasks get a turn. Chosen: encoding one takes microseconds, so a burst holds the loop for
well below a millisecond; half doubles the switches of every burst, double doubles what its neighbours wait."""

_CANCEL_WAIT_S = 5.0
"""How long an upstream that is no longer wanted may take to end. Chosen: closing takes milliseconds; half could cut a
TLS goodbye short, double would hold the request's slot longer."""

_APART_BYTES = 1 << 16
"""More is written by itself. Chosen: at half more writes, at double more is copied at once."""
_LONG_STREAM_BYTES = 1 << 18
"""After so much, events that come together are written apart: an event may repeat all text before it, and the end of an
answer has several of these. Chosen: at half more bursts of small events are encoded one by one (2 µs each), at double
twice the memory is held for short answers."""
_GONE = (ConnectionError, RuntimeError)
"""Errors of a write to a client that has left. RuntimeError: the pings found it gone and closed the stream."""


class ClientGone(ConnectionError):
    """Writing to the client failed. A class of its own, since an upstream may raise the same built-in errors."""


@web.middleware
async def deliver(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Renders a JsonReply, sends an EventReply to its end. Raises GatewayError, as long as no byte was sent."""
    reply = await handler(request)
    if isinstance(reply, JsonReply):
        try:
            steps = reply.begin_render()
            if steps is not None:
                await in_slices(steps)
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
                first.result()  # an early failure is raised here, while an error status can still be sent
            stamp(request, context, reply)
            if reply.late_headers is not None:
                reply.headers.update(reply.late_headers())
            await _write(reply.prepare(request))
            waited_s = time.perf_counter() - context.stats.started_s
            context.server.metrics.first_event.labels(context.endpoint.name).observe(waited_s)
            try:
                await _pump(request, context, reply, first)
            finally:
                context.stats.sent_events = reply.event_count
                reply.stop_streaming()
        finally:
            if not first.done():
                first.cancel()
                await asyncio.wait({first}, timeout=_CANCEL_WAIT_S)


async def _pump(
    request: web.Request, context: RequestContext, reply: EventReply, first: Awaitable[EventBatch | None]
) -> None:
    keys, key_id, since_yield, sent_bytes = context.server.keys, context.caller.key_id, 0, 0
    following = first
    while True:
        fault: GatewayError | None = None
        try:
            batch = await following  # aiohttp-sse sends its pings meanwhile
        except StopAsyncIteration:
            break
        except asyncio.CancelledError:
            stopping = context.server.in_flight.take_back()
            if stopping is None:  # not the end of a drain: the client has left
                raise
            batch, fault = [], stopping
        except Exception as error:
            batch, fault = [], as_gateway_error(request, error)
        if batch is None:
            break
        if fault is None and not keys.is_live(key_id):
            fault = Unauthenticated("this API key was revoked")
        if fault is not None:
            context.stats.outcome = "truncated"
            fault.request_id = context.request_id
            failure_events = reply.failure_events or context.endpoint.dialect.error_events
            await _write(reply.write(sse.encode_all(failure_events(fault))))
            del fault  # its traceback leads to this frame: as a circle they would wait for the garbage collector
            break
        if batch:
            try:
                is_long = context.work.is_large or sent_bytes > _LONG_STREAM_BYTES
                if (is_long and len(batch) > 1) or context.stats.has_large_answer:
                    sent_bytes += await _write_apart(reply, batch)
                else:
                    encoded = sse.encode_all(batch)
                    sent_bytes += len(encoded)
                    await reply.write(encoded)
            except _GONE as error:
                raise ClientGone from error
            reply.event_count += len(batch)
            since_yield += len(batch)
        if since_yield >= _EVENTS_BETWEEN_YIELDS:
            since_yield = 0
            await asyncio.sleep(0)  # a burst must not hold up other requests
        following = reply.events.__anext__()
    await _write(reply.write_eof())


async def _write_apart(reply: EventReply, batch: EventBatch) -> int:
    """Write the events of a large request's or a long answer in pieces: some interfaces repeat the request, or all of
    the answer, in several events. Returns their bytes."""
    waiting, sent_bytes = bytearray(), 0
    for event in batch:
        for piece in sse.pieces(event):
            waiting += piece
            if len(waiting) > _APART_BYTES:
                sent_bytes += len(waiting)
                await reply.write(bytes(waiting))
                waiting.clear()
    if waiting:
        await reply.write(bytes(waiting))
    if sent_bytes:  # not behind each of the short events that follow a long one
        give_back()
    return sent_bytes + len(waiting)


async def _write(writing: Awaitable[object]) -> None:
    """Await a write to the client. Raises ClientGone."""
    try:
        await writing
    except _GONE as error:
        raise ClientGone from error
