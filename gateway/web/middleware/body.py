"""Reads the request's body once, within a time and a size; the endpoint decodes and checks it once.

Runs after auth: without a valid key not a byte of the body is read. Knows no interface: `Endpoint.check` does.
"""

import asyncio

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.typedefs import Handler

from gateway.errors import BodyTimeout, InvalidRequest, PayloadTooLarge, UnsupportedMediaType
from gateway.web.context import CONTEXT

_JSON = "application/json"
_LARGE_BYTES = 1 << 20
"""Bodies above this size give other tasks a turn between reading and decoding. Chosen: each of the two takes
milliseconds for 1 MiB; half would add a switch for bodies that need none, double would double the longest block."""


@web.middleware
async def body(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Sets `body` on the context where the endpoint has a check.

    Raises UnsupportedMediaType, PayloadTooLarge, BodyTimeout, InvalidRequest (broken framing), and the check's errors.
    """
    context = request[CONTEXT]
    check = context.endpoint.check
    if check is not None:
        headers = request.headers
        if headers.get(hdrs.CONTENT_TYPE) != _JSON and request.content_type.lower() != _JSON:
            raise UnsupportedMediaType("the Content-Type is not supported; it must be application/json")
        coding = headers.get(hdrs.CONTENT_ENCODING)
        if coding is not None and coding.lower() != "identity":
            raise UnsupportedMediaType("the Content-Encoding is not supported; send the body without one")
        if request.content.is_eof():  # it came with the headers: nothing to wait for
            raw = request.content.read_nowait()
        else:
            raw = await _receive(request, context.server.body_timeout_s)
        if len(raw) > request.client_max_size:
            raise PayloadTooLarge(f"the request body has {len(raw)} bytes; the limit is {request.client_max_size}")
        if len(raw) > _LARGE_BYTES:
            await asyncio.sleep(0)  # reading it took milliseconds, and so will decoding
        context.body = check(raw, headers)
    return await handler(request)


async def _receive(request: web.Request, limit_s: float) -> bytes:
    max_bytes, size = request.client_max_size, request.content_length
    if size is not None and size > max_bytes:
        raise PayloadTooLarge(f"the request body has {size} bytes; the limit is {max_bytes}")
    if request.version == HttpVersion11 and request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun
    try:
        async with asyncio.timeout(limit_s):
            return await request.read()
    except TimeoutError:
        raise BodyTimeout(f"the request body did not arrive within {limit_s:g} s") from None
    except ConnectionError:
        raise
    except web.RequestPayloadError:
        raise InvalidRequest("the request body's framing is broken") from None
