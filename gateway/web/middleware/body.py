"""Reads and decodes the request's body once, within a time, a size and a number of values; the endpoint checks it.

Runs after auth: without a valid key not a byte of the body is read.
"""

import asyncio

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.typedefs import Handler

from gateway.errors import BodyTimeout, InvalidRequest, PayloadTooLarge, UnsupportedMediaType
from gateway.resilience.slices import in_slices
from gateway.web.content_coding import coding_of, uncoded
from gateway.web.state import CALL
from gateway.wire.json_body import JsonBody

_JSON = "application/json"


@web.middleware
async def body(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Gives the call its body, where the endpoint has a check.

    Raises UnsupportedMediaType, PayloadTooLarge, BodyTimeout, InvalidRequest (broken framing), and as `Call.take`.
    """
    call = request[CALL]
    if call.endpoint.check is not None:
        headers = request.headers
        if headers.get(hdrs.CONTENT_TYPE) != _JSON and request.content_type.lower() != _JSON:
            raise UnsupportedMediaType("the Content-Type is not supported; it must be application/json")
        coding = coding_of(headers) if hdrs.CONTENT_ENCODING in headers else ""
        server = call.server
        max_bytes, own_max_bytes = request.client_max_size, call.endpoint.max_body_bytes
        if 0 < own_max_bytes < max_bytes:
            max_bytes = own_max_bytes
        content = request.content
        if content.is_eof() and content.exception() is None:  # all of it has come: no timer, no turn of the loop
            raw = content.read_nowait()
            if len(raw) > max_bytes:
                raise _too_large(len(raw), max_bytes)
        else:
            raw = await _receive(request, max_bytes, server.body_timeout_s)
        if coding:
            raw = await in_slices(uncoded(raw, coding, max_bytes))
        decoded = await JsonBody.read(raw, server.json_limits)
        del raw
        await call.take(decoded, headers)
        del decoded
    return await handler(request)


async def _receive(request: web.Request, max_bytes: int, limit_s: float) -> bytes:
    size = request.content_length
    if size is not None and size > max_bytes:
        raise _too_large(size, max_bytes)
    if request.version == HttpVersion11 and request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun
    try:
        async with asyncio.timeout(limit_s):
            return await _read(request, max_bytes)
    except TimeoutError:
        request.content.feed_eof()  # else aiohttp waits ten seconds more for the rest before it closes the connection
        raise BodyTimeout(f"the request body did not arrive within {limit_s:g} s") from None
    except ConnectionError:
        raise
    except web.RequestPayloadError:
        raise InvalidRequest("the request body's framing is broken") from None


async def _read(request: web.Request, max_bytes: int) -> bytes:
    """The body to its end. aiohttp's own `read` would keep the bytes for as long as the request lives."""
    pieces, size = list[bytes](), 0
    while piece := await request.content.readany():
        size += len(piece)
        if size > max_bytes:
            raise _too_large(size, max_bytes)
        pieces.append(piece)
    return b"".join(pieces)


def _too_large(size: int, max_bytes: int) -> PayloadTooLarge:
    return PayloadTooLarge(
        f"the request body has {size} bytes; the limit is {max_bytes} (server.max_body_bytes, or less on some routes)"
    )
