"""Marks between an editor's line numbers and the text: arrows that fold lines, bars beside changed lines, signs to run.

They stand left of all words, and not on the grid of the letters, or in the gutter itself. Works on the pixels of a
block's rows, dark ink, and on its read lines. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, inf
from statistics import median
from typing import Any, NamedTuple

from gateway.geometry.boxes import Line, PageBlock, Rect, hull
from gateway.geometry.reading_order import rows_of
from gateway.ocr.extras import vision
from gateway.ocr.layout.cell_ink import BLANK_STEP, GROUND_PERCENTILE
from gateway.ocr.layout.cells import exact_columns
from gateway.ocr.layout.code_extent import MAX_LEFT
from gateway.ocr.layout.frames import sign_of
from gateway.ocr.layout.line_numbers import Gutter, gutter_of, right_of

WORD_START = re.compile(r"\w{2,}")
"""What tells where text begins: a mark is one sign."""
CLEAR = 0.3
"""Letters left of the first word in which there is no mark."""
OFF_GRID = 0.22
"""A sign's middle is on the letters' grid within so many letters: dots and quotation marks are in the middle too. At
half, slanted signs are marks; at double (almost a half), no mark is off."""
MAX_WIDTH = 1.35
"""Letters that a mark is wide at most."""
MAX_APART, APART, CHANGES = 2.0, 1.4, ("+", "-")
"""Letters that a mark beside line numbers is wide, and of room right of it; but for the signs of changed lines, which
are read. At half the first, larger marks stay; at double, words are marks. At half the second, `- name` loses its dash;
at double, marks right before the text stay."""
MIN_ALIKE = 2
"""Marks at one place, without a gutter beside them. At half, a speck is a mark; at double, short pieces keep theirs."""
SAME_PLACE = 0.4
"""Letters within which marks are at one place: those of several kinds differ."""
GAP_PX = 2
"""Columns of pixels without ink that part two marks."""
HALF_ROW, NEAR_COLUMNS = 0.5, 40
"""Half a distance of rows, and the letters from the first word's start by which the grid is sought: marks are near."""
MAX_COLUMNS = 2
"""Columns of numbers: a view of changes has those of both sides."""


class _Mark(NamedTuple):
    row: int
    x1: int
    x2: int

    @property
    def middle(self) -> float:
        return (self.x1 + self.x2) / 2


def free_left(block: PageBlock, lines: list[Line], side: float) -> float:
    """The x to which a block's rows may begin further left than its lines: a brace alone is no line for the detector.
    At most MAX_LEFT letters, and neither beyond the `side` of its panel nor at other lines."""
    rect = block.rect
    beside = [line.rect.x2 for line in lines if line.rect.x2 <= rect.x1 and rect.y1 < line.rect.center_y < rect.y2]
    return max(rect.x1 - MAX_LEFT * block.pitch, side + block.pitch / 2, max(beside, default=0.0) + block.pitch)


def without_margin(gray: Any, lines: list[Line], pitch: float, left: float) -> tuple[Any, list[Line], float]:
    """The page and a block's lines without line numbers and marks beside them, and the x where its numbers end, minus
    infinity without any. `left`: the x from which rows begin."""
    rows = [[lines[i] for i in row] for row in rows_of([line.rect for line in lines], range(len(lines)))]
    gutter, gray = None, gray.copy()
    for _ in range(MAX_COLUMNS):
        found = gutter_of(rows, pitch)
        if found is None:
            break
        gutter = found
        _paint(gray, Rect(0, gutter.top, gutter.edge, gutter.bottom))
        rows = [[right_of(line, gutter, pitch) for line in row] for row in rows]
    starts = [
        line.letters[word.start()] - pitch / 2
        for row in rows
        for line in row
        if len(line.letters) == len(line.text) and (gutter is None or gutter.has(line))
        for word in WORD_START.finditer(line.text)
    ]
    for mark, top, bottom in _marks(gray, rows, pitch, (left, min(starts)), gutter) if starts else ():
        _paint(gray, Rect(mark.x1 - 1, top, mark.x2 + 1, bottom))
        rows[mark.row] = [_without(line, mark, pitch) for line in rows[mark.row]]
    return gray, [line for row in rows for line in row], -inf if gutter is None else gutter.edge


def moved_in(lines: list[Line], edge: float, pitch: float) -> list[Line]:
    """The lines, those that begin left of an x moved by whole letters to where the others begin: a title above the
    numbers of lines is no less indented than the code beside them."""
    first = min((line.letters[0] for line in lines if line.letters and line.letters[0] >= edge), default=edge)
    return [
        replace(
            line, letters=tuple(x + ceil((first - line.letters[0]) / pitch - HALF_ROW) * pitch for x in line.letters)
        )
        if line.letters and line.letters[0] < edge
        else line
        for line in lines
    ]


def _marks(
    gray: Any, rows: Sequence[Sequence[Line]], pitch: float, zone: tuple[float, float], gutter: Gutter | None
) -> list[tuple[_Mark, float, float]]:
    """The marks left of all words, each with the upper and lower side of its row: signs off the letters' grid, and
    those far left of what follows them."""
    _, numpy = vision()
    box = hull([line.rect for row in rows for line in row])
    middles = [median(line.rect.center_y for line in row) for row in rows]
    steps = sorted(below - above for above, below in pairwise(middles))
    half = HALF_ROW * (steps[len(steps) // 3] if steps else box.height)
    first = max(0, int(zone[0] if gutter is None else max(zone[0], gutter.edge)))
    end = int(zone[1] - CLEAR * pitch)
    right = min(box.x2, zone[1] + NEAR_COLUMNS * pitch)
    part = gray[max(0, int(box.y1)) : int(box.y2) + 1, int(zone[1]) : int(right) + 1]
    if end - first < CLEAR * pitch or part.shape[1] < pitch or not part.size:
        return []
    pitch, phase = exact_columns(part, pitch)
    found: list[tuple[_Mark, float, float]] = []
    others: list[tuple[_Mark, float, float]] = []
    for number, middle in enumerate(middles):
        top, bottom = max(0, round(middle - half)), round(middle + half)
        cells = gray[top:bottom, first : int(right) + 1].astype(numpy.float32)
        if not cells.size or (gutter is not None and not gutter.top <= middle <= gutter.bottom):
            continue
        ground = numpy.percentile(cells, GROUND_PERCENTILE)
        islands = _islands((ground - cells).max(axis=0) >= BLANK_STEP, first)
        for (x1, x2), (following, _) in pairwise([*islands, (-1, -1)]):
            column = ((x1 + x2) / 2 - int(zone[1]) - phase) / pitch - 0.5
            is_off = abs(column - round(column)) > OFF_GRID and x2 - x1 <= MAX_WIDTH * pitch
            is_apart = following - x2 > APART * pitch and not _is_change(cells, x1 - first, pitch)
            if x2 <= end and (is_off or (gutter is not None and x2 - x1 <= MAX_APART * pitch)):
                mark = (_Mark(number, x1, x2), float(top), float(bottom))
                (found if is_off or is_apart else others).append(mark)
    if gutter is not None:
        # An arrow right before its line's first letter is at the place of the others.
        return found + [one for one in others if _count_at(one[0], found, pitch)]
    return [one for one in found if _count_at(one[0], found, pitch) >= MIN_ALIKE]


def _count_at(mark: _Mark, found: list[tuple[_Mark, float, float]], pitch: float) -> int:
    return sum(abs(mark.middle - other.middle) <= SAME_PLACE * pitch for other, _, _ in found)


def _is_change(cells: Any, x: int, pitch: float) -> bool:
    """Whether the sign at an x of a row is that of an added or a removed line."""
    _, numpy = vision()
    left = max(0, round(x - pitch / 4))
    ink = numpy.clip(numpy.percentile(cells, GROUND_PERCENTILE) - cells[:, left : round(x + pitch)], 0, None)
    return sign_of(ink / max(1.0, float(ink.max()))) in CHANGES


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
    if not line.letters or len(line.letters) != len(line.text) or line.letters[0] > mark.x2 + pitch / 2:
        return line
    cut = 1 + len(line.text[1:]) - len(line.text[1:].lstrip())
    if cut >= len(line.text):
        return replace(line, rect=line.rect._replace(x1=mark.x2, x2=mark.x2 + pitch), text="", letters=(), words=())
    left = line.letters[cut] - pitch / 2
    return replace(line, rect=line.rect._replace(x1=left), text=line.text[cut:], letters=line.letters[cut:], words=())


def _paint(gray: Any, box: Rect) -> None:
    """Fills a box of the page with the ground's colour of each of its rows of pixels, taken right of the box."""
    _, numpy = vision()
    left, top, right, bottom = max(0, int(box.x1)), max(0, int(box.y1)), int(box.x2) + 1, int(box.y2) + 1
    beside = gray[top:bottom, right : right + gray.shape[1]]
    if beside.size and right > left:
        ground = numpy.percentile(beside, GROUND_PERCENTILE, axis=1, keepdims=True)
        gray[top:bottom, left:right] = ground.astype(gray.dtype)
