"""Innermost middleware: nothing sensitive goes to a handler or comes back from one unseen.

The request's decoded body is masked before the handler reads it; a whole answer's data, or a stream's events, before
bytes are made of them. The endpoint's dialect says where the text is and how to refuse; knows no interface itself.
"""

from contextlib import aclosing

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.domain import EventStream, RequestStats, TextUnit
from gateway.errors import GatewayError, SanitizerFailed
from gateway.sanitize.masking.policy import Direction
from gateway.sanitize.pipeline import Sanitizer, Verdict
from gateway.web.context import CONTEXT, RequestContext
from gateway.web.replies import EventReply, JsonReply

GUARDRAIL_HEADER = "X-Gateway-Guardrail"
"""`unavailable` when the guardrail failed and the policy let the text go on. Of a stream: its request alone."""

_NOTHING_FOUND = Verdict()
"""Shared: a verdict that was given is not changed any more."""


@web.middleware
async def sanitize(request: web.Request, handler: Handler) -> web.StreamResponse:
    context = request[CONTEXT]
    sanitizer, endpoint = context.server.sanitizer, context.endpoint
    if endpoint.name not in sanitizer.routes:
        return await handler(request)
    asked = await clean_request(context, context.body) if endpoint.check is not None else []
    reply = await handler(request)
    if isinstance(reply, JsonReply):
        await _clean_answer(context, reply.data, asked)
    elif not isinstance(reply, EventReply):
        return reply
    elif reply.whole_answers:
        reply.events = _clean_answers(context, reply.events, asked)
    elif sanitizer.responses:
        dialect, stats = endpoint.dialect, context.stats
        mask = sanitizer.stream(dialect.event_slots, lambda entity: _count(stats, {entity: 1}))
        reply.events = mask.run(reply.events, reply.refusal_events or dialect.refused_events)
    if context.stats.unguarded:
        reply.headers[GUARDRAIL_HEADER] = "unavailable"
    return reply


async def clean_request(context: RequestContext, body: object) -> list[Verdict]:
    """Mask, in place, what is about to leave; what was found, by unit. Raises ContentBlocked, SanitizerFailed."""
    sanitizer, dialect = context.server.sanitizer, context.endpoint.dialect
    found: list[Verdict] = []
    if not sanitizer.requests or context.endpoint.name not in sanitizer.routes:
        return found
    for unit in dialect.request_units(body):
        if sanitizer.is_known_clean(unit, "requests"):
            found.append(_NOTHING_FOUND)
            continue
        verdict, refusal = await _judged(sanitizer, unit, "requests", context.stats)
        found.append(verdict)
        if refusal is not None:
            dialect.refuse_request(body, unit, refusal)
        if verdict and not dialect.is_one_question:
            dialect.note_findings(unit, _told([verdict]))
    return found


async def _judged(
    sanitizer: Sanitizer, unit: TextUnit, direction: Direction, stats: RequestStats
) -> tuple[Verdict, GatewayError | None]:
    """What was found in a unit, and why it must not go on: a finding, or a sanitizer that failed."""
    try:
        verdict = await sanitizer.clean(unit, direction)
    except SanitizerFailed as failure:
        return Verdict(), failure
    _note(stats, verdict)
    return verdict, verdict.refusal


async def _clean_answers(context: RequestContext, events: EventStream, asked: list[Verdict]) -> EventStream:
    """A stream whose events are whole answers: each is treated as one."""
    async with aclosing(events):
        async for batch in events:
            for event in batch:
                if event.data is not None:
                    await _clean_answer(context, event.data, asked)
            yield batch


async def _clean_answer(context: RequestContext, data: object, asked: list[Verdict]) -> None:
    """What was found in a request that is one question is told with its answer, by the first unit."""
    sanitizer, dialect = context.server.sanitizer, context.endpoint.dialect
    verdicts = [*asked, *context.recalled] if dialect.is_one_question else []
    for unit in dialect.reply_units(data):
        if sanitizer.responses and not sanitizer.is_known_clean(unit, "responses"):
            verdict, refusal = await _judged(sanitizer, unit, "responses", context.stats)
            verdicts = [*verdicts, verdict]
            if dialect.is_one_question and isinstance(refusal, SanitizerFailed):
                raise refusal  # a status, where no other call of the request needs an answer
            if refusal is not None:
                dialect.refuse_reply(data, unit, refusal)
        if any(verdicts):
            dialect.note_findings(unit, _told(verdicts))
        verdicts = []


def _told(verdicts: list[Verdict]) -> dict[str, int | str]:
    """What was found in request and answer together, and whether the guardrail had no part in it."""
    found = [verdict for verdict in verdicts if verdict]
    told: dict[str, int | str] = {}
    for entity in sorted({entity for each in found for entity in each.counts}):
        told[entity] = sum(each.counts.get(entity, 0) for each in found)
    if any(each.degraded for each in found):
        told["guardrail"] = "unavailable"
    return told


def _note(stats: RequestStats, verdict: Verdict) -> None:
    if verdict.counts:
        _count(stats, verdict.counts)
    stats.unguarded += verdict.degraded


def _count(stats: RequestStats, counts: dict[str, int]) -> None:
    for entity, number in counts.items():
        stats.findings[entity] = stats.findings.get(entity, 0) + number
