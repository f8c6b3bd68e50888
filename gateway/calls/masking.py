"""What of a call leaves masked, and what comes back as it was: its body, the stored items it goes on with, its answer.

A whole answer is masked as data, a stream event by event. The interface's dialect names the texts and words refusals.
Values that became placeholders are put back into the answer, for the caller of this call alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from gateway.calls.answers import StreamedAnswer, WholeAnswer
from gateway.domain import EventStream, Json, RequestStats
from gateway.errors import ContentBlocked, GatewayError, SanitizerFailed, UpstreamError
from gateway.sanitize.pipeline import BLOCK, RequestWork, Sanitizer, Verdict
from gateway.sanitize.placeholders import Placeholders
from gateway.sanitize.policy import Direction
from gateway.sanitize.restoring import Restorer, addresses_of, asks_for_json
from gateway.sanitize.stream_mask import StreamMask
from gateway.services.completion.turns import VALUES
from gateway.texts import TextSlot, TextUnit
from gateway.wire import sse
from gateway.wire.dialect import Dialect, MessageUnits
from gateway.wire.messages.native import unsigned
from gateway.wire.sanitizer_report import ending_of, merged_reports, report_of
from gateway.wire.url_citations import KeptLinks, annotated

RESTORABLE = frozenset(("chat", "responses", "messages"))
"""Interfaces on which `replace` puts values back; on others it means redact."""
WEB_TOOLS = "websearch"
"""The endpoint of the web tools, as `sanitize.routes` names it."""

Masked = TypeVar("Masked")
"""An answer of a door: a WholeAnswer, a StreamedAnswer, or one that has nothing to mask."""


@dataclass(slots=True)
class Stored:
    """Items that were stored together, and what their placeholders stand for. `is_read`: they are masked as the request
    is; others are in its body already, or are not read. `where`: the field that names them."""

    items: list[Json]
    values: Mapping[str, str] = field(default_factory=dict)
    is_read: bool = True
    where: str = "previous_response_id"


class Earlier(Protocol):
    """What a call goes on with."""

    @property
    def stored(self) -> Sequence[Stored]:
        """The stored items, oldest first."""
        ...

    @property
    def param(self) -> str:
        """The field of the body that names them, for refusals."""
        ...

    @property
    def lock(self) -> object | None:
        """What was taken for the call; None where `release` has nothing to do."""
        ...

    async def release(self) -> None:
        """Let go of it."""
        ...


class Memory(Protocol):
    """Responses that a connection remembers beside the store."""

    async def history(self, response_id: str) -> Stored | None:
        """The items up to and including a response; None for one that is not remembered."""
        ...

    async def put(self, response: Json, kept: Stored) -> None:
        """Remember a response with the items before it."""
        ...


class Masking:
    """The masking of one call."""

    def __init__(self, sanitizer: Sanitizer, dialect: Dialect, stats: RequestStats, work: RequestWork) -> None:
        self._sanitizer, self._dialect, self._stats, self._work = sanitizer, dialect, stats, work
        self._placeholders = Placeholders() if sanitizer.replaces and dialect.name in RESTORABLE else None
        self._addresses: frozenset[str] = frozenset()
        self._is_json = False
        self._verdicts: list[Verdict] = []
        work.masks.placeholders = self._placeholders

    def counted_in(self, stats: RequestStats) -> "Masking":
        """The same masking, of which the rest is counted in other statistics."""
        own = copy(self)
        own._stats = stats
        return own

    @property
    def values(self) -> dict[str, str]:
        """What the placeholders stand for, `{EMAIL_1: value}`."""
        return self._placeholders.as_map() if self._placeholders is not None else {}

    def values_in(self, texts: object) -> dict[str, str]:
        """Those of `values` whose names stand in these texts."""
        return self._placeholders.values_in(texts) if self._placeholders is not None else {}

    def know(self, values: Mapping[str, str], own: Json) -> None:
        """Put these values back too: those of a stored text that is shown. `own`: what of it its caller wrote, in the
        form of a request, with placeholders."""
        if self._placeholders is not None:
            self._placeholders.adopt(values)
            self._addresses |= addresses_of(own, self._placeholders.filled)

    def noted(self, state: Json) -> Json:
        """See domain.StateNames."""
        values = self.values_in(state)
        return {**state, VALUES: values} if values else state

    def met(self, state: Json) -> Json:
        """See domain.StateNames."""
        state = {**state}
        values = state.pop(VALUES, None)
        if self._placeholders is not None and isinstance(values, dict):
            self._placeholders.meet([state], values, "the state of an earlier answer")
        return state

    def go_on_with(
        self, names_in: Callable[[str, Json], Iterable[Mapping[str, str]]], identity: str, body: object
    ) -> None:
        """Keep the names in the states that a body carries, so that these need no change. Call it before
        `clean_request`; `names_in`: see `CallRules.carried_names`."""
        if self._placeholders is not None and isinstance(body, dict):
            for values in names_in(identity, body):
                self._placeholders.meet([], values, "a state")

    async def clean_request(self, body: object, earlier: Earlier | None = None) -> None:
        """Mask a checked body in place, after the stored items that it goes on with. Raises ContentBlocked,
        SanitizerFailed, unless the dialect records a refusal on the unit itself."""
        stored = earlier.stored if earlier is not None else ()
        if self._placeholders is not None:
            self._begin(body, stored)
        items = [item for each in stored if each.is_read for item in each.items]
        if earlier is not None and items:
            try:
                await self.clean_part({"input": items})
            except ContentBlocked as error:
                error.param = earlier.param
                raise
        found = len(self._work.masks.found)
        await self.clean_part(body)
        if items and len(self._work.masks.found) > found:
            await self._mask_known({"input": items})

    def _begin(self, body: object, stored: Sequence[Stored]) -> None:
        """Prepare the placeholders: none that the caller typed, or that a stored item holds without a map."""
        assert self._placeholders is not None
        for each in stored:
            self._placeholders.meet(each.items, each.values, each.where)
            self._work.masks.know(each.values)
            self._addresses |= addresses_of({"input": each.items}, self._placeholders.filled)
        if isinstance(body, dict):
            self._placeholders.set_apart(body, {id(item) for each in stored for item in each.items})
            self._placeholders.reserve_typed(unsigned(body) if self._dialect.name == "messages" else body)
            self._addresses |= addresses_of(body)
            self._is_json = asks_for_json(body)

    async def clean_part(self, body: object) -> None:
        """Mask a checked body, or a part that was added to one, in place. Raises as `clean_request`."""
        sanitizer, dialect = self._sanitizer, self._dialect
        if not sanitizer.requests:
            return
        for messages, units in _blocks(dialect.request_units(body), self._placeholders):
            digest = sanitizer.block_digest(messages, "requests")
            if digest is not None and sanitizer.knows_block(digest):
                await self._work.pace()
                continue
            findings = [await self._clean_request_unit(body, unit) for unit in units]
            if digest is not None and not any(findings):
                sanitizer.learn_block(digest)
        if self._work.masks.found and dialect.is_one_question:
            await self._mask_known(body)

    async def _clean_request_unit(self, body: object, unit: TextUnit) -> bool:
        """Mask one unit of a request; whether there is anything to report of it."""
        dialect = self._dialect
        if self._sanitizer.is_known_clean(unit, "requests"):
            return False
        verdict, refusal = await self._clean_unit(unit, "requests")
        self._verdicts.append(verdict)
        if refusal is not None:
            dialect.refuse_request(body, unit, refusal)
        if verdict and not dialect.is_one_question:
            dialect.note_findings(unit, _merged([verdict]))
        return bool(verdict) or refusal is not None

    async def _mask_known(self, body: object) -> None:
        """Mask the values that were found in one text of the request in all of them. Raises as `clean_request`."""
        again = Verdict()
        for unit in self._dialect.request_units(body):
            await self._sanitizer.mask_known(unit, again, self._work)
            if again.refusal is not None:
                self._dialect.refuse_request(body, unit, again.refusal)
        self._verdicts.append(again)
        _note(self._stats, again)

    async def hide_known(self, reply: Json) -> None:
        """Put placeholders over the values of the request in an answer that is stored. Raises SanitizerFailed."""
        if self._placeholders and self._work.masks.found:
            for unit in self._dialect.reply_units(reply):
                await self._sanitizer.mask_known(unit, Verdict(), self._work)

    async def clean_reply(self, reply: object, *, restores: bool = True) -> None:
        """Mask an answer's data or events, and put values back in the place of their placeholders, where `restores`;
        events that are kept get them when they are read. Raises as `clean_request`."""
        restorer = self._restorer() if restores else None
        if isinstance(reply, WholeAnswer):
            await self._clean_answer(reply.data, self._verdicts, restorer)
        elif not isinstance(reply, StreamedAnswer):
            return
        elif reply.whole_answers:
            reply.events = self._clean_answers(reply.events)
        elif restorer is not None or (self._sanitizer.responses and not reply.was_masked):
            dialect, stats = self._dialect, self._stats
            note = lambda entity: _count(stats, {entity: 1})  # noqa: E731
            mask = await self._sanitizer.stream(
                dialect.event_slots,
                note,
                restorer,
                finds=not reply.was_masked,
                placeholders=self._placeholders,
                answer_of=dialect.answer_of,
                notes_of=None if reply.has_own_links else dialect.event_notes,
            )
            place = partial(self._sanitizer.apart, key_id=stats.key_id)
            masked = mask.run(reply.events, reply.refusal_events or dialect.refused_events, place, self._clean_error)
            source = reply.events
            reply.events = _reported(masked, mask, restorer, () if reply.was_masked else self._verdicts)
            if reply.relay is not None and reply.relay.source is source and reply.relay.stage is None:
                reply.relay.source, reply.relay.stage = reply.events, mask

    def _restorer(self) -> Restorer | None:
        """What restores the call's answer; None where nothing was replaced."""
        if not self._placeholders:
            return None
        return Restorer(self._placeholders, self._addresses, self._sanitizer.restore_tools, self._is_json)

    async def clean_answer_text(self, text: str) -> str:
        """A text that a model wrote, masked as an answer of the call's interface. Raises ContentBlocked,
        SanitizerFailed."""
        held = {"text": text}
        if self._sanitizer.responses:
            _, refusal = await self._clean_unit(TextUnit([TextSlot(held, "text", "summary")]), "responses")
            if refusal is not None:
                raise refusal
        return held["text"]

    async def clean_refusal(self, refused: GatewayError) -> None:
        """Mask an error that quotes a request: its words go to the caller as an answer's do."""
        if not self._sanitizer.responses:
            return
        words = {"message": refused.message, "code": refused.code, "param": refused.param or ""}
        slots = [TextSlot(words, name, f"error.{name}", "label") for name in words]
        _, failure = await self._clean_unit(TextUnit(slots), "responses")
        if failure is not None:
            raise failure
        refused.message, refused.code, refused.param = words["message"], words["code"], words["param"] or None

    async def _clean_error(self, error: GatewayError) -> None:
        """Mask what an upstream says instead of a stream's events, or after some."""
        if isinstance(error, UpstreamError):
            await self.clean_refusal(error)

    async def _clean_unit(self, unit: TextUnit, direction: Direction) -> tuple[Verdict, GatewayError | None]:
        return await _clean_unit(self._sanitizer, self._stats, unit, direction, self._work)

    async def _clean_answers(self, events: EventStream) -> EventStream:
        """Mask a stream whose events are whole answers, each as one."""
        async with aclosing(events):
            async for batch in events:
                for event in batch:
                    if event.data is not None:
                        await self._clean_answer(event.data, self._verdicts)
                yield batch

    async def _clean_answer(
        self, data: object, request_verdicts: list[Verdict], restorer: Restorer | None = None
    ) -> None:
        """Mask a whole answer in place, then put values back. Findings in a request that is one question are noted on
        the answer's first unit."""
        sanitizer, dialect = self._sanitizer, self._dialect
        links = KeptLinks(annotated(data))
        verdicts = [*request_verdicts] if dialect.is_one_question else []
        for unit in dialect.reply_units(data):
            if sanitizer.responses and not sanitizer.is_known_clean(unit, "responses"):
                verdict, refusal = await self._clean_unit(unit, "responses")
                verdicts = [*verdicts, verdict]
                if dialect.is_one_question and isinstance(refusal, SanitizerFailed):
                    raise refusal  # an error status: no other call of the request needs an answer
                if refusal is not None:
                    dialect.refuse_reply(data, unit, refusal)
            restored = await self._restore(unit, data, restorer) if restorer is not None else {}
            if any(verdicts) or restored:
                dialect.note_findings(unit, merged_reports([_merged(verdicts), restored]))
            verdicts = []
        links.place(self._placeholders.filled if self._placeholders else str)

    async def _restore(self, unit: TextUnit, data: object, restorer: Restorer) -> Json:
        """Put values back into a unit of a whole answer; what came of it, for the report."""
        answer = unit.owner if isinstance(unit.owner, dict) else data
        before = restorer.restored.copy(), restorer.left.copy()
        for _ in restorer.restore_all(self._slots_anew(unit, data), answer if isinstance(answer, dict) else None):
            await self._work.pace()
        return {
            name: dict(sorted((now - then).items()))
            for name, now, then in (
                ("restored", restorer.restored, before[0]),
                ("not_restored", restorer.left, before[1]),
            )
            if now - then
        }

    def _slots_anew(self, unit: TextUnit, data: object) -> list[TextSlot]:
        """The slots of a unit whose groups of short strings were handed out when it was scanned."""
        units = self._dialect.reply_units(data)
        return next((each.slots for each in units if each.owner is unit.owner), unit.slots)


async def clean_tool_texts(
    sanitizer: Sanitizer, stats: RequestStats, work: RequestWork, unit: TextUnit, direction: Direction
) -> None:
    """Mask texts of a web tool that the gateway calls for a model, in place: as those of its own route, whatever the
    interface of the call is. Raises ContentBlocked, SanitizerFailed."""
    is_on = sanitizer.requests if direction == "requests" else sanitizer.responses
    if is_on and WEB_TOOLS in sanitizer.routes and not sanitizer.is_known_clean(unit, direction):
        own = RequestWork(stats.key_id)  # its own masks: into a search nothing is put back
        own.allowance = work.allowance
        _, refusal = await _clean_unit(sanitizer, stats, unit, direction, own)
        if refusal is not None:
            raise refusal


async def _clean_unit(
    sanitizer: Sanitizer, stats: RequestStats, unit: TextUnit, direction: Direction, work: RequestWork
) -> tuple[Verdict, GatewayError | None]:
    """The verdict on a unit, and the error if it must not go on: a blocked finding, or a sanitizer that failed."""
    try:
        verdict = await sanitizer.clean(unit, direction, work)
    except SanitizerFailed as failure:
        return Verdict(), failure
    _note(stats, verdict)
    return verdict, verdict.refusal


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
                    report = merged_reports([fields.get("sanitization") or {}, report])
                    ending["provider_specific_fields"] = {**fields, "sanitization": report}
                    event.raw = None
            yield batch


def _stream_report(mask: StreamMask, restorer: Restorer | None, verdicts: Sequence[Verdict]) -> Json:
    """The report on a stream and its request; empty where there is nothing to tell."""
    report = merged_reports(
        [
            _merged(verdicts),
            report_of(mask.counts, mask.flagged),
            {"restored": restorer.restored, "not_restored": restorer.left} if restorer is not None else {},
        ]
    )
    return report if any(report.values()) else {}


def _blocks(
    units: Iterable[TextUnit], placeholders: Placeholders | None
) -> Iterable[tuple[list[Json], Iterable[TextUnit]]]:
    """The units of a request with the messages that they are made of. Where values get numbers, what a request has
    beside its messages (tools, a system prompt) comes first, so that a history which grows keeps its numbers."""
    if isinstance(units, MessageUnits):
        return units.blocks(BLOCK, rest_first=placeholders is not None)
    return [([], units)]


def _merged(verdicts: Iterable[Verdict]) -> Json:
    """The report on all verdicts together (`wire.sanitizer_report`)."""
    return merged_reports(
        report_of(each.counts, each.flagged, each.replaced, is_degraded=each.degraded) for each in verdicts
    )


def _note(stats: RequestStats, verdict: Verdict) -> None:
    if verdict.counts:
        _count(stats, verdict.counts)
    stats.unguarded += verdict.degraded


def _count(stats: RequestStats, counts: Mapping[str, int]) -> None:
    for entity, number in counts.items():
        stats.findings[entity] = stats.findings.get(entity, 0) + number
