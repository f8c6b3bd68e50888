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
| parted        | closed, known by its flow     | the next item's name stands for  | all of it is decided      |
|               |                               | it; then as above                |                           |
| closed        | in neither                    | a new channel under this name    | nothing to do             |

| event   | condition                            | leaves this state when                           |
|---------|--------------------------------------|--------------------------------------------------|
| pending | in the queue, undecided_pieces > 0   | `Channel.emit_decided` decides its last piece     |
| decided | in the queue, undecided_pieces == 0  | every event before it is decided too             |
| ready   | in `_queue.ready`                    | `push` or `finish` returns it                    |
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
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from gateway.domain import Event, EventBatch, EventStream, Json, RelayTemplate
from gateway.errors import ContentBlocked, GatewayError, SanitizerFailed
from gateway.sanitize.masking.channel_scan import IDLE_EVENTS, Blocked, ChannelScan
from gateway.sanitize.masking.event_queue import EventQueue, PendingEvent
from gateway.sanitize.masking.open_channels import OpenChannels
from gateway.sanitize.masking.policy import ActionTable
from gateway.sanitize.masking.stream_channel import Channel, Piece
from gateway.sanitize.masking.stream_steps import (
    SLOTS_A_STEP,
    CleanError,
    MaskSteps,
    Place,
    Refusal,
    at_once,
    in_turns,
)
from gateway.sanitize.masking.weights import IN_THREAD_CHARS
from gateway.sanitize.masking.whole_texts import WholeTexts
from gateway.sanitize.scan.scanner import Scanner
from gateway.texts import TextSlot
from gateway.wire import sse

_MAX_RELAYED_RUN = 24
"""Chosen: relayed pieces of one batch that the fast path takes together. One piece that is not plain sends the whole
run to the full scan: at double it takes more plain pieces with it, at half plain bursts need twice the fast path
calls."""

_AT_ONCE_CHARS = 1_024
"""Chosen: a text of so many characters, its context included, is scanned without a step of its own (below half a
millisecond). At half most pieces that are not plain take steps, at double others wait for longer between two turns."""


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
        self._scan = ChannelScan(scanner, actions, on_finding)
        self._whole_texts = WholeTexts(scanner, actions, on_finding)
        self._queue = EventQueue()
        self._last: Event | None = None
        self._channels = OpenChannels(self._scan, self._whole_texts.repeated)
        self._decodes_all = False  # something beside a text was masked (an id): relayed frames may hold it too

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
        try:
            async for batch in events:
                pushed = self._pushed(batch)
                yield pushed if isinstance(pushed, list) else await in_turns(pushed, place)
            yield await in_turns(self._finish_steps(), place)
        except SanitizerFailed:
            raise
        except GatewayError as failure:
            with suppress(Blocked, SanitizerFailed):
                yield self.finish()
            if clean_error is not None:
                await clean_error(failure)
            raise
        except Blocked as blocked:
            self._queue.end(blocked.last_event)
            error = ContentBlocked(f"the answer holds {blocked.entity}", param=blocked.where)
            last = sse.decode(self._last) if self._last is not None else None
            yield [*at_once(self._take_ready()), *refused_events(error, last)]
        finally:
            await events.aclose()

    def push(self, batch: EventBatch) -> EventBatch:
        """Add events; return, in order, those that are ready. Raises SanitizerFailed and Blocked."""
        pushed = self._pushed(batch)
        return pushed if isinstance(pushed, list) else at_once(pushed)

    def _pushed(self, batch: EventBatch) -> EventBatch | MaskSteps[EventBatch]:
        """Add events; return those that are ready, or the steps to them where there is more to do than a short scan.

        Naive form: `_push_steps`. A model's stream is mostly batches of one piece, which take no steps.
        """
        if len(batch) != 1:
            return self._push_steps(batch)
        event, queue = batch[0], self._queue
        not_plain: list[Channel] = []
        if event.relayed is not None and event.data is None and not self._decodes_all:
            channel = self._add_relayed(event.relayed, batch, not_plain)
        else:
            piece = self._piece_of(event)
            if piece is None or (added := self._channels.append(piece, queue.add(event))) is None:
                return self._push_steps(batch)
            self._last, channel = event, added
            if len(channel.buffer) > _AT_ONCE_CHARS or not self._scan.advance_plain(channel):
                not_plain.append(channel)
        if len(channel.buffer) > _AT_ONCE_CHARS or len(queue.pending) > IDLE_EVENTS:
            return self._decision_steps(not_plain)
        if not_plain:
            self._scan.advance(channel)
        if queue.pending and not queue.pending[0].undecided_pieces and queue.release() is not None:
            return self._take_ready()
        return queue.take()

    def _piece_of(self, event: Event) -> TextSlot | None:
        """The only text of an event that was made from data, if it is a piece that others follow."""
        slots = () if event.data is None else self._slots_of(event.data)
        if not isinstance(slots, tuple | list) or len(slots) != 1:
            return None
        slot: TextSlot = slots[0]
        return None if slot.channel is None or slot.last else slot

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
        for channel in changed:
            if len(channel.buffer) > IN_THREAD_CHARS or not self._scan.advance_plain(channel):
                not_plain.append(channel)
        return (yield from self._decision_steps(not_plain))

    def _decision_steps(self, changed: list[Channel]) -> MaskSteps[EventBatch]:
        """Decide what can be decided in these channels; return the events that are ready."""
        for channel in changed:
            advance = partial(self._scan.advance, channel)
            yield advance if len(channel.buffer) > IN_THREAD_CHARS else advance()
        if self._queue.waits_longer(IDLE_EVENTS):
            self._channels.decide_idle(self._queue.count)
        return (yield from self._take_ready())

    def finish(self) -> EventBatch:
        """Decide and return everything that is left: the stream has ended. Raises SanitizerFailed and Blocked."""
        return at_once(self._finish_steps())

    def _finish_steps(self) -> MaskSteps[EventBatch]:
        self._channels.close_all()
        return (yield from self._take_ready())

    def _event_steps(self, event: Event, changed: list[Channel]) -> MaskSteps[None]:
        """Add an event of any kind; channels that got text are appended to `changed`."""
        pending = self._queue.add(event)
        data = sse.decode(event)
        if data is None:
            if event.raw == sse.DONE:
                self._channels.close_all()
            return
        self._last = event
        whole_texts = []
        for slot in self._slots_of(data):
            if slot.channel is None:
                whole_texts.append(slot)
                if len(whole_texts) % SLOTS_A_STEP == 0:
                    yield None
                continue
            channel = self._channels.append(slot, pending)
            if channel is None:
                continue
            if len(channel.buffer) > IN_THREAD_CHARS:
                yield partial(self._scan.advance, channel)
            if not changed or changed[-1] is not channel:
                changed.append(channel)
        if whole_texts:
            if self._whole_texts.repeated.write(whole_texts, pending):
                pending.whole_texts = whole_texts
            else:
                yield from self._whole_text_steps(whole_texts, pending)

    def _add_relayed(self, relayed: RelayTemplate, events: EventBatch, not_plain: list[Channel]) -> Channel:
        """Add pieces of one channel that came together. Plain words, the usual case, are ready at once.

        A channel whose new text is not plain is appended to `not_plain`: its text is scanned once at the end of `push`.
        """
        channel = self._channels.by_name.get(relayed.channel)
        if channel is None:
            channel = self._channels.by_name[relayed.channel] = Channel("text", relayed.where)
        self._last = events[-1]
        offset, queue = channel.base + len(channel.buffer), self._queue
        channel.buffer += events[0].text if len(events) == 1 else "".join([event.text for event in events])
        must_scan = bool(not_plain) and channel in not_plain
        is_plain = not must_scan and self._scan.advance_plain(channel)
        if is_plain:
            if queue.pending:
                queue.release()
            if not queue.pending:
                ready, offset = len(events), channel.base + len(channel.buffer)
                while ready and offset > channel.final:
                    ready -= 1
                    offset -= len(events[ready].text)
                if ready:
                    queue.pass_on(events[:ready])
                    events = events[ready:]
        for event in events:
            end = offset + len(event.text)
            channel.pieces.append(Piece(relayed, offset, end, queue.add(event, 1)))
            offset = end
        channel.last_event = queue.count
        if is_plain:
            if channel.pieces and channel.pieces[0].end <= channel.final:
                channel.emit_decided()  # behind another channel's pending event; they stay in the queue
        elif not must_scan:
            not_plain.append(channel)
        return channel

    def _whole_text_steps(self, slots: list[TextSlot], pending: PendingEvent) -> MaskSteps[None]:
        """Mask texts that one event holds completely."""
        try:
            is_changed = yield from self._whole_texts.steps(slots)
        except Blocked:
            self._queue.end(None, before=pending)  # the event with this text must not be sent
            raise
        if is_changed:
            pending.frame = None
            self._decodes_all = True

    def _take_ready(self) -> MaskSteps[EventBatch]:
        while (pending := self._queue.release()) is not None:
            yield from self._whole_text_steps(pending.whole_texts or [], pending)
            pending.whole_texts = None
        return self._queue.take()
