"""What one look at a text may cost, and what is done with a text that would cost more.

Every candidate that a detector judges is paid for. A text in which they stand so close that judging each would take
too long is not judged: all of it but plain prose counts as secret. So no filler, however it is made, hides a value,
and none takes more time than its length allows. Ordinary text, dense tables of values among it, stays far below.
"""

from collections.abc import Iterator

import re2

from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View

_LEAST = 3000
_CHARS_A_UNIT = 3
_PROSE = re2.compile(
    rb"(?:^|[ \n])(?:(?:[A-Za-z\x02]{2,15}(?:'[a-z]{1,2})?|[aAI])[,.;!?]?[ \n]{1,2}){12,}[A-Za-z\x02]{2,15}"
)
_EDGE_WORDS = 4
"""Words at the ends of a stretch of prose that may belong to what stands beside it."""


class Crowded(Exception):
    """The text holds more candidates than can be judged in its time."""


class Effort:
    """What may still be spent on a text of `size` characters; a unit is about a microsecond."""

    __slots__ = ("_reserve", "left")

    def __init__(self, size: int) -> None:
        self.left = max(_LEAST, size // _CHARS_A_UNIT)
        self._reserve = self.left // 2

    def spend(self, cost: int) -> None:
        """Raises Crowded when nothing is left."""
        self.left -= cost
        if self.left < 0:
            raise Crowded

    @property
    def is_low(self) -> bool:
        """Whether to save the dearest checks: what is written like a value then counts as one."""
        return self.left < self._reserve


def all_but_prose(view: View) -> Iterator[Finding]:
    """Everything that is no row of a dozen plain words. It covers whatever any detector could find."""
    text, place = view.folded, 0
    opening = text.find(b"-----BEGIN")
    stop = opening if opening >= 0 else len(text)
    for match in _PROSE.finditer(text, 0, stop):
        words = match.group()
        if b"dot" in words.lower():
            continue  # may be an address spelt out
        start, end = match.start() + len(_first(words)), match.end() - len(_last(words))
        if start > place:
            yield Finding(place, start, "SECRET")
        place = end
    if place < len(text):
        yield Finding(place, len(text), "SECRET")


def _first(words: bytes) -> bytes:
    rest = words.split(None, _EDGE_WORDS)[-1]
    return words[: len(words) - len(rest)].rstrip()


def _last(words: bytes) -> bytes:
    rest = words.rsplit(None, _EDGE_WORDS)[0]
    return words[len(rest) :].lstrip()
