"""Innermost middleware: masks the request's decoded body before the handler reads it, and the answer before it is sent.

`gateway.calls.masking` has the rules of masking.
"""

from functools import partial

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.web.state import CALL


@web.middleware
async def sanitize(request: web.Request, handler: Handler) -> web.StreamResponse:
    """As `Call.answered`, for a request of HTTP."""
    call = request[CALL]
    return await (handler(request) if call.is_plain else call.answered(partial(handler, request)))
