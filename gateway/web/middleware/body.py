"""Reads the request's body once, within a time, a size and a number of values; the endpoint decodes and checks it once.

Runs after auth: without a valid key not a byte of the body is read. Knows no interface: `Endpoint.check` does.
"""

import asyncio

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.typedefs import Handler

from gateway.errors import BodyTimeout, InvalidRequest, PayloadTooLarge, UnsupportedMediaType
from gateway.resilience.freed_memory import give_back
from gateway.resilience.slices import in_slices
from gateway.schemas import MAX_DEPTH, MEASURED_BYTES
from gateway.schemas.json_size import TooDeep, TooDense, TooManyValues, measure
from gateway.web.aiohttp_internals import take_whole_body
from gateway.web.context import CONTEXT
from gateway.web.middleware.limits import reserve
from gateway.wire.large_json import decode_steps

_JSON = "application/json"
_RESERVED_BYTES, _GROWTH = 1 << 22, 4
"""What is reserved for a body of known length: at first, and then as a multiple of what has come. Chosen: a body that
grows by a little with each piece leaves holes of its own size in the memory. At half longer ones are copied once more,
at double a caller who sends the beginning of a large body alone holds twice as much."""


@web.middleware
async def body(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Sets `body` on the context where the endpoint has a check. The bytes are let go once they are decoded.

    Raises UnsupportedMediaType, PayloadTooLarge, BodyTimeout, InvalidRequest (broken framing), the check's
    errors, BudgetSpent, NoPrice.
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
        server = context.server
        max_bytes, own_max_bytes = request.client_max_size, context.endpoint.max_body_bytes
        if 0 < own_max_bytes < max_bytes:
            max_bytes = own_max_bytes
        raw: bytes | bytearray | None = take_whole_body(request.content)
        if raw is None:
            raw = await _receive(request, max_bytes, server.body_timeout_s)
        elif len(raw) > max_bytes:
            raise _too_large(len(raw), max_bytes)
        size, max_values = len(raw), server.max_json_values
        if is_large := size > MEASURED_BYTES or size > max_values:
            give_back()
            context.stats.body_values = await _measure(raw, max_values)
            context.work.charge_values(context.stats.body_values)
            give_back()
            raw = await in_slices(decode_steps(raw))
            give_back()
        context.body = check(raw, headers)
        if server.budgets is not None and server.budgets.may_bind(context.caller):
            await reserve(context)
        del raw
        if is_large:
            await asyncio.sleep(0)  # decoding took milliseconds, and so will what follows
    return await handler(request)


async def _measure(raw: bytes | bytearray, max_values: int) -> int:
    """How many values the body has at most. Refuses one of too many, or nested too deeply, before it is decoded."""
    values = 0
    try:
        for counted in measure(raw, max_values, MAX_DEPTH):
            values = counted
            await asyncio.sleep(0)
    except TooManyValues as error:
        raise PayloadTooLarge(
            f"the request body has at least {error.values} JSON values; the limit is {max_values}"
        ) from None
    except TooDense as error:
        raise PayloadTooLarge(
            f"the request body's {error.values} JSON values take about {error.need_bytes} bytes when they are decoded; "
            f"the limit for a body of {len(raw)} bytes is {error.limit_bytes}"
        ) from None
    except TooDeep:
        raise InvalidRequest(f"the body is nested more than {MAX_DEPTH} levels deep", code="invalid_json") from None
    return values


async def _receive(request: web.Request, max_bytes: int, limit_s: float) -> bytes | bytearray:
    size = request.content_length
    if size is not None and size > max_bytes:
        raise _too_large(size, max_bytes)
    if request.version == HttpVersion11 and request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun
    try:
        async with asyncio.timeout(limit_s):
            return await _read(request, max_bytes, size or 0)
    except TimeoutError:
        request.content.feed_eof()  # else aiohttp waits ten seconds more for the rest before it closes the connection
        raise BodyTimeout(f"the request body did not arrive within {limit_s:g} s") from None
    except ConnectionError:
        raise
    except web.RequestPayloadError:
        raise InvalidRequest("the request body's framing is broken") from None


async def _read(request: web.Request, max_bytes: int, told_bytes: int) -> bytes | bytearray:
    """The body to its end, as a bytearray if it is large: decoding empties it. aiohttp's own `read` would keep the
    bytes for as long as the request lives. `told_bytes`: its length if that is known, else 0."""
    whole, size = bytearray(), 0
    while piece := await request.content.readany():
        end = size + len(piece)
        if end > max_bytes:
            raise _too_large(end, max_bytes)
        if told_bytes > MEASURED_BYTES and len(whole) < end <= told_bytes:
            whole = whole.ljust(min(max(_RESERVED_BYTES, _GROWTH * end), told_bytes))
        whole[size:end] = piece
        size = end
    del whole[size:]
    return whole if size > MEASURED_BYTES else bytes(whole)


def _too_large(size: int, max_bytes: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"the request body has {size} bytes; the limit is {max_bytes}")
