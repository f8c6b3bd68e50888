"""The only place that turns errors into answers, worded by the dialect of the endpoint.

Unexpected errors become a 500 without their text: it may quote a request. Their place in the code goes to the log.
"""

import asyncio
import importlib
import logging
import math

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway import logs
from gateway.errors import (
    BodyTimeout,
    GatewayError,
    InternalError,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    Unauthenticated,
    UnsupportedCoding,
    UnsupportedProtocol,
    UpgradeRequired,
    UpstreamRefused,
)
from gateway.web.replies import JsonReply
from gateway.web.state import CONTEXT

_REFUSAL_CODES = frozenset(
    (
        *("content_filter", "context_length_exceeded", "insufficient_quota", "invalid_value", "rate_limit_exceeded"),
        *("image_too_large", "invalid_image_format", "missing_image", "ocr_queue_full", "too_many_images"),
    )
)
"""Codes of upstreams' refusals that are counted by themselves: those that the gateway sets or its OCR engine sends."""

_MAX_COMPARED_CHARS = 100
"""Characters of an unknown path that are compared; the longest of ours has 50."""


@web.middleware
async def errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answers every exception; only the cancellation by a client that left goes on."""
    try:
        return await handler(request)
    except asyncio.CancelledError:
        stopping = request[CONTEXT].server.in_flight.take_back()
        if stopping is None:
            raise
        return error_reply(request, stopping)
    except Exception as error:
        return error_reply(request, as_gateway_error(request, error))


def as_gateway_error(request: web.Request, error: Exception) -> GatewayError:
    """The error to answer any exception with. Unexpected ones become InternalError; their place is logged."""
    if isinstance(error, GatewayError):
        return error
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return PayloadTooLarge(f"the request body is larger than {request.client_max_size} bytes")
    if isinstance(error, web.HTTPException):
        return from_http_exception(request, error)
    logs.event("unexpected", level=logging.ERROR, request_id=request[CONTEXT].request_id, error=logs.failure(error))
    return InternalError("the gateway failed on this request; its log has the details under this request id")


def from_http_exception(request: web.Request, error: web.HTTPException) -> GatewayError:
    """MethodNotAllowed, NotFound, or InvalidRequest for any other error of aiohttp's own."""
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = tuple(sorted(error.allowed_methods))
        return MethodNotAllowed(f"{request.method} is not allowed here; allowed: {', '.join(allowed)}", allowed)
    if error.status == 404:
        paths = request[CONTEXT].server.endpoints.paths
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
    context = request[CONTEXT]
    context.server.metrics.rejected.labels(error_label(error)).inc()
    error.request_id = context.request_id
    body = context.endpoint.dialect.error_body(error, context.body)
    reply = JsonReply(body, status=error.status, headers=error_headers(error))
    reply.render()
    if isinstance(error, UnsupportedCoding | UnsupportedProtocol | BodyTimeout):
        reply.force_close()  # where the body ends is unknown, so the next request cannot be found
    return reply


def error_label(error: GatewayError) -> str:
    """The error's code for the metrics. An upstream may word the code of its refusal as it likes, and each new word
    would be a new time series."""
    is_foreign = isinstance(error, UpstreamRefused) and error.code not in _REFUSAL_CODES
    return "upstream_refused" if is_foreign else error.code


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
