"""Reads and decodes the request's body once, within a time, a size and a number of values; the endpoint checks it.

Runs after auth: without a valid key not a byte of the body is read.
"""

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from gateway.errors import UnsupportedMediaType
from gateway.resilience.slices import in_slices
from gateway.web.body_reader import receive, too_large
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
        if call.endpoint.may_be_empty and not request.body_exists:
            await call.take(await JsonBody.read(b"{}", call.server.json_limits), headers)
            return await handler(request)
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
                raise too_large(len(raw), max_bytes)
        else:
            raw = await receive(request, max_bytes, server.body_timeout_s)
        if coding:
            raw = await in_slices(uncoded(raw, coding, max_bytes))
        decoded = await JsonBody.read(raw, server.json_limits)
        del raw
        await call.take(decoded, headers)
        del decoded
    return await handler(request)
