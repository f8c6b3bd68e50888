"""Masking a stream while it runs: text is looked at as one text though it comes in pieces of many events.

Events are kept, in order, until the text they hold is final; so a value split over several events is masked where it
starts, the rest of it vanishes from the later ones, and ids, order and everything that is not text stay as they were.
Only what might still become part of a value waits (see `holdback`), at most MAX_HELD characters a channel, and no
longer than IDLE_EVENTS events of other channels; nothing is lost at the end. Knows no interface: the dialect says where
the text is.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping

from gateway.domain import Event, EventBatch, EventStream, Json, RelayTemplate, TextSlot
from gateway.errors import ContentBlocked, GatewayError, SanitizerFailed
from gateway.sanitize.masking.policy import Action
from gateway.sanitize.masking.slot_masker import SlotMasker
from gateway.sanitize.masking.stream_channel import Channel, PendingEvent, Piece
from gateway.sanitize.scan.fast_path import plain_cut
from gateway.sanitize.scan.scanner import Scanner
from gateway.sanitize.text.findings import Finding, mask_of
from gateway.sanitize.text.holdback import MAX_HELD
from gateway.wire import sse

IDLE_EVENTS = 64
_NEAR = 40
_MOST_AT_ONCE = 24
"""Pieces of a text that came together are looked at by so many: what is odd in one makes few others cost more."""


Refusal = Callable[[GatewayError, Json | None], list[Event]]
"""Ends a stream, given why and the data of the last event that came."""


class _Blocked(Exception):
    def __init__(self, entity: str, where: str) -> None:
        super().__init__(entity)
        self.entity, self.where = entity, where


class StreamMask:
    """One stream's worth of state. `found` is told of every finding once, by entity."""

    def __init__(
        self,
        scanner: Scanner,
        actions: Mapping[str, Action],
        slots_of: Callable[[Json], Iterable[TextSlot]],
        found: Callable[[str], None],
    ) -> None:
        self._scanner = scanner
        self._actions = actions
        self._slots_of = slots_of
        self._found = found
        self._masker = SlotMasker(scanner, actions, self._note)
        self._queue: deque[PendingEvent] = deque()
        self._ready: EventBatch = []
        self._events = 0
        self._last: Event | None = None
        self._channels: dict[Hashable, Channel] = {}

    async def run(self, events: EventStream, refused_events: Refusal) -> EventStream:
        """The same events, masked. A blocked stream ends with `refused_events`; a broken one yields what was whole.

        Raises SanitizerFailed when a detector fails, and whatever `events` raises.
        """
        try:
            async for batch in events:
                yield self.push(batch)
            yield self.finish()
        except SanitizerFailed:
            raise
        except GatewayError:
            yield self._last_words()
            raise
        except _Blocked as blocked:
            error = ContentBlocked(f"the answer holds {blocked.entity}", param=blocked.where)
            last = sse.decode(self._last) if self._last is not None else None
            yield [*self._released(), *refused_events(error, last)]
        finally:
            await events.aclose()

    def push(self, batch: EventBatch) -> EventBatch:
        """Take in events; give back those whose text is final, in order."""
        touched: list[Channel] = []
        odd: list[Channel] = []
        place, size = 0, len(batch)
        while place < size:
            event = batch[place]
            first, place = place, place + 1
            if event.relayed is None or event.data is not None:
                self._take(event, touched)
                continue
            while place < size and batch[place].relayed is event.relayed and batch[place].data is None:
                place += 1
                if place - first == _MOST_AT_ONCE:
                    break
            self._take_run(event.relayed, batch if size == 1 else batch[first:place], odd)
        for channel in touched + odd:
            self._advance(channel)
        if self._queue and self._events - self._queue[0].number > IDLE_EVENTS:
            self._close_idle()
        return self._released()

    def _take(self, event: Event, touched: list[Channel]) -> None:
        """Take in an event of any kind; `touched` are the channels in which something came."""
        self._events += 1
        held = PendingEvent(event, self._events, event.raw)
        self._queue.append(held)
        data = sse.decode(event)
        if data is None:
            if event.raw == sse.DONE:
                self._close_all()
            return
        self._last = event
        for slot in self._slots_of(data):
            if slot.channel is None:
                held.frame = None
                self._clean_whole(slot)
            else:
                channel = self._append(slot, held)
                if not touched or touched[-1] is not channel:
                    touched.append(channel)

    def _take_run(self, relayed: RelayTemplate, events: EventBatch, odd: list[Channel]) -> None:
        """Take in pieces of one text. Where they are plain words, as nearly always, only those that wait cost much.

        `odd` are the channels that are not: what else comes there at once is looked at together.
        """
        channel = self._channels.get(relayed.channel)
        if channel is None:
            channel = self._channels[relayed.channel] = Channel("text", relayed.where)
        self._last = events[-1]
        place, queue = channel.base + len(channel.buffer), self._queue
        channel.buffer += events[0].text if len(events) == 1 else "".join([event.text for event in events])
        is_odd = channel in odd
        is_plain = not is_odd and self._let_plain_out(channel)
        if is_plain and not queue:
            out, place = len(events), channel.base + len(channel.buffer)
            while out and place > channel.final:
                out -= 1
                place -= len(events[out].text)
            if out:
                self._ready += events[:out]
                self._events += out
                events = events[out:]
        for event in events:
            self._events += 1
            held = PendingEvent(event, self._events, event.raw, 1)
            queue.append(held)
            end = place + len(event.text)
            channel.pieces.append(Piece(relayed, place, end, held))
            place = end
        channel.last_event = self._events
        if is_plain:
            channel.fill()  # what stands behind an event of another channel is decided, and waits
        elif not is_odd:
            odd.append(channel)

    def _let_plain_out(self, channel: Channel) -> bool:
        """Decide a text of plain words as far as can be. False when it is anything else."""
        if channel.edits or channel.mask_until is not None or self._scanner.least_held:
            return False
        start = channel.final - channel.base
        first = start - _NEAR if start > _NEAR else 0
        try:
            cut = plain_cut(channel.buffer[first:], start - first)
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this stream") from error
        if cut < 0:
            return False
        if first + cut > start:
            channel.decided(first + cut)
            if channel.pieces:
                channel.fill()
                self._release()
        return True

    def finish(self) -> EventBatch:
        """Everything that is left: the stream has ended."""
        self._close_all()
        return self._released()

    def _last_words(self) -> EventBatch:
        try:
            return self.finish()
        except (_Blocked, SanitizerFailed):
            return []

    def _released(self) -> EventBatch:
        if self._queue:
            self._release()
        ready, self._ready = self._ready, []
        return ready

    def _release(self) -> None:
        queue = self._queue
        while queue and not queue[0].open_pieces:
            held = queue.popleft()
            if held.frame is not None:
                held.event.raw = held.frame  # as it came: need not be made again
            self._ready.append(held.event)

    def _append(self, slot: TextSlot, held: PendingEvent) -> Channel:
        name = slot.channel
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = Channel(slot.form, slot.where)
        channel.append(slot, held)
        if slot.last:
            channel.closed = True
            self._channels.pop(name)
            self._advance(channel)
        return channel

    def _clean_whole(self, slot: TextSlot) -> None:
        """A text that stands in one event whole."""
        try:
            self._masker.clean(slot)
        except _Blocked:
            self._queue.pop()  # the event that holds it is the last one taken in
            self._stop(None)
            raise
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this stream") from error

    def _note(self, entity: str, action: Action, where: str) -> None:
        self._found(entity)
        if action == "block":
            raise _Blocked(entity, where)

    def _close_all(self) -> None:
        for channel in self._channels.values():
            channel.closed = True
            self._advance(channel)
        self._channels.clear()

    def _close_idle(self) -> None:
        """A channel that others have left behind holds them up: what it has is decided as it stands."""
        for channel in self._channels.values():
            if channel.pieces and self._events - channel.last_event > IDLE_EVENTS:
                self._advance(channel, whole=True)

    def _advance(self, channel: Channel, whole: bool = False) -> None:
        """Decide as much of a channel as can be, and give its pieces their text."""
        try:
            if channel.mask_until is not None:
                channel.continue_mask()
            start, length = channel.final - channel.base, len(channel.buffer)
            cut = length if whole or channel.closed else channel.cut(start, self._scanner.least_held)
            if cut > start or length - start > MAX_HELD:
                self._decide(channel, cut)
        except _Blocked:
            raise
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this stream") from error
        channel.fill()

    def _decide(self, channel: Channel, cut: int) -> None:
        start, length = channel.final - channel.base, len(channel.buffer)
        spans: list[Finding] = []
        if not self._scanner.is_quiet(channel.buffer[max(0, start - _NEAR) : cut + _NEAR]):
            spans = [each for each in self._scanner.look(channel.buffer) if each.end > start and self._acts_on(each)]
        for span in spans:
            if span.start < cut < span.end:
                cut = max(span.start, start)
        too_long = length - cut > MAX_HELD
        if too_long:
            cut = length
        for span in spans:
            if span.start < cut:
                self._act(channel, Finding(max(span.start, start), span.end, span.entity))
        if too_long and channel.edits and channel.edits[-1][1] == channel.length:
            channel.swallow_rest(spans[-1].start)
        channel.decided(cut)

    def _acts_on(self, finding: Finding) -> bool:
        return self._actions.get(finding.entity, "off") != "off"

    def _act(self, channel: Channel, finding: Finding) -> None:
        self._found(finding.entity)
        action = self._actions[finding.entity]
        if action == "redact":
            channel.edit(finding.start, finding.end, mask_of(finding.entity))
        elif action == "block":
            self._stop(channel.stop_at(finding.start))
            raise _Blocked(finding.entity, channel.where)

    def _stop(self, ending: PendingEvent | None) -> None:
        """No event after `ending` goes out, nor one that still waits for another channel."""
        kept: deque[PendingEvent] = deque()
        for held in self._queue:
            if held.open_pieces:
                break
            kept.append(held)
            if held is ending:
                break
        self._queue = kept
