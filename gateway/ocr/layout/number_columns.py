"""The column of line numbers beside code, by its place alone: short lines that end at one x, one in nearly every row.

It shows what is code, where the code's side ends, which rows belong to it, and that two panes stand side by side. Works
on measured lines, unread; knows no pixels. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from statistics import median

from gateway.geometry.boxes import Line, Rect, hull
from gateway.ocr.layout.code_extent import MAX_GUTTER, row_step

SAME_END = 0.5
"""Numbers end at one x within so many letters. At half, jitter of the boxes parts them; at double, brackets join."""
MIN_NUMBERS, MIN_FILLED = 5, 0.6
"""Numbers of a column, and the share of the rows between the first and the last that have one, and of the code's rows.
At half, brackets at one indentation are numbers; at double (above 1), one number passed over costs the column."""
ON_ROW = 0.25
"""Numbers stand on the rows of the code within so many distances of rows, as cells.OFF_ROW."""
MAX_GAP = 3
"""Rows without a number between two of a column. At half, pale numbers end it; at double, the next block joins."""
SIDE_BY_SIDE = 0.5
"""Share of a column's height beside a block that makes it that block's."""


def number_column(run: Sequence[Line], lines: Sequence[Line], pitch: float) -> list[Line]:
    """The numbers beside a run of code, from top to bottom, those above and below the run too; empty without any."""
    left = median(line.rect.x1 for line in run)
    short = [line for line in lines if line.rect.x2 < left and line.rect.width <= MAX_GUTTER * pitch]
    best = _most_at_one_end(short, SAME_END * pitch)
    if len(best) < MIN_NUMBERS:
        return []
    step, middles = row_step(best), [line.rect.center_y for line in run]
    best = _chain(sorted(best, key=lambda line: line.rect.center_y), middles, step)
    if len(best) < MIN_NUMBERS:
        return []
    rows = round((best[-1].rect.center_y - best[0].rect.center_y) / step) + 1
    beside = sum(distance <= ON_ROW * step for distance in _distances([line.rect.center_y for line in best], middles))
    return best if min(len(best) / rows, beside / len(middles)) >= MIN_FILLED else []


def _most_at_one_end(lines: list[Line], reach: float) -> list[Line]:
    """The most lines that end within `reach` of one of them; of equally many those of the first one. Equal to comparing
    each line with each, in n log n."""
    ends = sorted(line.rect.x2 for line in lines)
    counts: dict[float, int] = {}
    first = behind = 0
    for end in ends:
        while end - ends[first] > reach:
            first += 1
        while behind < len(ends) and ends[behind] - end <= reach:
            behind += 1
        counts[end] = behind - first
    best = max(lines, key=lambda line: counts[line.rect.x2], default=None)
    return [line for line in lines if best is not None and abs(line.rect.x2 - best.rect.x2) <= reach]


def _distances(places: list[float], values: list[float]) -> Iterator[float]:
    """How far each value is from the nearest of the places, which are sorted."""
    for value in values:
        at = bisect_left(places, value)
        yield min(abs(place - value) for place in places[max(0, at - 1) : at + 1])


def _off_grid(away: float, step: float) -> float:
    phase = (away / step) % 1
    return min(phase, 1 - phase)


def _chain(numbers: list[Line], middles: list[float], step: float) -> list[Line]:
    """The numbers on one grid of rows, no more than MAX_GAP rows between neighbours: of all such chains the one most
    beside the run."""
    chains: list[list[Line]] = [numbers[:1]]
    for line in numbers[1:]:
        away = line.rect.center_y - chains[-1][-1].rect.center_y
        if away > (MAX_GAP + 0.5) * step:
            chains.append([line])
        elif away >= step / 2 and _off_grid(away, step) <= ON_ROW:
            chains[-1].append(line)

    middles = sorted(middles)

    def beside(chain: list[Line]) -> int:
        return max(0, bisect_right(middles, chain[-1].rect.y2) - bisect_left(middles, chain[0].rect.y1))

    return max(chains, key=beside)


def are_parted(one: Sequence[Line], other: Sequence[Line], columns: Sequence[Rect]) -> bool:
    """Whether there is a column of numbers between two runs: they are two panes."""
    left, right = sorted((hull([line.rect for line in run]) for run in (one, other)), key=lambda rect: rect.x1)
    return any(left.x1 < column.x1 and column.x2 <= right.x1 and _is_beside(column, right) for column in columns)


def pane_of(run: Sequence[Line], lines: Sequence[Line], columns: Sequence[Rect]) -> tuple[list[Line], Rect | None]:
    """The lines of a run's pane, from its own column of numbers to the next one, and its own column."""
    box = hull([line.rect for line in run])
    middle = median(line.rect.x1 for line in run)
    beside = [column for column in columns if _is_beside(column, box)]
    own = max((column for column in beside if column.x2 < middle), key=lambda column: column.x1, default=None)
    right = min((column.x1 for column in beside if column.x1 > middle), default=float("inf"))
    left = own.x1 if own is not None else float("-inf")
    inside = [line for line in lines if line.rect.x2 > left and line.rect.center_x < right]
    return inside, own


def rows_beside(column: Rect, lines: Sequence[Line], box: Rect) -> Rect:
    """The box of a block grown over the rows that have a number, and cut off left of the numbers."""
    rows = [line.rect for line in lines if column.y1 < line.rect.center_y < column.y2]
    inside = [rect for rect in rows if column.x1 - 1 <= rect.x1 < box.x2]
    grown = hull([box, column, *inside])
    return grown._replace(x1=column.x1)


def _is_beside(column: Rect, box: Rect) -> bool:
    shared = min(column.y2, box.y2) - max(column.y1, box.y1)
    return shared > SIDE_BY_SIDE * min(column.height, box.height)
