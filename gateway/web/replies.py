"""Replies that hold data and become bytes only at the end of the chain.

A handler returns data (`JsonReply.data`) or events (`EventReply.events`); middlewares on the way out may change them;
the deliver middleware makes the bytes. So no layer parses what another has just written, and an upstream that fails
before its first event still gets an error status.
"""

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from aiohttp import ClientConnectionResetError, HttpVersion11, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.helpers import rfc822_formatted_time
from aiohttp_sse import EventSourceResponse

from gateway.calls.answers import Endings, StreamedAnswer, WholeAnswer
from gateway.domain import Event, EventStream, Relay
from gateway.sanitize.stream_mask import Refusal
from gateway.web.aiohttp_internals import head_bytes

_CLIENT_STALL_S = 60.0
"""A client that acknowledges nothing for so long is cut. The pings find it: aiohttp-sse sends one every _PING_S."""

_JOINED_BYTES = 1 << 16
"""A shorter body is sent together with its head. One packet instead of two, and one system call."""

_WRITTEN_BYTES = 1 << 20
"""A long body is written in pieces of this size, so that a slow client slows it down."""

_PING_S = 8.0
"""A waiting client gets a byte within 10 s."""

STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
"""Ask proxies (nginx reads the second) to pass events on at once and unchanged."""


class JsonReply(web.StreamResponse, WholeAnswer):
    """A whole answer, written by this class: signals of `on_response_prepare` do not run for it.

    The naive form is `web.Response` with the rendered body. Its way to the wire, which asks of every answer whether it
    is chunked, compressed, a file or carries cookies, takes 7.9 % of the instructions of a keyed, sanitized, cached
    search (cachegrind over 1,500 requests in one process, 2026-11-22); aiohttp's writer, which joins head and body in
    five calls, 3 % of a status call's.

    | state    | entered by  | `data` may change | `headers` may change |
    |----------|-------------|-------------------|----------------------|
    | open     | constructor | yes               | yes                  |
    | rendered | `render`    | no effect         | yes                  |
    | sent     | `prepare`   | no effect         | no effect            |
    """

    def __init__(
        self,
        data: Any,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> None:
        """`finish` turns the data, after every middleware has seen it, into the JSON value of the body."""
        super().__init__(status=status, headers=headers)
        self.headers[hdrs.CONTENT_TYPE] = "application/json"
        self.data = data
        self.finish = finish
        self.body: bytes | None = None
        self._is_sent = False
        self._stays_open: bool | None = None

    def render(self) -> None:
        """Make the body. Raises TypeError when the data is not JSON (a lone surrogate, for example)."""
        self.body = orjson.dumps(self.finish(self.data) if self.finish else self.data)

    @property
    def prepared(self) -> bool:
        """Whether it was sent: head and body leave together."""
        return self._is_sent

    @property
    def keep_alive(self) -> bool | None:
        """Whether the connection stays open after it; None until that is decided."""
        return self._stays_open

    def force_close(self) -> None:
        """Close the connection after this answer."""
        self._stays_open = False

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send head and body. Raises ConnectionError when the client has left, RuntimeError before `render`."""
        if self._is_sent:
            return None
        body = self.body
        if body is None:
            raise RuntimeError("this reply has no body yet; call render() before it is sent")
        if self._stays_open is None:
            self._stays_open = request.keep_alive
        headers, (major, minor) = self.headers, request.version
        headers[hdrs.CONTENT_LENGTH] = str(len(body))
        headers[hdrs.DATE] = rfc822_formatted_time()
        if not self._stays_open:
            headers[hdrs.CONNECTION] = "close"
        elif minor == 0:
            headers[hdrs.CONNECTION] = "keep-alive"
        head = head_bytes(f"HTTP/{major}.{minor} {self.status} {self.reason}", headers)
        if request.method == hdrs.METH_HEAD:
            body = b""
        elif len(body) < _JOINED_BYTES:
            head, body = head + body, b""
        writer, transport = request.writer, request.transport
        if transport is None or transport.is_closing():
            raise ClientConnectionResetError("the client has left")
        transport.write(head)
        writer.output_size = len(head)  # aiohttp asks it whether an answer has begun
        for start in range(0, len(body), _WRITTEN_BYTES):
            await writer.write(body[start : start + _WRITTEN_BYTES])
        if body or request.protocol.writing_paused:
            await writer.drain()
        self._is_sent = True
        return writer

    async def write_eof(self, data: bytes = b"") -> None:
        """Called by aiohttp after `prepare`, which has written everything."""


class EventReply(EventSourceResponse, StreamedAnswer):
    """A streamed answer; see StreamedAnswer."""

    late_headers: Callable[[], Mapping[str, str]] | None = None
    """Headers whose values are known only when the first event is there; called once, just before the head is sent."""

    def __init__(
        self,
        events: EventStream,
        *,
        headers: Mapping[str, str] | None = None,
        first_event_wait_s: float = 8,
        whole_answers: bool = False,
        failure_events: Endings | None = None,
        cancelled_events: Callable[[], list[Event]] | None = None,
        refusal_events: Refusal | None = None,
    ) -> None:
        super().__init__(
            headers=headers, sep="\n", allow_all_methods=True, send_timeout=_CLIENT_STALL_S, ping_interval=_PING_S
        )
        del self.headers[hdrs.CONNECTION]  # aiohttp-sse sets keep-alive even where the connection will close
        self.headers.update(STREAM_HEADERS)
        self.events = events
        self.whole_answers = whole_answers
        self.failure_events = failure_events
        self.cancelled_events = cancelled_events
        self.first_event_wait_s = first_event_wait_s
        self.refusal_events = refusal_events
        self.instead = None
        self.passes = None
        self.relay: Relay | None = None
        self.was_masked = False
        self.has_own_links = False
        self.sent = 0

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send the head. HTTP/1.0 has no chunks, so there a stream ends with its connection.

        Raises ConnectionError when the client has left.
        """
        if request.version < HttpVersion11:
            self.force_close()
            self.headers[hdrs.CONNECTION] = "close"
        return await super().prepare(request)

    def stop_streaming(self) -> None:
        """End the pings; called once, when the stream is over.

        Their task is let go: it keeps the error that ended it, whose traceback leads back here. The endings are
        let go too, since they lead to the request. In such circles every ended stream would wait for the garbage
        collector with its request and all that the request holds.
        """
        super().stop_streaming()
        self._ping_task = self.instead = self.failure_events = self.cancelled_events = self.refusal_events = (
            self.late_headers
        ) = None
