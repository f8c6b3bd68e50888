"""Texts of a stream that come again: those that came in pieces, whole in the event that closes them, in their item, at
the end; and long texts that several events hold whole.

A copy of pieces gets what was sent of them. While that is not decided, the event with the copy waits. A long text is
masked once, and its copies get the same object. Does not know channels or detectors.
"""

from collections.abc import Callable, Sequence

from gateway.sanitize.masking.event_queue import PendingEvent
from gateway.sanitize.masking.stream_channel import Segment
from gateway.texts import TextSlot

_MAX_LONG_TEXTS = 16
"""Long texts that are remembered as masked. Chosen: an answer has a few, each in up to four events, the last of which
has all of them. At half an answer with ten calls of long arguments masks some twice, at double more is held until the
stream ends."""


class RepeatedTexts:
    """The closed texts of one stream. Several may be equal: then the last copies in an event are of the last texts."""

    def __init__(self) -> None:
        self._segments: dict[str, list[Segment]] = {}
        self._masked: dict[tuple[str, str, str], str | None] = {}

    def add(self, segment: Segment) -> None:
        """A text was closed."""
        if segment.text:
            self._segments.setdefault(segment.text, []).append(segment)

    def write(self, slots: Sequence[TextSlot], pending: PendingEvent) -> bool:
        """Write the masked texts into those slots of an event that are copies; returns whether some have to wait.

        A copy that waits counts as an undecided piece of the event.
        """
        waits = False
        counts: dict[str, int] = {}
        for slot in reversed(slots) if self._segments else ():
            if slot.form != "text":
                continue
            key = slot.text
            segments = self._segments.get(key, ())
            count = counts[key] = counts.get(key, 0) + 1
            if count > len(segments):
                continue
            segment = segments[-count]
            if not segment.is_decided:
                segment.copies.append((slot, pending))
                pending.undecided_pieces += 1
                waits = True
            elif segment.masked is not None:
                slot.text = segment.masked
                pending.frame = None
        return waits

    def mask_long(self, slot: TextSlot, clean: Callable[[TextSlot], bool]) -> bool:
        """Mask a long whole text, with `clean` only if it was not masked before; whether it has changed.

        Raises what `clean` raises.
        """
        key = (slot.form, slot.name, slot.text)
        if key not in self._masked:
            is_changed = clean(slot)
            if len(self._masked) == _MAX_LONG_TEXTS:
                del self._masked[next(iter(self._masked))]
            self._masked[key] = slot.text if is_changed else None
            return is_changed
        masked = self._masked[key]
        if masked is not None:
            slot.text = masked
        return masked is not None
