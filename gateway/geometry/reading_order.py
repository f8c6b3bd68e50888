"""Reading order: columns before rows, rows before words. Pure geometry; knows neither pixels nor text.

A page is cut at a gutter: an x that hardly any line crosses and that has real columns on both sides. The lines that do
cross it (headings, wide figures) cut the page into bands, which are read one after the other, each column by column.
An area without a gutter is read in rows. Narrow pieces beside text (the prices of a receipt) are no columns: they stay
on their row. The thresholds are chosen; bench/ocr.py scores them all
together, and no measurement of a single one is recorded.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from gateway.geometry.boxes import Rect, hull

Row = list[int]

MAX_CROSSING_SHARE = 0.35
"""Share of an area's lines that may cross a gutter: titles, captions, footers and wide figures of a short page of two
columns. On the twelve papers of ocr-real: at 0.12 four are read across their columns, at 0.35 none, and nothing else
differs. At double, chance gaps in running text count as gutters."""
FEW_CROSSING_SHARE = 0.08
"""The same between texts that only chance put side by side, where nothing is set across both. At double, the lines of a
terminal part where many end."""
MIN_COLUMN_LINES = 4
MIN_COLUMN_WIDTH_SHARE = 0.2
MIN_COLUMN_HEIGHTS = 7
"""A column has so many lines, whose median width is this share of the area's and so many line heights. Chosen: up to
four columns, of more than about two words a line. At half, the prices of a receipt and the labels of a form become
columns and lose their rows; at double, columns of newspapers and short columns below a picture are read across."""
MIN_BESIDE = 0.3
"""Rows that share this much of a member's height belong to one band. Chosen: boxes of closely set lines overlap by
less. At half, rows of tightly set tables merge; at double, a name beside the middle of a tall cell becomes a row of its
own."""
MAX_OFF_ROW = 0.45
"""How far a line's middle may lie from its row's, in the lower of the heights. Chosen: less than half, so that a line
lies on one row only. At half, lines of a slightly tilted row part; at double, neighbouring rows merge."""
MAX_STACKED = 0.4
"""Share of the narrower width by which members of a row may lie above one another: boxes have margins. At half, words
whose boxes overlap part into two rows; at double, lines above one another count as side by side."""
CROSSING_SLACK, CROSSING_SLACK_HEIGHTS = 0.1, 0.5
"""A line crosses an x only when it reaches further than this share of its width, at most this many heights, beyond it:
boxes have margins, and ragged lines reach into a gutter. At half, narrow gutters are missed; at double, short lines in
the gutter count for a column."""
MIN_NARROW_LINES, MIN_NARROW_HEIGHTS = 5, 3
MAX_ALIGNED, SAME_ROW, ROW_SHARE, MIN_REACH_PX = 0.55, 0.2, 0.15, 1.5
"""A column too narrow for the measures above is one too when it has so many lines, so many heights wide, and its rows
are its own: no more than MAX_ALIGNED of them have one beside them whose middle differs by less than SAME_ROW heights,
ROW_SHARE of the distance of those rows, and MIN_REACH_PX.
Rows of a form or table are aligned nearly all; of two columns of text a fourth is by chance. At half, side bars of
contents are read across; at double (above 1), lists of pairs lose their rows."""
MAX_ASIDE_SHARE, ASIDE_SIZE = 0.35, 0.95
"""A column so narrow, as a share of the width, whose lines are lower by this factor than those beside it, is an aside:
contents, notes. Boxes of lines vary by some hundredths; side bars of contents are set a tenth smaller and have larger
headings. At half the first, none is found; at 1 for the second, every side bar of a dashboard is one."""
MIN_FILLED_LINES, FILLED_SHARE, FILLED, MIN_FILLED_HEIGHTS = 8, 0.8, 0.6, 9
"""A column of so many lines is running text when FILLED_SHARE of them are at least FILLED times as wide as nearly the
widest, and so many heights. At half, a listing's longest column is text; at double, ragged lines are none."""
JUSTIFIED_GAP = 2.5
"""Pieces of one row, in heights apart, that are one line with wide spaces: justified text in a narrow column."""
MAX_DEPTH = 8
"""Bounds the recursion of columns within columns; printed pages have two or three levels. Beyond it rows are read."""


def reading_order(rects: Sequence[Rect]) -> list[list[Row]]:
    """Groups (a column of a band) of rows of indices, in reading order. Every index appears once."""
    return [rows_of(rects, group) for group in _groups(rects, list(range(len(rects))), 0) if group]


def columns_of(rects: Sequence[Rect]) -> list[list[int]]:
    """The indices in parts that are read one after the other: columns, and what crosses them; one part for one
    column."""
    return [group for group in _groups(rects, list(range(len(rects))), 0) if group]


def texts_beside(rects: Sequence[Rect]) -> list[list[int]]:
    """As `columns_of`, but parted only between columns whose rows are their own, or which both are filled by their
    lines: columns of a listing stay together."""

    def split(members: list[int], depth: int) -> list[list[int]]:
        gutter = _gutter(rects, members, FEW_CROSSING_SHARE) if depth < MAX_DEPTH else None
        if gutter is None:
            return [members]
        left = [i for i in members if rects[i].center_x < gutter]
        right = [i for i in members if rects[i].center_x >= gutter]
        sides = [[rects[i] for i in side] for side in (left, right)]
        if aligned_share(*sides) > MAX_ALIGNED and not all(map(_is_filled, sides)):
            return [members]
        return split(left, depth + 1) + split(right, depth + 1)

    return split(list(range(len(rects))), 0)


def _is_filled(rects: list[Rect]) -> bool:
    """Whether nearly all lines of a column reach over its width, as those of running text do and cells do not."""
    widths = sorted(rect.width for rect in rects)
    wide, narrow = widths[int(FILLED_SHARE * (len(widths) - 1))], widths[int((1 - FILLED_SHARE) * (len(widths) - 1))]
    height = median(rect.height for rect in rects)
    return len(rects) >= MIN_FILLED_LINES and narrow >= max(FILLED * wide, MIN_FILLED_HEIGHTS * height)


def is_aside(rects: Sequence[Rect], others: Sequence[Rect], extent: Rect | None = None) -> bool:
    """Whether a column holds contents or notes beside the text of the others: it is narrow, its letters are smaller.
    `extent`: of the column, where it is more than that of its text."""
    if min(len(rects), len(others)) < MIN_COLUMN_LINES:
        return False
    column, rest = extent or hull(list(rects)), hull(list(others))
    height, usual = (median(rect.height for rect in part) for part in (rects, others))
    return column.width <= MAX_ASIDE_SHARE * column.union(rest).width and height < ASIDE_SIZE * usual


def rows_of(rects: Sequence[Rect], members: Sequence[int]) -> list[Row]:
    """The members in rows of one height: rows from top to bottom, each from left to right."""
    rows: list[Row] = []
    for index in sorted(members, key=lambda index: (rects[index].center_y, rects[index].x1)):
        row = next((row for row in reversed(rows[-3:]) if _on_row(rects, row, index)), None)
        if row is None:
            rows.append([index])
        else:
            row.append(index)
    for row in rows:
        row.sort(key=lambda index: rects[index].x1)
    return rows


def bands_of(rects: Sequence[Rect], rows: Sequence[Row]) -> list[Row]:
    """Joins rows that lie partly beside one another: the lines of a tall cell, and a piece at its middle."""
    bands: list[Row] = []
    extents: list[Rect] = []
    for row in rows:
        extent = hull([rects[index] for index in row])
        shared = min(extent.y2, extents[-1].y2) - max(extent.y1, extents[-1].y1) if bands else 0.0
        usual = median(rects[index].height for index in row)
        if bands and shared > MIN_BESIDE * usual and not _is_above(rects, bands[-1], row):
            bands[-1] = sorted([*bands[-1], *row], key=lambda index: rects[index].x1)
            extents[-1] = extents[-1].union(extent)
        else:
            bands.append(row)
            extents.append(extent)
    return bands


def _is_above(rects: Sequence[Rect], above: Row, below: Row) -> bool:
    """Whether more than one member of `below` has a member of `above` over it: two full rows, set closely."""
    pairs = sum(any(min(rects[a].x2, rects[b].x2) - max(rects[a].x1, rects[b].x1) > 0 for a in above) for b in below)
    return pairs > 1


def _on_row(rects: Sequence[Rect], row: Row, index: int) -> bool:
    """Whether a rectangle lies beside the row's members: on their height, and not above or below any of them."""
    rect = rects[index]
    heights = [rects[other].height for other in row]
    middle = sum(rects[other].center_y for other in row) / len(row)
    if abs(rect.center_y - middle) > MAX_OFF_ROW * min(rect.height, max(heights)):
        return False
    return all(
        min(rect.x2, rects[other].x2) - max(rect.x1, rects[other].x1)
        <= MAX_STACKED * min(rect.width, rects[other].width)
        for other in row
    )


def _groups(rects: Sequence[Rect], members: list[int], depth: int) -> list[list[int]]:
    gutter = _gutter(rects, members) if depth < MAX_DEPTH else None
    if gutter is None:
        return [members]
    crossing = sorted((i for i in members if _crosses(rects[i], gutter)), key=lambda i: rects[i].center_y)
    rest = [i for i in members if not _crosses(rects[i], gutter)]
    groups: list[list[int]] = []
    for wide in [*crossing, None]:
        above = rest if wide is None else [i for i in rest if rects[i].center_y < rects[wide].center_y]
        rest = [] if wide is None else [i for i in rest if rects[i].center_y >= rects[wide].center_y]
        left = [i for i in above if rects[i].center_x < gutter]
        right = [i for i in above if rects[i].center_x >= gutter]
        columns = [column for column in (left, right) if column]
        if len(columns) == 2:
            sides = [rects[i] for i in left], [rects[i] for i in right]
            if is_aside(*sides) or hull(sides[1]).y2 <= hull(sides[0]).y1:
                columns.reverse()
        for column in columns:
            groups.extend(_groups(rects, column, depth + 1))
        if wide is not None:
            groups.append([wide])
    return _joined_crossings(groups, set(crossing))


def _joined_crossings(groups: list[list[int]], crossing: set[int]) -> list[list[int]]:
    """Crossing lines that follow one another directly are one group: their rows are ordered together."""
    joined: list[list[int]] = []
    for group in groups:
        if joined and set(group) <= crossing and set(joined[-1]) <= crossing:
            joined[-1] = joined[-1] + group
        else:
            joined.append(group)
    return joined


def _crosses(rect: Rect, x: float) -> bool:
    slack = min(CROSSING_SLACK * rect.width, rect.height * CROSSING_SLACK_HEIGHTS)
    return rect.x1 + slack < x < rect.x2 - slack


def _gutter(rects: Sequence[Rect], members: list[int], most_crossing: float = MAX_CROSSING_SHARE) -> float | None:
    """The x of the best gutter among the members, None when they are one column. `most_crossing`: share of them that
    may cross it."""
    if len(members) < 2 * MIN_COLUMN_LINES:
        return None
    extent = hull([rects[i] for i in members])
    edges = sorted({round(rects[i].x1) for i in members})
    best: tuple[int, float, float] | None = None
    for edge in edges:
        x = edge - 1.0
        crossing = sum(_crosses(rects[i], x) for i in members)
        if crossing > most_crossing * len(members):
            continue
        left = [rects[i] for i in members if not _crosses(rects[i], x) and rects[i].center_x < x]
        right = [rects[i] for i in members if not _crosses(rects[i], x) and rects[i].center_x >= x]
        if not (_is_column(left, right, extent) and _is_column(right, left, extent)):
            continue
        gap = min(rect.x1 for rect in right) - max(rect.x2 for rect in left)
        score = (crossing, -gap, x)
        if best is None or score < best:
            best = score
    return None if best is None else best[2]


def _is_column(rects: list[Rect], beside: list[Rect], extent: Rect) -> bool:
    """Whether there are enough lines, long for the area and for their own height, or with rows of their own; a form's
    labels are not."""
    if len(rects) < MIN_COLUMN_LINES:
        return False
    height = median(rect.height for rect in rects)
    least = max(MIN_COLUMN_WIDTH_SHARE * extent.width, MIN_COLUMN_HEIGHTS * height)
    width = median(rect.width for rect in rects)
    if width < least:
        width = median(rect.width for rect in _unbroken(rects))
    if width >= least:
        return True
    is_wide = len(rects) >= MIN_NARROW_LINES and width >= MIN_NARROW_HEIGHTS * height
    return is_wide and aligned_share(rects, beside) <= MAX_ALIGNED


def aligned_share(rects: Sequence[Rect], beside: Sequence[Rect]) -> float:
    """The share of the rectangles of the side with fewer that have one of the other at their middle's height."""
    fewer, more = sorted((rects, beside), key=len)
    middles = sorted(rect.center_y for rect in more)
    step = median(below - above for above, below in pairwise(middles)) if len(middles) > 1 else float("inf")

    def is_near(rect: Rect) -> bool:
        reach = min(SAME_ROW * rect.height, max(ROW_SHARE * step, MIN_REACH_PX))
        place = bisect_left(middles, rect.center_y)
        return any(abs(rect.center_y - middle) < reach for middle in middles[max(0, place - 1) : place + 1])

    return sum(map(is_near, fewer)) / len(fewer) if fewer else 0.0


def _unbroken(rects: list[Rect]) -> list[Rect]:
    """The lines of a column, with the pieces of justified rows joined."""
    whole: list[Rect] = []
    for row in rows_of(rects, range(len(rects))):
        for index in row:
            rect = rects[index]
            is_same = whole and index != row[0] and rect.x1 - whole[-1].x2 < JUSTIFIED_GAP * rect.height
            if is_same:
                whole[-1] = whole[-1].union(rect)
            else:
                whole.append(rect)
    return whole
