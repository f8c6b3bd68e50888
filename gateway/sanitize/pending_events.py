"""The events that wait until their texts are decided, in the order in which they came."""

from collections import deque
from dataclasses import dataclass

from gateway.domain import Event, EventBatch
from gateway.texts import TextSlot


@dataclass(slots=True)
class PendingEvent:
    """`number` counts the stream's events from 1; `frame` holds the bytes it came as, None when it must be encoded
    again. `copies`: its whole texts, where some of them repeat closed texts that are not decided."""

    event: Event
    number: int
    frame: bytes | None
    undecided_pieces: int = 0
    copies: list[TextSlot] | None = None


class EventQueue:
    """`pending`: events that have not left; `ready`: those that `take` returns; `count`: all events so far."""

    __slots__ = ("count", "pending", "ready")

    def __init__(self) -> None:
        self.pending: deque[PendingEvent] = deque()
        self.ready: EventBatch = []
        self.count = 0

    def add(self, event: Event) -> PendingEvent:
        self.count += 1
        pending = PendingEvent(event, self.count, event.raw)
        self.pending.append(pending)
        return pending

    def release(self) -> PendingEvent | None:
        """Make decided events ready, up to one whose copies are to be written before, which is returned."""
        queue = self.pending
        while queue and not queue[0].undecided_pieces:
            if queue[0].copies is not None:
                return queue[0]
            pending = queue.popleft()
            if pending.frame is not None:
                pending.event.raw = pending.frame  # unchanged: the frame need not be encoded again
            self.ready.append(pending.event)
        return None

    def take(self) -> EventBatch:
        """The events that have become ready since the last call."""
        ready, self.ready = self.ready, []
        return ready

    def end(self, last: PendingEvent | None, before: PendingEvent | None = None) -> None:
        """Keep the decided events up to `last`, or before `before`; drop the rest."""
        kept: deque[PendingEvent] = deque()
        for pending in self.pending:
            if pending.undecided_pieces or pending is before:
                break
            kept.append(pending)
            if pending is last:
                break
        self.pending = kept
