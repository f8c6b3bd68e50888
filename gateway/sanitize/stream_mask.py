"""Masks a stream of events while it runs. Result: as if each text were scanned whole after the stream's end.

Naive form: collect all pieces of a text, `masked(text, scanner.scan(text))`, then send. Here a piece is sent as soon as
no later piece can change what is found in it. Tests compare both forms for texts cut anywhere. Does not know any wire
format: the dialect's `slots_of` says where text is. Theory of operation (also of `channel_scan`, `stream_channel`,
`text.holdback`, `scan.fast_path`):

A channel is one text of the stream (the content of a choice, the arguments of a tool call). Its pieces arrive in
events, and events of several channels may alternate. Texts of one `flow` (the message after a message) are one channel:
the next one goes on where the last was closed. What a closed one holds back stays held while it may be the beginning of
a value (`may_be_value`), and with it the event that closed it and all events behind. Events that hold the closed text
again wait for it (`repeated_texts`). Offsets count characters from the channel's beginning:

    0 <= base <= final <= length     [base, length) is buffered, [0, final) is decided, [final, length) is held back

| channel       | condition                     | more text arrives                | idle, closed, [DONE], end |
|---------------|-------------------------------|----------------------------------|---------------------------|
| decided       | final == length               | fast path or scan; hold the rest | nothing to do             |
| holding back  | final < length, no mask_until | the same                         | all of it is decided      |
| masking a tail| mask_until is a pattern       | extend the last mask over it     | what was masked stays     |
| parted        | closed, known by its flow     | the next item's name stands for  | all of it is decided      |
|               |                               | it; then as above                |                           |
| closed        | in neither                    | a new channel under this name    | nothing to do             |

| event   | condition                            | leaves this state when                           |
|---------|--------------------------------------|--------------------------------------------------|
| pending | in the queue, undecided_pieces > 0   | `Channel.emit_decided` decides its last piece     |
| decided | in the queue, undecided_pieces == 0  | every event before it is decided too             |
| ready   | in `_queue.ready`                    | `push` or `finish` returns it                    |
| dropped | after the event of a blocked finding | never; the queue is cut there                    |

Invariants: events leave in the order in which they came, and no event is lost, but for a blocked stream. Text before
`final` is never judged again; a value split over events is masked in the event where it starts and removed from the
others. A channel holds back at most MAX_HOLDBACK_CHARS once it is scanned; one without new text for IDLE_EVENTS events
(MAX_IDLE_EVENTS if it may end in a number or key) is decided as it is. The fast path decides only what the full scan
would decide in the same way.

Callers: one task, either `run` alone or `push` any number of times and then `finish`. After an exception the masker
must not be used again. `push` and `finish` raise SanitizerFailed (a detector failed) or Blocked (`run` handles it).
"""

import asyncio
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias, TypeVar

from gateway.domain import Event, EventBatch, EventStream, Json, RelayTemplate
from gateway.errors import ContentBlocked, GatewayError, SanitizerFailed
from gateway.sanitize.policy import Action, ActionTable
from gateway.sanitize.restoring import ADDRESS_REACH_CHARS, Restorer
from gateway.sanitize.scanner import Scanner, plain_text_cut
from gateway.sanitize.slot_mask import IN_THREAD_CHARS, SlotMasker, weight_of
from gateway.sanitize.text import (
    MAX_HOLDBACK_CHARS,
    REST_OF_KEY,
    REST_OF_VALUE,
    Finding,
    View,
    holdback_start,
    mask_of,
    may_be_key,
    may_be_value,
)
from gateway.texts import TextSlot
from gateway.wire import sse


# ----------------------------------------------------------------------------------------------------
# The events of one stream that wait until their texts are decided, in the order in which they came.
#
# The states of an event are described in `stream_masker`. Does not know channels or findings.
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


# ----------------------------------------------------------------------------------------------------
# One text of a stream: its pieces, how much of it is decided, and the masks that are written into the pieces.
#
# The states are described in `stream_masker`. Does not know detectors or policy. "Offset" counts characters from the
# channel's beginning, "index" characters of the buffer.
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
    name: Hashable = None
    is_json: bool | None = None
    past: str | None = None

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
        if length > _TAIL_CHARS and "-----BEGIN" not in self.buffer:
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
            if self.past is not None:
                self.past = (self.past + self.buffer[: cut - _CONTEXT_CHARS])[-ADDRESS_REACH_CHARS:]
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


# ----------------------------------------------------------------------------------------------------
# Texts of a stream that come again: those that came in pieces, whole in the event that closes them, in their item, at
# the end; and long texts that several events hold whole.
#
# A copy of pieces gets what was sent of them. While that is not decided, the event with the copy waits. A long text
# is
# masked once, and its copies get the same object. Does not know channels or detectors.
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

    def write(self, slots: Sequence[TextSlot], pending: PendingEvent) -> tuple[list[TextSlot], bool]:
        """Write the masked texts into those slots of an event that are copies; (the other slots, whether some wait).

        A copy that waits counts as an undecided piece of the event.
        """
        waits, others = False, list[TextSlot]()
        if not self._segments:
            return list(slots), False
        counts: dict[str, int] = {}
        for slot in reversed(slots):
            if slot.form != "text":
                others.append(slot)
                continue
            key = slot.text
            segments = self._segments.get(key, ())
            count = counts[key] = counts.get(key, 0) + 1
            if count > len(segments):
                others.append(slot)
                continue
            segment = segments[-count]
            if not segment.is_decided:
                segment.copies.append((slot, pending))
                pending.undecided_pieces += 1
                waits = True
            elif segment.masked is not None:
                slot.text = segment.masked
                pending.frame = None
        others.reverse()
        return others, waits

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


# ----------------------------------------------------------------------------------------------------
# Masking of a stream in steps, between which the event loop serves others. Knows no channel and no detector.
#
# A step on the loop takes as long as a short text. A long text is handed out instead: a thread scans it when it is
# the
# key's turn (`Sanitizer.apart`), as it does with those of requests and whole answers.
T = TypeVar("T")
Apart: TypeAlias = Callable[[], object]
"""Work on one long text: too much for a step."""
MaskSteps: TypeAlias = Generator[Apart | None, None, T]
"""Work in steps, which returns its result at the end. What a step hands out is to be done before the next one; if it
raises, that is thrown into the steps."""
Place: TypeAlias = Callable[[Apart], Awaitable[object]]
"""Does such work where it holds nobody up."""
_SLICE_S = 0.004
"""Chosen: as the turns of whole answers (`sanitize.pipeline`)."""
SLOTS_A_STEP = 64
"""Chosen: places of text that are looked for in one step (below a millisecond)."""
CleanError: TypeAlias = Callable[[GatewayError], Awaitable[None]]
"""Masks in place what an error says of the stream."""
Refusal: TypeAlias = Callable[[GatewayError, Json | None], list[Event]]
"""(error, data of the last event with data, or None) -> the events that end the stream in its dialect."""


def at_once(steps: MaskSteps[T]) -> T:
    """The result, all of it done here."""
    error: Exception | None = None
    try:
        while True:
            apart = next(steps) if error is None else steps.throw(error)
            error = None
            if apart is not None:
                try:
                    apart()
                except Exception as raised:
                    error = raised
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        error = None  # its traceback leads to this frame: as a circle they would wait for the garbage collector


async def in_turns(steps: MaskSteps[T], place: Place) -> T:
    """The result; others run between the steps, and work that is handed out is done in its place."""
    error: Exception | None = None
    end_s = time.perf_counter() + _SLICE_S
    try:
        while True:
            apart = next(steps) if error is None else steps.throw(error)
            error = None
            if apart is not None:
                try:
                    await place(apart)
                except Exception as raised:
                    error = raised
            elif time.perf_counter() < end_s:
                continue
            else:
                await asyncio.sleep(0)
            end_s = time.perf_counter() + _SLICE_S
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        error = None  # as in `at_once`


# ----------------------------------------------------------------------------------------------------
# Decides how much of a channel's text is final, and which masks lie over it. See `stream_masker` for the states.
#
# Two ways lead to a decision: `advance_plain`, cheap, for plain words only; `advance`, the full scan. Does not know
# events' order or wire formats: it only changes the channel.
_CONTEXT_CHARS_CHANNEL_SCAN = 40
"""Chosen: characters beside the undecided text that the fast paths look at too, so that a sign split by the border (an
escape, `sg.`, `://`, 16 characters without a space) is still seen. At half the longest sign would barely fit; at double
each short piece costs more."""

IDLE_EVENTS = 64
"""Chosen: a channel that holds text back delays at most so many events of other channels. At half, a password or a name
split over channels that alternate slowly is cut more often and can leak; at double, a silent choice delays others more.
"""
MAX_IDLE_EVENTS = 1024
"""Chosen: the same for a channel that may end in a number or key (`may_be_key`). At half, such a value leaks where 600
pieces of reasoning stand between two of its own; at double, twice as many events wait in memory."""


class Blocked(Exception):
    """A finding must not pass. `where` is its slot's path; `last_event` the event that is cut before the finding."""

    def __init__(self, entity: str, where: str, last_event: PendingEvent | None) -> None:
        super().__init__(entity)
        self.entity, self.where, self.last_event = entity, where, last_event


class ChannelScan:
    """Scans the channels of one stream. `on_finding(entity)` is called once for each finding."""

    def __init__(
        self,
        scanner: Scanner,
        actions: ActionTable,
        on_finding: Callable[[str], None],
        restorer: Restorer | None = None,
    ) -> None:
        self._scanner, self._actions, self._on_finding = scanner, actions, on_finding
        self._restorer = restorer

    def advance_plain(self, channel: Channel) -> bool:
        """Decide plain words up to the holdback and emit their pieces. False, with nothing done, for any other text
        and for a closed channel, of which all is decided.

        Naive form: `advance(channel)`, which decides the same. Raises SanitizerFailed.
        """
        if channel.edits or channel.mask_until is not None or channel.closed or self._scanner.min_holdback_chars:
            return False
        start = channel.final - channel.base
        first = start - _CONTEXT_CHARS_CHANNEL_SCAN if start > _CONTEXT_CHARS_CHANNEL_SCAN else 0
        try:
            cut = plain_text_cut(channel.buffer[first:], start - first)
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this stream") from error
        if cut < 0:
            return False
        if first + cut > start:
            channel.mark_decided(first + cut)
        if channel.pieces and channel.pieces[0].end <= channel.final:
            channel.emit_decided()
        return True

    def advance(self, channel: Channel, whole: bool = False) -> None:
        """Decide all text but the holdback, or all of it with `whole` or when the channel is closed; emit its pieces.

        Raises Blocked, with the channel cut at the finding, and SanitizerFailed.
        """
        try:
            if channel.mask_until is not None:
                channel.continue_mask()
            start, length = channel.final - channel.base, len(channel.buffer)
            decide_all = whole or channel.closed
            cut = length if decide_all else channel.holdback_start(start, self._scanner.min_holdback_chars)
            if self._restorer is not None and not decide_all:
                cut = min(cut, self._restorer.holdback_start(channel.buffer, start))
            if cut > start or length - start > MAX_HOLDBACK_CHARS:
                self._decide(channel, cut)
        except Blocked:
            raise
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this stream") from error
        channel.emit_decided()

    def may_go_on(self, channel: Channel) -> bool:
        """Whether the text of another item may complete a value that this closed text may end with.

        A value to be blocked that is complete ends the stream at once. Raises SanitizerFailed.
        """
        if not (self._scanner.min_holdback_chars or channel.may_go_on()):
            return False
        try:
            found = self._scanner.scan_uncached(channel.buffer)
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this stream") from error
        held = (each for each in found if each.end > channel.final - channel.base)
        return all(self._actions.action(each.entity, each.certain) != "block" for each in held)

    def is_idle(self, channel: Channel, idle_events: int) -> bool:
        """Whether what a channel holds back is to be decided, so many events after its last text."""
        if idle_events <= IDLE_EVENTS:
            return False
        return idle_events > MAX_IDLE_EVENTS or not channel.may_end_in_key()

    def _decide(self, channel: Channel, cut: int) -> None:
        """Scan the buffer and decide it up to `cut`, or up to a finding that goes beyond it."""
        start, length = channel.final - channel.base, len(channel.buffer)
        findings: list[Finding] = []
        if not self._scanner.is_trivially_clean(
            channel.buffer[max(0, start - _CONTEXT_CHARS_CHANNEL_SCAN) : cut + _CONTEXT_CHARS_CHANNEL_SCAN]
        ):
            findings = [
                finding
                for finding in self._scanner.scan_uncached(channel.buffer)
                if finding.end > start and self._actions.action(finding.entity, finding.certain) != "off"
            ]
        for finding in findings:
            if finding.start < cut < finding.end:
                cut = max(finding.start, start)
        values = self._values(channel, start, cut, findings)
        holds_too_much = length - cut > MAX_HOLDBACK_CHARS
        if holds_too_much:
            cut = length
        for finding in findings:
            if finding.start < cut:
                while values and values[0][0] < finding.start:
                    channel.add_edit(*values.popleft())
                self._apply(channel, finding._replace(start=max(finding.start, start)))
        for value in values:
            channel.add_edit(*value)
        if holds_too_much and channel.edits and channel.ends_in_mask():
            channel.mask_tail_of(findings[-1].start)
        channel.mark_decided(cut)

    def _values(self, channel: Channel, start: int, cut: int, findings: list[Finding]) -> deque[tuple[int, int, str]]:
        """The placeholders in buffer[start:cut] that become values again, but for those under a mask."""
        restorer, text = self._restorer, channel.buffer
        if restorer is None:
            return deque()
        channel.past = channel.past or ""
        if channel.is_json is None:
            channel.is_json = channel.form == "json" or restorer.reads_as_json(text)
        tool = restorer.tool_of_channel(channel.name, channel.form)
        restorer.count_bare(text, start, cut)
        edits = restorer.edits(text, start, cut, tool=tool, as_json=channel.is_json, past=channel.past)
        return deque(
            each for each in edits if not any(found.start < each[1] and each[0] < found.end for found in findings)
        )

    def _apply(self, channel: Channel, finding: Finding) -> None:
        self._on_finding(finding.entity)
        action = self._actions.action(finding.entity, finding.certain)
        if action == "redact":
            channel.add_edit(finding.start, finding.end, mask_of(finding.entity))
        elif action == "block":
            raise Blocked(finding.entity, channel.where, channel.cut_at(finding.start))


# ----------------------------------------------------------------------------------------------------
# The channels of one stream: which channel a piece belongs to, what happens when it is closed, and which are idle.
#
# The states of a channel are described in `stream_masker`, and decided by `channel_scan`. Knows no wire format.
class OpenChannels:
    """`by_name`: the channels that are not closed. `repeated` gets the text of every closed item of a flow.

    All methods raise what `ChannelScan.advance` raises.
    """

    __slots__ = ("_parted", "_repeated", "_scan", "by_name")

    def __init__(self, scan: ChannelScan, repeated: RepeatedTexts) -> None:
        self._scan, self._repeated = scan, repeated
        self.by_name: dict[Hashable, Channel] = {}
        self._parted: dict[Hashable, Channel] = {}  # by flow: the channel of its last closed item

    def append(self, slot: TextSlot, pending: PendingEvent) -> Channel | None:
        """Add a piece; returns its channel, or None for the end of a text that never began."""
        channel = self.by_name.get(slot.channel)
        if channel is None:
            if slot.last and slot.flow is None and not slot.text:
                return None
            channel = self._parted.pop(slot.flow, None) or Channel(slot.form, slot.where, joins=slot.flow is not None)
            channel.where, channel.name = slot.where, slot.channel
            self.by_name[slot.channel] = channel
        channel.append(slot, pending)
        if slot.last:
            self.by_name.pop(slot.channel)
            if channel.joins:
                self._part(channel, slot.flow)
            else:
                channel.closed = True
                self._scan.advance(channel)
        return channel

    def _part(self, channel: Channel, flow: Hashable) -> None:
        """An item of a flow is closed: keep what it holds back only if another item may go on with a value in it."""
        self._repeated.add(channel.end_segment())
        self._scan.advance(channel)
        if not self._scan.may_go_on(channel):
            self._scan.advance(channel, whole=True)
        beside = self._parted.get(flow)  # of an item that was open beside this one
        if beside is not None:
            self._scan.advance(beside, whole=True)
        self._parted[flow] = channel

    def close_all(self) -> None:
        """The stream has ended: decide all texts."""
        for channel in self._all():
            channel.closed = True
            self._scan.advance(channel)
        self.by_name.clear()
        self._parted.clear()

    def decide_idle(self, event_count: int) -> None:
        """Decide the texts that have got no piece for too long; `event_count` is that of the stream so far."""
        for channel in self._all():
            if channel.pieces and self._scan.is_idle(channel, event_count - channel.last_event):
                self._scan.advance(channel, whole=True)

    def _all(self) -> Iterator[Channel]:
        yield from (*self.by_name.values(), *self._parted.values())


# ----------------------------------------------------------------------------------------------------
# Masks the texts that one event of a stream holds completely: ids, titles, texts that come again, long texts.
#
# Knows no channel. The pieces of texts that several events share are masked by `channel_scan`.
class WholeTexts:
    """Those of one stream. `repeated`: the texts that come again. `on_finding(entity)` is called once for each finding.

    An id comes with every event: of an event's only text, the last one without a finding is not scanned again.
    """

    def __init__(
        self,
        scanner: Scanner,
        actions: ActionTable,
        on_finding: Callable[[str], None],
        restorer: Restorer | None = None,
    ) -> None:
        self._on_finding = on_finding
        self._restorer = restorer
        self._masker = SlotMasker(scanner, actions, self._note)
        self.repeated = RepeatedTexts()
        self._note_count = 0
        self._clean_label: tuple[str, object, str] | None = None

    def steps(self, slots: Sequence[TextSlot]) -> MaskSteps[bool]:
        """Mask whole texts; whether one has changed. Naive form: `clean_seams`, then `clean` of each. Long ones that
        another event of the stream had are not scanned again.

        Raises Blocked and SanitizerFailed.
        """
        changes, masker, note_count = list[bool](), self._masker, self._note_count
        label = _label_of(slots)
        if label is not None and label == self._clean_label:
            return False
        try:
            for is_changed in masker.seam_steps(slots):
                changes.append(is_changed)
                yield None
            for slot in slots:
                if weight_of(slot) > IN_THREAD_CHARS:
                    yield partial(self._clean, slot, changes)
                else:
                    for is_changed in masker.steps(slot):
                        changes.append(is_changed)
                        yield None
        except Blocked:
            raise
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this stream") from error
        if self._restorer is not None:
            changes += [self._restorer.restore(slot) for slot in slots]
        if label is not None and note_count == self._note_count:
            self._clean_label = label
        return any(changes)

    def _clean(self, slot: TextSlot, changes: list[bool]) -> None:
        changes.append(self.repeated.mask_long(slot, self._masker.clean))

    def _note(self, entity: str, action: Action, where: str) -> None:
        self._note_count += 1
        self._on_finding(entity)
        if action == "block":
            raise Blocked(entity, where, None)


def _label_of(slots: Sequence[TextSlot]) -> tuple[str, object, str] | None:
    """All that the scan of an only text depends on, if it is a label; None for any other texts."""
    slot = slots[0]
    if len(slots) > 1 or slot.form != "label" or type(slot) is not TextSlot:
        return None
    return slot.name, slot.key, slot.text


_MAX_RELAYED_RUN = 24
"""Chosen: relayed pieces of one batch that the fast path takes together. One piece that is not plain sends the whole
run to the full scan: at double it takes more plain pieces with it, at half plain bursts need twice the fast path
calls."""

_AT_ONCE_CHARS = 1_024
"""Chosen: a text of so many characters, its context included, is scanned without a step of its own (below half a
millisecond). At half most pieces that are not plain take steps, at double others wait for longer between two turns."""


class StreamMask:
    """Masks one stream. `on_finding(entity)` is called once for each finding, before its text is sent."""

    def __init__(
        self,
        scanner: Scanner,
        actions: ActionTable,
        slots_of: Callable[[Json], Iterable[TextSlot]],
        on_finding: Callable[[str], None],
        restorer: Restorer | None = None,
    ) -> None:
        """`restorer` puts values back in the place of their placeholders; None where there are none."""
        self._slots_of = slots_of
        self._restorer = restorer
        self._scan = ChannelScan(scanner, actions, on_finding, restorer)
        self._whole_texts = WholeTexts(scanner, actions, on_finding, restorer)
        self._queue = EventQueue()
        self._last: Event | None = None
        self._channels = OpenChannels(self._scan, self._whole_texts.repeated)
        self._decodes_all = False  # something beside a text was masked (an id): relayed frames may hold it too

    async def run(
        self,
        events: EventStream,
        refused_events: Refusal,
        place: Place = asyncio.to_thread,
        clean_error: CleanError | None = None,
    ) -> EventStream:
        """Yield the same events, masked, and close `events` at the end. Long texts are scanned in `place`.

        A blocked finding ends the stream with `refused_events`. If `events` raises a GatewayError, the text held back
        is yielded first, then `clean_error` masks what the error says. Raises SanitizerFailed when a detector fails,
        and whatever `events` and `clean_error` raise.
        """
        try:
            async for batch in events:
                pushed = self._pushed(batch)
                yield pushed if isinstance(pushed, list) else await in_turns(pushed, place)
            yield await in_turns(self._finish_steps(), place)
        except SanitizerFailed:
            raise
        except GatewayError as failure:
            with suppress(Blocked, SanitizerFailed):
                yield self.finish()
            if clean_error is not None:
                await clean_error(failure)
            raise
        except Blocked as blocked:
            self._queue.end(blocked.last_event)
            error = ContentBlocked(f"the answer holds {blocked.entity}", param=blocked.where)
            last = sse.decode(self._last) if self._last is not None else None
            yield [*at_once(self._take_ready()), *refused_events(error, last)]
        finally:
            await events.aclose()

    def push(self, batch: EventBatch) -> EventBatch:
        """Add events; return, in order, those that are ready. Raises SanitizerFailed and Blocked."""
        pushed = self._pushed(batch)
        return pushed if isinstance(pushed, list) else at_once(pushed)

    def _pushed(self, batch: EventBatch) -> EventBatch | MaskSteps[EventBatch]:
        """Add events; return those that are ready, or the steps to them where there is more to do than a short scan.

        Naive form: `_push_steps`. A model's stream is mostly batches of one piece, which take no steps.
        """
        if len(batch) != 1:
            return self._push_steps(batch)
        event, queue = batch[0], self._queue
        not_plain: list[Channel] = []
        if event.relayed is not None and event.data is None and not self._decodes_all:
            channel = self._add_relayed(event.relayed, batch, not_plain)
        else:
            piece = self._piece_of(event)
            if piece is None or (added := self._channels.append(piece, queue.add(event))) is None:
                return self._push_steps(batch)
            self._last, channel = event, added
            if len(channel.buffer) > _AT_ONCE_CHARS or not self._scan.advance_plain(channel):
                not_plain.append(channel)
        if len(channel.buffer) > _AT_ONCE_CHARS or len(queue.pending) > IDLE_EVENTS:
            return self._decision_steps(not_plain)
        if not_plain:
            self._scan.advance(channel)
        if queue.pending and not queue.pending[0].undecided_pieces and queue.release() is not None:
            return self._take_ready()
        return queue.take()

    def _piece_of(self, event: Event) -> TextSlot | None:
        """The only text of an event that was made from data, if it is a piece that others follow."""
        slots = () if event.data is None else self._slots_of(event.data)
        if not isinstance(slots, tuple | list) or len(slots) != 1:
            return None
        slot: TextSlot = slots[0]
        return None if slot.channel is None or slot.last else slot

    def _push_steps(self, batch: EventBatch) -> MaskSteps[EventBatch]:
        changed, not_plain = list[Channel](), list[Channel]()
        index, size = 0, len(batch)
        while index < size:
            event = batch[index]
            first, index = index, index + 1
            if event.relayed is None or event.data is not None or self._decodes_all:
                yield from self._event_steps(event, changed)
                continue
            while index < size and batch[index].relayed is event.relayed and batch[index].data is None:
                index += 1
                if index - first == _MAX_RELAYED_RUN:
                    break
            self._add_relayed(event.relayed, batch if size == 1 else batch[first:index], not_plain)
        for channel in changed:
            if len(channel.buffer) > IN_THREAD_CHARS or not self._scan.advance_plain(channel):
                not_plain.append(channel)
        return (yield from self._decision_steps(not_plain))

    def _decision_steps(self, changed: list[Channel]) -> MaskSteps[EventBatch]:
        """Decide what can be decided in these channels; return the events that are ready."""
        for channel in changed:
            advance = partial(self._scan.advance, channel)
            yield advance if len(channel.buffer) > IN_THREAD_CHARS else advance()
        if self._queue.waits_longer(IDLE_EVENTS):
            self._channels.decide_idle(self._queue.count)
        return (yield from self._take_ready())

    def finish(self) -> EventBatch:
        """Decide and return everything that is left: the stream has ended. Raises SanitizerFailed and Blocked."""
        return at_once(self._finish_steps())

    def _finish_steps(self) -> MaskSteps[EventBatch]:
        self._channels.close_all()
        return (yield from self._take_ready())

    def _event_steps(self, event: Event, changed: list[Channel]) -> MaskSteps[None]:
        """Add an event of any kind; channels that got text are appended to `changed`."""
        pending = self._queue.add(event)
        data = sse.decode(event)
        if data is None:
            if event.raw == sse.DONE:
                self._channels.close_all()
            return
        self._last = event
        if self._restorer is not None:
            self._restorer.note_tools(data)
        whole_texts = []
        for slot in self._slots_of(data):
            if slot.channel is None:
                whole_texts.append(slot)
                if len(whole_texts) % SLOTS_A_STEP == 0:
                    yield None
                continue
            channel = self._channels.append(slot, pending)
            if channel is None:
                continue
            if len(channel.buffer) > IN_THREAD_CHARS:
                yield partial(self._scan.advance, channel)
            if not changed or changed[-1] is not channel:
                changed.append(channel)
        if whole_texts:
            whole_texts, waits = self._whole_texts.repeated.write(whole_texts, pending)
            if waits:
                pending.whole_texts = whole_texts
            elif whole_texts:
                yield from self._whole_text_steps(whole_texts, pending)

    def _add_relayed(self, relayed: RelayTemplate, events: EventBatch, not_plain: list[Channel]) -> Channel:
        """Add pieces of one channel that came together. Plain words, the usual case, are ready at once.

        A channel whose new text is not plain is appended to `not_plain`: its text is scanned once at the end of `push`.
        """
        channel = self._channels.by_name.get(relayed.channel)
        if channel is None:
            channel = self._channels.by_name[relayed.channel] = Channel("text", relayed.where)
        self._last = events[-1]
        offset, queue = channel.base + len(channel.buffer), self._queue
        channel.buffer += events[0].text if len(events) == 1 else "".join([event.text for event in events])
        must_scan = bool(not_plain) and channel in not_plain
        is_plain = not must_scan and self._scan.advance_plain(channel)
        if is_plain:
            if queue.pending:
                queue.release()
            if not queue.pending:
                ready, offset = len(events), channel.base + len(channel.buffer)
                while ready and offset > channel.final:
                    ready -= 1
                    offset -= len(events[ready].text)
                if ready:
                    queue.pass_on(events[:ready])
                    events = events[ready:]
        for event in events:
            end = offset + len(event.text)
            channel.pieces.append(Piece(relayed, offset, end, queue.add(event, 1)))
            offset = end
        channel.last_event = queue.count
        if is_plain:
            if channel.pieces and channel.pieces[0].end <= channel.final:
                channel.emit_decided()  # behind another channel's pending event; they stay in the queue
        elif not must_scan:
            not_plain.append(channel)
        return channel

    def _whole_text_steps(self, slots: list[TextSlot], pending: PendingEvent) -> MaskSteps[None]:
        """Mask texts that one event holds completely."""
        try:
            is_changed = yield from self._whole_texts.steps(slots)
        except Blocked:
            self._queue.end(None, before=pending)  # the event with this text must not be sent
            raise
        if is_changed:
            pending.frame = None
            self._decodes_all = True

    def _take_ready(self) -> MaskSteps[EventBatch]:
        while (pending := self._queue.release()) is not None:
            if pending.whole_texts:
                yield from self._whole_text_steps(pending.whole_texts, pending)
            pending.whole_texts = None
        return self._queue.take()
