"""How far a block of code reaches beyond its sure lines: short lines, gutters, columns of a listing, rows next to it.

Works on measured lines; knows no pixels. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

from collections.abc import Callable
from itertools import pairwise
from statistics import median

from gateway.geometry.boxes import Line, Rect, hull
from gateway.geometry.reading_order import rows_of

ON_ROW, ALIKE = 0.2, 1.35
"""A short line beside the sure ones belongs to them only when its middle is as near to one of their rows, in distances
of rows, and its letters differ by a smaller factor. At half, lines of brackets alone are lost; at double, a status bar
below joins."""
SAME_ROW, NEXT_ROW = 0.6, 0.9
"""Lines whose middles differ by less, in line heights, stand on one row; a line whose middle is within NEXT_ROW
distances of rows of the block is on its next row."""
ONE_STEP, FEW_STEPS = 1.3, 3
"""The least distances of rows, up to this factor, are of neighbours. Rows so many distances apart still tell the
distance of rows; beyond, one row more or less makes no difference."""
LEAST_SHARE = 0.25
"""The least distance of two rows must occur in this share of all distances: a row cut by the picture's edge is nearer
than others. Where none does, the least of all counts. At half, a cut row decides; at double, so it does in code with
many blank rows."""
MAX_LEFT, MAX_GUTTER = 9.0, 6.0
"""Short lines up to so many letters left of the sure ones belong to the block: braces, and numbers of lines (at most
MAX_GUTTER letters wide). At half, the gutter is read as a list of numbers; at double, so is a side bar's icon."""
SHORT = 6.0
"""A line narrower than so many heights has too few letters for a rhythm: its place decides."""
MIN_COLUMN_ROWS, COLUMN_SHARE = 3, 0.8
"""A listing's columns left of its sure lines: so many rows, this share of the block's, and of all that lies there this
share on its rows. At half, a side bar whose rows chance to meet the block's joins; at double, no column does."""
NEAR_ROW, NEAR_RHYTHM = 1.5, 0.14
FAR_ROW, FAR_RHYTHM = 2.5, 0.2
"""A row above or below joins when it is on the block's grid, nearer than so many distances of rows, and all its pieces
have this rhythm at the block's pitch; on four drawn editors short pieces of code had .15 and more, those of
status bars .05 to .2. At
half, a paragraph below an example joins it; at double, the last line of a function is lost."""
MIN_TELLING = 2.0
"""A piece narrower than so many heights has too few letters to be judged by its rhythm."""
Rhythm = Callable[[Line, float], float]
"""How clearly the ink of a line repeats at a pitch in pixels, 0..1."""


def extent_of(run: list[Line], fitting: list[Line], lines: list[Line], pitch: float, rhythm: Rhythm) -> Rect:
    """The box of a block. `run`: its sure lines; `fitting`: all that have a rhythm at its `pitch`; `lines`: those of
    the page."""
    rect = _with_columns(_whole(run, fitting, pitch), run, lines)
    step = row_step(run)
    for _ in range(len(lines)):
        row = _next_row(rect, run, lines, step)
        if not row or not _joins(row, rect, run, step, lambda line: rhythm(line, pitch)):
            other = _next_row(rect, run, lines, -step)
            if not other or not _joins(other, rect, run, -step, lambda line: rhythm(line, pitch)):
                return rect
            row = other
        rect = hull([rect, *(line.rect for line in row)])
    return rect


def _next_row(rect: Rect, run: list[Line], lines: list[Line], step: float) -> list[Line]:
    """The nearest row below the box, above it for a negative step, of the lines in reach of its sides."""
    left = rect.x1 - MAX_LEFT * median(line.size for line in run)
    end = rect.y2 if step > 0 else rect.y1
    way = 1 if step > 0 else -1
    beyond = [line for line in lines if line.rect.x2 > left and way * (line.rect.center_y - end) > 0]
    beyond = [line for line in beyond if way * (line.rect.center_y - end) < FAR_ROW * abs(step)]
    if not beyond:
        return []
    middle = min((line.rect.center_y for line in beyond), key=lambda y: abs(y - end))
    return [line for line in beyond if abs(line.rect.center_y - middle) < abs(step) / 2]


def _joins(row: list[Line], rect: Rect, run: list[Line], step: float, rhythm: Callable[[Line], float]) -> bool:
    """Whether a row beyond the box is the block's next one, or the one after a blank one."""
    inside = [line for line in row if rect.x1 - abs(step) < line.rect.x1 < rect.x2]
    if not inside or not all(_fits(line, run, abs(step)) for line in row):
        return False
    end = rect.y2 - abs(step) / 2 if step > 0 else rect.y1 + abs(step) / 2
    away = abs(inside[0].rect.center_y - end) / abs(step)
    least = NEAR_RHYTHM if away < NEAR_ROW else FAR_RHYTHM
    telling = [line for line in row if line.rect.width >= MIN_TELLING * line.rect.height]
    return bool(telling or away < NEAR_ROW) and all(rhythm(line) >= least for line in telling)


def _whole(run: list[Line], lines: list[Line], pitch: float) -> Rect:
    """The box of the block: of its sure lines, and of the short ones beside, above and below them that fit."""
    rect = hull([line.rect for line in run])
    step = row_step(run)
    short = [line.rect for line in lines if not is_wide(line) and _fits(line, run, step)]
    for _ in range(len(short)):
        reach = Rect(rect.x1 - MAX_LEFT * pitch, rect.y1 - NEXT_ROW * step, float("inf"), rect.y2 + NEXT_ROW * step)
        taken = [
            other
            for other in short
            if _is_in(other, reach) and (other.x2 > rect.x1 or other.width <= MAX_GUTTER * pitch)
        ]
        # The reach to the left is not repeated: a gutter is the last thing there.
        grown = hull([rect, *(Rect(max(other.x1, rect.x1), *other[1:]) for other in taken if other.x2 > rect.x1)])
        if grown == rect:
            return hull([rect, *taken])
        rect = grown
    return rect


def _with_columns(rect: Rect, run: list[Line], lines: list[Line]) -> Rect:
    """The box grown to the left over the columns of a listing, whose pieces are too short for a rhythm: nearly all that
    lies there stands on the run's rows, and most rows have some of it."""
    beside = [line for line in lines if line.rect.x2 <= rect.x1 and rect.y1 < line.rect.center_y < rect.y2]
    step = row_step(run)
    fitting = [line for line in beside if _fits(line, run, step)]
    rows = rows_of([line.rect for line in run], range(len(run)))
    there = rows_of([line.rect for line in fitting], range(len(fitting)))
    if len(fitting) < COLUMN_SHARE * len(beside) or len(there) < max(MIN_COLUMN_ROWS, COLUMN_SHARE * len(rows)):
        return rect
    return hull([rect, *(line.rect for line in fitting)])


def _is_in(rect: Rect, reach: Rect) -> bool:
    return reach.x1 < rect.center_x and reach.y1 < rect.center_y < reach.y2


def _fits(line: Line, run: list[Line], step: float) -> bool:
    """Whether a short line has letters of the run's size and stands on a row of its distance."""
    size = median(member.size for member in run)
    if line.size and not ALIKE**-2 < line.size / size < ALIKE**2:
        return False
    near = min(run, key=lambda member: abs(member.rect.center_y - line.rect.center_y))
    away = abs(line.rect.center_y - near.rect.center_y) / step
    return abs(away - round(away)) <= ON_ROW


def row_step(run: list[Line]) -> float:
    """The distance of neighbouring rows: near the least, as rows between may be short or blank."""
    height = median(line.rect.height for line in run)
    middles = sorted(line.rect.center_y for line in run)
    steps = [below - above for above, below in pairwise(middles) if below - above > SAME_ROW * height]
    if not steps:
        return height
    near = ([step for step in steps if least <= step <= ONE_STEP * least] for least in sorted(steps))
    least = median(next((alike for alike in near if len(alike) >= LEAST_SHARE * len(steps)), [min(steps)]))
    counted = [(step, round(step / least)) for step in steps if round(step / least) <= FEW_STEPS]
    return sum(step for step, _ in counted) / sum(count for _, count in counted)


def is_wide(line: Line) -> bool:
    return line.rect.width >= SHORT * line.rect.height
