"""Replies that hold data and make bytes late, once.

A handler returns what it means (`JsonReply.data`, `EventReply.events`); middlewares on the way out may change it; the
deliver middleware makes the bytes. So nothing ever parses its own output again, and an upstream that fails before its
first event still gets a true status. Neither class knows an interface's wire format.
"""

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from aiohttp import HttpVersion11, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.helpers import rfc822_formatted_time
from aiohttp_sse import EventSourceResponse

from gateway.domain import Event, EventStream
from gateway.errors import GatewayError
from gateway.sanitize.masking.stream_masker import Refusal

_CLIENT_STALL_S = 60.0
"""A client that takes nothing for so long is cut; found by the pings, which go out every 15 s."""

STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


Endings = Callable[[GatewayError], list[Event]]


class JsonReply(web.StreamResponse):
    """A whole answer. `finish` turns the data, after every middleware has seen it, into what goes on the wire.

    Writes its head itself: aiohttp's general way, which asks of every answer whether it is chunked, compressed, a file
    or carries cookies, takes a sixteenth of a small request's instructions (counted 2026-11-21).
    """

    def __init__(
        self,
        data: Any,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(status=status, headers=headers)
        self.headers[hdrs.CONTENT_TYPE] = "application/json"
        self.data = data
        self.finish = finish
        self.body = b""

    def render(self) -> None:
        """Make the bytes. Raises TypeError when the data is not JSON (a lone surrogate, say)."""
        self.body = orjson.dumps(self.finish(self.data) if self.finish else self.data)

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Sends head and body together. Raises ConnectionError when the client has left."""
        if self._eof_sent:
            return None
        if self._keep_alive is None:
            self._keep_alive = request.keep_alive
        headers, (major, minor) = self.headers, request.version
        headers[hdrs.CONTENT_LENGTH] = str(len(self.body))
        headers[hdrs.DATE] = rfc822_formatted_time()
        if not self._keep_alive:
            headers[hdrs.CONNECTION] = "close"
        elif minor == 0:
            headers[hdrs.CONNECTION] = "keep-alive"
        writer = request.writer
        await writer.write_headers(f"HTTP/{major}.{minor} {self._status} {self._reason}", headers)
        await writer.write_eof(self.body if request.method != hdrs.METH_HEAD else b"")
        self._eof_sent = True
        return writer


class EventReply(EventSourceResponse):
    """A streamed answer. `events` yields batches; closing it reaches the upstream.

    `first_event_wait_s`: how long the status may wait for the first batch before the stream is committed anyway.
    `whole_answers`: each event's data is an answer in itself, not a piece of one, and is looked at as such.
    `failure_events`, `refusal_events`: what ends this stream when it fails or its text must not go on, where the
    dialect alone cannot know (a request's id, a sequence number, the tokens used). `late_headers` are asked for when
    the first event is there.
    """

    late_headers: Callable[[], Mapping[str, str]] | None = None

    def __init__(
        self,
        events: EventStream,
        *,
        headers: Mapping[str, str] | None = None,
        first_event_wait_s: float = 25,
        whole_answers: bool = False,
        failure_events: Endings | None = None,
        refusal_events: Refusal | None = None,
    ) -> None:
        super().__init__(headers=headers, sep="\n", allow_all_methods=True, send_timeout=_CLIENT_STALL_S)
        del self.headers[hdrs.CONNECTION]  # aiohttp-sse says keep-alive whatever becomes of the connection
        self.headers.update(STREAM_HEADERS)
        self.events = events
        self.whole_answers = whole_answers
        self.failure_events = failure_events
        self.first_event_wait_s = first_event_wait_s
        self.refusal_events = refusal_events
        self.event_count = 0

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Sends the head. HTTP/1.0 knows no chunks, so there a stream ends with its connection."""
        if request.version < HttpVersion11:
            self.force_close()
            self.headers[hdrs.CONNECTION] = "close"
        return await super().prepare(request)
