"""Responses over WebSocket: `GET /v1/responses` with an upgrade. Source: OpenAI's guide "WebSocket mode", openai-python
3.57, Open Responses 2026-04-24, read 2026-11-27.

A client sends `response.create`, a request body with `type`, and perhaps `stream_id` (its lane) and `generate`. It gets
the events of a stream, one a message; a failure before the first one is `{type: "error", status, error, stream_id?}`.

Theory of operation. One task reads messages and puts requests into lanes. The requests of a lane follow each other;
lanes run beside each other, at most _ACTIVE at once. Each request is a turn: it passes the limits, the sanitizer, the
log and the drain as a POST does. The socket itself is no request: it holds no slot, and is not waited for.

| state   | entered by                                   | a new `response.create`     | ends when                  |
|---------|----------------------------------------------|-----------------------------|----------------------------|
| open    | the handshake                                | is served                   | the client closes          |
| leaving | a drain, _AGE_S, _IDLE_S, the end of the key | gets the reason as an error | no turn runs: told, closed |
| closed  | either                                       | -                           | turns are cancelled        |

A lane's latest response is remembered with its items, so that `previous_response_id` is answered from memory even where
nothing is stored. A turn that fails lets go of the response that it continued on its own lane.
"""

import asyncio
import contextlib
import re
import secrets
import time
from collections import deque
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import cast

import orjson
from aiohttp import WSCloseCode, WSMsgType, hdrs, web
from multidict import MultiDict

from gateway.domain import Event, Json, RequestStats
from gateway.errors import (
    BudgetSpent,
    GatewayError,
    InvalidRequest,
    MethodNotAllowed,
    Overloaded,
    RateLimited,
    Unauthenticated,
    UpgradeRequired,
)
from gateway.shared_state.memory import MemoryEntries
from gateway.shared_state.port import Entry, StateDown, Windows
from gateway.web.endpoints import Endpoint
from gateway.web.handlers.responses import ResponsesHandler
from gateway.web.middleware.errors import as_gateway_error, error_headers, error_label
from gateway.web.middleware.limits import limits
from gateway.web.middleware.observe import CLIENT_GONE
from gateway.web.middleware.sanitize import sanitized
from gateway.web.replies import EventReply
from gateway.web.request_log import Finished
from gateway.web.state import CONTEXT, RequestContext
from gateway.wire.json_body import BadJson, JsonBody
from gateway.wire.openai_error import responses_error_object

_LANE = re.compile(r"[A-Za-z0-9_.-]{1,256}")
_MAX_LANES, _ACTIVE = 32, 16
"""Named lanes of a connection, and responses that run at once, from OpenAI's guide."""
_AGE_S = 3600.0
"""Longest life of a connection in seconds, from the same guide."""
_IDLE_S = 1800.0
_MAX_WAITING, _MAX_WAITING_BYTES = 64, 32 * 1024 * 1024
"""Requests that wait in the lanes of a connection; the next one is not read before one ends."""
_PING_S = 30.0
_SILENCE_S = 60.0
"""After so long without an event a turn says that it goes on: Codex CLI counts events, not pings, and waits 300 s."""
_SLOT_WAIT_S, _SLOT_POLL_S = 30.0, 0.25
"""How long a turn waits for one of its key's slots: Codex CLI takes a 429 for the end."""
_LEASE_S, _WATCH_S, _RENEW_S = 30.0, 1.0, 10.0
_CLOSE_S = 5.0
_REMEMBERED_BYTES = 128 * 1024 * 1024
_REMEMBERED_BYTES_PER_KEY = 32 * 1024 * 1024
_OTHER_MESSAGES = frozenset(("response.processed",))
"""Messages that need no answer."""
_NOT_HERE = ("stream", "stream_options", "type", "stream_id", "generate")
_GOES_ON = {"type": "gateway:in_progress"}


@dataclass(frozen=True, slots=True)
class SocketSettings:
    """`is_on`: `server.websocket`. `per_key`: `server.websocket_per_key`. `max_bytes`: of one message."""

    is_on: bool
    per_key: int
    max_bytes: int


class SocketHandler:
    """The endpoint's handler, and the open sockets of this process."""

    def __init__(self, responses: ResponsesHandler, places: Windows, settings: SocketSettings) -> None:
        """`places` counts the sockets of each key."""
        self._responses = responses
        self._places = places
        self._settings = settings
        self._remembered = MemoryEntries(_REMEMBERED_BYTES, _REMEMBERED_BYTES_PER_KEY, ttl_s=_AGE_S)
        self._open: dict[str, _Connection] = {}
        self._watching: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve a socket to its end. Raises MethodNotAllowed without an upgrade, UpgradeRequired where sockets are off,
        RateLimited where the key has too many, InvalidRequest for a broken handshake."""
        if "websocket" not in request.headers.get(hdrs.UPGRADE, "").lower():
            raise MethodNotAllowed("GET is not allowed here; allowed: POST", ("POST",))
        if not self._settings.is_on:
            raise UpgradeRequired("responses are not served over WebSocket here; send POST", code="websocket_off")
        context = request[CONTEXT]
        in_flight, key_id = context.server.in_flight, context.caller.key_id
        if in_flight.draining:
            raise Overloaded("the gateway is shutting down", code="shutting_down", retry_after_s=1)
        member = secrets.token_hex(8)
        await self._take_place(key_id, member)
        task = asyncio.current_task()
        assert task is not None
        try:
            socket = web.WebSocketResponse(
                heartbeat=_PING_S, compress=False, max_msg_size=self._settings.max_bytes, decode_text=False
            )
            socket.headers["X-Request-Id"] = context.request_id
            await socket.prepare(request)
            endpoint = context.server.endpoints.of_handler(self._responses.create)
            client = context.server.address_of(request)
            connection = _Connection(socket, context, endpoint, client, self._responses, self._remembered)
            self._open[member] = connection
            self._watch()
            in_flight.leave(task)  # an idle socket is no request
            try:
                await connection.serve()
            finally:
                in_flight.enter()
        finally:
            self._open.pop(member, None)
            with contextlib.suppress(StateDown):
                await self._places.release(_name(key_id), [member])
        return socket

    async def _take_place(self, key_id: str, member: str) -> None:
        with contextlib.suppress(StateDown):
            if (await self._places.take(_name(key_id), self._settings.per_key, _LEASE_S, member)).wait_s:
                raise RateLimited(f"this key may have {self._settings.per_key} sockets open", retry_after_s=1)

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch_all())

    async def _watch_all(self) -> None:
        """Let go of sockets whose time is over, and renew the places of the others; ends when none is open."""
        renewed_s = time.monotonic()
        while self._open:
            await asyncio.sleep(_WATCH_S)
            for connection in list(self._open.values()):
                connection.check()
            if time.monotonic() - renewed_s >= _RENEW_S:
                renewed_s = time.monotonic()
                by_key: dict[str, dict[str, float]] = {}
                for member, connection in self._open.items():
                    by_key.setdefault(connection.key_id, {})[member] = _LEASE_S
                for key_id, members in by_key.items():
                    with contextlib.suppress(StateDown):
                        await self._places.hold(_name(key_id), members)


@dataclass(slots=True)
class _Create:
    """A `response.create`. `generates`: the model answers; else there is only a response to continue from."""

    body: JsonBody
    generates: bool


@dataclass(slots=True)
class _Lane:
    """One lane. It remembers its latest response with the items before it, as JSON (`response_input.Memory`); `values`:
    what their placeholders stand for."""

    connection: "_Connection"
    name: str
    waiting: deque[_Create] = field(default_factory=deque)
    worker: asyncio.Task[None] | None = None
    turn: "_Turn | None" = None
    task: asyncio.Task[None] | None = None
    latest: str = ""
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def _place(self) -> tuple[str, str]:
        return self.connection.key_id, f"{self.connection.name}:{self.name}"

    async def history(self, response_id: str) -> list[Json] | None:
        """The items up to and including a response that a lane of the connection remembers."""
        lane = self._lane_of(response_id)
        value = await self.connection.remembered.get(*lane._place) if lane is not None else None
        items: list[Json] | None = orjson.loads(value) if value is not None else None
        return items

    def values_of(self, response_id: object) -> Mapping[str, str]:
        """What the placeholders of a response that is remembered stand for."""
        lane = self._lane_of(response_id)
        return lane.values if lane is not None else {}

    def _lane_of(self, response_id: object) -> "_Lane | None":
        lanes = self.connection.lanes.values()
        return next((lane for lane in lanes if lane.latest and lane.latest == response_id), None)

    async def put(self, response: Json, items: list[Json]) -> None:
        """Remember a response instead of the former one."""
        self.latest, value = "", orjson.dumps([*items, *response["output"]])
        if await self.connection.remembered.put(Entry(*self._place, value, _AGE_S)):
            placeholders = self.turn.context.placeholders if self.turn is not None else None
            self.latest, self.values = str(response["id"]), placeholders.as_map() if placeholders else {}

    async def evict(self, response_id: object) -> None:
        """Forget a response if it is the latest."""
        if self.latest and self.latest == response_id:
            self.latest = ""
            await self.connection.remembered.delete(*self._place)


class _Connection:
    """One open socket."""

    def __init__(
        self,
        socket: web.WebSocketResponse,
        context: RequestContext,
        endpoint: Endpoint,
        client: str,
        responses: ResponsesHandler,
        remembered: MemoryEntries,
    ) -> None:
        self._socket = socket
        self.caller, self.server, self.endpoint, self.client = context.caller, context.server, endpoint, client
        self.responses = responses
        self.remembered, self.name = remembered, secrets.token_hex(8)
        self._telling: set[asyncio.Task[None]] = set()
        self.lanes: dict[str, _Lane] = {}
        self._active = asyncio.Semaphore(_ACTIVE)
        self._waiting = self._waiting_bytes = 0
        self._room = asyncio.Event()
        self._room.set()
        self._began_s = self._used_s = time.monotonic()
        self._leaving: GatewayError | None = None
        self._close_code: int = WSCloseCode.OK
        self._closing: asyncio.Task[None] | None = None
        self.key_id = context.caller.key_id

    async def serve(self) -> None:
        """Read messages until the client or the gateway closes."""
        try:
            while True:
                await self._room.wait()
                message = await self._socket.receive()
                if message.type is WSMsgType.TEXT:
                    await self._take(cast(bytes, message.data))
                elif message.type is WSMsgType.BINARY:
                    await self.send_error(InvalidRequest("messages must be text, not binary"))
                else:
                    break  # closed, or an error of the protocol
        finally:
            tasks = [task for lane in self.lanes.values() for task in (lane.worker, lane.task) if task is not None]
            for task in [*tasks, *([self._closing] if self._closing is not None else [])]:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks, timeout=_CLOSE_S)
            for lane in self.lanes.values():
                await lane.evict(lane.latest)

    def check(self) -> None:
        """Called every second: whether the key, the time or the server ends this connection."""
        now_s = time.monotonic()
        if not self.server.keys.is_live(self.key_id):
            for lane in self.lanes.values():
                lane.waiting.clear()
                if lane.task is not None:
                    lane.task.cancel()
            self._leave(Unauthenticated("this API key was revoked"), WSCloseCode.POLICY_VIOLATION)
        elif self.server.in_flight.draining:
            stopping = Overloaded("the gateway is restarting; connect again", code="shutting_down", retry_after_s=1)
            self._leave(stopping, WSCloseCode.SERVICE_RESTART)
        elif now_s - self._began_s > _AGE_S:
            text = f"a connection lasts {_AGE_S / 60:g} minutes; connect again"
            self._leave(InvalidRequest(text, code="websocket_connection_limit_reached"), WSCloseCode.GOING_AWAY)
        elif not self._is_busy and now_s - self._used_s > _IDLE_S:
            text = f"nothing was asked for {_IDLE_S / 60:g} minutes; connect again"
            self._leave(InvalidRequest(text, code="websocket_connection_limit_reached"), WSCloseCode.GOING_AWAY)
        self._tell_silent(now_s)
        if self._leaving is not None and not self._is_busy and self._closing is None:
            self._closing = asyncio.create_task(self._close(self._leaving))

    def _tell_silent(self, now_s: float) -> None:
        """Say of turns from which nothing has come for long that they go on."""
        for name, lane in self.lanes.items():
            if lane.turn is not None and now_s - lane.turn.sent_s > _SILENCE_S:
                lane.turn.sent_s = now_s
                self._telling.add(task := asyncio.create_task(self._tell(name)))
                task.add_done_callback(self._telling.discard)

    async def _tell(self, lane: str) -> None:
        with contextlib.suppress(ConnectionError):
            await self.send(_GOES_ON, lane)

    @property
    def _is_busy(self) -> bool:
        return any(lane.turn is not None or lane.waiting for lane in self.lanes.values())

    def _leave(self, reason: GatewayError, code: int) -> None:
        if self._leaving is None:
            self._leaving, self._close_code = reason, code

    async def _close(self, reason: GatewayError) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self.send_error(reason)
                await self._socket.close(code=self._close_code)

    async def _take(self, data: bytes) -> None:
        """One message of the client."""
        self._used_s = time.monotonic()
        lane = ""
        try:
            body = await JsonBody.read(data, self.server.json_limits)
            fields = _fields_of(body)
            lane = _lane_of(fields)
            kind = fields.get("type")
            if kind == "response.create":
                generates = fields.get("generate") is not False
                for name in _NOT_HERE:
                    fields.pop(name, None)
                self._add(lane, _Create(body, generates))
            elif kind == "response.cancel":
                self._cancel(lane)
            elif kind == "response.steer":
                await self._refuse_steering(fields, lane)
            elif kind not in _OTHER_MESSAGES:
                known = "response.create, response.cancel, response.steer"
                raise InvalidRequest(f"type: must be one of {known}", param="type")
        except GatewayError as error:
            await self.send_error(error, lane if error.code != "invalid_stream_id" else "")

    def _add(self, name: str, create: _Create) -> None:
        if self._leaving is not None:
            raise self._leaving
        lane = self.lanes.get(name)
        if lane is None:
            if name and len([each for each in self.lanes if each]) >= _MAX_LANES:
                text = f"stream_id: a connection may have {_MAX_LANES} of them; use one again"
                raise InvalidRequest(text, param="stream_id", code="websocket_stream_limit_reached")
            lane = self.lanes[name] = _Lane(self, name)
        lane.waiting.append(create)
        self._waiting += 1
        self._waiting_bytes += create.body.size
        if self._waiting >= _MAX_WAITING or self._waiting_bytes > _MAX_WAITING_BYTES:
            self._room.clear()
        if lane.worker is None or lane.worker.done():
            lane.worker = asyncio.create_task(self._work(lane))

    async def _work(self, lane: _Lane) -> None:
        """The requests of a lane, one after the other."""
        while lane.waiting:
            async with self._active:
                create = lane.waiting.popleft()
                self._waiting -= 1
                self._waiting_bytes -= create.body.size
                self._room.set()
                lane.turn = _Turn(lane, create)
                del create
                lane.task = asyncio.create_task(self._turn(lane.turn))
                await asyncio.wait({lane.task})
                lane.turn = lane.task = None
        self._used_s = time.monotonic()

    def _cancel(self, lane: str) -> None:
        """End the response that runs on a lane."""
        running = self.lanes.get(lane)
        if running is None or running.turn is None or running.task is None:
            raise InvalidRequest("no response is running on this lane", code="response_not_found")
        running.turn.is_cancelled = True
        running.task.cancel()

    async def _refuse_steering(self, fields: Json, lane: str) -> None:
        steer = {name: fields.get(name) for name in ("previous_response_id", "input")}
        text = "a response that is being made here takes no further input; send it with the next response.create"
        error = {"type": "invalid_request_error", "code": "steering_not_supported", "message": text}
        await self.send({"type": "response.steer.failed", "steer": steer, "error": error}, lane)

    async def _turn(self, turn: "_Turn") -> None:
        task, status = self.server.in_flight.enter(), CLIENT_GONE
        try:
            status = await turn.run()
        except asyncio.CancelledError:
            stopping = self.server.in_flight.take_back()
            if stopping is not None:
                status = await turn.fail(stopping)
            elif turn.is_cancelled:
                status = await turn.tell_cancelled()
            else:
                turn.context.stats.outcome = "client_gone"
                raise
        finally:
            self.server.in_flight.leave(task)
            turn.record(status)

    async def send_error(self, error: GatewayError, lane: str = "") -> None:
        """One `error` event. Codex CLI reads headers at its top, openai-python below `error`."""
        headers = {name.lower(): value for name, value in error_headers(error).items()}
        data = {
            "type": "error",
            "status": error.status,
            "error": {**responses_error_object(error), "headers": headers},
            "headers": headers,
        }
        await self.send(data, lane)

    async def send(self, data: Json, lane: str = "") -> None:
        """One event as a message; it waits while the client does not read. Raises ConnectionError where it has left."""
        named = {**data, "stream_id": lane} if lane else data
        await self._socket.send_frame(orjson.dumps(named), WSMsgType.TEXT)


class _Turn:
    """One response: a request of its own, with the key, the limits and the log line of one."""

    def __init__(self, lane: _Lane, create: _Create) -> None:
        self._lane, self._connection, self._create = lane, lane.connection, create
        connection = lane.connection
        server = connection.server
        stats = RequestStats(started_s=time.perf_counter(), key_id=connection.key_id)
        self.context = RequestContext(server, f"req_{server.id_bits(96):024x}", connection.endpoint, stats)
        self.context.caller = connection.caller
        self.context.pay()
        self._reply: EventReply | None = None
        self._events = 0
        self.is_cancelled = False
        self.sent_s = time.monotonic()

    async def run(self) -> int:
        """Make the response and send its events. Returns the status that a POST would have had."""
        request, end_s = cast(web.Request, {CONTEXT: self.context}), time.monotonic() + _SLOT_WAIT_S
        while True:
            try:
                await limits(request, self._serve)
                return 200
            except RateLimited as error:
                if isinstance(error, BudgetSpent) or self._reply is not None or time.monotonic() > end_s:
                    return await self.fail(error)
                await asyncio.sleep(_SLOT_POLL_S)
            except ConnectionError:
                self.context.stats.outcome = "client_gone"
                return CLIENT_GONE
            except Exception as error:
                return await self.fail(as_gateway_error(request, error))

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        context, create = self.context, self._create
        context.body = connection_body(create, context)
        context.earlier_values = self._lane.values_of(context.body.get("previous_response_id"))
        reply = await sanitized(context, self._answer)
        assert isinstance(reply, EventReply)
        self._reply = reply
        async with aclosing(reply.events) as batches:
            async for batch in batches:
                if not context.server.keys.is_live(context.caller.key_id):
                    raise Unauthenticated("this API key was revoked")
                for event in batch:
                    await self._send(event)
        return reply

    async def _answer(self) -> web.StreamResponse:
        responses = self._connection.responses
        return await responses.answer(self.context, self._lane, generates=self._create.generates)

    async def _send(self, event: Event) -> None:
        data = _data_of(event)
        if data is not None:
            await self._connection.send(data, self._lane.name)
            self._events += 1
            self.sent_s = time.monotonic()

    async def fail(self, error: GatewayError) -> int:
        """Tell the client; what the turn continued on its own lane is let go."""
        context = self.context
        error.request_id = context.request_id
        context.server.metrics.rejected.labels(error_label(error)).inc()
        previous = self._create.body.value().get("previous_response_id")
        await self._lane.evict(previous)
        with contextlib.suppress(ConnectionError):
            if self._events and self._reply is not None and self._reply.failure_events is not None:
                context.stats.outcome = "truncated"
                await self._send(self._reply.failure_events(error)[-1])
            else:
                await self._connection.send_error(error, self._lane.name)
        return error.status

    async def tell_cancelled(self) -> int:
        """The end of a response that its client has cancelled."""
        self.context.stats.outcome = "cancelled"
        if self._reply is not None and self._reply.cancelled_events is not None and self._events:
            with contextlib.suppress(ConnectionError):
                for event in self._reply.cancelled_events():
                    await self._send(event)
            return 200
        return await self.fail(InvalidRequest("the response was cancelled before it began", code="cancelled"))

    def record(self, status: int) -> None:
        """Log the response as a request of its own."""
        context = self.context
        context.stats.sent_events = self._events
        total_s = time.perf_counter() - context.stats.started_s
        finished = Finished(
            context.stats, context.request_id, context.endpoint.name, "WS", status, total_s, self._events,
            self._connection.client,
        )  # fmt: skip
        context.server.recorder.add(finished)


def connection_body(create: _Create, context: RequestContext) -> Json:
    """The checked body of a `response.create`. Raises InvalidRequest."""
    check = context.endpoint.check
    assert check is not None
    body: Json = check(create.body, MultiDict())
    if body.get("background"):
        raise InvalidRequest("background: is for POST alone; leave it out", param="background")
    body["stream"] = True
    return body


def _fields_of(body: JsonBody) -> Json:
    """The object of a message. Raises InvalidRequest."""
    try:
        fields = body.value()
    except BadJson as problem:
        raise InvalidRequest(f"the message {problem}", code="invalid_json") from None
    if not isinstance(fields, dict):
        raise InvalidRequest("the message must be an object")
    return fields


def _lane_of(fields: Json) -> str:
    """The `stream_id` of a message, empty for none. Raises InvalidRequest."""
    lane = fields.get("stream_id")
    if lane is None:
        return ""
    if not isinstance(lane, str) or not _LANE.fullmatch(lane):
        text = (
            "stream_id: must be 1 to 256 letters, digits, dots, hyphens or underscores; leave it out for the first lane"
        )
        raise InvalidRequest(text, param="stream_id", code="invalid_stream_id")
    return lane


def _data_of(event: Event) -> Json | None:
    """The data of an event as it is sent; None for comments and `[DONE]`."""
    if event.data is not None:
        return event.finish(event.data) if event.finish is not None else event.data
    _, _, data = (event.raw or b"").partition(b"data: ")
    decoded: Json | None = orjson.loads(data) if data.startswith(b"{") else None
    return decoded


def _name(key_id: str) -> str:
    return f"sockets:{key_id}"
