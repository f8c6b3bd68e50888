"""The `logprobs` of an answer as a place of text: its tokens and bytes spell the answer again. Knows no detector."""

from typing import Any

from gateway.texts import TextSlot, drop_logprobs
from gateway.wire import field_rules as rules


class LogprobsSlot(TextSlot):
    """The `logprobs` of a text: what its tokens and bytes spell, then all other strings. Dropped instead of masked."""

    __slots__ = ()

    @property
    def text(self) -> str:
        return spell(self.holder[self.key])

    @text.setter
    def text(self, value: str) -> None:
        if isinstance(self.holder, dict):
            drop_logprobs(self.holder)


def spell(logprobs: Any) -> str:
    """What the tokens of each list spell, what their bytes spell, and every other string, as lines.

    Shapes: `{content: [{token, bytes, logprob, top_logprobs: [{token, bytes, logprob}]}], refusal}`, a list of such
    tokens, or the older `{tokens: [text], top_logprobs: [{text: number}]}`. Alternatives are lines of their own.
    """
    lines: list[str] = []
    rest: list[tuple[Any, bool]] = [(logprobs, False)]
    while rest:
        value, is_apart = rest.pop()
        if isinstance(value, str):
            lines.append(value)
        elif isinstance(value, dict):
            rest += [(name, False) for name in value if not rules.is_plain_word(name)]
            rest += [(each, name == "top_logprobs") for name, each in value.items() if each.__class__ in _READ]
        elif isinstance(value, list):
            tokens = _Tokens(is_apart=is_apart)
            for each in value:
                tokens.add(each, rest)
            lines += tokens.lines()
    return "\n".join(lines)


_READ = (str, dict, list)
"""Types that hold strings."""
_USUAL_NAMES = frozenset(("token", "bytes", "logprob", "top_logprobs"))
"""Found faster in a set than by `is_plain_word`."""


class _Tokens:
    """What the members of one list spell. `is_apart`: each is a line of its own."""

    def __init__(self, *, is_apart: bool) -> None:
        self.is_apart = is_apart
        self._texts: list[str] = []
        self._bytes: list[bytes] = []
        self._numbers = bytearray()

    def add(self, member: Any, rest: list[tuple[Any, bool]]) -> None:
        """Read a token, `{token, bytes, …}`, its text, or one of its bytes; what else it holds is added to `rest`."""
        if isinstance(member, str):
            self._texts.append(member)
        elif isinstance(member, list):
            rest.append((member, self.is_apart))
        elif isinstance(member, dict):
            for name, value in member.items():
                if name == "token" and isinstance(value, str):
                    self._texts.append(value)
                elif name == "bytes" and isinstance(value, list):
                    self._add_numbers(value, rest)
                elif value.__class__ in _READ:
                    rest.append((value, name == "top_logprobs"))
                if name not in _USUAL_NAMES and not rules.is_plain_word(name):
                    rest.append((name, False))
        elif type(member) is int and 0 <= member < 256:
            self._numbers.append(member)
        if self.is_apart and self._numbers:
            self._bytes.append(bytes(self._numbers))
            self._numbers.clear()

    def _add_numbers(self, numbers: list[Any], rest: list[tuple[Any, bool]]) -> None:
        kept = [each for each in numbers if type(each) is int and 0 <= each < 256]
        self._numbers += bytes(kept)
        if len(kept) != len(numbers):
            rest += [(each, False) for each in numbers if each.__class__ in _READ]

    def lines(self) -> list[str]:
        """What the texts spell, and what the bytes spell."""
        separator = "\n" if self.is_apart else ""
        spelt = [*self._bytes, bytes(self._numbers)]
        return [separator.join(self._texts), separator.join(each.decode(errors="replace") for each in spelt)]
