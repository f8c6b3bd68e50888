"""One text of a stream: its pieces, how much of it is decided, and the masks that are written into the pieces.

The states are described in `stream_masker`. Does not know detectors or policy. "Offset" counts characters from the
channel's beginning, "index" characters of the buffer.
"""

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from gateway.domain import RelayTemplate
from gateway.sanitize.masking.event_queue import PendingEvent
from gateway.sanitize.text.base64_rows import may_end_in_rows
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.holdback import REST_OF_KEY, REST_OF_VALUE, holdback_start, may_be_key, may_be_value
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
class Piece:
    """The text of one slot, or of one relayed event, at the offsets [start, end) of its channel."""

    slot: TextSlot | RelayTemplate
    start: int
    end: int
    pending: PendingEvent


@dataclass(slots=True, eq=False)
class Segment:
    """The text of one closed item, at the offsets [start, end) of its channel. Once it is decided, `masked` is what was
    sent of it, None when that is the text itself. `copies` are those that wait until it is decided."""

    text: str
    start: int
    end: int
    is_decided: bool = False
    masked: str | None = None
    copies: list[tuple[TextSlot, PendingEvent]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Channel:
    """`form` and `where` are those of its first TextSlot.

    `buffer` begins at offset `base`; text before offset `final` is decided. `edits` are (start, end, mask) in offsets,
    in order. `last_event` is the number of the last event with text. `mask_until` matches the rest of a value that was
    too long to hold back. `in_string`: for the form `json`, whether `final` is inside a JSON string.
    `joins`: the channel goes on over the items of a flow (`end_segment`). Then `raw` is the text of the open item,
    which began at `segment_start`, `segments` the closed items that are not decided, and `masks` the edits over both.
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
    joins: bool = False
    raw: list[str] = field(default_factory=list)
    segment_start: int = 0
    segments: deque[Segment] = field(default_factory=deque)
    masks: deque[tuple[int, int, str]] = field(default_factory=deque)

    @property
    def length(self) -> int:
        """The offset of the text's end."""
        return self.base + len(self.buffer)

    def append(self, slot: TextSlot, pending: PendingEvent) -> None:
        """Add the slot's text as the next piece."""
        start = self.base + len(self.buffer)
        text = slot.text
        self.buffer += text
        if self.joins:
            self.raw.append(text)
        self.last_event = pending.number
        self.pieces.append(Piece(slot, start, self.base + len(self.buffer), pending))
        pending.undecided_pieces += 1

    def end_segment(self) -> Segment:
        """Close the open item: its text is a segment, and what is appended next belongs to the next item."""
        segment = Segment("".join(self.raw), self.segment_start, self.length)
        self.raw.clear()
        self.segment_start = self.length
        self.segments.append(segment)
        return segment

    def may_go_on(self) -> bool:
        """Whether text is held back that may be the beginning of a value, with which another item goes on."""
        if self.final >= self.length:
            return False
        return self.mask_until is not None or may_be_value(self.buffer[_holdback_start(self.buffer) :])

    def may_end_in_key(self) -> bool:
        """Whether the text may end in the middle of a number or key."""
        return self.mask_until is not None or may_be_key(self.buffer[_holdback_start(self.buffer) :])

    def holdback_start(self, start: int, min_chars: int) -> int:
        """The index from which on the buffer must be held back: not before `start`, and at least `min_chars` long.

        Naive form: `_holdback_start(self.buffer)` alone; the tail is searched first as it is shorter.
        """
        length = len(self.buffer)
        index = 0
        if length > _TAIL_CHARS and "-----BEGIN" not in self.buffer and not may_end_in_rows(self.buffer):
            index = _holdback_start(self.buffer[-_TAIL_CHARS:])
            index = index and length - _TAIL_CHARS + index
        if index == 0:
            index = _holdback_start(self.buffer, start)
        return max(min(index, length - min_chars), start)

    def add_edit(self, start: int, end: int, mask: str) -> None:
        """Replace the buffer's [start, end) by `mask`. In a JSON text a mask outside a string is quoted."""
        if self.form == "json":
            self.track_quotes(start)
            mask = mask if self.in_string else f'"{mask}"'
        edit = (self.base + start, self.base + end, mask)
        self.edits.append(edit)
        if self.joins:
            self.masks.append(edit)
        self.final = max(self.final, self.base + end)

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

    def ends_in_mask(self) -> bool:
        """Whether the last edit reaches the text's end, or that of a private key a line end before it."""
        end = self.edits[-1][1]
        return end == self.length or (self.buffer[end - self.base :].isspace() and "-----BEGIN" in self.buffer)

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
        if self.joins:
            self.masks[-1] = self.edits[-1]
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
        if self.segments:
            self._decide_segments()
        if not edits:
            return
        needed_from = pieces[0].start if pieces else self.final
        while edits and edits[0][1] <= needed_from and not (self.mask_until and len(edits) == 1):
            edits.popleft()

    def _decide_segments(self) -> None:
        """Write the masked text of every closed item that is decided into its copies."""
        segments, masks = self.segments, self.masks
        while segments and segments[0].end <= self.final:
            segment = segments.popleft()
            segment.is_decided = True
            if masks:
                segment.masked = _edited(segment, segment.text, masks)
            for slot, pending in segment.copies:
                pending.undecided_pieces -= 1
                if segment.masked is not None:
                    slot.text = segment.masked
                    pending.frame = None
            segment.copies.clear()
            while masks and masks[0][1] <= segment.end and not (self.mask_until and len(masks) == 1):
                masks.popleft()


def _holdback_start(text: str, least: int = 0) -> int:
    """`text.holdback.holdback_start` of a text that is not folded; with text beyond ASCII, `least` does not count."""
    if text.isascii() and "[" not in text:
        return holdback_start(text.encode(), least)
    view = View(text)
    index = holdback_start(view.folded, 0)
    if not view.is_shifted:
        return index
    return view.origin(index, index + 1)[0] if index < len(view.folded) else len(text)


def _edited(piece: Piece | Segment, text: str, edits: Iterable[tuple[int, int, str]]) -> str | None:
    """The piece's text with the edits that overlap it; None when none does."""
    parts: list[str] = []
    offset, is_changed = piece.start, False
    for first, last, mask in edits:
        if first >= piece.end:
            break
        if last <= piece.start:
            continue
        is_changed = True
        if first >= offset:
            parts += (text[offset - piece.start : first - piece.start], mask)
        offset = max(offset, last)
    if not is_changed:
        return None
    parts.append(text[max(offset - piece.start, 0) :])
    return "".join(parts)
