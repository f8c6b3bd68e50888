"""Server-sent events as bytes: frames out, blocks in.

Source: WHATWG HTML, "Server-sent events", read 2026-11-21. Knows nothing of what the data means. Incoming streams are
cut on blank lines as bytes, so a character split over two network reads stays whole; line ends may be LF, CR or CRLF.
"""

import orjson

from gateway.domain import Event, EventBatch, Json
from gateway.errors import UpstreamError

DONE = b"data: [DONE]\n\n"


def frame(data: Json, name: str | None = None) -> bytes:
    """`[event: NAME]` and one `data:` line. Raises TypeError when the data is not JSON (a lone surrogate, say)."""
    if name is None:
        return b"data: " + orjson.dumps(data) + b"\n\n"
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"


def encode(event: Event) -> bytes:
    """The frame of an event, made at most once."""
    if event.raw is None:
        data = event.data or {}
        event.raw = frame(event.finish(data) if event.finish else data, event.name)
    return event.raw


def encode_all(batch: EventBatch) -> bytes:
    """The frames of some events, one after the other."""
    if len(batch) == 1:
        return batch[0].raw or encode(batch[0])
    return b"".join([event.raw or encode(event) for event in batch])


def decode(event: Event) -> Json | None:
    """The decoded data of an event, None for comments and `[DONE]`. A relayed frame is decoded here, at first need.

    After this the data is the truth: the frame is made anew from it.
    """
    if event.data is None and not event.opaque and event.raw is not None:
        event.data = orjson.loads(event.raw[5:])
        event.raw = None
    return event.data


MAX_EVENT_BYTES = 4 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_CR, _LF = 0x0D, 0x0A
"""As numbers: looked for in bytes in a tenth of the time."""


class Parser:
    """Cuts an incoming stream into the data of its events, whatever the network's cuts.

    Several `data:` lines are joined by a line feed. Comments, names, ids and empty data are dropped.

    `feed` takes what one read brought; `close` gives an event that lacked its final blank line. Both raise
    UpstreamError when one event grows beyond `max_event_bytes`.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._skip_lf = False
        self._started = False

    def feed(self, chunk: bytes) -> list[bytes]:
        if self._skip_lf or _CR in chunk:
            chunk = self._line_feeds(chunk)
        size = len(chunk)
        is_line = chunk.find(_LF) == size - 2 and not self._held and 8 < size <= self._max_event_bytes
        if is_line and chunk[-1] == _LF and chunk.startswith(b"data: "):  # one event: what most reads bring
            self._started = True
            return [chunk[6:-2]]
        if self._held:
            straddles = chunk[:1] == b"\n" and self._held[-1].endswith(b"\n")
            if not straddles and b"\n\n" not in chunk:
                self._hold(chunk)
                return []
            chunk = b"".join([*self._held, chunk])
            self._held.clear()
            self._held_bytes = 0
        *blocks, rest = chunk.split(b"\n\n")
        if rest:
            self._hold(rest)
        return [data for block in blocks if (data := self._data_of(block))]

    def close(self) -> list[bytes]:
        block = b"".join(self._held)
        self._held.clear()
        data = self._data_of(block)
        return [data] if data else []

    def _hold(self, part: bytes) -> None:
        if part:
            self._held.append(part)
            self._held_bytes += len(part)
        if self._held_bytes > self._max_event_bytes:
            raise UpstreamError("the upstream sent an event that is too large")

    def _line_feeds(self, chunk: bytes) -> bytes:
        """CRLF and CR as LF; a CR at the end waits for the LF that may open the next read."""
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
