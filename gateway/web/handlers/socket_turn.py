"""One response over a socket: a call of its own, with the rights and limits that its key has now."""

import contextlib
import time
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import orjson
from multidict import MultiDict

from gateway.calls.answers import StreamedAnswer
from gateway.calls.call import CLIENT_GONE, Call
from gateway.calls.delivery import deliver
from gateway.calls.masking import Memory
from gateway.domain import Event, EventBatch, Json
from gateway.errors import BudgetSpent, GatewayError, InvalidRequest, RateLimited
from gateway.web.handlers.responses import ResponsesHandler
from gateway.wire.json_body import BadJson, JsonBody, JsonLimits

_SLOT_WAIT_S = 30.0
"""How long a turn waits for one of its key's slots: Codex CLI takes a 429 for the end."""
_NOT_HERE = ("stream", "stream_options", "type", "stream_id", "generate")
"""Fields of a message that are none of a request's body."""


@dataclass(slots=True)
class Create:
    """A `response.create` as it came. `body`: the same decoded, as long as it need not wait. `previous`: its
    `previous_response_id`. `generates`: the model answers; else there is only a response to continue from. `waiting`:
    the bytes that count for its key while it waits."""

    data: bytes
    body: JsonBody | None
    previous: object
    generates: bool
    waiting: int = 0


class SocketLane(Memory, Protocol):
    """Where a turn's events go, and what is remembered there."""

    async def send(self, data: Json) -> None:
        """Send one event. Raises ConnectionError where the client has left."""
        ...

    async def refuse(self, error: GatewayError) -> None:
        """Send an error instead of events. Raises ConnectionError."""
        ...

    async def evict(self, response_id: object) -> None:
        """Forget a response if it is the latest."""
        ...

    def begun(self, create: Create) -> None:
        """The message waits no more."""
        ...


class SocketTurn:
    """One response; a `calls.delivery.Sink` of its own events. `sent_s`: when the last one left, monotonic seconds."""

    direct = None

    def __init__(
        self, call: Call, lane: SocketLane, create: Create, responses: ResponsesHandler, limits: JsonLimits
    ) -> None:
        self.call = call
        self._lane, self._create, self._responses, self._limits = lane, create, responses, limits
        self._reply: StreamedAnswer | None = None
        self._has_begun = False
        self._events = 0
        self.is_cancelled = False
        self.sent_s = time.monotonic()

    async def run(self, key_id: str) -> int:
        """Make the response and send its events. Returns the status that a POST would have had."""
        call = self.call
        try:
            call.renew(key_id)
            call.memory = self._lane
            try:
                await call.served(self._serve)
            except RateLimited as error:
                if isinstance(error, BudgetSpent) or self._has_begun:
                    raise
                self._create.body = None  # what waits is bytes
                await call.served(self._serve, _SLOT_WAIT_S)
            return 200
        except ConnectionError:
            call.stats.outcome = "client_gone"
            return CLIENT_GONE
        except Exception as error:
            return await self.refuse(call.as_error(error))

    async def _serve(self) -> None:
        self._has_begun = True
        call, create = self.call, self._create
        body = create.body or await JsonBody.read(create.data, self._limits)
        create.body, create.data = None, b""
        self._lane.begun(create)
        fields = fields_of(body)
        for name in _NOT_HERE:
            fields.pop(name, None)
        await call.take(body, MultiDict())
        del body, fields
        if call.body.get("background"):
            raise InvalidRequest("background: is for POST alone; leave it out", param="background")
        call.body["stream"] = True
        reply = await call.answered(partial(self._responses.answer, call, generates=create.generates))
        assert isinstance(reply, StreamedAnswer)
        self._reply = reply
        await deliver(call, reply, self)

    async def begin(self) -> None:
        """See Sink: a message has no head."""

    async def write(self, batch: EventBatch) -> None:
        """See Sink."""
        for event in batch:
            await self._send(event)

    async def fail(self, events: list[Event]) -> None:
        """See Sink: of the events that end a failed stream a socket gets the last, the response as it is then."""
        await self._lane.evict(self._create.previous)
        with contextlib.suppress(ConnectionError):
            await self._send(events[-1])

    async def refuse(self, error: GatewayError) -> int:
        """Tell the client that there will be no response; what the turn continued on its own lane is let go. Returns
        the status that a POST would have had."""
        self.call.refused(error)
        await self._lane.evict(self._create.previous)
        with contextlib.suppress(ConnectionError):
            await self._lane.refuse(error)
        return error.status

    async def tell_cancelled(self) -> int:
        """Send the end of a response that its client has cancelled. Returns the status."""
        self.call.stats.outcome = "cancelled"
        reply = self._reply
        if reply is None or reply.cancelled_events is None or not self._events:
            return await self.refuse(InvalidRequest("the response was cancelled before it began", code="cancelled"))
        with contextlib.suppress(ConnectionError):
            for event in reply.cancelled_events():
                await self._send(event)
        return 200

    def record(self, status: int, client: str) -> None:
        """Record the response as a call of its own. `client`: its address."""
        self.call.stats.sent_events = self._events
        self.call.record("WS", status, events=self._events, client=client)
        self._reply = None  # what is left of it leads back here

    async def _send(self, event: Event) -> None:
        data = _data_of(event)
        if data is not None:
            await self._lane.send(data)
            self._events += 1
            self.sent_s = time.monotonic()


def fields_of(body: JsonBody) -> Json:
    """The object of a message. Raises InvalidRequest."""
    try:
        fields = body.value()
    except BadJson as problem:
        raise InvalidRequest(f"the message {problem}", code="invalid_json") from None
    if not isinstance(fields, dict):
        raise InvalidRequest("the message must be an object")
    return fields


def _data_of(event: Event) -> Json | None:
    """The data of an event as it is sent; None for comments and `[DONE]`."""
    if event.data is not None:
        return event.finish(event.data) if event.finish is not None else event.data
    _, _, data = (event.raw or b"").partition(b"data: ")
    decoded: Json | None = orjson.loads(data) if data.startswith(b"{") else None
    return decoded
