"""The `logprobs` of an answer as a place of text: its tokens and bytes spell the answer again."""

from typing import Any

from gateway.domain import Json
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
    waiting: list[tuple[Any, bool]] = [(logprobs, False)]
    while waiting:
        value, is_apart = waiting.pop()
        if isinstance(value, str):
            lines.append(value)
        elif isinstance(value, dict):
            lines += [name for name in value if name not in _USUAL_NAMES and not rules.is_plain_word(name)]
            waiting += [(each, name == "top_logprobs") for name, each in value.items() if each.__class__ in _READ]
        elif isinstance(value, list):
            texts = [text for each in value if isinstance(text := _member(each, "token"), str)]
            spelt = [_bytes_of(numbers) for each in value if isinstance(numbers := _member(each, "bytes"), list)]
            lines.append(("\n" if is_apart else "").join(texts))
            lines.append((b"\n" if is_apart else b"").join([*spelt, _bytes_of(value)]).decode(errors="replace"))
            rest = [_without_spelt(each) if isinstance(each, dict) else each for each in value]
            waiting += [(each, is_apart) for each in rest if isinstance(each, dict | list)]
    return "\n".join(lines)


_READ = (str, dict, list)
"""Types that hold strings."""
_USUAL_NAMES = frozenset(("token", "bytes", "logprob", "top_logprobs"))
"""Found faster in a set than by `is_plain_word`."""


def _member(token: Any, name: str) -> Any:
    """A member of a token; in the older form the token is its text itself."""
    return token.get(name) if isinstance(token, dict) else token if name == "token" else None


def _bytes_of(numbers: list[Any]) -> bytes:
    return bytes(each for each in numbers if type(each) is int and 0 <= each < 256)


def _without_spelt(token: Json) -> Json:
    """A token without what was spelt."""
    is_spelt = {"token": isinstance(token.get("token"), str), "bytes": set(map(type, _list(token))) <= {int}}
    return {name: each for name, each in token.items() if not is_spelt.get(name)}


def _list(token: Json) -> list[Any]:
    return token["bytes"] if isinstance(token.get("bytes"), list) else [None]
