"""Texts of a stream that came in pieces and come again whole: in the event that closes them, in their item, at the end.

A copy gets what was sent of the pieces. While that is not decided, the event with the copy waits. Does not know
channels or detectors.
"""

from collections.abc import Sequence
from hashlib import blake2b

from gateway.sanitize.masking.long_text import LONG_CHARS
from gateway.sanitize.masking.stream_channel import PendingEvent, Segment
from gateway.texts import TextSlot


class RepeatedTexts:
    """The closed texts of one stream. Several may be equal: then the last copies in an event are of the last texts."""

    def __init__(self) -> None:
        self._segments: dict[str | bytes, list[Segment]] = {}

    def add(self, segment: Segment) -> None:
        """A text was closed."""
        if any(segment.pieces):
            self._segments.setdefault(_key_of(segment.pieces), []).append(segment)

    def write(self, slots: Sequence[TextSlot], pending: PendingEvent) -> bool:
        """Write the masked texts into those slots of an event that are copies; returns whether some have to wait.

        A copy that waits counts as an undecided piece of the event.
        """
        waits = False
        counts: dict[str | bytes, int] = {}
        for slot in reversed(slots) if self._segments else ():
            if slot.form != "text":
                continue
            key = _key_of((slot.text,))
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


def _key_of(pieces: Sequence[str]) -> str | bytes:
    """The text that the pieces make; of a long one a digest of its UTF-8, so that there is no copy of it."""
    if sum(map(len, pieces)) < LONG_CHARS:
        return "".join(pieces)
    digest = blake2b(digest_size=32)
    for piece in pieces:
        for start in range(0, len(piece), LONG_CHARS):
            digest.update(piece[start : start + LONG_CHARS].encode("utf-8", "surrogatepass"))
    return digest.digest()
