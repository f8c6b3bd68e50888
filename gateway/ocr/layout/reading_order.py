"""Reading order: columns before rows, rows before words. Pure geometry; knows neither pixels nor text.

A page is cut at a gutter, an x that hardly any line crosses and that has real columns on both sides; the lines that do
cross it (headings, wide figures) cut the page in bands, read one after the other, each column by column. What has no
gutter is read in rows. Narrow companions (the prices of a receipt) are no columns: they stay on their row.
"""

from collections.abc import Sequence
from statistics import median

from gateway.ocr.types import Rect, hull

MAX_CROSSING_SHARE = 0.12
MIN_COLUMN_LINES = 4
MIN_COLUMN_WIDTH_SHARE = 0.2
MIN_COLUMN_HEIGHTS = 7
MIN_BESIDE = 0.3
MAX_DEPTH = 8

Row = list[int]


def reading_order(rects: Sequence[Rect]) -> list[list[Row]]:
    """Groups (a column of a band) of rows of indices, in reading order. Every index appears once."""
    return [rows_of(rects, group) for group in _groups(rects, list(range(len(rects))), 0) if group]


def rows_of(rects: Sequence[Rect], members: Sequence[int]) -> list[Row]:
    """Members on one height make a row; rows from top to bottom, each from left to right."""
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
    """Rows that stand beside one another in part as one: the lines of a tall cell, and what stands at its middle."""
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
    """Whether more than one member of a row stands right above one of the other: two full rows, closely set."""
    pairs = sum(any(min(rects[a].x2, rects[b].x2) - max(rects[a].x1, rects[b].x1) > 0 for a in above) for b in below)
    return pairs > 1


def _on_row(rects: Sequence[Rect], row: Row, index: int) -> bool:
    """Whether it stands beside the row's members: on their height, and not above or below any of them."""
    rect = rects[index]
    heights = [rects[other].height for other in row]
    middle = sum(rects[other].center_y for other in row) / len(row)
    if abs(rect.center_y - middle) > 0.45 * min(rect.height, max(heights)):
        return False
    return all(
        min(rect.x2, rects[other].x2) - max(rect.x1, rects[other].x1) <= 0.4 * min(rect.width, rects[other].width)
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
        for column in (left, right):
            if column:
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
    slack = min(0.1 * rect.width, rect.height * 0.5)
    return rect.x1 + slack < x < rect.x2 - slack


def _gutter(rects: Sequence[Rect], members: list[int]) -> float | None:
    """The x of the best gutter among the members, None when they are one column."""
    if len(members) < 2 * MIN_COLUMN_LINES:
        return None
    extent = hull([rects[i] for i in members])
    edges = sorted({round(rects[i].x1) for i in members})
    best: tuple[int, float, float] | None = None
    for edge in edges:
        x = edge - 1.0
        crossing = sum(_crosses(rects[i], x) for i in members)
        if crossing > MAX_CROSSING_SHARE * len(members):
            continue
        left = [rects[i] for i in members if not _crosses(rects[i], x) and rects[i].center_x < x]
        right = [rects[i] for i in members if not _crosses(rects[i], x) and rects[i].center_x >= x]
        if not (_is_column(left, extent) and _is_column(right, extent)):
            continue
        gap = min(rect.x1 for rect in right) - max(rect.x2 for rect in left)
        score = (crossing, -gap, x)
        if best is None or score < best:
            best = score
    return None if best is None else best[2]


def _is_column(rects: list[Rect], extent: Rect) -> bool:
    """Enough lines, and lines that are long for the area and for their own height: labels of a form are not."""
    if len(rects) < MIN_COLUMN_LINES:
        return False
    width = median(rect.width for rect in rects)
    return width >= max(MIN_COLUMN_WIDTH_SHARE * extent.width, MIN_COLUMN_HEIGHTS * median(r.height for r in rects))
