"""Finds tables whose rows are parted by rules or stripes alone: level edges of one left and one right end.

The ends of the edges are the table's sides, so that what stands above, below or beside it stays out. Pure geometry;
knows neither pixels nor text. The thresholds are chosen; bench/ocr_tables.py and bench/ocr_real.py score them all
together. Lengths are in line heights unless their explanation says otherwise.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from gateway.geometry.aligned_tables import MIN_TABLE_COLUMNS, SAME_EDGE, share_columns, side_by_side
from gateway.geometry.boxes import Rect
from gateway.geometry.reading_order import bands_of, rows_of

SAME_END_PX, ONE_RULE_PX = 5, 6
"""Edges whose ends differ by no more belong together; closer ones are the two edges of one rule. At half, blurred rules
part; at double, rows of small print vanish."""
MIN_BANDS, MIN_ROWS = 2, 3
"""A table has so many bands between edges, and with the rows before the first and after the last so many rows: fewer
are a frame around a heading."""
MAX_BAND_ROWS, MIN_WRAPPED_COLUMNS = 4, 3
"""Lines of the highest cell; and the columns of a table in which cells of several lines are usual: of two columns, it
is a list of messages, each with its time beside it. At half, wrapped cells end a table; at double, the items of a
receipt between two strokes are one row."""
NEARLY_ALL = 0.9
"""Two rows between two edges that each have this share of the usual cells are two rows of the table: cells of several
lines stand beside shorter ones. At half, wrapped cells are rows; above, missed edges join rows."""
WRAPPED = 0.3
"""Rows between two edges whose gap is so much narrower than that over an edge are lines of wrapped cells, all of which
chance to have as many. At half, rows of a blurred photograph join; at double, the lines of such cells are rows."""
MOST = 0.6
"""Share of the bands that must have pieces side by side. At half, lists between strokes are tables; at double (above 1)
there is none."""
END_SLACK, ALIGNED_SLACK = 0.5, 1.5
"""How much further than in the table's own bands the text of the first and last row may be from the edge; the second
where its pieces begin or end where the table's do. At half, headings with a wider margin are lost; at double, addresses
above the items of an invoice join."""
EXTRA_ROOM = 1.0
"""A band is no row if its text is this much further from an edge than in other rows: a paragraph between a table and
the rule above the page's foot.
At half, rows of one line in a high band end a table; at double, a paragraph set close joins.
"""
OUTSIDE = 0.6
"""How far a piece may reach over the table's side. At half, boxes with margins are cut off; at double, text beside the
table joins."""


class LevelEdge(NamedTuple):
    """A straight level edge of the pixels: its y, and the x where it begins and ends."""

    at: float
    start: float
    end: float


class BandedTable(NamedTuple):
    """A table's box and the y of the edges between its rows, the outer ones included."""

    rect: Rect
    edges: tuple[float, ...]

    def has_band(self, box: Rect) -> bool:
        """Whether a box is a stripe of the table: all its sides are the table's."""
        sides = (box.x1, box.x2), (self.rect.x1, self.rect.x2)
        is_as_wide = all(abs(one - other) <= SAME_END_PX for one, other in zip(*sides, strict=True))
        return is_as_wide and all(
            any(abs(side - edge) <= SAME_END_PX for edge in self.edges) for side in (box.y1, box.y2)
        )


def banded_tables(edges: Sequence[LevelEdge], rects: Sequence[Rect]) -> list[BandedTable]:
    """The tables on a page, from its level edges and the boxes of its lines."""
    tables: list[BandedTable] = []
    for start, end, heights in _stacks(edges):
        inside = [r for r in rects if r.x1 >= start - OUTSIDE * r.height and r.x2 <= end + OUTSIDE * r.height]
        over = [r for r in rects if r not in inside and r.x1 < end and r.x2 > start]
        for run in _runs(inside, over, heights):
            table = _table(inside, Rect(start, run[0], end, run[-1]), run)
            if table is not None and not any(table.rect.overlap(other.rect) > 0 for other in tables):
                tables.append(table)
    return tables


def _stacks(edges: Sequence[LevelEdge]) -> list[tuple[float, float, list[float]]]:
    """Edges with the same ends: these, and the heights from the top; two edges of one rule are one height."""
    stacks: list[list[LevelEdge]] = []
    for edge in sorted(edges):
        ends = (edge.start, edge.end)
        stack = next(
            (s for s in stacks if all(abs(a - b) <= SAME_END_PX for a, b in zip(ends, s[0][1:], strict=True))), None
        )
        if stack is None:
            stacks.append([edge])
        else:
            stack.append(edge)
    found = []
    for stack in stacks:
        heights = [stack[0].at]
        for edge in stack[1:]:
            if edge.at - heights[-1] > ONE_RULE_PX:
                heights.append(edge.at)
        if len(heights) > MIN_BANDS:
            found.append((median(e.start for e in stack), median(e.end for e in stack), heights))
    return sorted(found, key=lambda stack: -len(stack[2]))


def _runs(inside: list[Rect], over: list[Rect], heights: list[float]) -> list[list[float]]:
    """The heights in runs whose bands each hold a row of cells, and no piece that reaches over a side (`over`)."""
    runs: list[list[float]] = [[heights[0]]]
    bands = [(top, bottom, _between(inside, top, bottom)) for top, bottom in pairwise(heights)]
    usual = median([_room(pieces, top, bottom) for top, bottom, pieces in bands if pieces] or [0.0])
    for top, bottom, pieces in bands:
        rows = _rows(pieces)
        is_roomy = bool(pieces) and _room(pieces, top, bottom) > usual + EXTRA_ROOM * pieces[0].height
        if 1 <= len(rows) <= MAX_BAND_ROWS and not is_roomy and not _between(over, top, bottom):
            runs[-1].append(bottom)
        else:
            runs.append([bottom])
    return [run for run in runs if len(run) > MIN_BANDS]


def _room(pieces: Sequence[Rect], top: float, bottom: float) -> float:
    """The wider gap between the text of a band and its edges."""
    return max(min(rect.y1 for rect in pieces) - top, bottom - max(rect.y2 for rect in pieces))


def _between(rects: Sequence[Rect], top: float, bottom: float) -> list[Rect]:
    return [rect for rect in rects if top < rect.center_y < bottom]


def _rows(rects: list[Rect]) -> list[list[Rect]]:
    return [[rects[i] for i in row] for row in bands_of(rects, rows_of(rects, range(len(rects))))]


def _table(inside: list[Rect], box: Rect, heights: list[float]) -> BandedTable | None:
    """The table between edges, with a row of several pieces before the first and after the last; None without
    columns."""
    heights = _with_missed(inside, heights)
    bands = [_rows(_between(inside, top, bottom)) for top, bottom in pairwise(heights)]
    above = max(_nearest(rows[0], top) for rows, top in zip(bands, heights[:-1], strict=True))
    below = max(_nearest(rows[-1], bottom) for rows, bottom in zip(bands, heights[1:], strict=True))
    first = _end_row([rect for rect in inside if rect.center_y < heights[0]], bands, heights[0], below)
    last = _end_row([rect for rect in inside if rect.center_y > heights[-1]], bands, heights[-1], above)
    if first:
        # A heading whose own edge is missed: its row is the second before the first edge.
        top = min(rect.y1 for rect in first)
        head = _end_row([rect for rect in inside if rect.center_y < top], bands, top, above + below)
        heights, first = ([(top + max(rect.y2 for rect in head)) / 2, *heights], head) if head else (heights, first)
        bands = [_rows(_between(inside, top, bottom)) for top, bottom in pairwise(heights)]
    rows = [row for row in (first, *(row for rows in bands for row in rows), last) if row]
    parted = [side_by_side(row) for row in rows]
    if len(rows) < MIN_ROWS or sum(len(row) > 1 for row in parted) < MOST * len(rows):
        return None
    if sum(len(rows) == 1 for rows in bands) < MOST * len(bands) and _width(bands) < MIN_WRAPPED_COLUMNS:
        return None
    tops, bottoms = [rect.y1 for rect in first], [rect.y2 for rect in last]
    edges = (*([min(tops)] if first else []), *heights, *([max(bottoms)] if last else []))
    return BandedTable(Rect(box.x1, edges[0], box.x2, edges[-1]), edges)


def _with_missed(inside: list[Rect], heights: list[float]) -> list[float]:
    """The heights, with one between rows in a band as high as so many bands of one row, and between rows of as many
    cells as the table's rows have: an edge there was missed, as in a blurred photograph."""
    bands = [_rows(_between(inside, top, bottom)) for top, bottom in pairwise(heights)]
    usual = _width(bands)
    parted = median(_gap(above[-1], below[0]) for above, below in pairwise(bands))
    height = median([b - a for (a, b), rows in zip(pairwise(heights), bands, strict=True) if len(rows) == 1] or [0.0])
    missed = [
        (max(rect.y2 for rect in above) + min(rect.y1 for rect in below)) / 2
        for (top, bottom), rows in zip(pairwise(heights), bands, strict=True)
        if abs(bottom - top - len(rows) * height) <= SAME_END_PX
        or (
            all(len(side_by_side(row)) >= NEARLY_ALL * usual for row in rows)
            and all(_gap(*pair) >= parted - WRAPPED * pair[0][0].height for pair in pairwise(rows))
        )
        for above, below in pairwise(rows)
    ]
    return sorted([*heights, *missed])


def _gap(above: list[Rect], below: list[Rect]) -> float:
    return min(rect.y1 for rect in below) - max(rect.y2 for rect in above)


def _width(bands: list[list[list[Rect]]]) -> float:
    """How many cells a row usually has."""
    return median(max(len(side_by_side(row)) for row in rows) for rows in bands)


def _nearest(row: list[Rect], edge: float) -> float:
    """How far a row of pieces is from an edge; 0 where boxes reach over it."""
    return max(0.0, min(min(abs(rect.y1 - edge), abs(rect.y2 - edge)) for rect in row))


def _end_row(beyond: list[Rect], bands: list[list[list[Rect]]], edge: float, usual: float) -> list[Rect]:
    """The row before the first edge or after the last, of those beyond it; none where it is too far, or has too few
    cells. `usual`: how far the text of the table's rows is from such an edge."""
    rows = _rows(beyond)
    row = min(rows, key=lambda row: _nearest(row, edge), default=[])
    inner = [row for rows in bands for row in rows]
    is_aligned = bool(row) and share_columns([row], inner)
    if len(side_by_side(row)) < max(2.0, MOST * _width(bands)) and not _is_short_heading(row, inner):
        return []
    slack = ALIGNED_SLACK if is_aligned else END_SLACK
    return row if _nearest(row, edge) <= usual + slack * median(rect.height for rect in row) else []


def _is_short_heading(row: list[Rect], rows: list[list[Rect]]) -> bool:
    """Whether a row of fewer cells than the table's usual ones heads some of its columns: it has at least
    as many cells as the table's first row, and each cell begins, ends or is centred with a column."""
    cells, columns = side_by_side(row), side_by_side([rect for row in rows for rect in row])
    if len(cells) < MIN_TABLE_COLUMNS or len(cells) < len(side_by_side(rows[0])):
        return False
    return all(any(_is_over(cell, column) for column in columns) for cell in cells)


def _is_over(cell: Rect, column: Rect) -> bool:
    slack = SAME_EDGE * cell.height
    return min(abs(cell.x1 - column.x1), abs(cell.x2 - column.x2), abs(cell.center_x - column.center_x)) <= slack
