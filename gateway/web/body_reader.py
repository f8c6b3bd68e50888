"""Reads the bytes of a body to their end, within a size and a time."""

import asyncio

from aiohttp import HttpVersion11, web

from gateway.errors import BodyTimeout, InvalidRequest, PayloadTooLarge


async def receive(request: web.Request, max_bytes: int, limit_s: float) -> bytes:
    size = request.content_length
    if size is not None and size > max_bytes:
        raise too_large(size, max_bytes)
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
            raise too_large(size, max_bytes)
        pieces.append(piece)
    return b"".join(pieces)


def too_large(size: int, max_bytes: int) -> PayloadTooLarge:
    return PayloadTooLarge(
        f"the request body has {size} bytes; the limit is {max_bytes} (server.max_body_bytes, or less on some routes)"
    )
