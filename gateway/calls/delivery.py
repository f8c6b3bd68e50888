"""A streamed answer on its way to whoever asked for it: what holds at every door from the first event to the last.

One task reads the upstream and writes to the door's sink, so a slow client slows the reading down. The door's own task
waits for its end.

Theory of operation of a stream:

| state     | entered when                                     | on failure                     | next               |
|-----------|--------------------------------------------------|--------------------------------|--------------------|
| waiting   | `deliver` was called                             | raised: the door tells it      | committed          |
| committed | a first event came, or `first_event_wait_s` over | events of failure, then the end| pumping            |
| pumping   | the sink has begun                               | events of failure, then the end| ended              |
| ended     | the events ended, failed, or the key was revoked | -                              | -                  |

Invariants: a failed stream never ends cleanly: its last events say that it failed. `reply.events` is closed in every
case, which lets the upstream go. The key is looked at again before each batch is written. A client that leaves ends
everything with `ClientGone`, from a failed write, or with the task's cancellation.
"""

import asyncio
from collections.abc import Awaitable, Coroutine
from contextlib import aclosing
from functools import partial
from typing import Any, Protocol

from gateway.calls.answers import StreamedAnswer
from gateway.calls.call import Call
from gateway.domain import DirectSink, Event, EventBatch, EventStream
from gateway.errors import GatewayError, Unauthenticated, error_label

_EVENTS_BETWEEN_YIELDS = 16
"""Events written before other tasks get a turn. Encoding one takes microseconds, so a burst holds the loop for well
below a millisecond."""

_CANCEL_WAIT_S = 5.0
"""How long an upstream that is no longer wanted may take to end. Closing takes milliseconds."""


class ClientGone(ConnectionError):
    """Writing to the client failed. A class of its own, since an upstream may raise the same built-in errors."""


class Sink(Protocol):
    """Where a door writes the events of one answer. Every method raises ClientGone where nobody reads any more."""

    @property
    def direct(self) -> DirectSink | None:
        """Writes at once; None for a door that cannot."""
        ...

    async def begin(self) -> None:
        """The answer begins: no failure can become a status any more."""
        ...

    async def write(self, batch: EventBatch) -> None:
        """Write events that belong together."""
        ...

    async def fail(self, events: list[Event]) -> None:
        """Write the events that end a stream which failed."""
        ...


async def deliver(call: Call, reply: StreamedAnswer, sink: Sink) -> None:
    """Write the events of an answer to its end. Raises GatewayError for a failure before the first one, ClientGone."""
    call.rules.in_flight.note_stream(call.caller.key_id)
    async with aclosing(reply.events) as events:
        first = asyncio.ensure_future(_first(events))
        try:
            await asyncio.wait({first}, timeout=reply.first_event_wait_s)
            instead = _failed_at_once(call, reply, first)  # raises a failure that can still become an error status
            await sink.begin()
            _open_relay(call, reply, sink)
            if instead:
                call.stats.outcome = "failed"
                await sink.write(instead)
            elif (fault := await _fault_in(call, _pump(call, reply, sink, first))) is not None:
                call.stats.outcome, call.stats.code = "truncated", error_label(fault)
                fault.request_id, call.fault_status = call.request_id, fault.status
                await sink.fail((reply.failure_events or call.interface.dialect.error_events)(fault))
        finally:
            if reply.relay is not None:
                reply.relay.sink = None  # it leads back to the reply
            if not first.done():
                first.cancel()
                await asyncio.wait({first}, timeout=_CANCEL_WAIT_S)


def _open_relay(call: Call, reply: StreamedAnswer, sink: Sink) -> None:
    """From now on plain chunks may go past this task, where nothing between the upstream and the sink looks at them."""
    relay = reply.relay
    if relay is not None and relay.source is reply.events and reply.passes is None:
        relay.is_live, relay.sink = partial(call.rules.keys.is_live, call.caller.key_id), sink.direct


def _failed_at_once(call: Call, reply: StreamedAnswer, first: "asyncio.Future[EventBatch | None]") -> list[Event]:
    """The events in the place of those of a stream that has failed already; none where it goes on. Raises its error
    unless the stream itself says it."""
    if not first.done():
        return []
    try:
        first.result()
    except GatewayError as error:
        events = reply.instead(error) if reply.instead is not None else []
        call.stats.code = error_label(error)
        if not events:
            raise
        return events
    return []


async def _first(events: EventStream) -> EventBatch | None:
    """The first batch that holds an event, None for none: an empty one says nothing of how the answer begins."""
    async for batch in events:
        if batch:
            return batch
    return None


async def _pump(call: Call, reply: StreamedAnswer, sink: Sink, first: Awaitable[EventBatch | None]) -> None:
    """Write each batch as it comes. Raises what the events raise, ClientGone, Unauthenticated."""
    is_live, key_id = call.rules.keys.is_live, call.caller.key_id
    following, advance, write = first, reply.events.__anext__, sink.write
    next_yield, passes = _EVENTS_BETWEEN_YIELDS, reply.passes
    while True:
        try:
            batch = await following
        except StopAsyncIteration:
            return
        if batch is None:
            return
        if not is_live(key_id):
            raise Unauthenticated("this API key was revoked or has expired")
        if passes is not None:
            batch = [event for event in batch if passes(event)]
        if batch:
            await write(batch)
            count = reply.sent = reply.sent + len(batch)
            if count >= next_yield:
                next_yield = count + _EVENTS_BETWEEN_YIELDS
                await asyncio.sleep(0)  # a burst must not hold up other requests
        following = advance()


async def _fault_in(call: Call, pump: Coroutine[Any, Any, None]) -> GatewayError | None:
    """Run the pump. Returns what the stream ends with where it failed, or was cut off at the end of a drain. Raises
    ClientGone, and CancelledError for a client that left.

    It runs as a task of its own: a chunk that comes wakes the pump alone, and not all that waits for its end.
    """
    try:
        await asyncio.create_task(pump)
    except ClientGone:
        raise
    except asyncio.CancelledError:
        fault = call.rules.in_flight.take_back()
        if fault is None:
            raise
        return fault
    except Exception as error:
        return call.as_error(error).with_traceback(None)  # its frames lead to the caller, which holds it: a circle
    return None
