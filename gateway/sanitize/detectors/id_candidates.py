"""Where an id may begin and end behind a word that names it.

A chain is tokens of letters and digits with at most two separators between neighbours. An id is up to seven
neighbouring tokens with 6 to 22 characters, at least four of them digits. Does not know any country's checks.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from gateway.sanitize.text.work_budget import WorkBudget

REACH_CHARS = 64
"""Chosen: how far behind its word an id may begin: a label, a colon and a few words. At half "social security number of
the applicant is …" is lost; at double more numbers are checked that the word does not mean."""
WINDOW_CHARS = REACH_CHARS + 24
"""The text searched behind a word: the reach, and the longest id behind it."""
_MIN_CHARS, _MAX_CHARS = 6, 22
"""Letters and digits of the shortest and the longest ids of `id_countries`, with some tolerance for the longest."""
_MAX_TOKENS = 7
"""Tokens of one id: the French number is written in seven groups."""
_MIN_DIGITS = 4
"""Chosen: the digits of an id; at half words with two digits are checked too, at double ids full of letters are
lost."""
_TOKEN = re.compile(rb"[A-Za-z0-9]+")
_DIGIT_CLASS = bytes(0x64 if 0x30 <= code <= 0x39 else 0x78 for code in range(256))
_CHAIN = re.compile(rb"[A-Za-z0-9]++(?:[ ./_-]{1,2}+[A-Za-z0-9]++)*+")


def digit_classes(text: bytes) -> bytes:
    """The text with `d` for each digit, `x` for all else: `count(b"d", start, end)` then counts digits fast."""
    return text.translate(_DIGIT_CLASS)


class Chain:
    """The tokens of the chain at [low, high), and the number of digits up to each. `index` is the current token."""

    __slots__ = ("_sums", "index", "tokens")

    def __init__(self, text: bytes, digits: bytes, low: int, high: int) -> None:
        self.index = 0
        self.tokens = [match.span() for match in _TOKEN.finditer(text, low, high)]
        self._sums = [0, *accumulate([digits.count(b"d", start, end) for start, end in self.tokens])]

    def beginnings(self, text: bytes) -> Iterator[int]:
        """Offsets where an id may begin, `index` set to the token there; never at a plain word."""
        sums, last = self._sums, len(self._sums) - 1
        for index, (start, end) in enumerate(self.tokens):
            if sums[index + _MAX_TOKENS if index + _MAX_TOKENS < last else last] - sums[index] >= _MIN_DIGITS:
                token = text[start:end]
                if not token.isalpha() or len(token) == 1 or (len(token) <= 4 and token.isupper()):
                    self.index = index
                    yield start

    def ends(self) -> list[int]:
        """Offsets where an id that begins with the token `index` may end, longest first."""
        ends: list[int] = []
        index = self.index
        length, wanted = 0, self._sums[index] + _MIN_DIGITS
        for token_count, (start, end) in enumerate(self.tokens[index : index + _MAX_TOKENS], index + 1):
            length += end - start
            if length > _MAX_CHARS:
                break
            if length >= _MIN_CHARS and self._sums[token_count] >= wanted:
                ends.append(end)
        ends.reverse()
        return ends


def beginnings(text: bytes, words: Sequence[int], budget: WorkBudget) -> Iterator[tuple[int, Chain | int]]:
    """(offset where an id behind a word may begin, its chain), in order; for a single token, its end instead of a
    chain.

    `words` are the ends of words that name ids, in order. Raises BudgetExceeded.
    """
    digits = digit_classes(text) if words else b""
    for start, stop in _search_ranges(words):
        budget.spend((stop - start) // 12)
        for match in _CHAIN.finditer(text, start, stop):
            low, high = match.span()
            if high - low < _MIN_CHARS or digits.count(b"d", low, high) < _MIN_DIGITS:
                continue
            if words[bisect_right(words, high) - 1] < low - REACH_CHARS:
                continue
            if text[low:high].isalnum():
                budget.spend(2)
                if high - low <= _MAX_CHARS:
                    yield low, high
                continue
            advance_charge = (high - low) // 2  # before the chain is built, as it may be as long as the text
            budget.spend(6 + advance_charge)
            chain = Chain(text, digits, low, high)
            budget.spend(max(0, 3 * len(chain.tokens) - advance_charge))
            for offset in chain.beginnings(text):
                yield offset, chain


def _search_ranges(words: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The windows behind the words, overlapping ones merged."""
    start = stop = -1
    for word in words:
        if word > stop:
            if stop >= 0:
                yield start, stop
            start = word
        stop = word + WINDOW_CHARS
    if stop >= 0:
        yield start, stop
