"""The headers of answers: those of every answer, what is left of its caller's limits, and what goes with an error.

Sources: draft-ietf-httpapi-ratelimit-headers-11 (`RateLimit-Policy`, `RateLimit`: lists of quoted names with quota
`q`, window `w`, remaining `r` and seconds until it grows `t`), OpenAI API reference, "Rate limits" (`x-ratelimit-*`),
read 2026-11-22.
"""

import math
from collections.abc import Mapping

from aiohttp import hdrs, web
from multidict import istr

from gateway.access.rate_limits import LimitState
from gateway.errors import GatewayError, MethodNotAllowed, Unauthenticated, UpgradeRequired
from gateway.web.origins import allow_reading
from gateway.web.state import HttpCall

REQUEST_ID = istr("X-Request-Id")
GUARDRAIL_HEADER = "X-Gateway-Guardrail"
"""`unavailable` when the guardrail failed and the policy let the text go on. For a stream: on its request alone."""

_WINDOWS_S = {
    "requests": 60,
    "tokens-minute": 60,
    "tokens-day": 86_400,
    "tool-calls-day": 86_400,
    "user-tokens-day": 86_400,
}
"""The length of each limit's period. A key's spend is in no header: it is a sum of money, not a count."""

_OPENAI = {"requests": "requests", "tokens-minute": "tokens"}
"""The limits that OpenAI's headers have, and their names there."""


def limit_headers(limits: Mapping[str, LimitState]) -> dict[str, str]:
    """Headers for the limits of one request, by name; a limit without a known period is left out."""
    policies, states, headers = [], [], {}
    for name, window_s in _WINDOWS_S.items():
        state = limits.get(name)
        if state is None:
            continue
        policies.append(f'"{name}";q={state.limit};w={window_s}')
        states.append(f'"{name}";r={state.remaining};t={math.ceil(state.reset_s)}')
        if openai := _OPENAI.get(name):
            headers[f"x-ratelimit-limit-{openai}"] = str(state.limit)
            headers[f"x-ratelimit-remaining-{openai}"] = str(state.remaining)
            headers[f"x-ratelimit-reset-{openai}"] = f"{math.ceil(state.reset_s)}s"
    if policies:
        headers["RateLimit-Policy"] = ", ".join(policies)
        headers["RateLimit"] = ", ".join(states)
    return headers


def stamp(request: web.Request, call: HttpCall, reply: web.StreamResponse) -> None:
    """Set the headers of every answer, whole or streamed; call it before the head is sent."""
    headers = reply.headers
    headers[REQUEST_ID] = call.request_id
    if call.endpoint.id_header:
        headers[call.endpoint.id_header] = call.request_id
    headers[hdrs.SERVER] = "gateway"
    if call.limits:
        headers.update(limit_headers(call.limits))
    if call.stats.unguarded:
        headers[GUARDRAIL_HEADER] = "unavailable"
    if hdrs.ORIGIN in request.headers:
        allow_reading(request, reply)
    if call.rules.in_flight.draining:
        reply.force_close()


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
