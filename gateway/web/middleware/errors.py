"""The only place that turns errors into answers, worded by the dialect of the endpoint.

Unexpected errors become a 500 without their text: it may quote a request. Their place in the code goes to the log.
"""

import asyncio
import importlib
import math

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.errors import (
    BodyTimeout,
    GatewayError,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    Unauthenticated,
    UnsupportedCoding,
    UnsupportedProtocol,
    UpgradeRequired,
)
from gateway.web.replies import JsonReply
from gateway.web.state import CALL

_MAX_COMPARED_CHARS = 100
"""Characters of an unknown path that are compared; the longest of ours has 50."""


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


def from_http_exception(request: web.Request, error: web.HTTPException) -> GatewayError:
    """MethodNotAllowed, NotFound, or InvalidRequest for any other error of aiohttp's own."""
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = tuple(sorted(error.allowed_methods))
        return MethodNotAllowed(f"{request.method} is not allowed here; allowed: {', '.join(allowed)}", allowed)
    if error.status == 404:
        paths = request[CALL].server.endpoints.paths
        return NotFound(f"no such path; {_suggestion(request.path, paths)}the paths are {', '.join(paths)}")
    return InvalidRequest(f"the request was refused ({error.status})")


def _suggestion(path: str, paths: tuple[str, ...]) -> str:
    """`did you mean X? ` where one of our paths is close: the same end (`/chat/completions`, `/v1/v1/models`, a slash
    too many), or one with few letters changed; else empty."""
    wanted = path[:_MAX_COMPARED_CHARS].rstrip("/")
    fixed = [each for each in paths if "{" not in each]
    ends = [each for each in fixed if wanted and (each.endswith(wanted) or wanted.endswith(each))]
    near = ends or importlib.import_module("difflib").get_close_matches(wanted, fixed, n=1, cutoff=0.75)
    return f"did you mean {near[0]}? " if near else ""


def error_reply(request: web.Request, error: GatewayError) -> JsonReply:
    """The rendered answer to an error: the dialect's body, the error's status, and the headers clients act on."""
    call = request[CALL]
    call.refused(error)
    body = call.interface.dialect.error_body(error, call.body)
    reply = JsonReply(body, status=error.status, headers=error_headers(error))
    reply.render()
    if isinstance(error, UnsupportedCoding | UnsupportedProtocol | BodyTimeout):
        reply.force_close()  # where the body ends is unknown, so the next request cannot be found
    return reply


def error_headers(error: GatewayError) -> dict[str, str]:
    """Headers that clients act on. OpenAI's SDKs obey `x-should-retry` before the status and Retry-After."""
    headers = {"Cache-Control": "no-store"}
    if isinstance(error, Unauthenticated):
        refused = ', error="invalid_token"' if error.has_key else ""  # RFC 6750 §3.1: none where no key was sent
        headers["WWW-Authenticate"] = f'Bearer realm="gateway"{refused}'
    if isinstance(error, UpgradeRequired):
        headers["Upgrade"] = "websocket"
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allow)
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
    if error.status >= 409:
        headers["X-Should-Retry"] = "true" if error.retryable else "false"
    return headers
