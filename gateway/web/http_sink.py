"""Writes the events of one streamed answer to its connection (`calls.delivery.Sink`)."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiohttp import hdrs, web

from gateway.calls.delivery import ClientGone
from gateway.domain import Event, EventBatch
from gateway.web.answer_headers import stamp
from gateway.web.replies import EventReply
from gateway.web.state import HttpCall
from gateway.wire import sse

_JOINED_BYTES = 1 << 18
"""Events that come together are joined up to this size: a turn of the loop between two writes."""

T = TypeVar("T")
_GONE = (ConnectionError, RuntimeError)
"""Errors of a write to a client that has left. RuntimeError: the pings found it gone and closed the stream."""


class HttpSink:
    """Writes one stream to its connection; `direct` is itself where the answer goes in chunks (RFC 9112, 7.1)."""

    def __init__(self, request: web.Request, call: HttpCall, reply: EventReply) -> None:
        self._request, self._call, self._reply = request, call, reply
        self._write: Callable[[bytes], Awaitable[None]] = reply.write
        self._has_begun = False
        self._last: Event | None = None
        self._transport: asyncio.WriteTransport | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the last event of the stream was written."""
        return self._last is not None and sse.is_last(self._last)

    @property
    def direct(self) -> "HttpSink | None":
        """See Sink."""
        return self if self._reply.headers.get(hdrs.TRANSFER_ENCODING) == "chunked" else None

    async def begin(self) -> None:
        """Send the head."""
        call, reply = self._call, self._reply
        stamp(self._request, call, reply)
        if reply.late_headers is not None:
            reply.headers.update(reply.late_headers())
        writer = await _to_client(reply.prepare(self._request))
        self._has_begun = True
        if writer is not None:
            self._write = writer.write  # the reply's own method only asks first whether there is a writer
            self._transport = self._request.transport
        waited_s = time.perf_counter() - call.stats.started_s
        call.rules.metrics.first_event.labels(call.interface.name).observe(waited_s)

    async def write(self, batch: EventBatch) -> None:
        """Write events that come together: short ones in one piece, and others get their turn between long ones, which
        may each repeat the whole answer."""
        try:
            if len(batch) == 1:  # most batches
                await self._write(batch[0].raw or sse.encode(batch[0]))
                self._last = batch[0]
                return
            waiting, size = list[bytes](), 0
            for event in batch:
                encoded = event.raw or sse.encode(event)
                waiting.append(encoded)
                size += len(encoded)
                if size > _JOINED_BYTES:
                    await self._write(b"".join(waiting))
                    await asyncio.sleep(0)
                    waiting, size = [], 0
            if waiting:
                await self._write(b"".join(waiting))
            self._last = batch[-1]
        except _GONE as error:
            raise ClientGone from error

    def is_free(self) -> bool:
        """See DirectSink."""
        transport = self._transport
        return transport is not None and not (transport.is_closing() or self._request.protocol.writing_paused)

    def write_now(self, frames: bytes, count: int) -> None:
        """See DirectSink."""
        assert self._transport is not None
        self._reply.sent += count
        self._transport.write(b"%x\r\n%b\r\n" % (len(frames), frames))

    async def fail(self, events: list[Event]) -> None:
        """Write the events that end a failed stream."""
        await _to_client(self._reply.write(sse.encode_all(events)))

    async def finish(self) -> None:
        """Write the end of the body."""
        await _to_client(self._reply.write_eof())

    def end(self) -> None:
        """The stream is over."""
        if self._reply.relay is not None:
            self._reply.sent += self._reply.relay.joined
        self._call.stats.sent_events, self._call.stats.is_whole = self._reply.sent, self.is_whole
        if self._has_begun:
            self._reply.stop_streaming()


async def _to_client(writing: Awaitable[T]) -> T:
    """Await a write to the client. Raises ClientGone."""
    try:
        return await writing
    except _GONE as error:
        raise ClientGone from error
