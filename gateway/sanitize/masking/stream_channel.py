"""One text of a stream: its pieces, how much of it is decided, and the masks that are written into the pieces.

The states are described in `stream_masker`. Does not know detectors or policy. "Offset" counts characters from the
channel's beginning, "index" characters of the buffer.
"""

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from gateway.domain import Event, RelayTemplate
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.holdback import REST_OF_KEY, REST_OF_VALUE, holdback_start
from gateway.texts import TextSlot

_CONTEXT_CHARS = 256
"""Decided text that stays in the buffer, as detectors look to the left of a value. More than any reach of a word (64
characters in `identities`). At half, words at the far end of their reach are lost; at double each scan costs more."""
_TAIL_CHARS = 160
"""Characters at the buffer's end that are searched for the holdback's start first; only if it is not among them, the
whole buffer is searched. More than the usual holdback of one to three words; at half the second search comes more
often.
"""
_QUOTE_OR_ESCAPE = re.compile(r'\\.|"', re.DOTALL)


@dataclass(slots=True)
class PendingEvent:
    """An event in the queue. `number` counts the stream's events from 1; `frame` holds the bytes it came as, None when
    it must be encoded again; `undecided_pieces` counts its pieces of text that are not decided."""

    event: Event
    number: int
    frame: bytes | None = None
    undecided_pieces: int = 0


@dataclass(slots=True)
class Piece:
    """The text of one slot, or of one relayed event, at the offsets [start, end) of its channel."""

    slot: TextSlot | RelayTemplate
    start: int
    end: int
    pending: PendingEvent


_NO_SLOT, _NO_EVENT = TextSlot({"": ""}, "", ""), PendingEvent(Event.from_bytes(b""), 0)
"""Stand for what a Piece outside the queue does not have."""


@dataclass(slots=True, eq=False)
class Channel:
    """`form` and `where` are those of its first TextSlot.

    `buffer` begins at offset `base`; text before offset `final` is decided. `edits` are (start, end, mask) in offsets,
    in order. `last_event` is the number of the last event with text. `mask_until` matches the rest of a value that was
    too long to hold back. `in_string`: for the form `json`, whether `final` is inside a JSON string. `masked_to` is the
    offset where the last mask ended. `seed_chars`: the buffer began with so many decided characters of the text before
    (`seeded`); then `raw` and `masks` keep the pieces and all edits, for `whole`.
    """

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
    masked_to: int = 0
    seed_chars: int = 0
    raw: list[str] = field(default_factory=list)
    masks: list[tuple[int, int, str]] = field(default_factory=list)

    @classmethod
    def seeded(cls, form: str, where: str, seed: str) -> "Channel":
        """A channel whose text continues that of a closed one: `seed` is the end of it, decided and sent."""
        return cls(form, where, buffer=seed, final=len(seed), seed_chars=len(seed))

    def tail(self) -> str:
        """The last characters after any mask, in which a value may begin that another channel goes on with."""
        return self.buffer[max(self.masked_to - self.base, len(self.buffer) - _CONTEXT_CHARS, 0) :]

    def whole(self) -> tuple[str, str]:
        """All text of a closed channel with a seed, as it came and as it was sent."""
        text = "".join(self.raw)
        piece = Piece(_NO_SLOT, self.seed_chars, self.seed_chars + len(text), _NO_EVENT)
        return text, _edited(piece, text, self.masks) or text

    @property
    def length(self) -> int:
        """The offset of the text's end."""
        return self.base + len(self.buffer)

    def append(self, slot: TextSlot, pending: PendingEvent) -> None:
        """Add the slot's text as the next piece."""
        start = self.base + len(self.buffer)
        self.buffer += slot.text
        if self.seed_chars:
            self.raw.append(slot.text)
        self.last_event = pending.number
        self.pieces.append(Piece(slot, start, self.base + len(self.buffer), pending))
        pending.undecided_pieces += 1

    def holdback_start(self, start: int, min_chars: int) -> int:
        """The index from which on the buffer must be held back: not before `start`, and at least `min_chars` long.

        Naive form: `_holdback_start(self.buffer)` alone; the tail is searched first as it is shorter.
        """
        length = len(self.buffer)
        index = 0
        if length > _TAIL_CHARS and "-----BEGIN" not in self.buffer:
            index = _holdback_start(self.buffer[-_TAIL_CHARS:])
            index = index and length - _TAIL_CHARS + index
        if index == 0:
            index = _holdback_start(self.buffer)
        return max(min(index, length - min_chars), start)

    def add_edit(self, start: int, end: int, mask: str) -> None:
        """Replace the buffer's [start, end) by `mask`. In a JSON text a mask outside a string is quoted."""
        if self.form == "json":
            self.track_quotes(start)
            mask = mask if self.in_string else f'"{mask}"'
        edit = (self.base + start, self.base + end, mask)
        self.edits.append(edit)
        if self.seed_chars:
            self.masks.append(edit)
        self.final = self.masked_to = max(self.final, self.base + end)

    def track_quotes(self, index: int) -> None:
        """In a JSON text, update `in_string` to what it is at the buffer's `index`."""
        if self.form == "json":
            for match in _QUOTE_OR_ESCAPE.finditer(self.buffer, self.final - self.base, index):
                self.in_string ^= match.group() == '"'
            self.final = max(self.final, self.base + index)

    def mark_decided(self, cut: int) -> None:
        """Decide all text before the buffer's index `cut`; only _CONTEXT_CHARS of it stay in the buffer."""
        if self.form == "json":
            self.track_quotes(cut)
        self.final = self.base + cut
        if cut > 2 * _CONTEXT_CHARS:
            self.buffer = self.buffer[cut - _CONTEXT_CHARS :]
            self.base += cut - _CONTEXT_CHARS

    def mask_tail_of(self, start: int) -> None:
        """The value at the buffer's index `start` is too long to hold back: mask the rest of it as it arrives."""
        self.mask_until = REST_OF_KEY if self.buffer.startswith("-----BEGIN", start) else REST_OF_VALUE

    def continue_mask(self) -> None:
        """Extend the last edit over new text, as far as `mask_until` matches; end when it matches no further."""
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

    def cut_at(self, index: int) -> PendingEvent | None:
        """Remove all text from the buffer's `index` on and decide the rest. Returns the event that holds the index."""
        start = self.base + index
        self.edits.append((start, self.length, ""))
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
            if edits:
                slot = piece.slot if isinstance(piece.slot, TextSlot) else piece.slot.slot_of(piece.pending.event)
                text = _edited(piece, slot.text, edits)
                if text is not None:
                    slot.text = text
                    piece.pending.frame = None
        if not edits:
            return
        needed_from = pieces[0].start if pieces else self.final
        while edits and edits[0][1] <= needed_from and not (self.mask_until and len(edits) == 1):
            edits.popleft()


def _holdback_start(text: str) -> int:
    if text.isascii() and "[" not in text:
        return holdback_start(text.encode(), 0)
    view = View(text)
    index = holdback_start(view.folded, 0)
    if not view.is_shifted:
        return index
    return view.origin(index, index + 1)[0] if index < len(view.folded) else len(text)


def _edited(piece: Piece, text: str, edits: Iterable[tuple[int, int, str]]) -> str | None:
    """The piece's text with the edits that overlap it; None when none does."""
    parts: list[str] = []
    offset, is_changed = piece.start, False
    for first, last, mask in edits:
        if last <= piece.start or first >= piece.end:
            continue
        is_changed = True
        if first >= offset:
            parts += (text[offset - piece.start : first - piece.start], mask)
        offset = max(offset, last)
    if not is_changed:
        return None
    parts.append(text[max(offset - piece.start, 0) :])
    return "".join(parts)
