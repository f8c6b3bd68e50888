"""The values of a request and the names that stand for them, `[EMAIL_1]`, in all forms in which models bend these.

A placeholder has the number of its value among those of its entity, in the order of the request, so a history that is
sent again gets the same ones and a prompt cache holds. A name that the caller typed is never given out. Models bend
placeholders: `[email_1]`, `[ EMAIL 1 ]`, `` [`EMAIL_1`] ``, `\\[EMAIL\\_1\\]` are read too, as long as their brackets
stand.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import orjson
import re2

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.sanitize.re2_search import searcher, spans

TYPED = "TYPED"
"""The entity of a placeholder that the caller typed, where a stored item has one of the same name."""
MAX_PLACEHOLDER_CHARS = 72
"""Longest bent form that is held back while it comes in pieces: an entity of 40 letters, a number and marks."""
_MARKS = r"[ \t`*]{0,3}"
_ENTITY = r"([A-Za-z][A-Za-z0-9]{0,39}(?:\\{0,4}[ _-][A-Za-z0-9]{1,38}){0,12})\\{0,4}[ _-]([0-9]{1,6})"
"""A name that the configuration allows (`sanitize.patterns`), and a number; typed by the caller or bent by a model."""
PLACEHOLDER = re.compile(r"\\{0,2}\[" + _MARKS + _ENTITY + _MARKS + r"\\{0,2}\]")
_UNFINISHED = re.compile(r"\\{0,2}(?:\[[ \t`*A-Za-z0-9_\\-]{0,70})?\Z")
_TYPED = re.compile(_ENTITY + r"[ \t`*]{0,3}\\{0,4}\]\Z")
_FIND_CLOSING = searcher(re2.compile(rb"[A-Za-z0-9\\][ _-][0-9]{1,6}[ \t`*\\]{0,7}\]"))
"""What every placeholder ends with, found fast in a body of megabytes."""
_MAX_TYPED = 2_000
"""Different endings that are looked at in one body (50 ms)."""
_FAR = 500_000
"""Where numbers begin in a body with more of them than are looked at."""
_SEPARATORS = re.compile(r"\\{0,4}[ _-]")
_ESCAPED = re.compile(r"(?<!\\)\\++u00([2-7][0-9A-Fa-f])")
"""A character of ASCII in JSON, or in JSON within it."""
ESCAPED_CHARS = 9
"""One such character, spelt with three backslashes."""
_STATES = ("encrypted_content", "signature", "thought_signature")
"""Members that hold a model's state in a form of its own."""


class Placeholders:
    """The values of one request and the names that stand for them. `replaced`: how many values of each entity."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._values: dict[str, str] = {}
        self._typed: set[str] = set()
        self._last: dict[str, int] = {}
        self._first, self._far = "", 0
        self.replaced: Counter[str] = Counter()

    def __bool__(self) -> bool:
        """Whether any name stands for a value."""
        return bool(self._values)

    def reserve_typed(self, body: Any) -> None:
        """Keep the names that the caller typed anywhere in a body from being given out."""
        typed = _typed_in(body)
        if typed is None:
            self._far = _FAR
        else:
            self._typed |= typed

    def set_apart(self, body: Json, stored: Collection[int]) -> None:
        """Give what the caller typed in a body another name, in place, where a stored item has that name: the typed
        words come back as they are. `stored`: the identities of stored items that are in the body.

            names {EMAIL_1: jane}, body "the words [EMAIL_1]"  ->  "the words [TYPED_1]", {TYPED_1: "[EMAIL_1]"}
        """
        if not self._values:
            return
        own = {
            name: [each for each in value if id(each) not in stored] if isinstance(value, list) else value
            for name, value in body.items()
        }
        typed = _typed_in(own) or set()
        if not typed & self._values.keys():
            return
        self._typed |= typed - self._values.keys()

        def apart(match: re.Match[str]) -> str:
            words = match.group()
            if name_of(match) not in self._values:
                return words
            if (TYPED, words) not in self._names:
                self._hold(self._next(TYPED, ()), words)
            return f"[{self._names[TYPED, words]}]"

        _respell(body, apart, stored)

    def adopt(self, stored: Mapping[str, str]) -> None:
        """Go on with the names of the turns before this one, `{EMAIL_1: value}`."""
        for name, value in stored.items():
            self._hold(name, value)
            self._typed.discard(name)

    def meet(self, items: list[Json], values: Mapping[str, str], where: str) -> None:
        """Go on with the names in stored items. A name that stands for something else already is given up: these items
        get another one, in place. A name without a value counts as typed.

            names {EMAIL_1: jane}, values {EMAIL_1: bob}, items "write to [EMAIL_1]"  ->  "write to [EMAIL_2]"

        Raises InvalidRequest where a state that only its model can read holds a name that must be given up. `where`:
        the field that names the items.
        """
        renamed: dict[str, str] = {}
        for name, value in values.items():
            entity = name.rpartition("_")[0]
            is_taken = self._values.get(name, value) != value or name in self._typed
            if is_taken and self._names.get((entity, value)) != name:
                renamed[name] = self._names.get((entity, value)) or self._next(entity, values)
                self._hold(renamed[name], value)
        if renamed and (holder := next(filter(_holds_state, items), None)) is not None:
            others = " and ".join(dict.fromkeys(filter(None, (self._first, where))))
            raise InvalidRequest(
                f"{where}: the placeholder [{min(renamed)}] stands for different values in {others}, and the state of "
                f"an item of type '{holder.get('type')}' cannot be changed; begin a new conversation",
                param=where,
                code="masked_values_clash",
            )
        for item in items if renamed else ():
            _rename(item, renamed)
        self._first = self._first or where
        self.reserve_typed(items)
        self.adopt({name: value for name, value in values.items() if name not in renamed})
        self._typed -= set(renamed.values())

    def _next(self, entity: str, taken: Collection[str]) -> str:
        """A name that is neither given out, nor typed, nor among `taken`."""
        number = max(self._last.get(entity, 0), self._far) + 1
        while (name := f"{entity}_{number}") in self._typed or name in self._values or name in taken:
            number += 1
        return name

    def _hold(self, name: str, value: str) -> None:
        entity, _, number = name.rpartition("_")
        self._values[name] = value
        self._names.setdefault((entity, value), name)
        self._last[entity] = max(self._last.get(entity, 0), int(number))

    def mask(self, entity: str, value: str) -> str:
        """The placeholder of a value: the same one whenever it is asked for. Placeholders in it stand for their
        values, so that one which holds another comes back whole."""
        value = self.filled(value) if "[" in value else value
        name = self._names.get((entity, value))
        if name is None:
            name = self._next(entity, ())
            self._hold(name, value)
        self.replaced[entity] += 1
        return f"[{name}]"

    def values_in(self, value: Any) -> dict[str, str]:
        """Of the names that were given out those that stand in a decoded value, `{EMAIL_1: value}`; all where it has
        too many."""
        typed = _typed_in(value)
        return {name: held for name, held in sorted(self._values.items()) if typed is None or name in typed}

    def value_of(self, name: str) -> str | None:
        """What a name stands for; None for one that was not given out."""
        return self._values.get(name)

    def filled(self, text: str) -> str:
        """A text with the values of its placeholders."""
        return PLACEHOLDER.sub(lambda each: self._values.get(name_of(each)) or each.group(), text)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where placeholders stand in a text that were given out."""
        if "[" not in text and "\\u00" not in text:
            return []
        read, origin = unescaped(text) if "\\u00" in text else (text, same_index)
        found = [each.span() for each in PLACEHOLDER.finditer(read) if name_of(each) in self._values]
        return [(origin(start), origin(end)) for start, end in found]

    def entities(self, text: str) -> Iterator[str]:
        """Of each placeholder in a text that was given out."""
        names = map(name_of, PLACEHOLDER.finditer(text) if "[" in text else ())
        return (name.rpartition("_")[0] for name in names if name in self._values)

    def as_map(self) -> dict[str, str]:
        """`{EMAIL_1: value}`: what `adopt` takes."""
        return dict(self._values)


def name_of(match: re.Match[str]) -> str:
    """The name in a placeholder, as it was given out: `EMAIL_1` of `[ email 1 ]`."""
    return f"{_SEPARATORS.sub('_', match[1]).upper()}_{int(match[2])}"


def _holds_state(item: Json) -> bool:
    """Whether an item holds what only its model can read, and what is therefore never rewritten."""
    waiting: list[Any] = [item]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if any(isinstance(value.get(name), str) and value[name] for name in _STATES):
                return True
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return False


def _typed_in(value: Any) -> set[str] | None:
    """The names in all placeholders of a decoded value, by their endings; None where these are too many."""
    try:
        raw = orjson.dumps(value, default=str)
    except TypeError:  # a lone surrogate
        raw = repr(value).encode("utf-8", "replace")
    found = set()
    seen = set[bytes]()
    for _, end in spans(_FIND_CLOSING, raw):
        opening = raw.rfind(b"[", max(0, end - MAX_PLACEHOLDER_CHARS), end)
        ending = raw[max(opening, end - MAX_PLACEHOLDER_CHARS, 0) : end]
        if ending in seen:
            continue
        if len(seen) == _MAX_TYPED:
            return None
        seen.add(ending)
        typed = _TYPED.search(ending.decode("utf-8", "replace"))
        if typed is not None:
            found.add(name_of(typed))
    return found


def _rename(holder: Any, renamed: Mapping[str, str]) -> None:
    """Write other names into the placeholders of all strings of an item, a dict or list."""

    def other(match: re.Match[str]) -> str:
        name = renamed.get(name_of(match))
        return f"[{name}]" if name is not None else match.group()

    _respell(holder, other)


def _respell(holder: Any, respelt: Callable[[re.Match[str]], str], skipped: Collection[int] = ()) -> None:
    """Write all placeholders in the strings and names of an item anew, but for what is `skipped`, by identity."""
    if isinstance(holder, dict) and any("[" in name for name in holder):
        members = {PLACEHOLDER.sub(respelt, name): value for name, value in holder.items()}
        holder.clear()
        holder.update(members)
    for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
        if isinstance(value, str) and "[" in value:
            holder[key] = PLACEHOLDER.sub(respelt, value)
        elif isinstance(value, dict | list) and id(value) not in skipped:
            _respell(value, respelt, skipped)


def kept_backslashes(placeholder: str) -> int:
    """Backslashes before the opening bracket that stay: all but as many as Markdown has put before the closing one.

    "\\[EMAIL\\_1\\]"  ->  0;    "C:\\Users\\[EMAIL_1]"  ->  1
    """
    name = placeholder[:-1]
    return max(0, placeholder.index("[") - (len(name) - len(name.rstrip("\\"))))


def opening_of(text: str) -> int:
    """Where a placeholder begins that is not complete at a text's end; -1 for nowhere."""
    opening = text.rfind("[", -MAX_PLACEHOLDER_CHARS)
    if opening < 0:
        return len(text) - 1 if text.endswith("\\") else -1
    while opening > 0 and text[opening - 1] == "\\":
        opening -= 1
    return opening if _UNFINISHED.match(text, opening) else -1


def same_index(index: int) -> int:
    return index


def unescaped(text: str) -> tuple[str, Callable[[int], int]]:
    """A text with the characters that `\\u` spells, and where its characters come from.

    "so \\u005bEMAIL_1]"  ->  "so [EMAIL_1]", 4 -> 9
    """
    parts, places, at, size = list[str](), [(0, 0)], 0, 0
    for match in _ESCAPED.finditer(text):
        parts += (text[at : match.start()], chr(int(match[1], 16)))
        size, at = size + match.start() - at + 1, match.end()
        places.append((size, at))

    def origin(index: int) -> int:
        shown, real = places[bisect_right(places, (index, len(text))) - 1]
        return real + index - shown

    return "".join((*parts, text[at:])), origin
