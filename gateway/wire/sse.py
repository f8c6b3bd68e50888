"""Server-sent events as bytes: makes outgoing frames and cuts incoming streams into events.

Source: WHATWG HTML, "Server-sent events", read 2026-11-21. Incoming streams are cut on blank lines as bytes, so that
a character split over two network reads stays whole; lines end in LF, CR or CRLF.
"""

import re

import orjson

from gateway.domain import Event, EventBatch, Json
from gateway.errors import UpstreamError

DONE = b"data: [DONE]\n\n"


def frame(data: Json, name: str | None = None) -> bytes:
    """An `event:` line, if there is a name, one `data:` line and the blank line.

    Raises TypeError when the data cannot be written as JSON (a lone surrogate, for example).
    """
    if name is None:
        return b"data: " + orjson.dumps(data) + b"\n\n"
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"


def encode(event: Event) -> bytes:
    """The frame of an event; made at the first call and kept in `event.raw`. Raises TypeError as `frame`."""
    if event.raw is None:
        data = event.data or {}
        event.raw = frame(event.finish(data) if event.finish else data, event.name)
    return event.raw


def encode_all(batch: EventBatch) -> bytes:
    """The frames of a batch, joined. Raises TypeError as `frame`."""
    if len(batch) == 1:
        return batch[0].raw or encode(batch[0])
    return b"".join([event.raw or encode(event) for event in batch])


def event_of(stored: bytes) -> Event:
    """The event of a frame that `encode` has made: `event: NAME`, if it has one, and one line of JSON."""
    head, _, data = stored.rpartition(b"data: ")
    name = head[len(b"event: ") :].rstrip().decode() if head else None
    return Event.from_data(orjson.loads(data), name=name)


_LAST_NAMES = frozenset(("response.completed", "response.incomplete", "response.failed", "message_stop"))
_LAST = re.compile(
    rb"^event: (?:response\.(?:completed|incomplete|failed)|message_stop)$|^data: \[DONE\]$", re.MULTILINE
)


def is_last(event: Event) -> bool:
    """Whether it ends a stream of chat, responses or messages: a client that has it may leave."""
    return event.name in _LAST_NAMES or (event.raw is not None and _LAST.search(event.raw) is not None)


def decode(event: Event) -> Json | None:
    """The data of an event, decoded at the first call; None for comments and `[DONE]`.

    Decoding drops `event.raw`: from then on the frame is made from the data, which may be changed.
    """
    if event.data is None and not event.opaque and event.raw is not None:
        event.data = orjson.loads(event.raw[5:])
        event.raw = None
    return event.data


MAX_EVENT_BYTES = 6 * 1024 * 1024
"""Most bytes of one event; the last one of a /responses stream, with log probabilities, may have 4.5 MB."""
_BOM = b"\xef\xbb\xbf"
_CR, _LF = 0x0D, 0x0A
"""CR and LF as numbers: finding a number in bytes takes a tenth of the time of finding a byte string."""


class Parser:
    """Cuts one incoming stream into the data of its events, wherever the network cut it.

    Call `feed` with the bytes of each read and `close` once at the end. Several `data:` lines of an event are joined by
    a line feed; comments, names, ids and events without data are dropped. The result equals that of feeding the whole
    stream at once. Both methods raise UpstreamError when one event has more than `max_event_bytes`.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._rest: list[bytes] = []
        self._rest_bytes = 0
        self._skip_lf = False
        self._started = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events that these bytes complete. Raises UpstreamError: an event is too large."""
        if self._skip_lf or _CR in chunk:
            chunk = self._line_feeds(chunk)
        size = len(chunk)
        is_line = chunk.find(_LF) == size - 2 and chunk.endswith(b"\n\n") and not self._rest
        if is_line and 8 < size <= self._max_event_bytes and chunk.startswith(b"data: "):  # one event, as in most reads
            self._started = True
            return [chunk[6:-2]]
        if self._rest:
            straddles = chunk[:1] == b"\n" and self._rest[-1].endswith(b"\n")
            if not straddles and b"\n\n" not in chunk:
                self._keep(chunk)
                return []
            chunk = b"".join([*self._rest, chunk])
            self._rest.clear()
            self._rest_bytes = 0
        end = chunk.rfind(b"\n\n")
        if end < 0:
            self._keep(chunk)
            return []
        self._keep(chunk[end + 2 :])
        if chunk.startswith(b"data: ") and end <= self._max_event_bytes:  # events of one line, as in nearly all streams
            found = chunk[6:end].split(b"\n\ndata: ")
            if chunk.count(_LF, 0, end) == 2 * len(found) - 2 and all(found):
                self._started = True
                return found
        return [data for block in chunk[:end].split(b"\n\n") if block and (data := self._data_of(block))]

    def close(self) -> list[bytes]:
        """The data of a last event that lacked its final blank line. Raises UpstreamError: it is too large."""
        block = b"".join(self._rest)
        self._rest.clear()
        data = self._data_of(block)
        return [data] if data else []

    def _keep(self, part: bytes) -> None:
        if part:
            self._rest.append(part)
            self._rest_bytes += len(part)
        if self._rest_bytes > self._max_event_bytes:
            raise UpstreamError("the upstream sent an event that is too large")

    def _line_feeds(self, chunk: bytes) -> bytes:
        """CRLF and CR as LF; after a CR at the end, an LF at the beginning of the next read is dropped."""
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if chunk.endswith(b"\r"):
            self._skip_lf = True
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _data_of(self, block: bytes) -> bytes:
        if len(block) > self._max_event_bytes:
            raise UpstreamError("the upstream sent an event that is too large")
        if block.startswith(b"data: ") and _LF not in block:
            self._started = True
            return block[6:]
        if not self._started and block:
            self._started = True
            block = block.removeprefix(_BOM)
        lines = []
        for line in block.split(b"\n"):
            field, _, value = line.partition(b":")
            if field == b"data":
                lines.append(value.removeprefix(b" "))
        return b"\n".join(lines)
