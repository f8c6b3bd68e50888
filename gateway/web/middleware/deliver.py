"""Turns replies into bytes: a whole answer at once, a stream event by event without a queue.

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
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.domain import EventBatch
from gateway.errors import GatewayError, Unauthenticated, UpstreamError
from gateway.web.middleware.errors import as_gateway_error
from gateway.web.middleware.observe import stamp
from gateway.web.replies import EventReply, JsonReply
from gateway.web.state import CONTEXT, RequestContext
from gateway.wire import sse

_EVENTS_BETWEEN_YIELDS = 16
"""Events written before other tasks get a turn. Encoding one takes microseconds, so a burst holds the loop for well
below a millisecond."""

_JOINED_BYTES = 1 << 18
"""Events that come together are joined up to this size: a turn of the loop between two writes."""

_CANCEL_WAIT_S = 5.0
"""How long an upstream that is no longer wanted may take to end. Closing takes milliseconds."""

T = TypeVar("T")
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
                first.result()  # an early failure is raised here, while an error status can still be sent
            stamp(request, context, reply)
            if reply.late_headers is not None:
                reply.headers.update(reply.late_headers())
            writer = await _write(reply.prepare(request))
            waited_s = time.perf_counter() - context.stats.started_s
            context.server.metrics.first_event.labels(context.endpoint.name).observe(waited_s)
            try:
                # the writer's own method: the reply's only asks first whether there is a writer
                await _pump(request, context, reply, reply.write if writer is None else writer.write, first)
            finally:
                context.stats.sent_events = reply.event_count
                reply.stop_streaming()
        finally:
            if not first.done():
                first.cancel()
                await asyncio.wait({first}, timeout=_CANCEL_WAIT_S)


async def _pump(
    request: web.Request,
    context: RequestContext,
    reply: EventReply,
    write: Callable[[bytes], Awaitable[None]],
    first: Awaitable[EventBatch | None],
) -> None:
    is_live, key_id = context.server.keys.is_live, context.caller.key_id
    following, advance = first, reply.events.__anext__
    next_yield = _EVENTS_BETWEEN_YIELDS
    while True:
        try:
            batch = await following  # aiohttp-sse sends its pings meanwhile
        except StopAsyncIteration:
            break
        except (asyncio.CancelledError, Exception) as error:
            fault = _fault_of(request, context, error)
            if fault is None:
                raise
        else:
            if batch is None:
                break
            if is_live(key_id):
                if batch:
                    try:
                        if len(batch) == 1:  # most batches: no call is made for them
                            await write(batch[0].raw or sse.encode(batch[0]))
                        else:
                            await _write_batch(batch, write)
                    except _GONE as error:
                        raise ClientGone from error
                    count = reply.event_count = reply.event_count + len(batch)
                    if count >= next_yield:
                        next_yield = count + _EVENTS_BETWEEN_YIELDS
                        await asyncio.sleep(0)  # a burst must not hold up other requests
                following = advance()
                continue
            fault = Unauthenticated("this API key was revoked")
        await _write_fault(context, reply, fault)
        del fault  # its traceback leads to this frame: as a circle they would wait for the garbage collector
        break
    await _write(reply.write_eof())


def _fault_of(
    request: web.Request, context: RequestContext, error: Exception | asyncio.CancelledError
) -> GatewayError | None:
    """What a stream ends with that failed, or was cut off at the end of a drain; None where the client has left."""
    if isinstance(error, asyncio.CancelledError):
        return context.server.in_flight.take_back()
    return as_gateway_error(request, error)


async def _write_fault(context: RequestContext, reply: EventReply, fault: GatewayError) -> None:
    context.stats.outcome = "truncated"
    fault.request_id = context.request_id
    failure_events = reply.failure_events or context.endpoint.dialect.error_events
    await _write(reply.write(sse.encode_all(failure_events(fault))))


async def _write_batch(batch: EventBatch, write: Callable[[bytes], Awaitable[None]]) -> None:
    """Write events that come together: short ones in one piece, and others get their turn between long ones, which may
    each repeat the whole answer."""
    waiting, size = list[bytes](), 0
    for event in batch:
        encoded = event.raw or sse.encode(event)
        waiting.append(encoded)
        size += len(encoded)
        if size > _JOINED_BYTES:
            await write(b"".join(waiting))
            await asyncio.sleep(0)
            waiting, size = [], 0
    if waiting:
        await write(b"".join(waiting))


async def _write(writing: Awaitable[T]) -> T:
    """Await a write to the client. Raises ClientGone."""
    try:
        return await writing
    except _GONE as error:
        raise ClientGone from error
