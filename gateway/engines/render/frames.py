"""Frames between the gateway and the render process: a JSON head and a body, each behind its length.

One connection is one call: its pages are rendered one after the other, in one browser context that ends with it.

| from    | head                                                       | body            | means                   |
|---------|------------------------------------------------------------|-----------------|-------------------------|
| gateway | `{op: "open", url, owner, seconds, picture}`               | none            | render this page        |
| process | `{event: "started"}`                                       | none            | its tab is open         |
| process | `{event: "request", id, url, method, kind, accept, …}`     | what it posts   | the page asks for this  |
| gateway | `{op: "answer", id, status, headers: [[name, value]]}`     | of the response | a request's answer      |
| gateway | `{op: "refuse", id}`                                       | none            | a request ends unserved |
| process | `{event: "page", url, no_picture}`                         | HTML, UTF-8     | the page, as rendered   |
| process | `{event: "picture"}`                                       | PNG             | before `page`, if asked |
| process | `{event: "failed", reason}`                                | none            | in place of `page`      |

A request has further `accept`, `origin`, `sends` (headers, `sends` is the type of a posted body) and `is_main` (the
document of the page itself); `kind` is a resource type of the DevTools protocol: `Document`, `Script`, `Fetch` ….
`reason` is a Reason, `no_picture` a PictureLack or null. Knows neither the browser nor HTTP.
"""

import asyncio
import struct
from typing import Literal, get_args

import orjson

from gateway.domain import Json

Reason = Literal["busy", "crashed", "no_answer", "no_window", "too_large", "unavailable", "slow"]
"""Why a page has no rendering: too many wait; it brought its process down; its document could not be had; the browser
opened no window for it; its text is too large; the browser cannot be started; it does not let itself be read."""

Picture = Literal["none", "always", "drawn"]
"""Whether a picture of the page is wished: "drawn" is one of a page that shows canvases and next to no words."""
PICTURES: frozenset[str] = frozenset(get_args(Picture))
PictureLack = Literal["refused", "slow", "too_large"]
"""Why a page has no picture although one was wished: the browser gave none; it did not answer in time; the picture does
not fit into a frame."""

MAX_HEAD_BYTES = 65_536  # largest head
MAX_BODY_BYTES = 33_554_432  # largest body
_LENGTHS = struct.Struct(">II")


class BadFrame(ConnectionError):
    """The other side does not keep to the protocol."""


def pack(head: Json, body: bytes = b"") -> bytes:
    """A frame. Raises BadFrame when it is too large."""
    packed = orjson.dumps(head)
    if len(packed) > MAX_HEAD_BYTES or len(body) > MAX_BODY_BYTES:
        raise BadFrame
    return _LENGTHS.pack(len(packed), len(body)) + packed + body


async def read(source: asyncio.StreamReader) -> tuple[Json, bytes]:
    """The next frame. Raises IncompleteReadError at the end, ConnectionError for a frame that is none."""
    head_size, body_size = _LENGTHS.unpack(await source.readexactly(_LENGTHS.size))
    if head_size > MAX_HEAD_BYTES or body_size > MAX_BODY_BYTES:
        raise BadFrame
    packed = await source.readexactly(head_size)
    try:
        head = orjson.loads(packed)
    except ValueError as error:
        raise BadFrame from error
    if not isinstance(head, dict):
        raise BadFrame
    return head, await source.readexactly(body_size)
