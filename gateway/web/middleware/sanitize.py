"""Innermost middleware: masks the request's decoded body before the handler reads it, and the answer before it is sent.

A whole answer is masked as data, a stream event by event. The endpoint's dialect names the texts and words refusals.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from functools import partial

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.access.sealing import SealRefused
from gateway.domain import EventStream, Json, RequestStats
from gateway.errors import GatewayError, SanitizerFailed, UpstreamRefused
from gateway.sanitize.pipeline import RequestWork, Verdict
from gateway.sanitize.policy import Direction
from gateway.sanitize.restoring import Placeholders, Restorer, addresses_of, asks_for_json
from gateway.sanitize.stream_mask import StreamMask
from gateway.texts import TextSlot, TextUnit
from gateway.web.replies import EventReply, JsonReply
from gateway.web.state import CONTEXT, RequestContext
from gateway.wire import sse
from gateway.wire.sanitizer_report import ending_of, merged_reports, report_of

GUARDRAIL_HEADER = "X-Gateway-Guardrail"
"""`unavailable` when the guardrail failed and the policy let the text go on. For a stream: on its request alone."""

RESTORABLE = frozenset(("chat", "responses", "messages"))
"""Interfaces on which `replace` puts values back; on others it means redact."""
WEB_TOOLS = "websearch"
"""The endpoint of the web tools, as `sanitize.routes` names it."""

_CLEAN = Verdict()
"""Shared by all texts known to be clean: a verdict never changes once it was returned."""


@web.middleware
async def sanitize(request: web.Request, handler: Handler) -> web.StreamResponse:
    """As `sanitized`, for a request of HTTP."""
    context = request[CONTEXT]
    if context.endpoint.sanitized_as not in context.server.sanitizer.routes:
        return await handler(request)
    response_id, maps = request.match_info.get("response_id"), context.server.masking_maps
    reply = await sanitized(context, lambda: handler(request), response_id)
    if response_id and request.method == "DELETE" and context.placeholders is not None and maps is not None:
        await maps.forget(context.caller.key_id, response_id)
    return reply


async def sanitized(
    context: RequestContext, call: Callable[[], Awaitable[web.StreamResponse]], response_id: str | None = None
) -> web.StreamResponse:
    """The answer of `call` to the request, both masked. `response_id`: the stored response that is asked for. Raises
    ContentBlocked and SanitizerFailed, unless the dialect records a refusal on the unit itself."""
    sanitizer, endpoint = context.server.sanitizer, context.endpoint
    if endpoint.sanitized_as not in sanitizer.routes:
        return await call()
    verdicts: list[Verdict] = []
    await _prepare(context, response_id)
    if endpoint.check is not None:
        verdicts = await clean_request(context, context.body)
    try:
        reply = await call()
    except UpstreamRefused as refused:
        await _clean_refusal(context, refused)
        raise
    await clean_reply(context, reply, verdicts)
    return reply


async def clean_reply(
    context: RequestContext, reply: web.StreamResponse, verdicts: list[Verdict], *, restores: bool = True
) -> None:
    """Mask a reply's data or events, and put values back in the place of their placeholders, where `restores`; events
    that are kept get them when they are read. `verdicts`: those on the request. Raises as `sanitize`."""
    sanitizer, endpoint = context.server.sanitizer, context.endpoint
    if endpoint.sanitized_as not in sanitizer.routes:
        return
    restorer = _restorer(context) if restores else None
    if isinstance(reply, JsonReply):
        await _keep_map(context, reply.data)
        await _clean_answer(context, reply.data, verdicts, restorer)
    elif not isinstance(reply, EventReply):
        return
    elif reply.whole_answers:
        reply.events = _clean_answers(context, reply.events, verdicts)
    elif sanitizer.responses or context.placeholders:
        dialect, stats = endpoint.dialect, context.stats
        mask = sanitizer.stream(dialect.event_slots, lambda entity: _count(stats, {entity: 1}), restorer)
        place = partial(sanitizer.apart, key_id=stats.key_id)
        refusal_events = reply.refusal_events or dialect.refused_events
        events = _keeping_map(context, reply.events) if context.placeholders else reply.events
        masked = mask.run(events, refusal_events, place, partial(_clean_error, context))
        reply.events = _reported(masked, mask, restorer, [*verdicts, *context.history_verdicts])
    if context.stats.unguarded:
        reply.headers[GUARDRAIL_HEADER] = "unavailable"


def _restorer(context: RequestContext) -> Restorer | None:
    """What restores this request's answer; None where nothing was replaced."""
    if not context.placeholders:
        return None
    body = context.body if isinstance(context.body, dict) else {}
    tools = context.server.sanitizer.restore_tools
    return Restorer(context.placeholders, context.addresses, tools, asks_for_json(body))


async def _prepare(context: RequestContext, response_id: str | None = None) -> None:
    """Prepare the request's placeholders: none that the caller typed, those of the stored turns before it."""
    if not context.server.sanitizer.replaces or context.endpoint.dialect.name not in RESTORABLE:
        return
    placeholders, body, maps = Placeholders(), context.body, context.server.masking_maps
    context.placeholders, earlier = placeholders, response_id
    placeholders.adopt(context.earlier_values)
    if isinstance(body, dict):
        placeholders.reserve_typed(body)
        context.addresses = addresses_of(body)
        earlier = body.get("previous_response_id") or _conversation_of(body) or response_id
        if maps is not None:
            placeholders.adopt(maps.carried(context.caller.identity, body.get("input")))
    if earlier and maps is not None and context.endpoint.dialect.name == "responses":
        try:
            placeholders.adopt(await maps.load(context.caller.key_id, earlier))
        except SealRefused as error:
            error.param = "previous_response_id"
            raise


async def _keep_map(context: RequestContext, data: object) -> None:
    """Keep the map of a stored response beside it. Raises EngineMissing without the extra that seals."""
    maps, body = context.server.masking_maps, context.body
    is_response = isinstance(data, dict) and data.get("object") == "response"
    is_stored = isinstance(body, dict) and body.get("store") is not False
    if context.placeholders and maps is not None and isinstance(data, dict) and is_response and is_stored:
        for name in filter(None, (str(data.get("id")), _conversation_of(data))):
            await maps.keep(context.caller.key_id, name, context.placeholders.as_map())


def _conversation_of(data: Json) -> str | None:
    """The id of the conversation that a request or response belongs to."""
    conversation = data.get("conversation")
    return conversation.get("id") if isinstance(conversation, dict) else conversation


async def _keeping_map(context: RequestContext, events: EventStream) -> EventStream:
    """The events of a stream; the map is kept when the first one names the response."""
    is_kept = context.endpoint.dialect.name != "responses"
    async with aclosing(events):
        async for batch in events:
            for event in batch:
                data = event.data if not is_kept else None
                if isinstance(data, dict) and isinstance(data.get("response"), dict):
                    is_kept = True
                    await _keep_map(context, data["response"])
            yield batch


async def _reported(
    events: EventStream, mask: StreamMask, restorer: Restorer | None, verdicts: Sequence[Verdict]
) -> EventStream:
    """The events of a masked stream; the one that ends the answer says what was found, as a whole answer does."""
    async with aclosing(events):
        async for batch in events:
            for event in batch:
                data = sse.decode(event) if event.relayed is None else None
                ending = ending_of(data) if data is not None else None
                report = _stream_report(mask, restorer, verdicts) if ending is not None else None
                if ending is not None and report:
                    fields = ending.get("provider_specific_fields") or {}
                    ending["provider_specific_fields"] = {**fields, "sanitization": report}
                    event.raw = None
            yield batch


def _stream_report(mask: StreamMask, restorer: Restorer | None, verdicts: Sequence[Verdict]) -> Json:
    """The report on a stream and its request; empty where there is nothing to tell."""
    report = merged_reports(
        [
            _merged([*verdicts]),
            report_of(mask.counts, mask.flagged),
            {"restored": restorer.restored, "not_restored": restorer.left} if restorer is not None else {},
        ]
    )
    return report if any(report.values()) else {}


async def clean_request(context: RequestContext, body: object) -> list[Verdict]:
    """Mask a checked body in place. Returns one verdict a unit; none when requests of this route are not sanitized.

    Raises ContentBlocked, SanitizerFailed.
    """
    sanitizer, dialect = context.server.sanitizer, context.endpoint.dialect
    verdicts: list[Verdict] = []
    if not sanitizer.requests or context.endpoint.sanitized_as not in sanitizer.routes:
        return verdicts
    if context.placeholders is None and body is context.body:
        await _prepare(context)
    masks = context.work.masks
    masks.placeholders = context.placeholders
    for unit in _in_order(dialect.request_units(body), context.placeholders):
        if sanitizer.is_known_clean(unit, "requests"):
            verdicts.append(_CLEAN)
            continue
        verdict, refusal = await _clean_unit(context, unit, "requests")
        verdicts.append(verdict)
        if refusal is not None:
            dialect.refuse_request(body, unit, refusal)
        if verdict and not dialect.is_one_question:
            dialect.note_findings(unit, _merged([verdict]))
    if masks.found and dialect.is_one_question:
        again = Verdict()
        for unit in dialect.request_units(body):
            await sanitizer.mask_known(unit, again, context.work)
        verdicts.append(again)
        _note(context.stats, again)
    if context.placeholders and context.endpoint.dialect.name == "responses":
        _require_maps(context)
    return verdicts


def _in_order(units: Iterable[TextUnit], placeholders: Placeholders | None) -> Iterable[TextUnit]:
    """The units of a request; where values get numbers, what stands before the messages (tools, a system prompt) comes
    first, so that a history which grows keeps its numbers. The dialects give it last."""
    if placeholders is None:
        return units
    return sorted(units, key=lambda unit: not (isinstance(unit.whole, dict) and "role" not in unit.whole))


def _require_maps(context: RequestContext) -> None:
    """Raises EngineMissing, naming the extra, where a response with placeholders would be stored without its map."""
    maps, body = context.server.masking_maps, context.body
    if maps is not None and isinstance(body, dict) and body.get("store") is not False:
        maps.require()


async def clean_tool_texts(context: RequestContext, unit: TextUnit, direction: Direction) -> None:
    """Mask texts of a web tool that the gateway calls for a model, in place: as those of its own route, whatever the
    endpoint is. Raises ContentBlocked, SanitizerFailed."""
    sanitizer = context.server.sanitizer
    is_on = sanitizer.requests if direction == "requests" else sanitizer.responses
    if is_on and WEB_TOOLS in sanitizer.routes and not sanitizer.is_known_clean(unit, direction):
        work = RequestWork(context.stats.key_id)  # its own masks: into a search nothing is put back
        work.allowance = context.work.allowance
        _, refusal = await _clean_unit(context, unit, direction, work)
        if refusal is not None:
            raise refusal


async def clean_answer_text(context: RequestContext, text: str) -> str:
    """A text that a model wrote, masked as an answer of the request's route. Raises ContentBlocked, SanitizerFailed."""
    sanitizer, held = context.server.sanitizer, {"text": text}
    unit = TextUnit([TextSlot(held, "text", "summary")])
    if sanitizer.responses and context.endpoint.sanitized_as in sanitizer.routes:
        _, refusal = await _clean_unit(context, unit, "responses")
        if refusal is not None:
            raise refusal
    return held["text"]


async def _clean_unit(
    context: RequestContext, unit: TextUnit, direction: Direction, work: RequestWork | None = None
) -> tuple[Verdict, GatewayError | None]:
    """The verdict on a unit, and the error if it must not go on: a blocked finding, or a sanitizer that failed."""
    try:
        context.work.key_id = context.stats.key_id
        verdict = await context.server.sanitizer.clean(unit, direction, work or context.work)
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


async def _clean_answer(
    context: RequestContext, data: object, request_verdicts: list[Verdict], restorer: Restorer | None = None
) -> None:
    """Mask a whole answer in place, then put values back. Findings in a request that is one question are noted on the
    answer's first unit."""
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
        restored = await _restore(context, unit, data, restorer) if restorer is not None else {}
        if any(verdicts) or restored:
            dialect.note_findings(unit, merged_reports([_merged(verdicts), restored]))
        verdicts = []


async def _restore(context: RequestContext, unit: TextUnit, data: object, restorer: Restorer) -> Json:
    """Put values back into a unit of a whole answer; what came of it, for the report."""
    answer = unit.owner if isinstance(unit.owner, dict) else data
    before = restorer.restored.copy(), restorer.left.copy()
    for slot in _again(context, unit, data):
        restorer.restore(slot, answer if isinstance(answer, dict) else None)
        await context.work.pace()
    return {
        name: dict(sorted((now - then).items()))
        for name, now, then in (
            ("restored", restorer.restored, before[0]),
            ("not_restored", restorer.left, before[1]),
        )
        if now - then
    }


def _again(context: RequestContext, unit: TextUnit, data: object) -> list[TextSlot]:
    """The slots of a unit whose groups of short strings were handed out when it was scanned."""
    units = context.endpoint.dialect.reply_units(data)
    return next((each.slots for each in units if each.owner is unit.owner), unit.slots)


def _merged(verdicts: list[Verdict]) -> Json:
    """The report on all verdicts together (`wire.dialect`)."""
    return merged_reports(
        report_of(each.counts, each.flagged, each.replaced, is_degraded=each.degraded) for each in verdicts
    )


def _note(stats: RequestStats, verdict: Verdict) -> None:
    if verdict.counts:
        _count(stats, verdict.counts)
    stats.unguarded += verdict.degraded


def _count(stats: RequestStats, counts: dict[str, int]) -> None:
    for entity, number in counts.items():
        stats.findings[entity] = stats.findings.get(entity, 0) + number
