"""Responses in the background: their begin, and what `GET`, `cancel` and `stream=true` answer for them."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from copy import copy

from aiohttp import web

from gateway.domain import Event, EventStream, Json, RequestStats
from gateway.errors import BudgetSpent, RateLimited
from gateway.services.responses.background import Job, Runs, checked_after
from gateway.services.responses.store import ResponseStore
from gateway.web.middleware.limits import settle
from gateway.web.middleware.sanitize import clean_reply
from gateway.web.replies import EventReply, JsonReply
from gateway.web.request_log import Finished
from gateway.web.state import CONTEXT, RequestContext
from gateway.wire import sse
from gateway.wire.responses.stream import ResponseStream
from gateway.wire.url_citations import KeptLinks, text_holders

_SLOT_POLL_S = 0.5


class BackgroundResponses:
    """Starts runs for the responses route, and answers for them."""

    def __init__(self, runs: Runs, store: ResponseStore) -> None:
        self._runs = runs
        self._store = store

    async def start(
        self,
        context: RequestContext,
        stream: ResponseStream,
        events: EventStream,
        items: list[Json],
        *,
        keeps_events: bool,
    ) -> web.StreamResponse:
        """Begin the run whose context `detached` has made. JsonReply of the queued response, or EventReply of its
        events where it keeps them. Raises RateLimited, Overloaded; then its reservation is still the request's."""
        queued = stream.queued_events()
        reply = EventReply(_after(queued, events), failure_events=stream.error_events)
        await clean_reply(context, reply, [], restores=False)
        server, owner = context.server, context.caller.key_id
        response = {**stream.response, "status": "queued"}
        job = Job(
            owner,
            stream.response,
            items,
            _accounted(context, reply.events),
            stream.error_events,
            stream.cancelled_events,
            lambda: server.keys.is_live(owner),
            keeps_events=keeps_events,
        )
        await self._runs.start(job)
        if keeps_events:
            return EventReply(self._followed(owner, response["id"], -1))
        return JsonReply(response)

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        """A stored `response`; its events from `starting_after` on for `stream=true`. Raises NotFound, InvalidRequest
        for a response whose events are not kept."""
        owner, response_id = request[CONTEXT].caller.key_id, request.match_info["response_id"]
        stored = await self._store.get(owner, response_id)
        if request.query.get("stream") == "true":
            after = checked_after(request.query.get("starting_after"))
            return EventReply(self._followed(owner, response_id, after))
        return _shown(await self._runs.settled(owner, stored.response))

    async def cancel(self, request: web.Request) -> web.StreamResponse:
        """The cancelled `response`, again if it was cancelled already. Raises NotFound, InvalidRequest."""
        owner, response_id = request[CONTEXT].caller.key_id, request.match_info["response_id"]
        return _shown(await self._runs.cancel(owner, response_id))

    async def delete(self, request: web.Request) -> web.StreamResponse:
        """`{id, object: "response", deleted: true}`. Raises NotFound, and InvalidRequest while it runs."""
        owner, response_id = request[CONTEXT].caller.key_id, request.match_info["response_id"]
        await self._runs.refuse_running(owner, response_id)
        await self._store.delete(owner, response_id)
        return JsonReply({"id": response_id, "object": "response", "deleted": True})

    async def _followed(self, owner: str, response_id: str, after: int) -> EventStream:
        async with aclosing(self._runs.events(owner, response_id, after)) as batches:
            async for batch in batches:
                yield batch
        yield [Event.from_bytes(sse.DONE)]


def detached(context: RequestContext) -> RequestContext:
    """The context of a run that outlives its request: what it uses is counted for itself."""
    own = copy(context)
    own.stats = RequestStats(key_id=context.stats.key_id, started_s=time.perf_counter())
    own.limits = {}
    return own


async def _after(first: list[Event], events: EventStream) -> EventStream:
    yield first
    async with aclosing(events) as batches:
        async for batch in batches:
            yield batch


async def _accounted(context: RequestContext, events: EventStream) -> EventStream:
    """The events, once the key may have one more request; at their end what they have used is counted and logged."""
    server, stats = context.server, context.stats
    count, status = 0, 500
    try:
        async with aclosing(events) as batches:
            queued = await anext(batches, None)
            if queued is not None:
                yield queued
            async with _slot(context):
                async for batch in batches:
                    count += len(batch)
                    yield batch
                status = 200
    except asyncio.CancelledError:
        stats.outcome = "cancelled"
        raise
    finally:
        stats.sent_events = count
        if context.reservation is not None:
            await settle(context, context.reservation, has_left=status != 200)
        total_s = time.perf_counter() - stats.started_s
        server.recorder.add(Finished(stats, context.request_id, "background", "POST", status, total_s, count))


@asynccontextmanager
async def _slot(context: RequestContext) -> AsyncIterator[None]:
    """One of the key's concurrent requests, which is waited for."""
    while True:
        slot = context.server.limiter.slot(context.caller)
        try:
            await slot.__aenter__()
        except BudgetSpent:
            raise
        except RateLimited:
            await asyncio.sleep(_SLOT_POLL_S)
            continue
        break
    try:
        yield
    finally:
        await slot.__aexit__(None, None, None)


def _shown(response: Json) -> JsonReply:
    return JsonReply(response, finish=KeptLinks(text_holders(response["output"])).placed)
