"""The texts of decoded data: places that may be read and replaced, and the units in which they are judged.

Dialects make them, the sanitizer reads and replaces them."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass
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


Edit: TypeAlias = tuple[int, int, str]
"""(start, end, words): the text at [start, end) becomes these words."""


@dataclass(slots=True)
class TextSlot:
    """A string in decoded data that may be inspected and replaced, through `text`.

    `where` is its path, for error messages (`messages[0].content`). In a stream, slots of one `channel` are consecutive
    pieces of one text, and `last` marks the final piece; a slot without a channel is a whole text. Whole texts of one
    unit with the same `flow` continue each other: a value may be split over them. `name` is the name of the value,
    where `key` is none (the items of a list). `copies` is the object whose `logprobs` spell the text again: they are
    dropped when the text is replaced, and respelt when it is rewritten.
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
        value: str = self.holder[self.key]
        return value

    @text.setter
    def text(self, value: str) -> None:
        self.holder[self.key] = value
        if self.copies is not None:
            drop_logprobs(self.copies)

    def rewrite(self, edits: Sequence[Edit]) -> None:
        """Replace some places of the text, in order, in the tokens that spell it as well."""
        before = self.text
        self.holder[self.key] = edited(before, edits)
        if self.copies is not None:
            _respell(self.copies.get("logprobs"), before, edits)


def edited(text: str, edits: Sequence[Edit]) -> str:
    """A text with other words at these places."""
    parts, at = list[str](), 0
    for start, end, words in edits:
        parts += (text[at:start], words)
        at = end
    return "".join((*parts, text[at:]))


def _respell(logprobs: Any, text: str, edits: Sequence[Edit]) -> None:
    """Write the edits of a text into the tokens that spell it, of which none is lost.

    "[", "EMAIL", "_1]", " so"  ->  "jane@x.org", "", "", " so"
    """
    lists = [logprobs, *(logprobs.values() if isinstance(logprobs, dict) else ())]
    for tokens in lists:
        if isinstance(tokens, list) and all(map(_is_token, tokens)):
            at = "".join([each["token"] for each in tokens]).find(text)
            if at >= 0:
                _edit_tokens(tokens, [(at + start, at + end, words) for start, end, words in edits])


def _is_token(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("token"), str)


def _edit_tokens(tokens: list[Any], edits: Sequence[Edit]) -> None:
    end = 0
    for token in tokens:
        old = token["token"]
        start, end = end, end + len(old)
        new = edited(old, within(edits, start, end))
        for each in (token, *(token.get("top_logprobs") or ())) if new != old else ():
            if each.get("token") == old:
                each["token"] = new
                if isinstance(each.get("bytes"), list):
                    each["bytes"] = list(new.encode("utf-8", "replace"))


def within(edits: Iterable[Edit], start: int, end: int) -> list[Edit]:
    """The edits that touch a part of a text, in the part's places: the words stand where an edit begins."""
    found = list[Edit]()
    for first, last, words in edits:
        if first >= end:
            break
        if last > start:
            found.append((max(first - start, 0), min(last, end) - start, words if first >= start else ""))
    return found


def drop_logprobs(holder: MutableMapping[str, Any]) -> None:
    """Take the tokens of a changed text out of `holder["logprobs"]`: a list becomes empty, an object null."""
    if holder.get("logprobs") is not None:
        value = holder["logprobs"]
        holder["logprobs"] = [] if isinstance(value, list) else None


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
