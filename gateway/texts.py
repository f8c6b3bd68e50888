"""The texts of decoded data: places that may be read and replaced, and the units in which they are judged.

Dialects make them, the sanitizer reads and replaces them. Knows no wire format and no detector.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Hashable, Iterator, MutableMapping, MutableSequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal, TypeAlias

Form: TypeAlias = Literal["text", "json", "url", "data", "name", "label", "group"]
"""What a string is, which decides how it is scanned and whether it can be masked.

| form    | the string                                            | a value to be redacted in it            |
|---------|-------------------------------------------------------|-----------------------------------------|
| `text`  | free text                                             | is masked in place                      |
| `json`  | a JSON document (tool-call arguments)                 | is masked in its leaves; it stays JSON  |
| `url`   | a web address                                         | only credentials, which are masked      |
| `data`  | a data URL or base64 text                             | is masked in the text that it encodes   |
| `name`  | a name, key or id in a request, which others refer to | refuses the request                     |
| `label` | the same in an answer                                 | is masked in place; no model judges it  |
| `group` | many short strings, scanned at once (`GroupSlot`)     | is masked in the string that holds it   |
"""


LONG_CHARS = 1 << 16
"""Longer texts are kept, read and written in pieces of this size. Chosen: a piece is encoded in 20 µs; at half ordinary
pages are cut for nothing, at double so much more memory is needed beside each text."""


_KEPT_BYTES = 1 << 14
"""Longer texts are kept in UTF-8. Chosen: many calls with arguments of this size may be in one answer. At half ordinary
answers are kept so, each of whose copies is decoded once more (2 µs); at double twice as much memory is taken."""


class Utf8Text:
    """A long text in decoded data, in the place of a string. The naive form is the string, which takes four bytes for
    each of its characters where one of them is an emoji. Never changed: several events of a stream share one.

    It can be cut like a string (`text[start:end]`, without a step): the pieces that hold the characters are decoded.
    Without an argument it is empty. Lone surrogates are kept, as in strings.
    """

    __slots__ = ("_last", "_starts", "utf8")

    def __init__(self, utf8: bytes | bytearray = b"") -> None:
        self.utf8 = utf8
        self._starts: list[tuple[int, int]] | None = None  # of each piece, and of the end: (character, byte)
        self._last = (-1, "")  # the number of the piece that was decoded last, and its text

    def __len__(self) -> int:
        """Characters."""
        return self._made_starts()[-1][0]

    def __getitem__(self, place: slice) -> str:
        starts = self._made_starts()
        start, end, _ = place.indices(starts[-1][0])
        cut, number = [], max(0, bisect_right(starts, start, key=_CHARACTER) - 1)
        while number < len(starts) - 1 and starts[number][0] < end:
            first = starts[number][0]
            cut.append(self._piece(number)[max(0, start - first) : end - first])
            number += 1
        return "".join(cut)

    @property
    def text(self) -> str:
        """The string, a new one each time."""
        return self.utf8.decode("utf-8", "surrogatepass")

    def pieces(self) -> Iterator[str]:
        """The text in pieces of at most LONG_CHARS characters."""
        return utf8_pieces(self.utf8)

    def _made_starts(self) -> list[tuple[int, int]]:
        if self._starts is None:
            at = chars = 0
            self._starts = [(0, 0)]
            for piece in utf8_pieces(self.utf8):
                at, chars = _piece_end(self.utf8, at), chars + len(piece)
                self._starts.append((chars, at))
        return self._starts

    def _piece(self, number: int) -> str:
        kept, text = self._last
        if kept != number:
            starts = self._made_starts()
            text = self.utf8[starts[number][1] : starts[number + 1][1]].decode("utf-8", "surrogatepass")
            self._last = (number, text)
        return text


_CHARACTER = itemgetter(0)


def utf8_pieces(utf8: bytes | bytearray) -> Iterator[str]:
    """The text of some UTF-8 in pieces of at most LONG_CHARS characters."""
    at = 0
    while at < len(utf8):
        end = _piece_end(utf8, at)
        yield utf8[at:end].decode("utf-8", "surrogatepass")
        at = end


def _piece_end(utf8: bytes | bytearray, at: int) -> int:
    """Where the piece that begins at a byte ends: not inside a character."""
    end = min(at + LONG_CHARS, len(utf8))
    while end < len(utf8) and utf8[end] & 0xC0 == 0x80:
        end -= 1
    return end


def text_of_utf8(utf8: bytes | bytearray) -> str | Utf8Text:
    """The text as it is kept in decoded data: a long one in UTF-8. `utf8` belongs to it from here on."""
    return Utf8Text(utf8) if len(utf8) > _KEPT_BYTES else utf8.decode("utf-8", "surrogatepass")


class GrowingText:
    """A text that comes in pieces, in blocks of UTF-8. Naive form: a list of the pieces, which takes 50 bytes for each,
    and four for each character beside an emoji. One growing block would leave holes in the heap as it is moved."""

    __slots__ = ("_blocks", "_last")

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._last = bytearray()

    def add(self, piece: str) -> None:
        """The text goes on."""
        for start in range(0, len(piece), LONG_CHARS):
            self._last += piece[start : start + LONG_CHARS].encode("utf-8", "surrogatepass")
            if len(self._last) > LONG_CHARS:
                self._end_block()

    def take(self) -> bytes:
        """The UTF-8 of the whole text; it is empty afterwards."""
        self._end_block()
        blocks, self._blocks = self._blocks, []
        return b"".join(blocks)

    def _end_block(self) -> None:
        if self._last:
            self._blocks.append(bytes(self._last))
            self._last.clear()


@dataclass(slots=True)
class TextSlot:
    """A string in decoded data that may be inspected and replaced, through `text`.

    `where` is its path, for error messages (`messages[0].content`). In a stream, slots of one `channel` are consecutive
    pieces of one text, and `last` marks the final piece; a slot without a channel is a whole text. Whole texts of one
    unit with the same `flow` continue each other: a value may be split over them. `name` is the name of the value,
    where `key` is none (the items of a list). `copies` is the object whose `logprobs` spell the text again: they are
    dropped when the text is replaced.
    """

    holder: MutableMapping[str, Any] | MutableSequence[Any]
    key: Any
    where: str
    form: Form = "text"
    channel: Hashable = None
    last: bool = False
    flow: Hashable = None
    name: str = ""
    copies: MutableMapping[str, Any] | None = None

    @property
    def is_there(self) -> bool:
        """Whether the string is where it was: a property whose name was masked has another place."""
        return not isinstance(self.holder, dict) or self.key in self.holder

    @property
    def text(self) -> str:
        value = self.holder[self.key]
        return value.text if type(value) is Utf8Text else value

    @text.setter
    def text(self, value: str) -> None:
        self.holder[self.key] = value
        if self.copies is not None:
            drop_logprobs(self.copies)

    @property
    def in_utf8(self) -> Utf8Text | None:
        """The text if it is kept in UTF-8: reading `text` makes a new string each time."""
        value = self.holder[self.key]
        return value if type(value) is Utf8Text else None

    @property
    def cuttable(self) -> str | Utf8Text:
        """The text, to be read by its length and slices."""
        return self.in_utf8 or self.text

    def keep(self, value: str | Utf8Text) -> None:
        """As setting `text`, for a text that is kept in UTF-8, too."""
        self.holder[self.key] = value
        if self.copies is not None:
            drop_logprobs(self.copies)


def drop_logprobs(holder: MutableMapping[str, Any]) -> None:
    """Take the tokens of a changed text out of `holder["logprobs"]`: a list becomes empty, an object null."""
    if holder.get("logprobs") is not None:
        value = holder["logprobs"]
        holder["logprobs"] = [] if isinstance(value, list) or getattr(value, "is_list", False) else None


class GroupSlot(TextSlot):
    """Short strings of a body that are scanned together, as lines: a scan costs as much as 4,000 characters of text.

    Naive form: the `members` one by one. Only those in whose lines something is found are looked at alone, so a member
    is masked as it would be by itself.
    """

    __slots__ = ("members",)

    members: list[TextSlot]

    @classmethod
    def of(cls, members: list[TextSlot]) -> "GroupSlot":
        """A group of at least one slot."""
        group = cls({}, "", "(short strings)", "group")
        group.members = members
        return group

    @property
    def text(self) -> str:
        return "\n".join([member.text for member in self.members])

    @text.setter
    def text(self, value: str) -> None:
        raise TypeError("a group is masked by its members")


class ScanToken:
    """Identity shared by all copies of the same texts in the same places (cached searches, repeated calls).

    `scanned_clean` holds the directions, "requests" or "responses", in which the sanitizer has found nothing in them.
    """

    __slots__ = ("scanned_clean",)

    def __init__(self) -> None:
        self.scanned_clean: set[str] = set()


class TextUnit:
    """Texts that are blocked or passed together. `owner` is the dialect's own reference to what holds them.

    `slots`: the texts, or a function that makes them when they are first needed, at once or in steps (an iterator of
    the list so far). `scan_token`: see ScanToken; None for
    texts that are not expected again. `whole`: the decoded JSON that holds all of the texts and nothing else, for units
    that are expected again as they are (the messages of a conversation); None for others.
    """

    __slots__ = ("_slots", "owner", "scan_token", "whole")

    def __init__(
        self,
        slots: list[TextSlot] | Callable[[], list[TextSlot] | Iterator[list[TextSlot]]],
        owner: Any = None,
        scan_token: ScanToken | None = None,
        whole: Any = None,
    ) -> None:
        self._slots = slots
        self.owner = owner
        self.scan_token = scan_token
        self.whole = whole

    @property
    def only_slot(self) -> TextSlot | None:
        """The slot of a unit that was made with one; most messages of a conversation are such units."""
        slots = self._slots
        return slots[0] if isinstance(slots, list) and len(slots) == 1 else None

    @property
    def slots(self) -> list[TextSlot]:
        """The texts; without those that `steps` has handed out."""
        if not isinstance(self._slots, list):
            made = self._slots()
            if not isinstance(made, list):
                made = deque(made, maxlen=1).pop()
            self._slots = made
        return self._slots

    def steps(self, *, keeps_all: bool = False) -> Iterator[list[TextSlot]]:
        """Make the slots in steps of about a millisecond, between which other work may be done. Take all of them.

        Each step hands out the slots that continue no other (without a `flow`), which are to be dealt with at once: a
        property name comes after its value, and may be changed. Only those with a flow are among `slots` then: a body
        of very many strings would have more memory in slots than in itself. `keeps_all`: the others are as well, but
        for the groups of short strings.
        """
        made = self._slots if isinstance(self._slots, list) else self._slots()
        kept: list[TextSlot] = []
        if isinstance(made, list):
            self._slots = made
            yield [slot for slot in made if slot.flow is None]
            return
        for found in made:
            new = found[len(kept) :]
            kept += [slot for slot in new if slot.flow is not None or (keeps_all and not isinstance(slot, GroupSlot))]
            found[:] = kept
            yield [slot for slot in new if slot.flow is None]
        self._slots = kept
