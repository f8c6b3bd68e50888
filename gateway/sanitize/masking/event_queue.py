"""The events of one stream that wait until their texts are decided, in the order in which they came.

The states of an event are described in `stream_masker`. Does not know channels or findings.
"""

from collections import deque
from dataclasses import dataclass

from gateway.domain import Event, EventBatch
from gateway.texts import TextSlot


@dataclass(slots=True)
class PendingEvent:
    """An event in the queue. `number` counts the stream's events from 1; `frame` holds the bytes it came as, None when
    it must be encoded again; `undecided_pieces` counts its pieces of text that are not decided. `whole_texts`: those
    that are masked when the event leaves, as copies of undecided texts are among them."""

    event: Event
    number: int
    frame: bytes | None = None
    undecided_pieces: int = 0
    whole_texts: list[TextSlot] | None = None


class EventQueue:
    """`pending`: events that have not left yet; `ready`: those that `take` returns; `count`: all events so far."""

    __slots__ = ("count", "pending", "ready")

    def __init__(self) -> None:
        self.pending: deque[PendingEvent] = deque()
        self.ready: EventBatch = []
        self.count = 0

    def add(self, event: Event, undecided_pieces: int = 0) -> PendingEvent:
        """Append an event with so many pieces that are not decided."""
        self.count += 1
        pending = PendingEvent(event, self.count, event.raw, undecided_pieces)
        self.pending.append(pending)
        return pending

    def pass_on(self, events: EventBatch) -> None:
        """Events whose texts are decided already are ready at once: call it when none is pending."""
        self.ready += events
        self.count += len(events)

    def release(self) -> PendingEvent | None:
        """Decided events become ready, up to one whose whole texts are to be masked before, which is returned."""
        queue = self.pending
        while queue:
            pending = queue[0]
            if pending.undecided_pieces:
                return None
            if pending.whole_texts is not None:
                return pending
            queue.popleft()
            if pending.frame is not None:
                pending.event.raw = pending.frame  # unchanged: the frame need not be encoded again
            self.ready.append(pending.event)
        return None

    def take(self) -> EventBatch:
        """The events that have become ready since the last call."""
        ready, self.ready = self.ready, []
        return ready

    def waits_longer(self, events: int) -> bool:
        """Whether more than so many events came after the first one that is pending: these are pending too."""
        return len(self.pending) > events + 1

    def end(self, last: PendingEvent | None, before: PendingEvent | None = None) -> None:
        """Keep the decided events up to `last`, or before `before`; drop the rest, also those that wait for another
        channel."""
        kept: deque[PendingEvent] = deque()
        for pending in self.pending:
            if pending.undecided_pieces or pending is before:
                break
            kept.append(pending)
            if pending is last:
                break
        self.pending = kept
