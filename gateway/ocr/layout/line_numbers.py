"""The numbers of lines in an editor's gutter, taken from a block of code before its cells are cut.

A gutter has a grid of its own, is pale, and is read in part: `9c)`, `|97`. But what was read of it counts the rows, at
one place, and all text stands right of that place. So a few numbers tell where the gutter ends for all the rows
between. Works on read lines; knows no pixels. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from gateway.geometry.boxes import Line

FIRST = re.compile(r"(?:[^\w\s]{1,2} ?)?(\d{1,5})(?!\w)")
"""A number at the start of a piece of a row; before it the mark of a changed line or of a breakpoint."""
MIN_COUNTED, MIN_SHARE = 3, 0.6
"""Numbers at one place that make a gutter, and the share of neighbours among them that differ as their rows do. At half
the first, two lines that begin with figures do; at double, pale gutters are none. At half the share, a column of data
counts; at double (above 1), one misread number ends the gutter."""
MIN_ROWS_SHARE = 0.3
"""Share of a block's rows that have such a number. At half, a numbered list in a comment is a gutter; at double, pale
gutters are none."""
MAX_BEFORE, MAX_OUTSIDE = 0.1, 0.3
"""Share of the rows between, and of all the block's rows, that may have a word where the numbers are: a title above,
a bar of state below. At half, one misread gutter is text; at double, numbered lists are gutters."""
SAME_PLACE = 0.6
"""Numbers end at one place within so many letters: the recogniser's places are good to half a letter."""
BEYOND = 0.9
"""Letters from the middle of a number's last digit to the gutter's end: the text begins 1.5 letters from it or later.
At half, a digit's right half stays; at double, text goes."""
WORD = re.compile(r"[^\W\d_]{2,}")


class Gutter(NamedTuple):
    """Where an editor's line numbers are: left of `edge`, in the rows whose middles are between `top` and `bottom`."""

    edge: float
    top: float
    bottom: float

    def has(self, line: Line) -> bool:
        return self.top <= line.rect.center_y <= self.bottom


class _Number(NamedTuple):
    value: int
    row: int
    x: float


def gutter_of(rows: Sequence[Sequence[Line]], pitch: float) -> Gutter | None:
    """The gutter of a block's rows, each its read pieces from left to right; None without one."""
    middles = [median(line.rect.center_y for line in row) for row in rows]
    steps = sorted(below - above for above, below in pairwise(middles))
    if len(rows) < MIN_COUNTED or not steps or steps[len(steps) // 3] <= 0:
        return None
    step = steps[len(steps) // 3]
    numbers = []
    for row, middle in zip(rows, middles, strict=True):
        first = next((line for line in row if line.text), row[0])
        match = FIRST.match(first.text)
        if match and len(first.letters) == len(first.text):
            number = round((middle - middles[0]) / step)
            numbers.append(_Number(int(match[1]), number, first.letters[match.end(1) - 1]))
    counted = max((_at_place(numbers, other.x, pitch) for other in numbers), key=len, default=[])
    if len(counted) < max(MIN_COUNTED, MIN_ROWS_SHARE * len(rows)) or not _counts(counted):
        return None
    edge = median(number.x for number in counted) + BEYOND * pitch
    words = [any(_has_word_before(line, edge - pitch) for line in row) for row in rows]
    begin, end = (middles[0] + row * step for row in (counted[0].row - 0.5, counted[-1].row + 0.5))
    inside = [n for n, middle in enumerate(middles) if begin <= middle <= end]
    if sum(words[n] for n in inside) > MAX_BEFORE * len(inside) or sum(words) > MAX_OUTSIDE * len(rows):
        return None
    # Numbers that were misread are above and below.
    top, bottom = inside[0], inside[-1]
    while top > 0 and not words[top - 1]:
        top -= 1
    while bottom < len(rows) - 1 and not words[bottom + 1]:
        bottom += 1
    return Gutter(edge, middles[top] - step / 2, middles[bottom] + step / 2)


def right_of(line: Line, gutter: Gutter, pitch: float) -> Line:
    """The line without what is in the gutter. One that is nothing else keeps its place, empty: the row may hold a sign
    that the detector passed over."""
    if not gutter.has(line) or line.rect.x1 >= gutter.edge or len(line.letters) != len(line.text):
        return line
    cut = sum(x <= gutter.edge for x in line.letters)
    cut += len(line.text[cut:]) - len(line.text[cut:].lstrip())
    if cut == len(line.text):
        beside = line.rect._replace(x1=gutter.edge, x2=gutter.edge + pitch)
        return replace(line, rect=beside, text="", letters=(), words=())
    left = line.letters[cut] - pitch / 2
    return replace(line, rect=line.rect._replace(x1=left), text=line.text[cut:], letters=line.letters[cut:], words=())


def _at_place(numbers: list[_Number], x: float, pitch: float) -> list[_Number]:
    return [number for number in numbers if abs(number.x - x) <= SAME_PLACE * pitch]


def _counts(numbers: list[_Number]) -> bool:
    """Whether numbers count their rows: down, up towards the current line, or with rows left out, as where lines are
    wrapped and in the views of changes."""
    pairs = [(below.value - above.value, below.row - above.row) for above, below in pairwise(numbers)]
    exact = sum(abs(more) == rows for more, rows in pairs)
    good = sum(abs(more) == rows or 0 < more < rows for more, rows in pairs)
    return exact >= MIN_COUNTED - 1 and good >= MIN_SHARE * len(pairs)


def _has_word_before(line: Line, x: float) -> bool:
    return len(line.letters) == len(line.text) and any(
        line.letters[word.start()] < x for word in WORD.finditer(line.text)
    )
