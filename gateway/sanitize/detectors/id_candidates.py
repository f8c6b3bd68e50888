"""Where an id may stand behind a word that names it: chains of tokens, and the places in them where one may begin.

A chain is letters and digits with at most two joints between neighbours; an id takes up to seven of its tokens.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from gateway.sanitize.text.work_budget import WorkBudget

REACH = 64
WINDOW = REACH + 24
_SHORTEST, _LONGEST = 6, 22
_TOKEN = re.compile(rb"[A-Za-z0-9]+")
_DIGIT_CLASS = bytes(0x64 if 0x30 <= code <= 0x39 else 0x78 for code in range(256))
_CHAIN = re.compile(rb"[A-Za-z0-9]+(?:[ ./_-]{1,2}[A-Za-z0-9]+)*")


def digits_of(text: bytes) -> bytes:
    """`d` where the text has a digit: to count them in a part of it is faster so."""
    return text.translate(_DIGIT_CLASS)


class Chain:
    """Tokens with at most two joints between neighbours. A number takes at most 7 of them, 4 digits or more."""

    __slots__ = ("_sums", "index", "tokens")

    def __init__(self, text: bytes, digits: bytes, low: int, high: int) -> None:
        self.index = 0
        self.tokens = [match.span() for match in _TOKEN.finditer(text, low, high)]
        self._sums = [0, *accumulate([digits.count(b"d", start, end) for start, end in self.tokens])]

    def beginnings(self, text: bytes) -> Iterator[int]:
        """Where a number may begin, `index` being set to the token there: at no plain word."""
        sums, last = self._sums, len(self._sums) - 1
        for index, (start, end) in enumerate(self.tokens):
            if sums[index + 7 if index + 7 < last else last] - sums[index] >= 4:
                token = text[start:end]
                if not token.isalpha() or len(token) == 1 or (len(token) <= 4 and token.isupper()):
                    self.index = index
                    yield start

    def ends(self) -> list[int]:
        """Where a number that begins with the token `index` may end, longest first."""
        ends: list[int] = []
        index = self.index
        length, wanted = 0, self._sums[index] + 4
        for place, (start, end) in enumerate(self.tokens[index : index + 7], index + 1):
            length += end - start
            if length > _LONGEST:
                break
            if length >= _SHORTEST and self._sums[place] >= wanted:
                ends.append(end)
        ends.reverse()
        return ends


def beginnings(text: bytes, words: Sequence[int], budget: WorkBudget) -> Iterator[tuple[int, Chain | int]]:
    """Where a number behind the words may begin, with its chain, or its end where it stands alone. At a plain word none
    does."""
    digits = digits_of(text) if words else b""
    for start, stop in _regions(words):
        budget.spend((stop - start) // 12)
        for match in _CHAIN.finditer(text, start, stop):
            low, high = match.span()
            if high - low < _SHORTEST or digits.count(b"d", low, high) < 4:
                continue
            if words[bisect_right(words, high) - 1] < low - REACH:
                continue
            if text[low:high].isalnum():
                budget.spend(2)
                if high - low <= _LONGEST:
                    yield low, high
                continue
            beforehand = (high - low) // 2  # as a chain may be as long as the text
            budget.spend(6 + beforehand)
            row = Chain(text, digits, low, high)
            budget.spend(max(0, 3 * len(row.tokens) - beforehand))
            for place in row.beginnings(text):
                yield place, row


def _regions(words: Sequence[int]) -> Iterator[tuple[int, int]]:
    """What the words reach to, as stretches of the text."""
    start = stop = -1
    for word in words:
        if word > stop:
            if stop >= 0:
                yield start, stop
            start = word
        stop = word + WINDOW
    if stop >= 0:
        yield start, stop
