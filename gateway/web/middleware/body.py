"""The request's body: read once, within a time and a size, decoded once, checked once by the endpoint.

Runs after auth: without a valid key not a byte of the body is read. Knows no interface: `Endpoint.check` does.
"""

import asyncio

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.typedefs import Handler

from gateway.errors import BodyTimeout, InvalidRequest, PayloadTooLarge, UnsupportedMediaType
from gateway.web.context import CONTEXT

_JSON = "application/json"
_LARGE_BYTES = 1 << 20


@web.middleware
async def body(request: web.Request, handler: Handler) -> web.StreamResponse:
    context = request[CONTEXT]
    check = context.endpoint.check
    if check is not None:
        headers = request.headers
        if headers.get(hdrs.CONTENT_TYPE) != _JSON and request.content_type.lower() != _JSON:
            raise UnsupportedMediaType("Content-Type must be application/json")
        coding = headers.get(hdrs.CONTENT_ENCODING)
        if coding is not None and coding.lower() != "identity":
            raise UnsupportedMediaType("send the body without Content-Encoding")
        if request.content.is_eof():  # it came with the headers: nothing to wait for
            raw = request.content.read_nowait()
        else:
            raw = await _read(request, context.server.body_timeout_s)
        if len(raw) > request.client_max_size:
            raise PayloadTooLarge(f"the request body has {len(raw)} bytes; the limit is {request.client_max_size}")
        if len(raw) > _LARGE_BYTES:
            await asyncio.sleep(0)  # gathering it took milliseconds, and so will looking through it
        context.body = check(raw, headers)
    return await handler(request)


async def _read(request: web.Request, limit_s: float) -> bytes:
    most, size = request.client_max_size, request.content_length
    if size is not None and size > most:
        raise PayloadTooLarge(f"the request body has {size} bytes; the limit is {most}")
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
