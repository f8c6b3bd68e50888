"""One text of a stream: its pieces, how much of it is decided, and the masks that are written into the pieces.

"Offset" counts characters from the channel's beginning, "index" characters of the buffer.
"""

import re
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from gateway.domain import RelayTemplate
from gateway.sanitize.folding import View
from gateway.sanitize.holdback import holdback_start
from gateway.sanitize.pending_events import EventQueue, PendingEvent
from gateway.sanitize.restoring import Reading
from gateway.texts import Edit, TextSlot, edited, within
from gateway.wire.url_citations import Shift

_CONTEXT_CHARS = 256
"""Decided text that stays in the buffer, as detectors look to the left of a value: more than any reach of a word."""
_QUOTE_OR_ESCAPE = re.compile(r'\\.|"', re.DOTALL)


@dataclass(slots=True)
class Piece:
    """The text of one slot, or of one relayed event, at the offsets [start, end) of its channel."""

    slot: TextSlot | RelayTemplate
    start: int
    end: int
    pending: PendingEvent


@dataclass(slots=True, eq=False)
class Channel:
    """`form`, `where` and `name` are those of its TextSlots.

    `queue`: of its answer. `edits` are (start, end, mask) in offsets, in order; `masks`: where those begin that are no
    values. `last_event` is the number of the last event with text. `mask_until` matches the rest of a value that was
    too long to hold back. `in_string`: for the form `json`, whether `final` is inside a JSON string. `reading`: where
    values of a request stand; None where none are put back. `shift`: where its parts stand now.
    """

    form: str
    where: str
    queue: EventQueue
    name: Hashable = None
    closed: bool = False
    last_event: int = 0
    buffer: str = ""
    base: int = 0
    final: int = 0
    pieces: deque[Piece] = field(default_factory=deque)
    edits: deque[Edit] = field(default_factory=deque)
    masks: set[int] = field(default_factory=set)
    mask_until: re.Pattern[str] | None = None
    in_string: bool = False
    reading: Reading | None = None
    shift: Shift = field(default_factory=Shift)

    @property
    def length(self) -> int:
        """The offset of the text's end."""
        return self.base + len(self.buffer)

    def append(self, slot: TextSlot, pending: PendingEvent) -> None:
        """Add the slot's text as the next piece."""
        start, text = self.length, slot.text
        self.buffer += text
        self.last_event = pending.number
        self.pieces.append(Piece(slot, start, self.length, pending))
        pending.undecided_pieces += 1

    @property
    def held(self) -> str:
        """The end of the text that a later text could change."""
        return self.buffer[holdback_of(self.buffer) :]

    def add_value(self, start: int, end: int, value: str) -> None:
        """Replace the placeholder at the buffer's [start, end) by its value, as it is written there."""
        self.decide_until(start)
        self._edit(self.base + start, self.base + end, value)
        self.final = max(self.final, self.base + end)

    def add_edit(self, start: int, end: int, mask: str) -> None:
        """Replace the buffer's [start, end) by `mask`. In a JSON text a mask outside a string is quoted."""
        self.decide_until(start)
        if self.form == "json" and not self.in_string:
            mask = f'"{mask}"'
        self.masks.add(self.base + start)
        self._edit(self.base + start, self.base + end, mask)
        self.final = max(self.final, self.base + end)

    def _edit(self, first: int, last: int, words: str) -> None:
        self.edits.append((first, last, words))
        self.shift.edits.append((first, last, len(words)))

    def decide_until(self, index: int) -> None:
        """Decide the text before an index of the buffer."""
        if self.form == "json":
            for match in _QUOTE_OR_ESCAPE.finditer(self.buffer, self.final - self.base, index):
                self.in_string ^= match.group() == '"'
        self.final = max(self.final, self.base + index)

    def forget_decided(self) -> None:
        """Keep only _CONTEXT_CHARS of the decided text in the buffer."""
        cut = self.final - self.base - _CONTEXT_CHARS
        if cut > _CONTEXT_CHARS:
            if self.reading is not None:
                self.reading.forget(self.buffer, cut)
            self.buffer = self.buffer[cut:]
            self.base += cut

    def ends_in_mask(self) -> bool:
        """Whether the last edit reaches the text's end, or that of a private key a line end before it."""
        end = self.edits[-1][1]
        return end == self.length or (self.buffer[end - self.base :].isspace() and "-----BEGIN" in self.buffer)

    def continue_mask(self) -> None:
        """Extend the last edit over new text, as far as `mask_until` matches; end when it matches no further."""
        if self.mask_until is None:
            return
        start = self.final - self.base
        match = self.mask_until.match(self.buffer, start)
        end = match.end() if match else start
        first, _, mask = self.edits.pop()
        self.shift.edits.pop()
        self._edit(first, self.base + end, mask)
        self.final = self.base + end
        if end < len(self.buffer):
            self.mask_until = None

    def cut_at(self, index: int) -> PendingEvent | None:
        """Remove all text from the buffer's `index` on and decide the rest. Returns the event that holds the index."""
        start = self.base + index
        self.masks.add(start)
        self._edit(start, self.length, "")
        self.final = self.length
        last_event = next((piece.pending for piece in self.pieces if piece.end > start), None)
        self.emit_decided()
        return last_event

    def emit_decided(self) -> None:
        """Write its final text into the slot of every piece that is decided, and forget piece and used edits."""
        pieces, edits = self.pieces, self.edits
        while pieces and pieces[0].end <= self.final:
            piece = pieces.popleft()
            piece.pending.undecided_pieces -= 1
            if not edits:
                continue
            slot = piece.slot if isinstance(piece.slot, TextSlot) else piece.slot.slot_of(piece.pending.event)
            if found := within(edits, piece.start, piece.end):
                if any(first in self.masks and first < piece.end and last > piece.start for first, last, _ in edits):
                    slot.text = edited(slot.text, found)
                else:
                    slot.rewrite(found)
                piece.pending.frame = None
        needed_from = pieces[0].start if pieces else self.final
        while edits and edits[0][1] <= needed_from and not (self.mask_until and len(edits) == 1):
            self.masks.discard(edits.popleft()[0])


def holdback_of(text: str, least: int = 0) -> int:
    """`holdback.holdback_start` of a text that is not folded; with text beyond ASCII, `least` does not count."""
    if text.isascii() and "[" not in text:
        return holdback_start(text.encode(), least)
    view = View(text)
    index = holdback_start(view.folded, 0)
    if not view.is_shifted:
        return max(index, least)
    return view.origin(index, index + 1)[0] if index < len(view.folded) else len(text)
