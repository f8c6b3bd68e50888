"""Outermost middleware: request id, one log line, metrics, and the count of what is in flight.

The log line holds names, figures and ids of ours; never a key, a query string, a prompt or an answer.
"""

import asyncio
import re
import secrets
import time

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway import logs
from gateway.metrics import Metrics
from gateway.model import Account
from gateway.web.endpoints import endpoint_of
from gateway.web.in_flight import IN_FLIGHT
from gateway.web.keys import ACCOUNT, CALLER, REQUEST_ID
from gateway.web.replies import EventReply

METRICS = web.AppKey("metrics", Metrics)
CLIENT_GONE = 499

_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,64}")


@web.middleware
async def observe(request: web.Request, handler: Handler) -> web.StreamResponse:
    started = time.perf_counter()
    given = request.headers.get("X-Request-Id", "")
    request[REQUEST_ID] = given if _WELL_FORMED.fullmatch(given) else f"req_{secrets.token_hex(12)}"
    request[ACCOUNT] = account = Account()
    status = CLIENT_GONE
    reply: web.StreamResponse | None = None
    try:
        with request.app[IN_FLIGHT].tracked():
            reply = await handler(request)
        status = CLIENT_GONE if account.outcome == "client_gone" else reply.status
        return reply
    except asyncio.CancelledError:
        account.outcome = account.outcome or "client_gone"
        raise
    finally:
        _record(request, account, status, time.perf_counter() - started, reply)


def _record(
    request: web.Request, account: Account, status: int, total_s: float, reply: web.StreamResponse | None
) -> None:
    endpoint = endpoint_of(request).name if request.match_info.http_exception is None else "unmatched"
    metrics = request.app[METRICS]
    counted = metrics.of_request(endpoint, status)
    counted.requests.inc()
    counted.duration.observe(total_s)
    counted.overhead.observe(max(0.0, total_s - account.upstream_s))
    if account.outcome == "client_gone":
        metrics.abandoned.labels(endpoint).inc()
    elif account.outcome == "truncated":
        metrics.truncated.labels(endpoint).inc()
    if account.model:
        metrics.tokens.labels(account.model, "input").inc(account.input_tokens)
        metrics.tokens.labels(account.model, "output").inc(account.output_tokens)
        metrics.attempts.labels(account.model).inc(account.attempts)
    for entity, count in account.findings.items():
        metrics.findings.labels(entity).inc(count)
    if account.unguarded:
        metrics.unguarded.labels(endpoint).inc(account.unguarded)
    caller = request.get(CALLER)
    logs.event(
        "request",
        _told(account),
        request_id=request[REQUEST_ID],
        key=caller.key_id if caller else "",
        endpoint=endpoint,
        method=request.method,
        status=status,
        outcome=account.outcome or ("ok" if status < 400 else "refused" if status < 500 else "failed"),
        total_ms=round(total_s * 1000, 2),
        upstream_ms=round(account.upstream_s * 1000, 2),
        events=reply.event_count if isinstance(reply, EventReply) else 0,
    )


def _told(account: Account) -> dict[str, object]:
    """The parts of the account that were filled."""
    fields: dict[str, object] = {
        "model": account.model,
        "upstream": account.upstream,
        "tool": account.tool,
        "attempts": account.attempts,
        "input_tokens": account.input_tokens,
        "output_tokens": account.output_tokens,
        "user": account.user_hash,
        "findings": account.findings,
        "unguarded": account.unguarded,
    }
    return {name: value for name, value in fields.items() if value}


async def stamp(request: web.Request, reply: web.StreamResponse) -> None:
    """on_response_prepare: headers every answer carries, whole or streamed."""
    reply.headers["X-Request-Id"] = request.get(REQUEST_ID, "")
    reply.headers["Server"] = "gateway"
