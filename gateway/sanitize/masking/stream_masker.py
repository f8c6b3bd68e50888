"""Masks a stream of events while it runs. Result: as if each text were scanned whole after the stream's end.

Naive form: collect all pieces of a text, `masked(text, scanner.scan(text))`, then send. Here a piece is sent as soon as
no later piece can change what is found in it. Tests compare both forms for texts cut anywhere. Does not know any wire
format: the dialect's `slots_of` says where text is. Theory of operation (also of `channel_scan`, `stream_channel`,
`text.holdback`, `scan.fast_path`):

A channel is one text of the stream (the content of a choice, the arguments of a tool call). Its pieces arrive in
events, and events of several channels may alternate. Texts of one `flow` (the message after a message) are one channel:
the next one goes on where the last was closed. What a closed one holds back stays held while it may be the beginning of
a value (`may_be_value`), and with it the event that closed it and all events behind. Events that hold the closed text
again wait for it (`repeated_texts`). Offsets count characters from the channel's beginning:

    0 <= base <= final <= length     [base, length) is buffered, [0, final) is decided, [final, length) is held back

| channel       | condition                     | more text arrives                | idle, closed, [DONE], end |
|---------------|-------------------------------|----------------------------------|---------------------------|
| decided       | final == length               | fast path or scan; hold the rest | nothing to do             |
| holding back  | final < length, no mask_until | the same                         | all of it is decided      |
| masking a tail| mask_until is a pattern       | extend the last mask over it     | what was masked stays     |
| parted        | in `_parted` by its flow      | the next item's name stands for  | all of it is decided      |
|               |                               | it; then as above                |                           |
| closed        | in neither                    | a new channel under this name    | nothing to do             |

| event   | condition                            | leaves this state when                           |
|---------|--------------------------------------|--------------------------------------------------|
| pending | in `_queue`, undecided_pieces > 0    | `Channel.emit_decided` decides its last piece     |
| decided | in `_queue`, undecided_pieces == 0   | every event before it is decided too             |
| ready   | in `_ready`                          | `push` or `finish` returns it                    |
| dropped | after the event of a blocked finding | never; the queue is cut there                    |

Invariants: events leave in the order in which they came, and no event is lost, but for a blocked stream. Text before
`final` is never judged again; a value split over events is masked in the event where it starts and removed from the
others. A channel holds back at most MAX_HOLDBACK_CHARS once it is scanned; one without new text for IDLE_EVENTS events
(MAX_IDLE_EVENTS if it may end in a number or key) is decided as it is. The fast path decides only what the full scan
would decide in the same way.

Callers: one task, either `run` alone or `push` any number of times and then `finish`. After an exception the masker
must not be used again. `push` and `finish` raise SanitizerFailed (a detector failed) or Blocked (`run` handles it).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from functools import partial

from gateway.domain import Event, EventBatch, EventStream, Json, RelayTemplate
from gateway.errors import ContentBlocked, GatewayError, SanitizerFailed
from gateway.sanitize.masking.channel_scan import IDLE_EVENTS, Blocked, ChannelScan
from gateway.sanitize.masking.long_text import IN_THREAD_CHARS
from gateway.sanitize.masking.policy import Action, ActionTable
from gateway.sanitize.masking.repeated_texts import RepeatedTexts
from gateway.sanitize.masking.slot_masker import SlotMasker
from gateway.sanitize.masking.stream_channel import Channel, PendingEvent, Piece, kept_events
from gateway.sanitize.masking.stream_steps import (
    SLOTS_A_STEP,
    MaskSteps,
    Place,
    Refusal,
    at_once,
    in_turns,
    whole_text_steps,
)
from gateway.sanitize.scan.scanner import Scanner
from gateway.texts import TextSlot
from gateway.wire import sse

_MAX_RELAYED_RUN = 24
"""Chosen: relayed pieces of one batch that the fast path takes together. One piece that is not plain sends the whole
run to the full scan: at double it takes more plain pieces with it, at half plain bursts need twice the fast path
calls."""


class StreamMask:
    """Masks one stream. `on_finding(entity)` is called once for each finding, before its text is sent."""

    def __init__(
        self,
        scanner: Scanner,
        actions: ActionTable,
        slots_of: Callable[[Json], Iterable[TextSlot]],
        on_finding: Callable[[str], None],
    ) -> None:
        self._slots_of = slots_of
        self._on_finding = on_finding
        self._scan = ChannelScan(scanner, actions, on_finding)
        self._slot_masker = SlotMasker(scanner, actions, self._note)
        self._queue: deque[PendingEvent] = deque()
        self._ready: EventBatch = []
        self._event_count = 0
        self._last: Event | None = None
        self._channels: dict[Hashable, Channel] = {}
        self._parted: dict[Hashable, Channel] = {}  # by flow: the channel of its last closed item
        self._repeated = RepeatedTexts()  # the texts of closed items, which later events have again whole
        self._decodes_all = False  # something beside a text was masked (an id): relayed frames may hold it too

    async def run(self, events: EventStream, refused_events: Refusal, place: Place = asyncio.to_thread) -> EventStream:
        """Yield the same events, masked, and close `events` at the end. Long texts are scanned in `place`.

        A blocked finding ends the stream with `refused_events`. If `events` raises a GatewayError, the text held back
        is yielded first. Raises SanitizerFailed when a detector fails, and whatever `events` raises.
        """
        try:
            async for batch in events:
                yield await in_turns(self._push_steps(batch), place)
            yield await in_turns(self._finish_steps(), place)
        except SanitizerFailed:
            raise
        except GatewayError:
            with suppress(Blocked, SanitizerFailed):
                yield self.finish()
            raise
        except Blocked as blocked:
            error = ContentBlocked(f"the answer holds {blocked.entity}", param=blocked.where)
            last = sse.decode(self._last) if self._last is not None else None
            yield [*at_once(self._take_ready()), *refused_events(error, last)]
        finally:
            await events.aclose()

    def push(self, batch: EventBatch) -> EventBatch:
        """Add events; return, in order, those that are ready. Raises SanitizerFailed and Blocked."""
        return at_once(self._push_steps(batch))

    def _push_steps(self, batch: EventBatch) -> MaskSteps[EventBatch]:
        changed, not_plain = list[Channel](), list[Channel]()
        index, size = 0, len(batch)
        while index < size:
            event = batch[index]
            first, index = index, index + 1
            if event.relayed is None or event.data is not None or self._decodes_all:
                yield from self._event_steps(event, changed)
                continue
            while index < size and batch[index].relayed is event.relayed and batch[index].data is None:
                index += 1
                if index - first == _MAX_RELAYED_RUN:
                    break
            self._add_relayed(event.relayed, batch if size == 1 else batch[first:index], not_plain)
        for channel in changed + not_plain:
            advance = partial(self._advance, channel)
            yield advance if len(channel.buffer) > IN_THREAD_CHARS else advance()
        if self._queue and self._event_count - self._queue[0].number > IDLE_EVENTS:
            self._decide_idle_channels()
        return (yield from self._take_ready())

    def finish(self) -> EventBatch:
        """Decide and return everything that is left: the stream has ended. Raises SanitizerFailed and Blocked."""
        return at_once(self._finish_steps())

    def _finish_steps(self) -> MaskSteps[EventBatch]:
        self._close_all()
        return (yield from self._take_ready())

    def _event_steps(self, event: Event, changed: list[Channel]) -> MaskSteps[None]:
        """Add an event of any kind; channels that got text are appended to `changed`."""
        self._event_count += 1
        pending = PendingEvent(event, self._event_count, event.raw)
        self._queue.append(pending)
        data = sse.decode(event)
        if data is None:
            if event.raw == sse.DONE:
                self._close_all()
            return
        self._last = event
        whole_texts = []
        for slot in self._slots_of(data):
            if slot.channel is None:
                whole_texts.append(slot)
                if len(whole_texts) % SLOTS_A_STEP == 0:
                    yield None
                continue
            channel = self._append(slot, pending)
            if len(channel.buffer) > IN_THREAD_CHARS:
                yield partial(self._advance, channel)
            if not changed or changed[-1] is not channel:
                changed.append(channel)
        if whole_texts:
            if self._repeated.write(whole_texts, pending):
                pending.whole_texts = whole_texts
            else:
                yield from self._whole_text_steps(whole_texts, pending)

    def _add_relayed(self, relayed: RelayTemplate, events: EventBatch, not_plain: list[Channel]) -> None:
        """Add pieces of one channel that came together. Plain words, the usual case, go to `_ready` at once.

        A channel whose new text is not plain is appended to `not_plain`: its text is scanned once at the end of `push`.
        """
        channel = self._channels.get(relayed.channel)
        if channel is None:
            channel = self._channels[relayed.channel] = Channel("text", relayed.where)
        self._last = events[-1]
        offset, queue = channel.base + len(channel.buffer), self._queue
        channel.buffer += events[0].text if len(events) == 1 else "".join([event.text for event in events])
        must_scan = channel in not_plain
        is_plain = not must_scan and self._scan.advance_plain(channel)
        if is_plain and queue:
            self._release_decided()
        if is_plain and not queue:
            ready, offset = len(events), channel.base + len(channel.buffer)
            while ready and offset > channel.final:
                ready -= 1
                offset -= len(events[ready].text)
            if ready:
                self._ready += events[:ready]
                self._event_count += ready
                events = events[ready:]
        for event in events:
            self._event_count += 1
            pending = PendingEvent(event, self._event_count, event.raw, 1)
            queue.append(pending)
            end = offset + len(event.text)
            channel.pieces.append(Piece(relayed, offset, end, pending))
            offset = end
        channel.last_event = self._event_count
        if is_plain:
            channel.emit_decided()  # pieces behind another channel's pending event are decided and stay in the queue
        elif not must_scan:
            not_plain.append(channel)

    def _append(self, slot: TextSlot, pending: PendingEvent) -> Channel:
        channel = self._channels.get(slot.channel)
        if channel is None:
            channel = self._parted.pop(slot.flow, None) or Channel(slot.form, slot.where, joins=slot.flow is not None)
            channel.where = slot.where
            self._channels[slot.channel] = channel
        channel.append(slot, pending)
        if slot.last:
            self._channels.pop(slot.channel)
            if channel.joins:
                self._part(channel, slot.flow)
            else:
                channel.closed = True
                self._advance(channel)
        return channel

    def _part(self, channel: Channel, flow: Hashable) -> None:
        """An item of a flow is closed: keep what it holds back only if another item may go on with a value in it."""
        self._repeated.add(channel.end_segment())
        self._advance(channel)
        if not self._scan.may_go_on(channel):
            self._advance(channel, whole=True)
        beside = self._parted.get(flow)  # of an item that was open beside this one
        if beside is not None:
            self._advance(beside, whole=True)
        self._parted[flow] = channel

    def _whole_text_steps(self, slots: list[TextSlot], pending: PendingEvent) -> MaskSteps[None]:
        """Mask texts that one event holds completely."""
        try:
            is_changed = yield from whole_text_steps(self._slot_masker, slots, self._repeated)
        except Blocked:
            self._queue = kept_events(self._queue, None, before=pending)  # the event with this text must not be sent
            raise
        if is_changed:
            pending.frame = None
            self._decodes_all = True

    def _note(self, entity: str, action: Action, where: str) -> None:
        self._on_finding(entity)
        if action == "block":
            raise Blocked(entity, where, None)

    def _advance(self, channel: Channel, whole: bool = False) -> None:
        try:
            self._scan.advance(channel, whole)
        except Blocked as blocked:
            self._queue = kept_events(self._queue, blocked.last_event)
            raise

    def _close_all(self) -> None:
        for channel in (*self._channels.values(), *self._parted.values()):
            channel.closed = True
            self._advance(channel)
        self._channels.clear()
        self._parted.clear()

    def _decide_idle_channels(self) -> None:
        for channel in (*self._channels.values(), *self._parted.values()):
            if channel.pieces and self._scan.is_idle(channel, self._event_count - channel.last_event):
                self._advance(channel, whole=True)

    def _take_ready(self) -> MaskSteps[EventBatch]:
        while self._queue:
            self._release_decided()
            if not self._queue or self._queue[0].undecided_pieces:
                break
            pending = self._queue[0]
            yield from self._whole_text_steps(pending.whole_texts or [], pending)
            pending.whole_texts = None
        ready, self._ready = self._ready, []
        return ready

    def _release_decided(self) -> None:
        """Move decided events to `_ready`, up to one whose whole texts are to be masked before."""
        queue = self._queue
        while queue and not queue[0].undecided_pieces and queue[0].whole_texts is None:
            pending = queue.popleft()
            if pending.frame is not None:
                pending.event.raw = pending.frame  # unchanged: the frame need not be encoded again
            self._ready.append(pending.event)
