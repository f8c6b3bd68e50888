"""Runs of digits with their separators: found once, read by every detector of numbers.

A run is digits with at most two separators between neighbours, however many. Its groups are what stands between
separators. Words that must stand near a number are found once a text, so a thousand numbers cost a thousand look-ups.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gateway.sanitize.detectors.re2_search import Pattern, searcher_within
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import WorkBudget

SEPARATORS = b" .-/_()\t"
_CLASS = bytes(
    0x64 if 0x30 <= code <= 0x39 else code if code in b".+" else 0x73 if code in SEPARATORS else 0x78
    for code in range(256)
)
_DECIMAL = rb"(?<!d\.d)(?!(?<!\+d)d{0,10}\.d++(?!\.)(?!s{0,2}d))"
"""No decimal number, nor a fraction: no detector takes one, but for numbers behind the name of a US one."""
_RUN, _LONG_RUN, _RUN_WITH_DECIMALS = (
    re.compile(form)
    for form in (
        rb"d(?<!dd)" + _DECIMAL + rb"[ds.]{4,}d",
        rb"d(?<!dd)" + _DECIMAL + rb"[ds.]{7,}d",
        rb"d(?<!dd)[ds.]{4,}d",
    )
)
_DECIMAL_00 = re.compile(rb"00\d{1,3}\.\d{6}")
_JOINED = re.compile(rb"d(?:s{0,2}d)*")
_LEAST_DIGITS = 6
_MARGIN = 160
"""More than any word's reach."""
_MOST_RUNS = 32
_NOT_DIGITS = bytes(code for code in range(256) if not 0x30 <= code <= 0x39)
_GROUP = re.compile(rb"\d+")
_DATE = re.compile(rb"(?:19|20)\d\d[-./][01]\d[-./][0-3]\d(?: [0-2]\d)?")
"""With the hour of a time: stands in every line of many a log, and is no number of anything."""
_OCTET = rb"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_NO_NUMBER = re.compile(_DATE.pattern + rb"|" + _OCTET + rb"(?:\." + _OCTET + rb"){3}|97[89](?:[ -]?\d){10}")
"""Dates, addresses and ISBNs: none of them is a card, and only beside a telephone's words a telephone number."""


class Run:
    """One run at [start, end) of the folded text, its digits, and the characters beside it."""

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
        return not self.before.isalnum() and not self.after.isalnum()

    @property
    def groups(self) -> list[tuple[int, int]]:
        """[start, end) of each group, in the folded text."""
        if self._groups is None:
            self._groups = [group.span() for group in _GROUP.finditer(self.text, self.start, self.end)]
        return self._groups

    @property
    def is_grouped(self) -> bool:
        return len(self.digits) < self.end - self.start

    @property
    def separator_count(self) -> int:
        """How many different separators stand in the run."""
        return len(set(self.raw.translate(None, b"0123456789")))

    def without(self, spans: Iterable[tuple[int, int, str]]) -> "list[Run]":
        """What is left of the run beside spans of it that are something already."""
        edges = [self.start]
        for start, end, _ in sorted(spans):
            edges += (start, end)
        edges.append(self.end)
        rest, groups = [], self.groups
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            first, last = bisect_left(groups, (start, 0)), bisect_right(groups, (end, 0)) - 1
            if first <= last and groups[last][1] - groups[first][0] >= 6:
                rest.append(Run(self.text, groups[first][0], groups[last][1]))
        return rest

    def digits_between(self, start: int, end: int) -> bytes:
        return self.text[start:end].translate(None, SEPARATORS)


def has_digits(view: View) -> bool:
    """Whether there are six digits at all, which is cheap to say of a short text."""
    return len(view.folded) > 4096 or len(view.folded.translate(None, _NOT_DIGITS)) >= 6


def digit_runs(
    view: View, budget: WorkBudget, short: bool, plain_from: int, decimals: bool
) -> Iterator[tuple[int, int, int]]:
    """[start, end) and the digits of every run of nine digits or more, or with `short` of six or more, in order.

    Of those without any separator only runs of `plain_from` digits or more, and those that begin with `00`; decimal
    numbers only with `decimals`.
    """
    text = view.folded
    least = _LEAST_DIGITS if short else 9
    classes = text.translate(_CLASS)
    decimals = decimals or _DECIMAL_00.search(text) is not None
    runs = _RUN_WITH_DECIMALS if decimals else _RUN if short else _LONG_RUN
    usual = _DATE if short or decimals else _NO_NUMBER
    flat = classes.replace(b".", b"s")
    gaps = b"sss" in flat
    for match in runs.finditer(classes):
        start, end = match.span()
        budget.spend(2)
        in_parts = gaps and flat.find(b"sss", start, end) >= 0
        for low, high in [part.span() for part in _JOINED.finditer(flat, start, end)] if in_parts else ((start, end),):
            count = flat.count(b"d", low, high)
            if (
                count >= least
                and (count < high - low or count >= plain_from or text.startswith(b"00", low))
                and (usual.fullmatch(text, low, high) is None or text[low - 1 : low] == b"+")
            ):
                yield low, high, count


class NumberContext(NamedTuple):
    """A text in lower case, and where in it words may concern a number: [start, end) each, in order, apart."""

    lower: bytes
    places: list[tuple[int, int]]

    @property
    def are_everywhere(self) -> bool:
        return self.places == [(0, len(self.lower))]


def number_context(view: View) -> NumberContext:
    """Of every run that has enough digits for a number; the whole text, where such are many."""
    text, places = view.folded, list[tuple[int, int]]()
    classes = text.translate(_CLASS)
    for number, match in enumerate(_RUN_WITH_DECIMALS.finditer(classes)):
        if number == _MOST_RUNS:
            return NumberContext(view.lower, [(0, len(text))])
        start, end = match.span()
        if classes.count(b"d", start, end) < _LEAST_DIGITS:
            continue
        low, high = max(0, start - _MARGIN), min(len(text), end + _MARGIN)
        if places and low <= places[-1][1]:
            places[-1] = places[-1][0], high
        else:
            places.append((low, high))
    return NumberContext(view.lower, places)


class Words:
    """Where certain words stand around the numbers of a text; found when first asked."""

    __slots__ = ("_around", "_effort", "_ends", "_pattern", "_starts")

    def __init__(self, pattern: Pattern, around: NumberContext, budget: WorkBudget) -> None:
        self._pattern, self._around, self._effort = pattern, around, budget
        self._starts: list[int] | None = None
        self._ends: list[int] = []

    def _look(self) -> list[int]:
        if self._starts is None:
            self._starts = []
            search, text = searcher_within(self._pattern), self._around.lower
            for low, high in self._around.places:
                start, end = search(text, low, high)
                while start >= 0:
                    self._effort.spend(4)
                    self._starts.append(start)
                    self._ends.append(end)
                    start, end = search(text, end, high)
        return self._starts

    @property
    def any(self) -> bool:
        return bool(self._look())

    def before(self, place: int, reach: int) -> bool:
        """Whether one of the words ends in the `reach` characters before `place`, and begins in them."""
        starts = self._starts if self._starts is not None else self._look()
        index = bisect_right(self._ends, place) - 1
        return index >= 0 and starts[index] >= place - reach

    def after(self, place: int, reach: int) -> bool:
        """Whether one of the words begins in the `reach` characters from `place` on."""
        starts = self._look()
        index = bisect_left(starts, place)
        return index < len(starts) and starts[index] <= place + reach
