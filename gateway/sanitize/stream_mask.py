"""Masks a stream of events while it runs. Result: as if each text were scanned whole after the stream's end.

    "my card is 4539 1488"  " 0343 6467, that is"  " all"
    ->  "my card is [REDACTED:CREDIT_CARD]"  ", that is"  " all"

Naive form: collect all pieces of a text, `masked(text, scanner.scan(text))`, then send. Here a piece is sent as soon as
no later piece can change what is found in it. Tests compare both forms for texts cut anywhere. This module knows no
wire format: the dialect's `slots_of` says where text is.

A channel is one text of the stream (the content of a choice, the arguments of a tool call). Its pieces arrive in
events, and events of several channels may alternate. Offsets count characters from the channel's beginning:

    0 <= base <= final <= length     [base, length) is buffered, [0, final) is decided, [final, length) is held back

| channel       | condition                     | more text arrives                | idle, [DONE], end        |
|---------------|-------------------------------|----------------------------------|--------------------------|
| decided       | final == length               | plain glance or scan             | nothing to do            |
| holding back  | final < length, no mask_until | the same                         | all of it is decided     |
| masking a tail| mask_until is a pattern       | extend the last mask over it     | what was masked stays    |
| closed        | all of it is decided          | a new channel under this name    | nothing to do            |

| event   | condition                | leaves this state when                   |
|---------|--------------------------|------------------------------------------|
| pending | undecided_pieces > 0     | its texts are decided, and all before it |
| ready   | in `_ready`              | `run` yields it                          |
| dropped | behind a blocked finding | never; the stream ends there             |

Invariants: events of one answer leave in the order in which they came (with `n`, answers run side by side, and none
waits for another), and no event is lost, but for a blocked stream. Text before
`final` is never judged again; a value split over events is masked in the event where it starts and removed from the
others. A channel holds back at most MAX_HOLDBACK_CHARS once it is scanned; one without new text for IDLE_EVENTS events
(MAX_IDLE_EVENTS if it may end in a number or key) is decided as it is. The glance at plain words decides only what the
scan would decide in the same way.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from gateway.domain import Event, EventBatch, EventStream, Json, RelayTemplate
from gateway.errors import ContentBlocked, GatewayError, SanitizerFailed
from gateway.sanitize.channel import Channel, Piece, holdback_of
from gateway.sanitize.findings import Finding, mask_of
from gateway.sanitize.holdback import MAX_HOLDBACK_CHARS, REST_OF_KEY, REST_OF_VALUE, may_be_key
from gateway.sanitize.pending_events import EventQueue, PendingEvent
from gateway.sanitize.placeholders import Placeholders
from gateway.sanitize.plain_words import plain_text_cut
from gateway.sanitize.policy import Action, ActionTable
from gateway.sanitize.restoring import Restorer
from gateway.sanitize.slot_mask import IN_THREAD_CHARS, SlotMasker, weight_of
from gateway.sanitize.sparing import SparingScanner
from gateway.texts import TextSlot
from gateway.wire import sse
from gateway.wire.url_citations import KeptLinks, Shift

if TYPE_CHECKING:
    from gateway.sanitize.scanner import Scanner

Place: TypeAlias = Callable[[Callable[[], object]], Awaitable[object]]
"""Does work on one long text where it holds nobody up."""
CleanError: TypeAlias = Callable[[GatewayError], Awaitable[None]]
"""Masks in place what an error says of the stream."""
Refusal: TypeAlias = Callable[[GatewayError, Json | None], list[Event]]
"""(error, data of the last event with data, or None) -> the events that end the stream in its dialect."""

IDLE_EVENTS = 64
"""A channel that holds text back delays at most so many events of other channels."""
MAX_IDLE_EVENTS = 1024
"""The same for a channel that may end in a number or key (`may_be_key`): 600 pieces of reasoning may stand between two
pieces of a message."""
_GLANCE_CHARS = 40
"""Decided text that the glance at plain words looks at too, so that a sign split by the border (an escape, `://`, 16
characters without a space) is still seen."""
_SHORT_CHARS = IN_THREAD_CHARS // 2
"""A channel with so much held goes the long way, where it may be scanned elsewhere."""
_TURN_S = 0.004
"""Work after which other requests get a turn, as in `pipeline`."""


class Blocked(Exception):
    """A finding must not pass. `where` is its slot's path; `last_event` the event that is cut before the finding."""

    def __init__(self, entity: str, where: str, last_event: "PendingEvent | None") -> None:
        super().__init__(entity)
        self.entity, self.where, self.last_event = entity, where, last_event


class _Judge:
    """Decides how much of a channel's text is final, and which masks lie over it; for one stream. `on_finding(entity)`
    is called once for each finding."""

    def __init__(
        self,
        scanner: "Scanner",
        actions: ActionTable,
        on_finding: Callable[[str], None],
        restorer: Restorer | None,
        sparing: SparingScanner | None,
    ) -> None:
        self.scanner, self._actions, self._on_finding = scanner, actions, on_finding
        self._restorer, self._sparing = restorer, sparing
        self.counts, self.flagged = Counter[str](), Counter[str]()

    def advance_plain(self, channel: Channel) -> bool:
        """Decide plain words up to the holdback and emit their pieces. False, with nothing done, for any other text
        and for a closed channel, of which all is decided. Naive form: `advance(channel)`, which decides the same."""
        is_simple = not channel.edits and channel.mask_until is None and not channel.closed
        if not is_simple or self.scanner.min_holdback_chars:
            return False
        start = channel.final - channel.base
        first = start - _GLANCE_CHARS if start > _GLANCE_CHARS else 0
        cut = plain_text_cut(channel.buffer[first:], start - first)
        if cut < 0:
            return False
        if first + cut > start:
            channel.decide_until(first + cut)
            channel.forget_decided()
        if channel.pieces and channel.pieces[0].end <= channel.final:
            channel.emit_decided()
        return True

    def advance(self, channel: Channel, whole: bool = False) -> None:
        """Decide all text but the holdback, or all of it with `whole` or when the channel is closed; emit its pieces.

        Raises Blocked, with the channel cut at the finding.
        """
        channel.continue_mask()
        start, length = channel.final - channel.base, len(channel.buffer)
        cut = length
        if not whole and not channel.closed:
            cut = max(min(holdback_of(channel.buffer, start), length - self.scanner.min_holdback_chars), start)
            if self._restorer is not None:
                cut = self._restorer.holdback_start(channel.buffer, start, cut)
        if cut > start or length - start > MAX_HOLDBACK_CHARS:
            self._decide(channel, cut)
        channel.emit_decided()

    def _decide(self, channel: Channel, cut: int) -> None:
        """Scan the buffer and decide it up to `cut`, or up to a finding that goes beyond it."""
        start, length = channel.final - channel.base, len(channel.buffer)
        findings = [
            finding
            for finding in self._found(channel.buffer)
            if finding.end > start and self._actions.action(finding.entity, finding.certain) != "off"
        ]
        for finding in findings:
            if finding.start < cut < finding.end:
                cut = max(finding.start, start)
        values = self._values(channel, start, cut)
        holds_too_much = length - cut > MAX_HOLDBACK_CHARS
        if holds_too_much:
            cut = length
        for finding in findings:
            if finding.start < cut:
                while values and values[0][0] < finding.start:
                    channel.add_value(*values.popleft())
                self._apply(channel, finding._replace(start=max(finding.start, start)))
        for value in values:
            channel.add_value(*value)
        if holds_too_much and channel.edits and channel.ends_in_mask():
            is_key = channel.buffer.startswith("-----BEGIN", findings[-1].start)
            channel.mask_until = REST_OF_KEY if is_key else REST_OF_VALUE
        channel.decide_until(cut)
        channel.forget_decided()

    def _found(self, text: str) -> list[Finding]:
        found = self.scanner.scan_uncached(text)
        return self._sparing.spared(text, found) if self._sparing is not None else found

    def _values(self, channel: Channel, start: int, cut: int) -> deque[tuple[int, int, str]]:
        """The placeholders in buffer[start:cut] that become values again."""
        restorer, text = self._restorer, channel.buffer
        if restorer is None or channel.reading is None:
            return deque()
        tool = restorer.tool_of_channel(channel.name, channel.form)
        restorer.count_bare(text[start:cut])
        return deque(restorer.edits(text, start, cut, channel.reading, tool=tool))

    def _apply(self, channel: Channel, finding: Finding) -> None:
        self._on_finding(finding.entity)
        action = self._actions.action(finding.entity, finding.certain)
        self.counts[finding.entity] += 1
        self.flagged[finding.entity] += action == "flag"
        if action == "redact":
            channel.add_edit(finding.start, finding.end, mask_of(finding.entity))
        elif action == "block":
            raise Blocked(finding.entity, channel.where, channel.cut_at(finding.start))


class StreamMask:
    """Masks one stream. Callers: one task, either `run` alone or `push` any number of times and then `finish`. After an
    exception the mask must not be used again."""

    def __init__(
        self,
        scanner: "Scanner",
        actions: ActionTable,
        slots_of: Callable[[Json], Iterable[TextSlot]],
        on_finding: Callable[[str], None],
        restorer: Restorer | None = None,
        *,
        placeholders: Placeholders | None = None,
        answer_of: Callable[[Json], Hashable] | None = None,
        notes_of: Callable[[Json], Iterable[tuple[Hashable, Json]]] | None = None,
    ) -> None:
        """`on_finding(entity)` is called once for each finding, before its text is sent. `restorer` puts values back in
        the place of their placeholders; None where there are none. `placeholders`: in which nothing is found.
        `answer_of` and `notes_of` (its `event_notes`) as `wire.dialect.Dialect`; None where all events are one
        answer's, and where citations keep their positions."""
        self._slots_of, self._on_finding, self._restorer = slots_of, on_finding, restorer
        sparing = SparingScanner(scanner, placeholders) if placeholders else None
        self._judge = _Judge(scanner, actions, on_finding, restorer, sparing)
        self._masker = SlotMasker(sparing or scanner, actions, self._note)
        self._answer_of, self._notes_of = answer_of, notes_of
        self._shifts: dict[Hashable, Shift] = {}  # of all its texts
        self._ready: EventBatch = []
        self._answer: Hashable = None  # the one that got the last event
        self._queue = EventQueue(self._ready)  # its own
        self._queues: dict[Hashable, EventQueue] = {None: self._queue}
        self._last: Event | None = None
        self._channels: dict[Hashable, Channel] = {}
        self._broken: Blocked | SanitizerFailed | None = None  # what `pass_on` has met
        self._ended: Channel | None = None  # the last text that is complete
        self._has_pieces = False  # whole texts repeat them
        self._decodes_all = False  # something beside a text was masked (an id): relayed frames may hold it too
        self._place: Place | None = None
        self._turn_ends_s = 0.0

    async def run(
        self,
        events: EventStream,
        refused_events: Refusal,
        place: Place = asyncio.to_thread,
        clean_error: CleanError | None = None,
    ) -> EventStream:
        """Yield the same events, masked, and close `events` at the end. Long texts are scanned in `place`.

        A blocked finding ends the stream with `refused_events`. If `events` raises a GatewayError, the text held back
        is yielded first, then `clean_error` masks what the error says. Raises SanitizerFailed when a detector fails,
        and whatever `events` and `clean_error` raise.
        """
        self._place = place
        try:
            async for batch in events:
                yield await self._pushed(self._push(batch))
            yield await self._pushed(self._finish())
        except SanitizerFailed:
            raise
        except GatewayError as failure:
            with suppress(Blocked, SanitizerFailed):
                yield await self._pushed(self._finish())
            if clean_error is not None:
                await clean_error(failure)
            raise
        except Blocked as blocked:
            for queue in self._queues.values():
                queue.end(blocked.last_event)
            error = ContentBlocked(f"the answer holds {blocked.entity}", param=blocked.where)
            last = sse.decode(self._last) if self._last is not None else None
            yield [*self._released(), *refused_events(error, last)]
        finally:
            await events.aclose()

    @property
    def counts(self) -> Counter[str]:
        """The findings by entity in the texts that came in pieces, so far."""
        return self._judge.counts

    @property
    def flagged(self) -> Counter[str]:
        """Those of `counts` that stay in the text."""
        return +self._judge.flagged

    @property
    def is_open(self) -> bool:
        """See domain.RelayStage: nothing waits for long, no long text is held, and nothing has failed."""
        if len(self._channels) != 1 or len(self._queues) != 1 or self._decodes_all or self._broken is not None:
            return False
        [channel] = self._channels.values()
        return len(self._queue.pending) <= IDLE_EVENTS and len(channel.buffer) <= _SHORT_CHARS

    @property
    def has_failed(self) -> bool:
        """See domain.RelayStage."""
        return self._broken is not None

    def pass_on(self, events: EventBatch) -> tuple[bytes, int]:
        """See domain.RelayStage."""
        template = events[0].relayed
        changed: dict[Channel, bool] = {}
        try:
            assert template is not None
            self._add_relayed(template, events, changed)
            for channel in changed:
                self._judge.advance(channel)
        except Blocked as blocked:
            self._broken = blocked
        except Exception as error:
            self._broken = SanitizerFailed("the sanitizer failed on this stream")
            self._broken.__cause__ = error
        if self._broken is not None:
            return b"", 0
        ready = self._released()
        return b"".join([event.raw or sse.encode(event) for event in ready]), len(ready)

    def push(self, batch: EventBatch) -> EventBatch:
        """Add events; return, in order, those that are ready. All work is done here. Raises SanitizerFailed and
        Blocked."""
        return _now(self._pushed(self._push(batch)))

    def finish(self) -> EventBatch:
        """Decide and return everything that is left: the stream has ended. Raises SanitizerFailed and Blocked."""
        return _now(self._pushed(self._finish()))

    async def _pushed(self, work: Coroutine[Any, Any, EventBatch]) -> EventBatch:
        self._turn_ends_s = time.perf_counter() + _TURN_S
        try:
            return await work
        except (Blocked, GatewayError):
            raise
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this stream") from error

    async def _push(self, batch: EventBatch) -> EventBatch:
        if self._broken is not None:
            raise self._broken
        changed: dict[Channel, bool] = {}  # whether its text may be plain words
        index, size = 0, len(batch)
        while index < size:
            first, event = index, batch[index]
            index += 1
            if event.relayed is None or event.data is not None or self._decodes_all:
                await self._add_event(event, changed)
                continue
            while index < size and batch[index].relayed is event.relayed and batch[index].data is None:
                index += 1
            self._add_relayed(event.relayed, batch[first:index], changed)
        for channel, may_be_plain in changed.items():
            if not may_be_plain or not self._judge.advance_plain(channel):
                await self._advance(channel)
        queues = self._queues.values() if len(self._queues) > 1 else (self._queue,)
        for queue in queues:
            if len(queue.pending) > IDLE_EVENTS + 1:
                await self._decide_idle()
        return self._released()

    async def _finish(self) -> EventBatch:
        if self._broken is not None:
            raise self._broken
        await self._close_all()
        return self._released()

    async def _close_all(self) -> None:
        for channel in self._channels.values():
            channel.closed = True
            await self._advance(channel)
        self._channels.clear()

    def _add_relayed(self, relayed: RelayTemplate, events: EventBatch, changed: dict[Channel, bool]) -> None:
        """Add pieces of one channel that came together. Plain words, the usual case, are ready at once."""
        if relayed.answer != self._answer:
            self._turn_to(relayed.answer)
        queue = self._queue
        channel = self._channels.get(relayed.channel)
        if channel is None:
            channel = self._new_channel(relayed.channel, "text", relayed.where)
        self._last, offset = events[-1], channel.length
        channel.buffer += events[0].text if len(events) == 1 else "".join([event.text for event in events])
        if channel not in changed and not self._judge.advance_plain(channel):
            changed[channel] = False
        if queue.pending:
            queue.release()
        ready = 0
        if not queue.pending and offset < channel.final:
            while ready < len(events) and offset + len(events[ready].text) <= channel.final:
                offset += len(events[ready].text)
                ready += 1
            queue.ready += events[:ready]
            queue.count += ready
        for event in events[ready:]:
            pending = queue.add(event, event.raw)
            pending.undecided_pieces = 1
            channel.pieces.append(Piece(relayed, offset, offset + len(event.text), pending))
            offset += len(event.text)
        channel.last_event = queue.count
        if channel not in changed:
            channel.emit_decided()

    async def _add_event(self, event: Event, changed: dict[Channel, bool]) -> None:
        """Add an event of any kind; channels that got text are added to `changed`."""
        frame, data = event.raw, sse.decode(event)
        if data is not None and self._answer_of is not None and (answer := self._answer_of(data)) is not None:
            self._turn_to(answer)
        pending = self._queue.add(event, frame)
        if data is None:
            if event.raw == sse.DONE:
                await self._close_all()
            return
        self._last = event
        if self._restorer is not None:
            self._restorer.note_tools(data)
        whole_texts: list[TextSlot] = []
        for slot in self._slots_of(data):
            if slot.channel is None:
                whole_texts.append(slot)
                await self._pace()
            else:
                self._append(slot, pending, changed)
        if whole_texts:
            for channel in [each for each in changed if each.closed]:  # its text comes again, whole: judge it first
                del changed[channel]
                await self._advance(channel)
            await self._mask_whole(whole_texts, pending)
        self._place_notes(pending, data)

    def _place_notes(self, pending: PendingEvent, data: Json) -> None:
        """Let the citations of an event get their positions when it leaves: then all text before it is decided."""
        for key, note in self._notes_of(data) if self._notes_of is not None else ():
            event = pending.event
            if key in self._shifts:
                pending.frame = None
                event.finish = partial(_placed, self._shifts[key], note, event.finish)

    def _append(self, slot: TextSlot, pending: PendingEvent, changed: dict[Channel, bool]) -> None:
        """Add a piece to its channel, and close that behind the last one."""
        channel, self._has_pieces = self._channels.get(slot.channel), True
        if channel is None:
            if slot.last and not slot.text:
                return  # the end of a text that never began
            channel = self._new_channel(slot.channel, slot.form, slot.where)
            channel.name = slot.channel
        channel.append(slot, pending)
        changed.setdefault(channel, True)
        if slot.last:
            del self._channels[slot.channel]
            channel.closed = True
            self._ended = channel if channel.form == "text" else self._ended

    def _new_channel(self, key: Hashable, form: str, where: str) -> Channel:
        reading = self._restorer.reading(form) if self._restorer is not None else None
        if reading is not None and form == "text" and self._ended is not None and self._ended.reading is not None:
            reading = self._ended.reading.behind(self._ended.buffer)  # clients show the parts of an answer as one text
        channel = self._channels[key] = Channel(form, where, self._queue, reading=reading)
        if self._notes_of is not None:
            self._shifts[key] = channel.shift
        return channel

    def _turn_to(self, answer: Hashable) -> None:
        """Add what comes to the queue of an answer; the first one has what came before it too."""
        self._answer = answer
        if self._answer_of is not None and answer not in self._queues:
            self._queues[answer] = self._queues.pop(None) if None in self._queues else EventQueue(self._ready)
        self._queue = self._queues[answer if self._answer_of is not None else None]

    async def _mask_whole(self, slots: list[TextSlot], pending: PendingEvent) -> None:
        """Mask the texts that one event holds whole: ids, titles, long texts, and closed texts that come again."""
        is_changed = False
        links = KeptLinks({id(slot.holder): slot.holder for slot in slots}.values()) if self._notes_of else None
        try:
            for each in self._masker.seam_steps(slots):
                is_changed |= each
                await self._pace()
            for slot in slots:
                if weight_of(slot) > IN_THREAD_CHARS:
                    before = slot.text
                    await self._do(partial(self._masker.clean, slot))
                    is_changed |= slot.text != before
                    continue
                for each in self._masker.steps(slot):
                    is_changed |= each
                    await self._pace()
        except Blocked:
            self._queue.end(None, before=pending)  # the event with this text must not be sent
            raise
        if self._restorer is not None:
            is_changed |= self._restorer.restore_again(slots, pending.event.data, counts=not self._has_pieces)
        if is_changed:
            pending.frame = None
            self._decodes_all = True
            if links is not None:
                links.place(self._restorer.placeholders.filled if self._restorer is not None else str)

    def _note(self, entity: str, action: Action, where: str) -> None:
        self._on_finding(entity)
        if action == "block":
            raise Blocked(entity, where, None)

    async def _decide_idle(self) -> None:
        """Decide the texts that have got no piece for too long."""
        for channel in self._channels.values():
            idle_events = channel.queue.count - channel.last_event
            if channel.pieces and idle_events > IDLE_EVENTS:
                may_be_long = channel.mask_until is not None or may_be_key(channel.held)
                if idle_events > MAX_IDLE_EVENTS or not may_be_long:
                    await self._advance(channel, whole=True)

    async def _advance(self, channel: Channel, whole: bool = False) -> None:
        if len(channel.buffer) > IN_THREAD_CHARS:
            await self._do(partial(self._judge.advance, channel, whole))
        else:
            self._judge.advance(channel, whole)

    def _released(self) -> EventBatch:
        """The events whose texts are decided; those of no answer stand in the last queue, which leaves last."""
        for queue in self._queues.values() if len(self._queues) > 1 else ():
            if queue is not self._queue:
                queue.release()
        if self._queue.pending:
            self._queue.release()
        ready = self._ready[:]
        self._ready.clear()
        return ready

    async def _do(self, work: Callable[[], object]) -> None:
        if self._place is None:
            work()
        else:
            await self._place(work)
            self._turn_ends_s = time.perf_counter() + _TURN_S

    async def _pace(self) -> None:
        """Give other requests a turn, if this one has had the event loop for _TURN_S."""
        if self._place is not None and time.perf_counter() >= self._turn_ends_s:
            await asyncio.sleep(0)
            self._turn_ends_s = time.perf_counter() + _TURN_S


def _placed(shift: Shift, note: Json, finish: Callable[[Json], Json] | None, data: Json) -> Json:
    """The data of an event whose citation has got its place, for the wire."""
    shift.place(note)
    return finish(data) if finish is not None else data


def _now(work: Coroutine[Any, Any, EventBatch]) -> EventBatch:
    """The result of work that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        ready: EventBatch = end.value
        return ready
    finally:
        work.close()
    raise RuntimeError("a mask without a place waited")
