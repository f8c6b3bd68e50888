"""Runs of digits with their separators, found once for all detectors of numbers, and the words near them.

A run is any number of digits with at most two separators between neighbours; its groups are the digits between
separators. The text is translated to character classes first (d digit, s separator, `.`, `+`, x other): a regular
expression over five classes is faster than the naive form, `[0-9]` and the separators searched in the
text itself, and finds the same runs (a test compares them). Words that must be near a number are found once a text,
so each number costs one binary search. Does not know which numbers a run holds.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gateway.sanitize.detectors.re2_search import Pattern, searcher_within
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import WorkBudget

SEPARATORS = b" .-/_()\t"
_CLASS = bytes(
    0x64 if 0x30 <= code <= 0x39 else code if code in b".+" else 0x73 if code in SEPARATORS else 0x78
    for code in range(256)
)
_DECIMAL = rb"(?<!d\.d)(?!(?<!\+d)d{0,10}\.d++(?!\.)(?!s{0,2}d))"
"""Excludes decimal numbers and fractions: no detector accepts one, but for a US number behind its name."""
_RUN, _LONG_RUN, _RUN_WITH_DECIMALS = (
    re.compile(form)
    for form in (
        rb"d(?<!dd)" + _DECIMAL + rb"[ds.]{4,}d",
        rb"d(?<!dd)" + _DECIMAL + rb"[ds.]{7,}d",
        rb"d(?<!dd)[ds.]{4,}d",
    )
)
"""(any run of six characters or more; of nine; of six, decimal numbers included). `(?<!dd)` starts at a first digit."""
_DECIMAL_00 = re.compile(rb"00\d{1,3}\.\d{6}")
_JOINED = re.compile(rb"d(?:s{0,2}+d)*+")
_MIN_DIGITS = 6
"""The digits of the shortest telephone number that is detected behind a word."""
_MARGIN_CHARS = 160
"""Characters beside a run that are searched for words: more than the farthest reach (64 in `identities`, and 60 and a
run's length in `cards`). At half words are missed; at double more text is searched."""
_MAX_SEPARATE_RUNS = 32
"""Chosen: with more runs the whole text is searched for words at once, as their surroundings soon cover most of it. At
half short texts are searched whole too early; at double the bookkeeping of ranges costs more than it saves."""
_NOT_DIGITS = bytes(code for code in range(256) if not 0x30 <= code <= 0x39)
_GROUP = re.compile(rb"\d+")
_DATE = re.compile(rb"(?:19|20)\d\d[-./][01]\d[-./][0-3]\d(?: [0-2]\d)?")
"""A date, also with the hour of a time, as in the lines of logs: never a number that is detected."""
_OCTET = rb"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_NO_NUMBER = re.compile(_DATE.pattern + rb"|" + _OCTET + rb"(?:\." + _OCTET + rb"){3}|97[89](?:[ -]?\d){10}")
"""Dates, IPv4 addresses and ISBNs: never cards, and telephone numbers only near a word for them."""


_EXPONENT_SIGNS = (b"e+", b"e-", b"E+", b"E-")
_NEXT_DECIMAL = re.compile(rb"\d{1,3}[ \t]{1,2}-?\d{1,3}\.\d{1,30}")
"""An exponent and the next number of a row (`e+02 1.90553234`): decimal numbers like others, but for their joint."""


class DigitRun:
    """The run at [start, end) of the folded text. `digits` leaves out separators; `before` and `after` are single
    bytes."""

    __slots__ = ("_groups", "after", "before", "digits", "end", "raw", "start", "text")

    def __init__(self, text: bytes, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end
        self.raw = text[start:end]
        self.digits = self.raw.translate(None, SEPARATORS)
        self.before = text[start - 1 : start]
        self.after = text[end : end + 1]
        self._groups: list[tuple[int, int]] | None = None

    @property
    def is_bounded(self) -> bool:
        """Whether neither neighbour is a letter or digit."""
        return not self.before.isalnum() and not self.after.isalnum()

    @property
    def groups(self) -> list[tuple[int, int]]:
        """[start, end) of each group, in the folded text."""
        if self._groups is None:
            self._groups = [group.span() for group in _GROUP.finditer(self.text, self.start, self.end)]
        return self._groups

    @property
    def is_grouped(self) -> bool:
        """Whether the run has separators."""
        return len(self.digits) < self.end - self.start

    @property
    def separator_count(self) -> int:
        """The number of different separators in the run."""
        return len(set(self.raw.translate(None, b"0123456789")))

    def remainders(self, findings: Iterable[Finding]) -> "list[DigitRun]":
        """The parts of the run between findings in it, as runs, where they are at least six characters long."""
        edges = [self.start]
        for start, end, *_ in sorted(findings):
            edges += (start, end)
        edges.append(self.end)
        remainders, groups = [], self.groups
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            first, last = bisect_left(groups, (start, 0)), bisect_right(groups, (end, 0)) - 1
            if first <= last and groups[last][1] - groups[first][0] >= 6:
                remainders.append(DigitRun(self.text, groups[first][0], groups[last][1]))
        return remainders

    def digits_between(self, start: int, end: int) -> bytes:
        """The digits in [start, end) of the folded text, without separators."""
        return self.text[start:end].translate(None, SEPARATORS)


def has_digits(view: View) -> bool:
    """Whether a text may have six digits; counted only where that is cheap: a text above 4,096 bytes always may."""
    return len(view.folded) > 4096 or len(view.folded.translate(None, _NOT_DIGITS)) >= 6


def digit_runs(
    view: View, budget: WorkBudget, short: bool, min_plain_digits: int, decimals: bool
) -> Iterator[tuple[int, int, int]]:
    """(start, end, number of digits) of every run of nine digits or more, with `short` of six or more, in order.

    Runs without separators only with `min_plain_digits` or more, or where they begin with `00`; decimal numbers only
    with `decimals`. Dates, IPv4 addresses and ISBNs are left out unless a `+` is before them.
    """
    text = view.folded
    least = _MIN_DIGITS if short else 9
    classes = text.translate(_CLASS)
    decimals = decimals or _DECIMAL_00.search(text) is not None
    runs = _RUN_WITH_DECIMALS if decimals else _RUN if short else _LONG_RUN
    not_numbers = _DATE if short or decimals else _NO_NUMBER
    flat = classes.replace(b".", b"s")
    gaps = b"sss" in flat
    for match in runs.finditer(classes):
        start, end = match.span()
        budget.spend(2)
        has_wide_gap = gaps and flat.find(b"sss", start, end) >= 0
        for low, high in (
            [part.span() for part in _JOINED.finditer(flat, start, end)] if has_wide_gap else ((start, end),)
        ):
            count = flat.count(b"d", low, high)
            if (
                count >= least
                and (count < high - low or count >= min_plain_digits or text.startswith(b"00", low))
                and (not_numbers.fullmatch(text, low, high) is None or text[low - 1 : low] == b"+")
                and not (text[low - 2 : low] in _EXPONENT_SIGNS and _NEXT_DECIMAL.fullmatch(text, low, high))
            ):
                yield low, high, count


class NumberContext(NamedTuple):
    """A folded text in lower case, and the ranges [start, end) near its numbers, in order and disjoint."""

    lower: bytes
    ranges: list[tuple[int, int]]

    @property
    def covers_all(self) -> bool:
        """Whether the one range is the whole text."""
        return self.ranges == [(0, len(self.lower))]


def number_context(view: View) -> NumberContext:
    """The surroundings of every run with enough digits for a number; the whole text when there are many runs."""
    text, ranges = view.folded, list[tuple[int, int]]()
    classes = text.translate(_CLASS)
    for number, match in enumerate(_RUN_WITH_DECIMALS.finditer(classes)):
        if number == _MAX_SEPARATE_RUNS:
            return NumberContext(view.lower, [(0, len(text))])
        start, end = match.span()
        if classes.count(b"d", start, end) < _MIN_DIGITS:
            continue
        low, high = max(0, start - _MARGIN_CHARS), min(len(text), end + _MARGIN_CHARS)
        if ranges and low <= ranges[-1][1]:
            ranges[-1] = ranges[-1][0], high
        else:
            ranges.append((low, high))
    return NumberContext(view.lower, ranges)


class WordIndex:
    """The offsets of certain words near the numbers of a text; found at the first question."""

    __slots__ = ("_budget", "_context", "_ends", "_pattern", "_starts")

    def __init__(self, pattern: Pattern, context: NumberContext, budget: WorkBudget) -> None:
        self._pattern, self._context, self._budget = pattern, context, budget
        self._starts: list[int] | None = None
        self._ends: list[int] = []

    def _find_words(self) -> list[int]:
        if self._starts is None:
            self._starts = []
            search, text = searcher_within(self._pattern), self._context.lower
            for low, high in self._context.ranges:
                start, end = search(text, low, high)
                while start >= 0:
                    self._budget.spend(4)
                    self._starts.append(start)
                    self._ends.append(end)
                    start, end = search(text, end, high)
        return self._starts

    @property
    def any(self) -> bool:
        """Whether the words occur near any number."""
        return bool(self._find_words())

    def before(self, offset: int, reach: int) -> bool:
        """Whether one of the words lies completely in the `reach` characters before `offset`."""
        starts = self._starts if self._starts is not None else self._find_words()
        index = bisect_right(self._ends, offset) - 1
        return index >= 0 and starts[index] >= offset - reach

    def after(self, offset: int, reach: int) -> bool:
        """Whether one of the words begins in the `reach` characters from `offset` on."""
        starts = self._find_words()
        index = bisect_left(starts, offset)
        return index < len(starts) and starts[index] <= offset + reach
