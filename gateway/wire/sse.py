"""Server-sent events as bytes: frames out, blocks in.

Source: WHATWG HTML, "Server-sent events", read 2026-11-21. Knows nothing of what the data means. Incoming streams are
cut on blank lines as bytes, so a character split over two network reads stays whole; line ends may be LF, CR or CRLF.
"""

import orjson

from gateway.model import Event, Json

DONE = b"data: [DONE]\n\n"
PING = b": ping\n\n"


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


def decode(event: Event) -> Json | None:
    """The decoded data of an event, None for comments and `[DONE]`. A relayed frame is decoded here, at first need.

    After this the data is the truth: the frame is made anew from it.
    """
    if event.data is None and not event.opaque and event.raw is not None:
        event.data = orjson.loads(event.raw[5:])
        event.raw = None
    return event.data
