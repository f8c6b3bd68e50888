"""Responses over WebSocket: `GET /v1/responses` with an upgrade. Source: OpenAI's guide "WebSocket mode", openai-python
3.57, Open Responses 2026-04-24, read 2026-11-27.

A client sends `response.create`, a request body with `type`, and perhaps `stream_id` (its lane) and `generate`. It gets
the events of a stream, one a message; a failure before the first one is `{type: "error", status, error, stream_id?}`.

Theory of operation. One task reads messages and puts requests into lanes. The requests of a lane follow each other;
lanes run beside each other, at most _ACTIVE at once. Each request is a turn, a call of its own (`socket_turn`). The
socket itself is no request: it holds no slot, and is not waited for. What waits is bytes, and counts for its key.

| state   | entered by                                   | a new `response.create`     | ends when                  |
|---------|----------------------------------------------|-----------------------------|----------------------------|
| open    | the handshake                                | is served                   | the client closes          |
| leaving | a drain, _AGE_S, _IDLE_S, the end of the key,| gets the reason as an error | no turn runs: told, closed |
|         | a message that does not end                  |                             |                            |
| closed  | either                                       | -                           | turns are cancelled        |

A lane's latest response is remembered with its items, so that `previous_response_id` is answered from memory even where
nothing is stored. A turn that fails lets go of the response that it continued on its own lane. A socket that closes
lets go of all of it at once: nothing of it is left in a circle of references.
"""

import asyncio
import contextlib
import re
import secrets
import time
from collections import deque
from dataclasses import dataclass, field
from typing import cast

import orjson
from aiohttp import WSCloseCode, WSMsgType, hdrs, web

from gateway.calls.call import CLIENT_GONE, Call
from gateway.calls.masking import Stored
from gateway.domain import Json, RequestStats
from gateway.errors import (
    BodyTimeout,
    GatewayError,
    InvalidRequest,
    MethodNotAllowed,
    Overloaded,
    PayloadTooLarge,
    RateLimited,
    Unauthenticated,
    UpgradeRequired,
)
from gateway.shared_state.memory import MemoryEntries
from gateway.shared_state.port import Entry, StateDown, Windows
from gateway.web.aiohttp_internals import ConnectionBase, Incoming
from gateway.web.answer_headers import error_headers
from gateway.web.endpoints import Endpoint
from gateway.web.handlers.responses import ResponsesHandler
from gateway.web.handlers.socket_turn import Create, SocketTurn, fields_of
from gateway.web.state import CALL, HttpCall
from gateway.wire.json_body import JsonBody
from gateway.wire.openai_error import responses_error_object

_LANE = re.compile(r"[A-Za-z0-9_.-]{1,256}")
_MAX_LANES, _ACTIVE = 32, 16
"""Named lanes of a connection, and responses that run at once, from OpenAI's guide."""
_AGE_S = 3600.0
"""Longest life of a connection in seconds, from the same guide."""
_IDLE_S = 1800.0
_MAX_WAITING, _MAX_WAITING_BYTES = 64, 32 * 1024 * 1024
"""Requests of a key that wait in the lanes of its connections; the next one is not read before one begins."""
_MAX_UNFINISHED_BYTES = 64 * 1024 * 1024
"""Most bytes of a key's messages that have not ended; the socket with most of them is closed."""
_BAD_MESSAGE_WAIT_S = 1.0
"""Pause before the next message of a key that has sent too many bad ones."""
_PING_S = 30.0
_SILENCE_S = 60.0
"""After so long without an event a turn says that it goes on: Codex CLI counts events, not pings, and waits 300 s."""
_LEASE_S, _WATCH_S, _RENEW_S = 30.0, 1.0, 10.0
_CLOSE_S = 5.0
_REMEMBERED_BYTES = 128 * 1024 * 1024
_REMEMBERED_BYTES_PER_KEY = 32 * 1024 * 1024
_OTHER_MESSAGES = frozenset(("response.processed",))
"""Messages that need no answer."""
_GOES_ON = {"type": "gateway:in_progress"}


@dataclass(frozen=True, slots=True)
class SocketSettings:
    """`is_on`: `server.websocket`. `per_key`: `server.websocket_per_key`. `max_bytes`, `max_s`: of one message."""

    is_on: bool
    per_key: int
    max_bytes: int
    max_s: float


class _Waiting:
    """What waits on all sockets of a key. `room` is set while more may be read."""

    def __init__(self) -> None:
        self.count = self.size = 0
        self.room = asyncio.Event()
        self.room.set()

    def add(self, create: Create) -> None:
        create.waiting = max(1, len(create.data))
        self.count, self.size = self.count + 1, self.size + create.waiting
        if self.count >= _MAX_WAITING or self.size > _MAX_WAITING_BYTES:
            self.room.clear()

    def remove(self, create: Create) -> None:
        """Any further call does nothing."""
        self.count, self.size = self.count - bool(create.waiting), self.size - create.waiting
        create.waiting = 0
        if self.count < _MAX_WAITING and self.size <= _MAX_WAITING_BYTES:
            self.room.set()


class SocketHandler:
    """The endpoint's handler, and the open sockets of this process."""

    def __init__(self, responses: ResponsesHandler, places: Windows, settings: SocketSettings) -> None:
        """`places` counts the sockets of each key."""
        self._responses = responses
        self._places = places
        self._settings = settings
        self._remembered = MemoryEntries(_REMEMBERED_BYTES, _REMEMBERED_BYTES_PER_KEY, ttl_s=_AGE_S)
        self._open: dict[str, _Connection] = {}
        self._waiting: dict[str, _Waiting] = {}
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
        call = request[CALL]
        in_flight, key_id = call.rules.in_flight, call.caller.key_id
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
            socket.headers["X-Request-Id"] = call.request_id
            await socket.prepare(request)
            connection = self._open[member] = self._connection(request, socket, call)
            self._watch()
            in_flight.leave(task)  # an idle socket is no request
            try:
                await connection.serve()
            finally:
                in_flight.enter()
        finally:
            self._open.pop(member, None)
            if not any(each.key_id == key_id for each in self._open.values()):
                self._waiting.pop(key_id, None)
            with contextlib.suppress(StateDown):
                await self._places.release(_name(key_id), [member])
        return socket

    def _connection(self, request: web.Request, socket: web.WebSocketResponse, call: HttpCall) -> "_Connection":
        protocol = request.protocol
        assert isinstance(protocol, ConnectionBase) and protocol.incoming is not None
        connection = _Connection(
            socket,
            protocol.incoming,
            call,
            call.server.endpoints.of_handler(self._responses.create),
            self._responses,
            self._remembered,
            self._waiting.setdefault(call.caller.key_id, _Waiting()),
            call.server.address_of(request),
            self._settings.max_s,
        )
        connection.who = call.server.people(None, request.headers)
        return connection

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
            self._bound_unfinished()
            if time.monotonic() - renewed_s >= _RENEW_S:
                renewed_s = time.monotonic()
                by_key: dict[str, dict[str, float]] = {}
                for member, connection in self._open.items():
                    by_key.setdefault(connection.key_id, {})[member] = _LEASE_S
                for key_id, members in by_key.items():
                    with contextlib.suppress(StateDown):
                        await self._places.hold(_name(key_id), members)

    def _bound_unfinished(self) -> None:
        """Close the sockets whose unfinished messages take too much room for one key."""
        by_key: dict[str, list[_Connection]] = {}
        for connection in self._open.values():
            if connection.incoming.size:
                by_key.setdefault(connection.key_id, []).append(connection)
        for connections in by_key.values():
            total = sum(each.incoming.size for each in connections)
            for connection in sorted(connections, key=lambda each: -each.incoming.size):
                if total <= _MAX_UNFINISHED_BYTES:
                    break
                total -= connection.incoming.size
                connection.cut(PayloadTooLarge(f"a key may have {_MAX_UNFINISHED_BYTES} bytes of unfinished messages"))


@dataclass(slots=True)
class _Lane:
    """One lane: as `socket_turn.SocketLane`. It remembers its latest response with the items before it, as JSON;
    `values`: what their placeholders stand for."""

    connection: "_Connection"
    name: str
    waiting: deque[Create] = field(default_factory=deque)
    worker: asyncio.Task[None] | None = None
    turn: SocketTurn | None = None
    task: asyncio.Task[None] | None = None
    latest: str = ""
    values: dict[str, str] = field(default_factory=dict)

    @property
    def _place(self) -> tuple[str, str]:
        return self.connection.key_id, f"{self.connection.name}:{self.name}"

    async def send(self, data: Json) -> None:
        """See SocketLane."""
        await self.connection.send(data, self.name)

    async def refuse(self, error: GatewayError) -> None:
        """See SocketLane."""
        await self.connection.send_error(error, self.name)

    async def history(self, response_id: str) -> Stored | None:
        """See Memory: of any lane of the connection."""
        lanes = self.connection.lanes.values()
        lane = next((lane for lane in lanes if lane.latest and lane.latest == response_id), None)
        value = await self.connection.remembered.get(*lane._place) if lane is not None else None
        return Stored(orjson.loads(value), lane.values) if lane is not None and value is not None else None

    async def put(self, response: Json, kept: Stored) -> None:
        """See Memory: instead of the former one."""
        self.latest, value = "", orjson.dumps([*kept.items, *response["output"]])
        if await self.connection.remembered.put(Entry(*self._place, value, _AGE_S)):
            self.latest, self.values = str(response["id"]), dict(kept.values)

    async def evict(self, response_id: object) -> None:
        """See SocketLane."""
        if self.latest and self.latest == response_id:
            self.latest, self.values = "", {}
            await self.connection.remembered.delete(*self._place)

    def begun(self, create: Create) -> None:
        """See SocketLane."""
        self.connection.waiting.remove(create)

    async def clear(self) -> None:
        """Forget everything, and lead to nothing any more: the socket is closed."""
        await self.evict(self.latest)
        self.waiting.clear()
        self.turn = self.task = self.worker = None


class _Connection:
    """One open socket. `who`: whom its opening request names (`access.people`)."""

    who: tuple[str, ...] = ()

    def __init__(
        self,
        socket: web.WebSocketResponse,
        incoming: Incoming,
        call: HttpCall,
        endpoint: Endpoint,
        responses: ResponsesHandler,
        remembered: MemoryEntries,
        waiting: _Waiting,
        client: str,
        max_message_s: float,
    ) -> None:
        """`incoming`: the message that is being received. `waiting`: what waits on all sockets of the key."""
        self._socket, self.incoming = socket, incoming
        self._call, self._server, self._endpoint = call, call.server, endpoint
        self._responses = responses
        self.remembered, self.name = remembered, secrets.token_hex(8)
        self._telling: set[asyncio.Task[None]] = set()
        self.lanes: dict[str, _Lane] = {}
        self._active = asyncio.Semaphore(_ACTIVE)
        self.waiting = waiting
        self._max_message_s = max_message_s
        self._began_s = self._used_s = time.monotonic()
        self._leaving: GatewayError | None = None
        self._close_code: int = WSCloseCode.OK
        self._closing: asyncio.Task[None] | None = None
        self.key_id = call.caller.key_id
        self._client = client

    async def serve(self) -> None:
        """Read messages until the client or the gateway closes."""
        try:
            while True:
                await self.waiting.room.wait()
                message = await self._socket.receive()
                if message.type is WSMsgType.TEXT:
                    await self._take(cast(bytes, message.data))
                elif message.type is WSMsgType.BINARY:
                    await self._refuse(InvalidRequest("messages must be text, not binary"))
                else:
                    break  # closed, or an error of the protocol
                del message
        finally:
            await self._end()

    async def _end(self) -> None:
        """Cancel what runs, and let go of everything. Nothing is awaited before the memory is free: the task that
        serves a socket is cancelled when its client closes."""
        lanes = list(self.lanes.values())
        tasks = [task for lane in lanes for task in (lane.worker, lane.task) if task is not None]
        for task in [*tasks, *self._telling, *([self._closing] if self._closing is not None else [])]:
            task.cancel()
        for lane in lanes:
            for create in lane.waiting:
                self.waiting.remove(create)
            await lane.clear()
        self.lanes.clear()
        self._closing = None
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_S)

    def check(self) -> None:
        """Called every second: whether the key, the time or the server ends this connection."""
        now_s = time.monotonic()
        if not self._server.keys.is_live(self.key_id):
            for lane in self.lanes.values():
                while lane.waiting:
                    self.waiting.remove(lane.waiting.popleft())
                if lane.task is not None:
                    lane.task.cancel()
            self._leave(Unauthenticated("this API key was revoked or has expired"), WSCloseCode.POLICY_VIOLATION)
        elif self._server.in_flight.draining:
            stopping = Overloaded("the gateway is restarting; connect again", code="shutting_down", retry_after_s=1)
            self._leave(stopping, WSCloseCode.SERVICE_RESTART)
        elif self.incoming.is_flood:
            self.cut(PayloadTooLarge("a message came in too many small frames, or too many pings came; send fewer"))
        elif self.incoming.since_s and now_s - self.incoming.since_s > self._max_message_s:
            self.cut(BodyTimeout(f"the message did not end within {self._max_message_s:g} s"))
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

    def cut(self, reason: GatewayError) -> None:
        """End the connection at once: what it receives is not waited for."""
        self._leave(reason, WSCloseCode.POLICY_VIOLATION)
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(reason))

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
            body = await JsonBody.read(data, self._server.json_limits)
            fields = fields_of(body)
            lane = _lane_of(fields)
            kind = fields.get("type")
            if kind == "response.create":
                create = Create(data, body, fields.get("previous_response_id"), fields.get("generate") is not False)
                self._add(lane, create)
            elif kind == "response.cancel":
                self._cancel(lane)
            elif kind == "response.steer":
                await self._refuse_steering(fields, lane)
            elif kind not in _OTHER_MESSAGES:
                known = "response.create, response.cancel, response.steer"
                raise InvalidRequest(f"type: must be one of {known}", param="type")
        except GatewayError as error:
            await self._refuse(error, lane if error.code != "invalid_stream_id" else "")

    async def _refuse(self, error: GatewayError, lane: str = "") -> None:
        """Answer a message that is none of ours. It takes one call of the key's minute, as a bad POST does."""
        try:
            await self._call.charge()
        except RateLimited as limited:
            error = limited
            await self.send_error(error, lane)
            await asyncio.sleep(_BAD_MESSAGE_WAIT_S)
            return
        await self.send_error(error, lane)

    def _add(self, name: str, create: Create) -> None:
        if self._leaving is not None:
            raise self._leaving
        lane = self.lanes.get(name)
        if lane is None:
            if name and len([each for each in self.lanes if each]) >= _MAX_LANES:
                text = f"stream_id: a connection may have {_MAX_LANES} of them; use one again"
                raise InvalidRequest(text, param="stream_id", code="websocket_stream_limit_reached")
            lane = self.lanes[name] = _Lane(self, name)
        if lane.waiting or lane.turn is not None:
            create.body = None  # what waits is bytes
        lane.waiting.append(create)
        self.waiting.add(create)
        if lane.worker is None or lane.worker.done():
            lane.worker = asyncio.create_task(self._work(lane))

    async def _work(self, lane: _Lane) -> None:
        """The requests of a lane, one after the other."""
        while lane.waiting:
            async with self._active:
                if not lane.waiting:
                    break  # its key has ended meanwhile
                create = lane.waiting.popleft()
                lane.turn = self._new_turn(lane, create)
                lane.task = asyncio.create_task(self._turn(lane.turn))
                try:
                    await asyncio.wait({lane.task})
                finally:
                    self.waiting.remove(create)
                lane.turn = lane.task = None
        self._used_s = time.monotonic()

    def _new_turn(self, lane: _Lane, create: Create) -> SocketTurn:
        stats = RequestStats(started_s=time.perf_counter(), key_id=self.key_id, who=self.who)
        call = Call(self._server, self._endpoint, self._server.new_id(), stats)
        return SocketTurn(call, lane, create, self._responses, self._server.json_limits)

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

    async def _turn(self, turn: SocketTurn) -> None:
        in_flight = self._server.in_flight
        task, status = in_flight.enter(), CLIENT_GONE
        try:
            status = await turn.run(self.key_id)
        except asyncio.CancelledError:
            stopping = in_flight.take_back()
            if stopping is not None:
                status = await turn.refuse(stopping)
            elif turn.is_cancelled:
                status = await turn.tell_cancelled()
            else:
                turn.call.stats.outcome = "client_gone"
                raise
        finally:
            in_flight.leave(task)
            turn.record(status, self._client)

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


def _name(key_id: str) -> str:
    return f"sockets:{key_id}"
