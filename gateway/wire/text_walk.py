"""Walks a decoded JSON value and hands out every string and every property name in it as a TextSlot.

Nothing is looked up in a list of known places: `field_rules` says only what kind of string a field holds, and names
the few that are skipped. One pass without recursion.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, MutableMapping
from itertools import chain, islice
from typing import Any, TypeAlias

from gateway.domain import SEALED
from gateway.texts import Form, GroupSlot, TextSlot, TextUnit
from gateway.wire import field_rules as rules
from gateway.wire.logprobs import LogprobsSlot

_STEP = 512
"""Slots made, and members read, in one step of the walk: half a millisecond, and about a millisecond."""
_URL = re.compile(r"(?i)https?://\S+")


def text_slots(value: Any, skip: frozenset[str] = frozenset()) -> list[TextSlot]:
    """The slots of all strings that are not empty, in order, but for those below the keys in `skip`.

    `value` is an object or a list. A string that is one http(s) URL has the form `url`.
    """
    return list(each_text_slot(value, skip))


def each_text_slot(value: Any, skip: frozenset[str] = frozenset()) -> Iterator[TextSlot]:
    """As `text_slots`, one after the other, for what may have very many. Without recursion."""
    stack = [_members(value, "")]
    while stack:
        holder, where, is_object, members = stack[-1]
        for key, item in members:
            kind = type(item)
            if is_object and key in skip:
                continue
            if kind is str:
                if item:
                    yield TextSlot(holder, key, _path(where, key, is_object), "url" if is_url(item) else "text")
            elif kind is dict or kind is list:
                stack.append(_members(item, _path(where, key, is_object)))
                break
        else:
            stack.pop()


def text_slot_steps(value: Any, skip: frozenset[str] = frozenset()) -> Iterator[list[TextSlot]]:
    """As `text_slots`, in steps: the slots found so far, the last time all of them."""
    slots: list[TextSlot] = []
    walk = each_text_slot(value, skip)
    while some := list(islice(walk, _STEP)):
        slots += some
        yield slots
    yield slots


def _members(holder: Any, where: str) -> tuple[Any, str, bool, Iterator[tuple[Any, Any]]]:
    """(an object or list, its path, whether it is an object, what is still to be read of it)."""
    is_object = isinstance(holder, dict)
    return holder, where, is_object, iter(holder.items() if is_object else enumerate(holder))


def _path(where: str, key: Any, is_object: bool) -> str:
    if not is_object:
        return f"{where}[{key}]"
    return f"{where}.{key}" if where else str(key)


def is_url(text: str) -> bool:
    """Whether the whole text is one http(s) address."""
    return text[:4].lower() == "http" and _URL.fullmatch(text) is not None


class PropertyNames:
    """What the slots of one body's property names have in common. `values`: the slot of a property's value, by the
    identity of the object and the name, where the name may be masked and the value is looked at alone."""

    def __init__(self) -> None:
        self.values: dict[tuple[int, str], TextSlot] = {}
        self._numbers: dict[tuple[int, str], int] = {}

    def rename(self, holder: MutableMapping[str, Any], name: str, wanted: str) -> str:
        """Renames a property, which becomes the last one, and returns its new name: `wanted`, with a number behind it
        where that name is taken."""
        new = wanted
        if new in holder:
            number = self._numbers.get((id(holder), wanted), 2)
            while (new := f"{wanted}_{number}") in holder:
                number += 1
            self._numbers[id(holder), wanted] = number + 1
        holder[new] = holder.pop(name)
        value = self.values.pop((id(holder), name), None)
        if value is not None:
            value.key = new
            self.values[id(holder), new] = value
        return new


class KeySlot(TextSlot):
    """A property name. Setting it renames the property."""

    __slots__ = ("_names",)

    _names: PropertyNames

    @classmethod
    def of(cls, holder: MutableMapping[str, Any], name: str, where: str, form: Form, names: PropertyNames) -> "KeySlot":
        """The slot of one name. `names`: those of the same body."""
        slot = cls(holder, name, where, form, name="text")
        slot._names = names
        return slot

    @property
    def text(self) -> str:
        return str(self.key)

    @text.setter
    def text(self, value: str) -> None:
        if value != self.key and isinstance(self.holder, dict):
            self.key = self._names.rename(self.holder, self.key, value)


_OPEN, _FREE, _FREE_VALUES, _FIXED = range(4)
"""How the fields of an object are read: by `field_rules`; as free text with its keys; as free text but for its keys;
as structural."""
_SHOWN_NAME = re.compile(r"[A-Za-z_]{1,40}").fullmatch
"""Whether a property name may be part of a path that callers and logs see; any other is shown as `*`."""
_MIN_NUMBER, _BODY_NAMES = rules.MIN_NUMBER, rules.USUAL_NAMES
_NONE: frozenset[str] = frozenset()
_Place: TypeAlias = "tuple[Any, str, str, MutableMapping[str, Any] | None, int, Iterator[tuple[Any, Any]] | None]"
"""(object or list, its path, the field it is in, the nearest object above with logprobs, how it is read, the
members that are still to be read, or None for all of them)."""
_Members: TypeAlias = Iterable[tuple[Any, Any]]
Root: TypeAlias = tuple[Any, str, frozenset[str]]
"""(an object or list, its path, the names of its members that are left out)."""
_LOGPROBS = (dict, list)
"""Types of a `logprobs` value that is read."""


class NumberSlot(TextSlot):
    """A whole number long enough to be a card's or an id's. It becomes a string when something in it is masked."""

    __slots__ = ()

    @property
    def text(self) -> str:
        return str(self.holder[self.key]).removesuffix(".0")

    @text.setter
    def text(self, value: str) -> None:
        self.holder[self.key] = value


class SignedSlot(TextSlot):
    """Thoughts that another service has signed. Where something in them is masked, the signature is void: it becomes
    one of the gateway's, by which `messages.native` leaves the block out."""

    __slots__ = ()

    @property
    def text(self) -> str:
        return str(self.holder[self.key])

    @text.setter
    def text(self, value: str) -> None:
        block: Any = self.holder
        block[self.key], block["signature"] = value, SEALED


def answer_slots(value: Any, where: str = "", skip: frozenset[str] = frozenset()) -> list[TextSlot]:
    """The slots of an answer or of an event of one; structural strings have the form `label`."""
    return _Walk("label", is_answer=True).slots(value, where, skip)


def request_steps(value: Any, where: str = "", skip: frozenset[str] = frozenset()) -> Iterator[list[TextSlot]]:
    """The slots of a request's object or list, in steps: those found so far, the last time all of them; structural
    strings have the form `name`. `where` is the value's path; `skip` names members of it (not of what is below) that
    are left out."""
    return _Walk("name", is_answer=False).steps((value, where, skip))


def answer_steps(value: Any, where: str = "", skip: frozenset[str] = frozenset()) -> Iterator[list[TextSlot]]:
    """As `answer_slots`, in steps: the slots found so far, the last time all of them."""
    return _Walk("label", is_answer=True).steps((value, where, skip))


def answer_unit(*roots: Root, owner: Any) -> TextUnit:
    """The unit of these objects of an answer; one of more than a step's members is walked when it is judged."""
    walk = _Walk("label", is_answer=True)
    steps = walk.steps(*roots)
    found = next(steps)
    while walk.read <= _STEP and not walk.is_over:
        found = next(steps)
    return TextUnit(found if walk.is_over else lambda: chain((found,), steps), owner)


class _Walk:
    """One walk. Short strings are handed out in groups, which may be dealt with while the walk goes on. Slots of
    property names come after those of the values: an object must not change its names while it is read. `read`: the
    members that were read; `is_over`: all of them were."""

    def __init__(self, structural: Form, *, is_answer: bool) -> None:
        self._structural = structural
        self._is_answer = is_answer
        self._slots: list[TextSlot] = []
        self._named: list[tuple[dict[str, Any], str, Form, list[str]]] = []
        self._names = PropertyNames()
        self._flows: dict[Hashable, Hashable] = {}
        self._group: list[TextSlot] = []
        self._group_chars = 0
        self._spelt: list[LogprobsSlot] = []
        self.read, self.is_over = 0, False

    def slots(self, root: Any, where: str, skip: frozenset[str]) -> list[TextSlot]:
        for _ in self.steps((root, where, skip)):
            pass
        return self._slots

    def steps(self, *roots: Root) -> Iterator[list[TextSlot]]:
        """All slots found so far, after every step of about a millisecond."""
        stack: list[_Place] = [(root, at, "", None, _OPEN, None) for root, at, _ in reversed(roots)]
        skips = {id(root): skip for root, _, skip in roots}
        next_end = _STEP
        while stack:
            place = stack.pop()
            members, rest = _next_members(place)
            if rest is not None:
                stack.append((*place[:5], rest))
            skipped = skips.get(id(place[0]), _NONE)
            is_object = type(place[0]) is dict
            below = self._object(place, members, skipped) if is_object else self._list(place, members)
            if below:
                below.reverse()
                stack += below
            self.read += min(len(place[0]), _STEP) + 1
            self._slots += self._spelt
            self._spelt.clear()
            if self.read > next_end:
                next_end = self.read + _STEP
                yield self._slots
            if len(self._named) > _STEP:
                yield from self._name_steps(being_read={id(place[0]) for place in stack if place[5] is not None})
        yield from self._name_steps(being_read=set())
        self._end_group()
        self.is_over = True
        yield self._slots

    def _name_steps(self, being_read: set[int]) -> Iterator[list[TextSlot]]:
        """The names of the objects so far, after the slots of their values; not of those that are still being read."""
        named = [each for each in self._named if id(each[0]) not in being_read]
        if not named:
            return
        self._named = [each for each in self._named if id(each[0]) in being_read]
        self._end_group()
        yield self._slots
        read = 0
        for holder, path, form, names in named:
            where = f"{path or 'the body'}: a property name"
            for name in names:
                self._add_short(KeySlot.of(holder, name, where, form, self._names), len(name))
            read += len(names)
            if read > _STEP:
                read = 0
                yield self._slots

    def _add_short(self, slot: TextSlot, size: int) -> None:
        self._group.append(slot)
        self._group_chars += size + len(slot.name) + 3
        if self._group_chars > rules.GROUP_CHARS:
            self._end_group()

    def _end_group(self) -> None:
        if self._group:
            self._slots.append(self._group[0] if len(self._group) == 1 else GroupSlot.of(self._group))
        self._group, self._group_chars = [], 0

    def _object(self, place: _Place, members: _Members, skip: frozenset[str]) -> list[_Place]:
        """Add the slots of these members of an object; returns the objects and lists among them."""
        holder: dict[str, Any] = place[0]
        _, path, _, copies, mode, _ = place
        logprobs = holder.get("logprobs")
        if logprobs and self._is_answer and type(logprobs) in _LOGPROBS:
            copies = holder
        below: list[_Place] = []
        odd_names: list[str] = []
        prefix = f"{path}." if path else ""
        for name, value in members:
            if name in skip:
                continue
            shown = name
            if _is_odd_name(name):
                odd_names.append(name)
                shown = name if _SHOWN_NAME(name) else "*"
            kind = type(value)
            if kind is str:
                slot = self._string(place, name, name, prefix + shown, copies) if value else None
                if slot is not None and odd_names and odd_names[-1] is name:
                    self._names.values[id(holder), name] = slot
            elif kind is dict or kind is list:
                if copies is holder and name == "logprobs" and value:
                    self._spelt.append(LogprobsSlot(holder, name, prefix + shown, "label"))
                elif value:
                    below.append((value, prefix + shown, name, copies, _mode_below(mode, name, kind), None))
            elif (kind is int or kind is float) and not -_MIN_NUMBER < value < _MIN_NUMBER:
                self._number(place, name, name, prefix + shown)
        if odd_names:
            form: Form = "label" if mode == _FREE else self._structural
            self._named.append((holder, path, form, odd_names))
        return below

    def _list(self, place: _Place, members: _Members) -> list[_Place]:
        """The same for a list; its items have the list's name."""
        _, path, name, copies, mode, _ = place
        below: list[_Place] = []
        for index, value in members:
            kind = type(value)
            if kind is str:
                if value:
                    self._string(place, index, name, f"{path}[{index}]", copies)
            elif kind is dict or kind is list:
                if value:
                    below.append((value, f"{path}[{index}]", name, copies, mode, None))
            elif (kind is int or kind is float) and not -_MIN_NUMBER < value < _MIN_NUMBER:
                self._number(place, index, name, f"{path}[{index}]")
        return below

    def _string(
        self, place: _Place, key: Any, name: str, where: str, copies: MutableMapping[str, Any] | None
    ) -> TextSlot | None:
        """Add a string's slot; returned if it is looked at alone."""
        holder, mode = place[0], place[4]
        value = holder[key]
        form: Form = "text"
        is_data = value[:5].lower() == "data:"
        if mode == _FIXED or (mode == _OPEN and name in rules.STRUCTURAL):
            if rules.is_plain_word(value) or rules.is_made_id(value):
                return None
            form = "data" if is_data and self._structural == "label" else self._structural
        elif is_data or (mode == _OPEN and name in rules.ENCODED):
            if mode == _OPEN and rules.is_opaque(name, value, holder):
                return None
            form = "url" if is_url(value) else "data"
            if form == "url" and not self._is_answer and rules.PAST.search(where):
                form = "text"
        elif mode == _OPEN:
            if name in rules.OPAQUE and rules.is_opaque(name, value, holder):
                return None
            if name == "arguments":
                form = "json"
        flow = self._flow(where, holder) if form == "text" and name in rules.FLOWING and mode == _OPEN else None
        kind = SignedSlot if name == "thinking" and rules.is_signed(holder) and not self._is_answer else TextSlot
        slot = kind(holder, key, where, form, flow=flow, name=name, copies=copies)
        is_short = len(value) <= rules.MAX_GROUPED_CHARS and name not in rules.ALONE and not is_data
        if is_short and (form == "text" or form == self._structural):
            self._add_short(slot, len(value))
            return None
        self._slots.append(slot)
        return slot

    def _number(self, place: _Place, key: Any, name: str, where: str) -> None:
        holder, mode = place[0], place[4]
        if (name in rules.NUMBERS_KEPT and mode == _OPEN) or not float(holder[key]).is_integer():
            return
        form: Form = self._structural if mode == _FIXED or self._structural == "label" else "text"
        self._add_short(NumberSlot(holder, key, where, form, name=name), len(str(holder[key])))

    def _flow(self, where: str, holder: Any) -> Any:
        """What the texts that may continue this one share: their list, and whether they are reasoning. None where the
        text is in no list, and for whole messages: each has its own role.
        """
        if "[" not in where or where.endswith(".content"):
            return None
        kind = str(holder.get("type")) if type(holder) is dict else ""
        is_reasoning = "reasoning" in kind or "summary" in kind or "thinking" in kind
        flow = (where[: where.rindex("[")], is_reasoning)
        return self._flows.setdefault(flow, flow)  # one object for all texts of a flow


def _next_members(place: _Place) -> tuple[_Members, Iterator[tuple[Any, Any]] | None]:
    """(the members of an object or list to be read now, by key or index; those after them, or None)."""
    holder, rest = place[0], place[5]
    if rest is None:
        members: _Members = holder.items() if type(holder) is dict else enumerate(holder)
        if len(holder) <= _STEP:
            return members, None
        rest = iter(members)
    some = list(islice(rest, _STEP))
    return some, rest if len(some) == _STEP else None


def _is_odd_name(name: str) -> bool:
    """Whether something could be found in a property's name."""
    return name not in _BODY_NAMES and not rules.is_plain_word(name)


def _mode_below(mode: int, name: str, kind: type) -> int:
    if mode != _OPEN:
        return mode
    if name in rules.FIXED_BELOW:
        return _FIXED
    if name in rules.FREE_BELOW and kind is dict:
        return _FREE
    return _FREE_VALUES if name in rules.FREE_VALUES_BELOW else _OPEN
