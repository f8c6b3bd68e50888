"""One text of a stream: its pieces, how far it is decided, and the edits that the pieces take over.

Offsets count from the channel's beginning. Knows neither detectors nor policy.
"""

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from gateway.domain import Event, RelayTemplate, TextSlot
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.holdback import REST_OF_KEY, REST_OF_VALUE, hold_from

_CONTEXT = 256
_TAIL = 160
"""Where what must wait begins is nearly always seen from here; when not, the whole buffer is looked at."""
_QUOTES = re.compile(r'\\.|"', re.DOTALL)


@dataclass(slots=True)
class PendingEvent:
    """An event that waits; `number` counts the events, `frame` is how it came, while nothing is masked in it."""

    event: Event
    number: int
    frame: bytes | None = None
    open_pieces: int = 0


@dataclass(slots=True)
class Piece:
    """A text at [start, end) of its channel: a slot's, or the one of a relayed event."""

    slot: TextSlot | RelayTemplate
    start: int
    end: int
    held: PendingEvent


@dataclass(slots=True, eq=False)
class Channel:
    """`buffer` starts at `base`; up to `final` all is decided; `edits` are (start, end, mask)."""

    form: str
    where: str
    closed: bool = False
    last_event: int = 0
    buffer: str = ""
    base: int = 0
    final: int = 0
    pieces: deque[Piece] = field(default_factory=deque)
    edits: deque[tuple[int, int, str]] = field(default_factory=deque)
    mask_until: re.Pattern[str] | None = None
    in_string: bool = False

    @property
    def length(self) -> int:
        return self.base + len(self.buffer)

    def append(self, slot: TextSlot, held: PendingEvent) -> None:
        start = self.base + len(self.buffer)
        self.buffer += slot.text
        self.last_event = held.number
        self.pieces.append(Piece(slot, start, self.base + len(self.buffer), held))
        held.open_pieces += 1

    def cut(self, start: int, least_held: int) -> int:
        """The first place of the buffer, not before `start`, that must wait. At least `least_held` characters do."""
        length = len(self.buffer)
        found = 0
        if length > _TAIL and "-----BEGIN" not in self.buffer:
            found = _held_part(self.buffer[-_TAIL:])
            found = found and length - _TAIL + found
        if found == 0:
            found = _held_part(self.buffer)
        return max(min(found, length - least_held), start)

    def edit(self, start: int, end: int, mask: str) -> None:
        """Put `mask` over [start, end) of the buffer. A JSON text stays one: outside a string the mask is quoted."""
        if self.form == "json":
            self.note_quotes(start)
            mask = mask if self.in_string else f'"{mask}"'
        self.edits.append((self.base + start, self.base + end, mask))
        self.final = max(self.final, self.base + end)

    def note_quotes(self, place: int) -> None:
        """Keep track, in a JSON text, of whether `place` of the buffer stands inside a string."""
        if self.form == "json":
            for match in _QUOTES.finditer(self.buffer, self.final - self.base, place):
                self.in_string ^= match.group() == '"'
            self.final = max(self.final, self.base + place)

    def decided(self, cut: int) -> None:
        """All before `cut` of the buffer is final; some of it is kept as context for what follows."""
        if self.form == "json":
            self.note_quotes(cut)
        self.final = self.base + cut
        if cut > 2 * _CONTEXT:
            self.buffer = self.buffer[cut - _CONTEXT :]
            self.base += cut - _CONTEXT

    def swallow_rest(self, start: int) -> None:
        """The value from `start` of the buffer is too long to wait for: the rest of it vanishes as it comes."""
        self.mask_until = REST_OF_KEY if self.buffer.startswith("-----BEGIN", start) else REST_OF_VALUE

    def continue_mask(self) -> None:
        """Extend the last edit over the rest of a value that was too long to wait for."""
        if self.mask_until is None:
            return
        start = self.final - self.base
        match = self.mask_until.match(self.buffer, start)
        end = match.end() if match else start
        first, _, mask = self.edits.pop()
        self.edits.append((first, self.base + end, mask))
        self.final = self.base + end
        if end < len(self.buffer):
            self.mask_until = None

    def stop_at(self, place: int) -> PendingEvent | None:
        """Nothing from `place` of the buffer on goes out. Gives the event in which that place stands."""
        start = self.base + place
        self.edits.append((start, self.length, ""))
        self.final = self.length
        ending = next((piece.held for piece in self.pieces if piece.end > start), None)
        self.fill()
        return ending

    def fill(self) -> None:
        """Give every piece that is decided its final text."""
        pieces, edits = self.pieces, self.edits
        while pieces and pieces[0].end <= self.final:
            piece = pieces.popleft()
            piece.held.open_pieces -= 1
            if edits:
                slot = piece.slot if isinstance(piece.slot, TextSlot) else piece.slot.slot_of(piece.held.event)
                text = _edited(piece, slot.text, edits)
                if text is not None:
                    slot.text = text
                    piece.held.frame = None
        if not edits:
            return
        needed_from = pieces[0].start if pieces else self.final
        while edits and edits[0][1] <= needed_from and not (self.mask_until and len(edits) == 1):
            edits.popleft()


def _held_part(text: str) -> int:
    if text.isascii() and "[" not in text:
        return hold_from(text.encode(), 0)
    view = View(text)
    place = hold_from(view.folded, 0)
    if not view.is_shifted:
        return place
    return view.origin(place, place + 1)[0] if place < len(view.folded) else len(text)


def _edited(piece: Piece, text: str, edits: Iterable[tuple[int, int, str]]) -> str | None:
    """The piece's text with the edits that touch it; None when none does."""
    parts: list[str] = []
    place, touched = piece.start, False
    for first, last, mask in edits:
        if last <= piece.start or first >= piece.end:
            continue
        touched = True
        if first >= place:
            parts += (text[place - piece.start : first - piece.start], mask)
        place = max(place, last)
    if not touched:
        return None
    parts.append(text[max(place - piece.start, 0) :])
    return "".join(parts)
