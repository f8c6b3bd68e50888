"""The events that wait until their texts are decided, in the order in which they came."""

from collections import deque
from dataclasses import dataclass

from gateway.domain import Event, EventBatch


@dataclass(slots=True)
class PendingEvent:
    """`number` counts the stream's events from 1; `frame` holds the bytes it came as, None when it must be encoded
    again."""

    event: Event
    number: int
    frame: bytes | None
    undecided_pieces: int = 0


class EventQueue:
    """The events of one answer. `pending`: those that have not left; `ready`: where they go then; `count`: all so
    far."""

    __slots__ = ("count", "pending", "ready")

    def __init__(self, ready: EventBatch) -> None:
        self.pending: deque[PendingEvent] = deque()
        self.ready = ready
        self.count = 0

    def add(self, event: Event, frame: bytes | None) -> PendingEvent:
        self.count += 1
        pending = PendingEvent(event, self.count, frame)
        self.pending.append(pending)
        return pending

    def release(self) -> None:
        """Make decided events ready."""
        queue = self.pending
        while queue and not queue[0].undecided_pieces:
            pending = queue.popleft()
            if pending.frame is not None:
                pending.event.raw = pending.frame  # unchanged: the frame need not be encoded again
            self.ready.append(pending.event)

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
