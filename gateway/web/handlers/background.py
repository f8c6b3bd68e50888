"""Responses in the background: their begin, and what `GET`, `cancel` and `stream=true` answer for them."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from functools import partial

from aiohttp import web

from gateway.calls.call import Call
from gateway.calls.delivery import Sink, deliver
from gateway.domain import Event, EventStream, Json
from gateway.errors import GatewayError
from gateway.services.responses.background import Job, Runs, checked_after
from gateway.services.responses.masking_maps import MaskingMaps
from gateway.services.responses.store import ResponseStore
from gateway.web.handlers.model_routes import used_so_far
from gateway.web.replies import EventReply, JsonReply
from gateway.web.state import CALL
from gateway.wire import sse
from gateway.wire.responses.stream import ResponseStream


class BackgroundResponses:
    """Starts runs for the responses route, and answers for them."""

    def __init__(self, runs: Runs, store: ResponseStore, maps: MaskingMaps) -> None:
        self._runs = runs
        self._store = store
        self._maps = maps

    async def start(
        self, call: Call, stream: ResponseStream, events: EventStream, items: list[Json], *, keeps_events: bool
    ) -> web.StreamResponse:
        """Begin the run of a call that `Call.detached` has made. JsonReply of the queued response, or EventReply of its
        events where it keeps them. Raises RateLimited, Overloaded, StateUnavailable."""
        reply = EventReply(
            _after(stream.queued_events(), events),
            failure_events=stream.error_events,
            refusal_events=lambda error, last: stream.refused_events(error, used_so_far(call.stats)),
        )
        reply.has_own_links = stream.places_links
        if call.masking is not None:
            await call.masking.clean_reply(reply, restores=False)  # what is kept is restored when it is read
        owner = call.caller.identity
        response = {**stream.response, "status": "queued"}
        job = Job(
            owner,
            stream.response,
            items,
            partial(_run, call, reply),
            stream.error_events,
            stream.cancelled_events,
            partial(call.rules.keys.is_live, call.caller.key_id),
            keeps_events=keeps_events,
            sealed=self._maps.sealed(call.values, call.caller),
        )
        await self._runs.start(job)
        return self._followed(call, owner, response["id"], -1) if keeps_events else JsonReply(response)

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        """A stored `response`; its events from `starting_after` on for `stream=true`. Raises NotFound, InvalidRequest
        for a response whose events are not kept."""
        call, (owner, response_id) = request[CALL], await self._place(request)
        stored = await self._store.get(owner, response_id)
        await self._maps.show(call, response_id, stored.sealed, {**stored.response, "input": stored.items})
        if request.query.get("stream") == "true":
            return self._followed(call, owner, response_id, checked_after(request.query.get("starting_after")))
        return JsonReply(await self._runs.settled(owner, stored.response))

    async def cancel(self, request: web.Request) -> web.StreamResponse:
        """The cancelled `response`, again if it was cancelled already. Raises NotFound, InvalidRequest."""
        owner, response_id = await self._place(request)
        return JsonReply(await self._runs.cancel(owner, response_id))

    async def delete(self, request: web.Request) -> web.StreamResponse:
        """`{id, object: "response", deleted: true}`. Raises NotFound, and InvalidRequest while it runs."""
        owner, response_id = await self._place(request)
        await self._runs.refuse_running(owner, response_id)
        await self._store.delete(owner, response_id)
        return JsonReply({"id": response_id, "object": "response", "deleted": True})

    async def _place(self, request: web.Request) -> tuple[str, str]:
        """Whose the response is, and its id."""
        response_id = request.match_info["response_id"]
        return await self._store.owner_of(request[CALL].caller, response_id), response_id

    def _followed(self, call: Call, owner: str, response_id: str, after: int) -> EventReply:
        """The kept events with a higher sequence number than `after`. To put values back all are read, since a
        placeholder may have begun before, and those that the client has are left out."""
        if not call.values:
            reply = EventReply(self._kept(owner, response_id, after, Event.from_bytes))
        else:
            reply = EventReply(self._kept(owner, response_id, -1, sse.event_of))
            reply.passes = partial(_is_later, after)
        reply.was_masked = True
        return reply

    async def _kept(self, owner: str, response_id: str, after: int, as_event: Callable[[bytes], Event]) -> EventStream:
        async with aclosing(self._runs.events(owner, response_id, after)) as batches:
            async for batch in batches:
                yield [as_event(frame) for frame in batch]
        yield [Event.from_bytes(sse.DONE)]


async def _run(call: Call, reply: EventReply, sink: Sink) -> None:
    """The work of a run: its events go into the sink, and what it has used is counted and logged."""
    status = 500
    try:
        await call.held(partial(deliver, call, reply, sink))
        status = call.fault_status or 200
    except GatewayError as error:
        status = error.status
        raise
    except asyncio.CancelledError:
        call.stats.outcome = "cancelled"
        raise
    finally:
        call.stats.sent_events = reply.sent
        call.record("POST", status, name="background", events=reply.sent)


async def _after(first: list[Event], events: EventStream) -> EventStream:
    yield first
    async with aclosing(events) as batches:
        async for batch in batches:
            yield batch


def _is_later(after: int, event: Event) -> bool:
    """Whether an event has a higher sequence number, or none."""
    return event.data is None or int(event.data.get("sequence_number", after + 1)) > after
