"""Replies that hold data and make bytes late, once.

A handler returns what it means (`JsonReply.data`, `EventReply.events`); middlewares on the way out may change it; the
deliver middleware makes the bytes. So nothing ever parses its own output again, and an upstream that fails before its
first event still gets a true status. Neither class knows an interface's wire format.
"""

from collections.abc import Mapping

import orjson
from aiohttp import web
from aiohttp_sse import EventSourceResponse

from gateway.model import EventStream, Json

STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


class JsonReply(web.Response):
    """A whole answer. `data` is encoded by `render`, which raises TypeError when it is not JSON."""

    def __init__(self, data: Json, *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status=status, headers=headers, content_type="application/json")
        self.data = data

    def render(self) -> None:
        self.body = orjson.dumps(self.data)


class EventReply(EventSourceResponse):
    """A streamed answer. `events` yields batches; closing it reaches the upstream.

    `first_event_wait_s`: how long the status may wait for the first batch before the stream is committed anyway.
    """

    def __init__(
        self, events: EventStream, *, headers: Mapping[str, str] | None = None, first_event_wait_s: float = 25
    ) -> None:
        super().__init__(headers={**STREAM_HEADERS, **(headers or {})}, sep="\n")
        self.events = events
        self.first_event_wait_s = first_event_wait_s
        self.event_count = 0
