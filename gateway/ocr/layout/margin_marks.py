"""Marks between an editor's line numbers and the text: arrows that fold lines, bars beside changed lines, signs to run.

They stand left of all words, and not on the grid of the letters, or in the gutter itself. Works on the pixels of a
block's rows, dark ink, and on its read lines. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from gateway.ocr.extras import vision
from gateway.ocr.layout.cell_ink import BLANK_STEP, GROUND_PERCENTILE
from gateway.ocr.layout.cells import exact_columns
from gateway.ocr.layout.line_numbers import Gutter, gutter_of, right_of
from gateway.ocr.layout.reading_order import rows_of
from gateway.ocr.types import Line, Rect, hull

WORD_START = re.compile(r"\w{2,}")
"""What tells where text begins: a mark is one sign."""
CLEAR = 0.3
"""Letters left of the first word in which there is no mark."""
OFF_GRID = 0.22
"""A sign's middle is on the letters' grid within so many letters: dots and quotation marks stand in the middle too. At
half, slanted signs are marks; at double (almost a half), no mark is off."""
MAX_WIDTH = 1.35
"""Letters that a mark is wide at most."""
MIN_ALIKE = 2
"""Marks at one place, without a gutter beside them. At half, a speck is a mark; at double, short pieces keep theirs."""
SAME_PX = 2
"""Pixels within which marks are at one place."""
GAP_PX = 2
"""Columns of pixels without ink that part two marks."""
HALF_ROW = 0.5


class _Mark(NamedTuple):
    row: int
    x1: int
    x2: int

    @property
    def middle(self) -> float:
        return (self.x1 + self.x2) / 2


def without_margin(gray: Any, lines: list[Line], pitch: float, left: float) -> tuple[Any, list[Line]]:
    """The page and a block's lines without line numbers and marks beside them. `left`: the x from which rows begin."""
    rows = [[lines[i] for i in row] for row in rows_of([line.rect for line in lines], range(len(lines)))]
    gutter = gutter_of(rows, pitch)
    if gutter is not None:
        gray = _painted(gray, Rect(0, gutter.top, gutter.edge, gutter.bottom))
        rows = [[line for line in (right_of(line, gutter, pitch) for line in row) if line.text] for row in rows]
        rows = [row for row in rows if row]
    starts = [
        line.letters[word.start()] - pitch / 2
        for row in rows
        for line in row
        if len(line.letters) == len(line.text)
        for word in WORD_START.finditer(line.text)
    ]
    if not starts:
        return gray, [line for row in rows for line in row]
    for mark, top, bottom in _marks(gray, rows, pitch, (left, min(starts)), gutter):
        gray = _painted(gray, Rect(mark.x1 - 1, top, mark.x2 + 1, bottom))
        rows[mark.row] = [line for line in (_without(line, mark, pitch) for line in rows[mark.row]) if line.text]
    return gray, [line for row in rows for line in row]


def _marks(
    gray: Any, rows: Sequence[Sequence[Line]], pitch: float, zone: tuple[float, float], gutter: Gutter | None
) -> list[tuple[_Mark, float, float]]:
    """The marks left of all words, each with the upper and lower side of its row."""
    _, numpy = vision()
    box = hull([line.rect for row in rows for line in row])
    middles = [median(line.rect.center_y for line in row) for row in rows]
    steps = sorted(below - above for above, below in pairwise(middles))
    half = HALF_ROW * (steps[len(steps) // 3] if steps else box.height)
    first = max(0, int(zone[0] if gutter is None else max(zone[0], gutter.edge)))
    end = int(zone[1] - CLEAR * pitch)
    part = gray[max(0, int(box.y1)) : int(box.y2) + 1, int(zone[1]) : int(box.x2) + 1]
    if end - first < CLEAR * pitch or part.shape[1] < pitch or not part.size:
        return []
    pitch, phase = exact_columns(part, pitch)
    found = []
    for number, middle in enumerate(middles):
        top, bottom = max(0, round(middle - half)), round(middle + half)
        cells = gray[top:bottom, first : int(zone[1])].astype(numpy.float32)
        if not cells.size:
            continue
        ground = numpy.percentile(cells, GROUND_PERCENTILE)
        inked = (ground - cells).max(axis=0) >= BLANK_STEP
        for x1, x2 in _islands(inked, first):
            column = (x1 + x2) / 2 - int(zone[1]) - phase
            off = abs((column / pitch - 0.5 + 0.5) % 1 - 0.5)
            if x2 <= end and x2 - x1 <= MAX_WIDTH * pitch and off > OFF_GRID:
                found.append((_Mark(number, x1, x2), float(top), float(bottom)))
    if gutter is not None:
        return found
    return [one for one in found if sum(abs(one[0].middle - o[0].middle) <= SAME_PX for o in found) >= MIN_ALIKE]


def _islands(inked: Any, first: int) -> list[tuple[int, int]]:
    """The runs of inked columns, those joined that are nearer than GAP_PX."""
    _, numpy = vision()
    found: list[tuple[int, int]] = []
    for x in numpy.flatnonzero(inked).tolist():
        if found and first + x - found[-1][1] < GAP_PX:
            found[-1] = (found[-1][0], first + x + 1)
        else:
            found.append((first + x, first + x + 1))
    return found


def _without(line: Line, mark: _Mark, pitch: float) -> Line:
    """The line without the sign that a mark was read as, at its start."""
    if len(line.letters) != len(line.text) or line.letters[0] > mark.x2 + pitch / 2:
        return line
    cut = 1 + len(line.text[1:]) - len(line.text[1:].lstrip())
    if cut >= len(line.text):
        return replace(line, text="", letters=(), words=())
    left = line.letters[cut] - pitch / 2
    return replace(line, rect=line.rect._replace(x1=left), text=line.text[cut:], letters=line.letters[cut:], words=())


def _painted(gray: Any, box: Rect) -> Any:
    """The page with a box in the ground's colour of each of its rows of pixels, taken right of the box."""
    _, numpy = vision()
    left, top, right, bottom = max(0, int(box.x1)), max(0, int(box.y1)), int(box.x2) + 1, int(box.y2) + 1
    beside = gray[top:bottom, right : right + gray.shape[1]]
    if not beside.size or right <= left:
        return gray
    gray = gray.copy()
    ground = numpy.percentile(beside, GROUND_PERCENTILE, axis=1, keepdims=True)
    gray[top:bottom, left:right] = ground.astype(gray.dtype)
    return gray
