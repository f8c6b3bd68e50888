"""What the routes of models share: the check of a body, the model that may answer it, and the reply with its timing."""

import functools
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from multidict import MultiMapping

from gateway.calls.answers import Endings
from gateway.calls.call import Call
from gateway.domain import Caller, Event, EventStream, Json, Relay, RequestStats
from gateway.errors import Forbidden, GatewayError, InvalidRequest
from gateway.schemas import Checker
from gateway.services.completion.attempts import ModelEntry
from gateway.web.endpoints import Check
from gateway.web.replies import EventReply, JsonReply
from gateway.wire.chat.request import plain_chat
from gateway.wire.json_body import BadJson, JsonBody

_ROUTE_OF_KIND = {
    "ocr": "reads images; use it on /v1/chat/completions",
    "embedding": "makes embeddings; use it on /v1/embeddings",
}

Refused = Callable[[GatewayError, Json | None, Json], list[Event]]
"""(error, last event that was sent, usage so far) -> the events that end a stream whose answer was refused."""


def by_schema(schema: Json, is_plain: Callable[[Any], bool] | None = None) -> Check:
    """A check of bodies. It gives the decoded body, and raises InvalidRequest: code `invalid_json` (not JSON, or nested
    too deeply), else with the wrong field as `param`. `is_plain`: a stricter check of a body of any depth, whose answer
    `JsonBody.is_plain` has."""
    checker = Checker(schema)
    members = schema.get("properties") or {}
    whole = frozenset(name for name, each in members.items() if "integer" in (each.get("type") or ()))

    def check(body: JsonBody, headers: MultiMapping[str]) -> Json:
        try:
            value: Json = body.value_of_any_depth()
            if is_plain is not None and is_plain(value):
                body.is_plain = True
                return _in_whole_numbers(value, whole)
            value = body.value()
        except BadJson as problem:
            raise InvalidRequest(f"the body {problem}", code="invalid_json") from None
        problems = checker.check(value, limit=1)
        if problems:
            path, message = problems[0].path, problems[0].message
            raise InvalidRequest(str(problems[0]) if path else f"the body {message}", param=path or None)
        return _in_whole_numbers(value, whole)

    return check


_EXACT = 2.0**53
"""Whole numbers below are exact as floats."""


def _in_whole_numbers(body: Json, names: Collection[str]) -> Json:
    """The body with these fields as whole numbers: JSON Schema's `integer` allows `8.0`, which counts nothing."""
    for name, value in body.items():
        if type(value) is float and name in names and abs(value) < _EXACT:
            body[name] = int(value)
    return body


@functools.cache
def plain_chats() -> Checker:
    """Allows chat bodies whose messages go to any upstream as they are (`wire.chat.request.plain_chat`)."""
    return Checker(plain_chat())


def require_kind(entry: ModelEntry, *kinds: str) -> ModelEntry:
    """The model. Raises InvalidRequest, naming the right route, unless it is of one of these kinds."""
    if entry.kind not in kinds:
        reason = _ROUTE_OF_KIND.get(entry.kind, "answers text; use it on /v1/chat/completions")
        raise InvalidRequest(f"model '{entry.name}' {reason}", param="model")
    return entry


def require_scope(caller: Caller, scope: str) -> None:
    """Raises Forbidden unless the key has the scope that the model's kind needs."""
    if scope not in caller.scopes:
        raise Forbidden(f"this key may not use this model; it needs the scope '{scope}'", param="model")


def whole(
    call: Call, data: Any, headers: Mapping[str, str] | None = None, finish: Callable[[Any], Any] | None = None
) -> JsonReply:
    """The reply of a whole answer. `finish`: see JsonReply."""
    return JsonReply(data, headers={**(headers or {}), **_timing(call.stats)}, finish=finish)


def streamed(
    call: Call,
    entry: ModelEntry,
    events: EventStream,
    refused: Refused,
    *,
    headers: Mapping[str, str] | None = None,
    failed: Endings | None = None,
    cancelled: Callable[[], list[Event]] | None = None,
    relay: Relay | None = None,
) -> EventReply:
    """The reply of a stream, which words its own failures and refusals as far as these are given. `relay`: the short
    way of its plain chunks."""
    stats = call.stats
    reply = EventReply(
        events,
        headers=headers,
        first_event_wait_s=entry.first_event_wait_s,
        failure_events=failed,
        cancelled_events=cancelled,
        refusal_events=lambda error, last: refused(error, last, used_so_far(stats)),
    )
    reply.late_headers = lambda: _timing(stats)
    if relay is not None:
        reply.relay, relay.source = relay, events
    return reply


def used_so_far(stats: RequestStats) -> Json:
    """`{prompt_tokens, completion_tokens, total_tokens}` of an answer that is still being streamed."""
    counts = (stats.input_tokens, stats.output_tokens)
    if stats.streaming is not None:
        usage = stats.streaming.usage
        counts = (counts[0] + usage["prompt_tokens"], counts[1] + usage["completion_tokens"])
    return {"prompt_tokens": counts[0], "completion_tokens": counts[1], "total_tokens": sum(counts)}


def _timing(stats: RequestStats) -> dict[str, str]:
    """`openai-processing-ms` since the request came, `x-gateway-overhead-ms` without what upstreams took."""
    total_ms = (time.perf_counter() - stats.started_s) * 1000
    overhead_ms = max(0.0, total_ms - stats.upstream_s * 1000)
    return {"openai-processing-ms": str(round(total_ms)), "x-gateway-overhead-ms": f"{overhead_ms:.2f}"}
