"""What one look at a text may cost, and what is done with a text that would cost more.

Every candidate that a detector judges is paid for. A text in which they stand so close that judging each would take
too long is not judged: all of it but plain prose counts as secret. So no filler, however it is made, hides a value,
and none takes more time than its length allows. The limit is set by what people write: settings that are nothing but
secrets and the densest dumps of customers (`bench.pii_rows`) need three quarters of it, logs and tables a third,
articles a few hundredths. To mask those whole would be worse than the tenth of a second that a hostile text may take.
"""

import re
from collections.abc import Iterator

from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View

_LEAST = 24_000
_CLASS = bytes(
    0x77 if code == 0x02 or (chr(code).isascii() and chr(code).isalpha()) else 0x20 if code in b" ,.;!?\n" else 0x78
    for code in range(256)
)
_PROSE = re.compile(rb"(?<![w ])[w ]{80,}+")
_NOT_PROSE = re.compile(rb"w{16}|(?<!w)w +w(?!w)")
"""Words too long for prose, or letters one by one."""
_EDGE_WORDS = 4
"""Words at the ends of a row that may belong to what stands beside it."""


class Crowded(Exception):
    """The text holds more candidates than can be judged in its time."""


class Effort:
    """What may still be spent on a text of `size` characters: a unit, about a microsecond, for each."""

    __slots__ = ("left",)

    def __init__(self, size: int) -> None:
        self.left = max(_LEAST, size * 29 // 20)

    def spend(self, cost: int) -> None:
        """Raises Crowded when nothing is left."""
        self.left -= cost
        if self.left < 0:
            raise Crowded


def all_but_prose(view: View) -> Iterator[Finding]:
    """Everything that is no long row of plain words. It covers whatever any detector could find."""
    text, place = view.folded, 0
    opening = text.find(b"-----BEGIN")
    for match in _PROSE.finditer(text.translate(_CLASS), 0, opening if opening >= 0 else len(text)):
        words = match.group()
        if _NOT_PROSE.search(words) or b"dot" in view.lower[match.start() : match.end()]:
            continue  # a key, or an address spelt out
        start = match.end() - len(words.split(None, _EDGE_WORDS)[-1])
        end = match.start() + len(words.rsplit(None, _EDGE_WORDS)[0])
        if start < end:
            yield Finding(place, start, "SECRET")
            place = end
    yield Finding(place, len(text), "SECRET")
