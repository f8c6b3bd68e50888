"""Innermost middleware: masks the request's decoded body before the handler reads it, and the answer before it is sent.

A whole answer is masked as data, a stream event by event. The endpoint's dialect names the texts and words refusals;
this module knows no interface.
"""

from contextlib import aclosing
from functools import partial

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.domain import EventStream, Json, RequestStats
from gateway.errors import GatewayError, SanitizerFailed, UpstreamRefused
from gateway.sanitize.pipeline import Verdict
from gateway.sanitize.policy import Direction
from gateway.texts import TextSlot, TextUnit
from gateway.web.context import CONTEXT, RequestContext
from gateway.web.replies import EventReply, JsonReply
from gateway.wire.dialect import merged_reports, report_of

GUARDRAIL_HEADER = "X-Gateway-Guardrail"
"""`unavailable` when the guardrail failed and the policy let the text go on. For a stream: on its request alone."""

WEB_TOOLS = "websearch"
"""The endpoint of the web tools, as `sanitize.routes` names it."""

_CLEAN = Verdict()
"""Shared by all texts known to be clean: a verdict never changes once it was returned."""


@web.middleware
async def sanitize(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Raises ContentBlocked and SanitizerFailed, unless the dialect records a refusal on the unit itself."""
    context = request[CONTEXT]
    sanitizer, endpoint = context.server.sanitizer, context.endpoint
    if endpoint.sanitized_as not in sanitizer.routes:
        return await handler(request)
    verdicts: list[Verdict] = []
    if endpoint.check is not None:
        verdicts = await clean_request(context, context.body)
    try:
        reply = await handler(request)
    except UpstreamRefused as refused:
        await _clean_refusal(context, refused)
        raise
    if isinstance(reply, JsonReply):
        await _clean_answer(context, reply.data, verdicts)
    elif not isinstance(reply, EventReply):
        return reply
    elif reply.whole_answers:
        reply.events = _clean_answers(context, reply.events, verdicts)
    elif sanitizer.responses:
        dialect, stats = endpoint.dialect, context.stats
        mask = sanitizer.stream(dialect.event_slots, lambda entity: _count(stats, {entity: 1}))
        place = partial(sanitizer.apart, key_id=stats.key_id)
        refusal_events = reply.refusal_events or dialect.refused_events
        reply.events = mask.run(reply.events, refusal_events, place, partial(_clean_error, context))
    if context.stats.unguarded:
        reply.headers[GUARDRAIL_HEADER] = "unavailable"
    return reply


async def clean_request(context: RequestContext, body: object) -> list[Verdict]:
    """Mask a checked body in place. Returns one verdict a unit; none when requests of this route are not sanitized.

    Raises ContentBlocked, SanitizerFailed.
    """
    sanitizer, dialect = context.server.sanitizer, context.endpoint.dialect
    verdicts: list[Verdict] = []
    if not sanitizer.requests or context.endpoint.sanitized_as not in sanitizer.routes:
        return verdicts
    for unit in dialect.request_units(body):
        if sanitizer.is_known_clean(unit, "requests"):
            verdicts.append(_CLEAN)
            continue
        verdict, refusal = await _clean_unit(context, unit, "requests")
        verdicts.append(verdict)
        if refusal is not None:
            dialect.refuse_request(body, unit, refusal)
        if verdict and not dialect.is_one_question:
            dialect.note_findings(unit, _merged([verdict]))
    return verdicts


async def clean_tool_texts(context: RequestContext, unit: TextUnit, direction: Direction) -> None:
    """Mask texts of a web tool that the gateway calls for a model, in place: as those of its own route, whatever the
    endpoint is. Raises ContentBlocked, SanitizerFailed."""
    sanitizer = context.server.sanitizer
    is_on = sanitizer.requests if direction == "requests" else sanitizer.responses
    if is_on and WEB_TOOLS in sanitizer.routes and not sanitizer.is_known_clean(unit, direction):
        _, refusal = await _clean_unit(context, unit, direction)
        if refusal is not None:
            raise refusal


async def _clean_unit(
    context: RequestContext, unit: TextUnit, direction: Direction
) -> tuple[Verdict, GatewayError | None]:
    """The verdict on a unit, and the error if it must not go on: a blocked finding, or a sanitizer that failed."""
    try:
        context.work.key_id = context.stats.key_id
        verdict = await context.server.sanitizer.clean(unit, direction, context.work)
    except SanitizerFailed as failure:
        return Verdict(), failure
    _note(context.stats, verdict)
    return verdict, verdict.refusal


async def _clean_refusal(context: RequestContext, refused: UpstreamRefused) -> None:
    """Mask what an upstream said of a request that it refused: its words go to the caller as an answer's do."""
    if not context.server.sanitizer.responses:
        return
    words = {"message": refused.message, "code": refused.code, "param": refused.param or ""}
    slots = [TextSlot(words, name, f"error.{name}", "label") for name in words]
    _, failure = await _clean_unit(context, TextUnit(slots), "responses")
    if failure is not None:
        raise failure
    refused.message, refused.code, refused.param = words["message"], words["code"], words["param"] or None


async def _clean_error(context: RequestContext, error: GatewayError) -> None:
    """Mask what an upstream says instead of a stream's events, or after some."""
    if isinstance(error, UpstreamRefused):
        await _clean_refusal(context, error)


async def _clean_answers(context: RequestContext, events: EventStream, request_verdicts: list[Verdict]) -> EventStream:
    """Mask a stream whose events are whole answers, each as one. `request_verdicts`: the verdicts on the request."""
    async with aclosing(events):
        async for batch in events:
            for event in batch:
                if event.data is not None:
                    await _clean_answer(context, event.data, request_verdicts)
            yield batch


async def _clean_answer(context: RequestContext, data: object, request_verdicts: list[Verdict]) -> None:
    """Mask a whole answer in place. Findings in a request that is one question are noted on the answer's first unit."""
    sanitizer, dialect = context.server.sanitizer, context.endpoint.dialect
    verdicts = [*request_verdicts, *context.history_verdicts] if dialect.is_one_question else []
    for unit in dialect.reply_units(data):
        if sanitizer.responses and not sanitizer.is_known_clean(unit, "responses"):
            verdict, refusal = await _clean_unit(context, unit, "responses")
            verdicts = [*verdicts, verdict]
            if dialect.is_one_question and isinstance(refusal, SanitizerFailed):
                raise refusal  # an error status: no other call of the request needs an answer
            if refusal is not None:
                dialect.refuse_reply(data, unit, refusal)
        if any(verdicts):
            dialect.note_findings(unit, _merged(verdicts))
        verdicts = []


def _merged(verdicts: list[Verdict]) -> Json:
    """The report on all verdicts together (`wire.dialect`)."""
    return merged_reports(report_of(each.counts, each.flagged, is_degraded=each.degraded) for each in verdicts)


def _note(stats: RequestStats, verdict: Verdict) -> None:
    if verdict.counts:
        _count(stats, verdict.counts)
    stats.unguarded += verdict.degraded


def _count(stats: RequestStats, counts: dict[str, int]) -> None:
    for entity, number in counts.items():
        stats.findings[entity] = stats.findings.get(entity, 0) + number
