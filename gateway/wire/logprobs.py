"""The `logprobs` of an answer as a place of text: its tokens and bytes spell the answer again. Knows no detector.

In large answers they are kept as the JSON that they came as (`logprobs_packer` makes that).
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import orjson

from gateway.resilience.slices import Steps, all_steps
from gateway.texts import TextSlot, drop_logprobs
from gateway.wire import field_rules as rules

_STEP = 1_024
"""Chosen: values that are read in one step (about a millisecond). At half twice as many steps, at double a step keeps
others waiting for twice as long."""


class LogprobsSlot(TextSlot):
    """The `logprobs` of a text: what its tokens and bytes spell, then all other strings. Dropped instead of masked."""

    __slots__ = ("_spelt", "_text")

    _spelt: Any
    """The value that `_text` is of; when the holder has another, it was dropped."""
    _text: str

    def spell(self) -> Steps[None]:
        """Make the text in steps of about a millisecond, none for few log probabilities; before it is read."""
        self._spelt = self.holder[self.key]
        self._text = yield from spell(self._spelt)

    @property
    def text(self) -> str:
        value = self.holder[self.key]
        return self._text if value is self._spelt else all_steps(spell(value))

    @text.setter
    def text(self, value: str) -> None:
        if isinstance(self.holder, dict):
            drop_logprobs(self.holder)


class PackedLogprobs:
    """A `logprobs` member as JSON: `parts` in order. `spelt`: its tokens and other strings, see `logprobs.spell`.
    `names`: of its members, if it is an object."""

    __slots__ = ("_runs", "is_list", "names", "parts", "spelt")

    def __init__(self, parts: list[bytes], spelt: str, *, names: Iterable[str] | None) -> None:
        self.parts, self.spelt = parts, spelt
        self.is_list, self.names = names is None, tuple(names or ())
        self._runs: dict[str, list[int]] = {}

    @classmethod
    def of(cls, value: Any) -> "PackedLogprobs":
        """A decoded object or list, packed."""
        names = value if isinstance(value, dict) else None
        return cls([orjson.dumps(value)], all_steps(spell(value)), names=names)

    def tokens(self, name: str) -> Iterator[list[Any]]:
        """The members of the list that has the name, decoded some at a time; nothing if there is none."""
        if name in self._runs:
            for number in self._runs[name]:
                yield orjson.loads(b"[%b]" % self.parts[number])
        elif name in self.names and len(self.parts) == 1:
            value = orjson.loads(self.parts[0])[name]
            if isinstance(value, list):
                yield value

    def note_run(self, name: str) -> None:
        """The last part is a run of members of the list with this name."""
        self._runs.setdefault(name, []).append(len(self.parts) - 1)


def spell(logprobs: Any, *, is_apart: bool = False) -> Steps[str]:
    """What the tokens of each list spell, what their bytes spell, and every other string, as lines.

    Shapes: `{content: [{token, bytes, logprob, top_logprobs: [{token, bytes, logprob}]}], refusal}`, a list of such
    tokens, or the older `{tokens: [text], top_logprobs: [{text: number}]}`. Alternatives are lines of their own, and
    with `is_apart` the members of a list.
    """
    if isinstance(logprobs, PackedLogprobs):
        return logprobs.spelt
    lines: list[str] = []
    rest: list[tuple[Any, bool]] = [(logprobs, is_apart)]
    read = 0
    while rest:
        value, is_apart = rest.pop()
        if isinstance(value, str):
            lines.append(value)
        elif isinstance(value, dict):
            members = iter(value.items())
            while some := list(islice(members, _STEP)):
                rest += [(name, False) for name, _ in some if not rules.is_plain_word(name)]
                rest += [(each, name == "top_logprobs") for name, each in some if each.__class__ in _READ]
                if len(some) == _STEP:
                    yield
        elif isinstance(value, list):
            tokens = Tokens(is_apart=is_apart)
            for start in range(0, len(value), _STEP):
                for each in value[start : start + _STEP]:
                    yield from tokens.add(each, rest)
                if len(value) > _STEP:
                    yield
            lines += tokens.lines()
        read += 1 + (len(value) if isinstance(value, list | dict) else 0)
        if read > _STEP:
            read = 0
            yield
    return "\n".join(lines)


_READ = (str, dict, list)
"""Types that hold strings."""
_USUAL_NAMES = frozenset(("token", "bytes", "logprob", "top_logprobs"))
"""Found faster in a set than by `is_plain_word`."""


class Tokens:
    """What the members of one list spell. `is_apart`: each is a line of its own."""

    def __init__(self, *, is_apart: bool) -> None:
        self.is_apart = is_apart
        self._texts: list[str] = []
        self._bytes: list[bytes] = []
        self._numbers = bytearray()

    def add(self, member: Any, rest: list[tuple[Any, bool]]) -> Steps[None]:
        """Read a token, `{token, bytes, …}`, its text, or one of its bytes; what else it holds is added to `rest`."""
        if isinstance(member, str):
            self._texts.append(member)
        elif isinstance(member, list):
            rest.append((member, self.is_apart))
        elif isinstance(member, dict):
            for name, value in member.items() if len(member) < _STEP else ():
                if name == "token" and isinstance(value, str):
                    self._texts.append(value)
                elif name == "bytes" and isinstance(value, list):
                    yield from self._add_numbers(value, rest)
                elif value.__class__ in _READ:
                    rest.append((value, name == "top_logprobs"))
                if name not in _USUAL_NAMES and not rules.is_plain_word(name):
                    rest.append((name, False))
            if len(member) >= _STEP:
                rest.append((member, self.is_apart))
        elif type(member) is int and 0 <= member < 256:
            self._numbers.append(member)
        if self.is_apart and self._numbers:
            self._bytes.append(bytes(self._numbers))
            self._numbers.clear()

    def _add_numbers(self, numbers: list[Any], rest: list[tuple[Any, bool]]) -> Steps[None]:
        for start in range(0, len(numbers), _STEP):
            some = numbers[start : start + _STEP]
            kept = [each for each in some if type(each) is int and 0 <= each < 256]
            self._numbers += bytes(kept)
            if len(kept) != len(some):
                rest += [(each, False) for each in some if each.__class__ in _READ]
            if len(some) == _STEP:
                yield

    def lines(self) -> list[str]:
        separator = "\n" if self.is_apart else ""
        spelt = [*self._bytes, bytes(self._numbers)]
        return [separator.join(self._texts), separator.join(each.decode(errors="replace") for each in spelt)]
