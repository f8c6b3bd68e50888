"""The only place that turns errors into answers, worded by the dialect of the endpoint.

Unexpected errors become a 500 without their text: it may quote a request. Their place in the code goes to the log.
"""

import asyncio

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.errors import BodyTimeout, GatewayError, PayloadTooLarge, UnsupportedCoding, UnsupportedProtocol
from gateway.web.answer_headers import error_headers
from gateway.web.http_exceptions import from_http_exception
from gateway.web.replies import JsonReply
from gateway.web.state import CALL


@web.middleware
async def errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answers every exception; only the cancellation by a client that left goes on."""
    try:
        return await handler(request)
    except asyncio.CancelledError:
        stopping = request[CALL].rules.in_flight.take_back()
        if stopping is None:
            raise
        return error_reply(request, stopping)
    except Exception as error:
        return error_reply(request, _as_gateway_error(request, error))


def _as_gateway_error(request: web.Request, error: Exception) -> GatewayError:
    """As `Call.as_error`, and what aiohttp raises by itself in our words."""
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return PayloadTooLarge(f"the request body is larger than {request.client_max_size} bytes")
    if isinstance(error, web.HTTPException):
        return from_http_exception(request, error)
    return request[CALL].as_error(error)


def error_reply(request: web.Request, error: GatewayError) -> JsonReply:
    """The rendered answer to an error: the dialect's body, the error's status, and the headers clients act on."""
    call = request[CALL]
    call.refused(error)
    forms = call.endpoint.error_forms
    dialect = next((forms[name] for name in forms if name in request.headers), call.interface.dialect)
    body = dialect.error_body(error, call.body)
    reply = JsonReply(body, status=error.status, headers=error_headers(error))
    reply.render()
    if isinstance(error, UnsupportedCoding | UnsupportedProtocol | BodyTimeout):
        reply.force_close()  # where the body ends is unknown, so the next request cannot be found
    return reply
