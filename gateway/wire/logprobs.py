"""The `logprobs` of an answer as a place of text: its tokens and bytes spell the answer again. Knows no detector."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from gateway.texts import TextSlot, drop_logprobs
from gateway.wire import field_rules as rules


class LogprobsSlot(TextSlot):
    """The `logprobs` of a text: what its tokens and bytes spell, then all other strings. Dropped instead of masked."""

    __slots__ = ()

    @property
    def text(self) -> str:
        return "\n".join(_spelt(self.holder[self.key]))

    @text.setter
    def text(self, value: str) -> None:
        if isinstance(self.holder, dict):
            drop_logprobs(self.holder)


def _spelt(logprobs: Any) -> Iterator[str]:
    """What the tokens of each list spell, what their bytes spell, and every other string.

    Shapes: `{content: [{token, bytes, logprob, top_logprobs: [{token, bytes, logprob}]}], refusal}`, a list of such
    tokens, or the older `{tokens: [text], top_logprobs: [{text: number}]}`. Alternatives are lines of their own.
    """
    rest: list[tuple[Any, str]] = [(logprobs, "")]
    while rest:
        value, separator = rest.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            rest += [(name, "") for name in value if not rules.is_plain_word(name)]
            rest += [(each, "\n" if name == "top_logprobs" else "") for name, each in value.items()]
        elif isinstance(value, list):
            tokens = [each.get("token") if isinstance(each, dict) else each for each in value]
            yield separator.join(token for token in tokens if isinstance(token, str))
            numbers = [each.get("bytes") or () if isinstance(each, dict) else (each,) for each in value]
            yield separator.join(map(_text_of_bytes, numbers)) if separator else _text_of_bytes(chain(*numbers))
            for each in value:
                if isinstance(each, dict):
                    rest.append(({name: item for name, item in each.items() if name not in ("token", "bytes")}, ""))
                elif isinstance(each, list):
                    rest.append((each, separator))


def _text_of_bytes(numbers: Iterable[Any]) -> str:
    return bytes(each for each in numbers if type(each) is int and 0 <= each < 256).decode(errors="replace")
