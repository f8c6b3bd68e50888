"""Regions the layout model does not see: tables without rules, by how their lines stand, and pictures, by their pixels.

`complete` puts all sources together: ruled nets, aligned columns, the model, pictures; the surer one wins where two
claim a place.
"""

from statistics import median
from typing import Any

from gateway.ocr.extras import vision
from gateway.ocr.layout.reading_order import bands_of, rows_of
from gateway.ocr.types import Line, Rect, Region, hull

MIN_TABLE_ROWS = 3
MIN_TABLE_COLUMNS = 3
MAX_ROW_GAP = 2.6
MAX_COLUMN_WIDTH = 14
"""Of a table's middle column, in line heights: the columns of running text are wider."""
MIN_NAME_WIDTH, MAX_EVEN_WIDTH = 1.4, 8
"""Of the left of two columns, in line heights; the latter where all its lines are equally wide."""
MAX_LEADING = 0.35
"""Between the lines of a cell, in line heights: boxes of lines have margins."""
SAME_EDGE = 0.6
OVERLAP = 0.5
"""How far boxes of neighbouring cells may reach into one another with their margins."""
MAX_LINE_HEIGHT_RATIO = 5
MIN_PICTURE_SHARE = 0.012
MIN_PICTURE_FILL = 0.6
BACKGROUND_STEP = 28
MIN_PAGE_SIDE = 64


def complete(seen: list[Region], ruled: list[Rect], lines: list[Line], pixels: Any) -> list[Region]:
    """All regions of a page, none of which lies mostly in another."""
    tables = [Region("table", rect, 1.0) for rect in ruled]
    for rect in aligned_tables([line for line in lines if not _inside(line.rect, ruled)]):
        model = [region.rect for region in seen if region.label == "table" and region.rect.overlap(rect) > 0]
        tables.append(Region("table", hull([rect, *model]), 0.9))
    kept = tables + [region for region in seen if not _inside(region.rect, [table.rect for table in tables], 0.5)]
    lines = plausible(lines)
    figures = [region.rect for region in kept if region.label in ("figure", "table")]
    pictures = [rect for rect in picture_areas(pixels, lines) if not _touches(rect, figures)]
    kept = [region for region in kept if not _inside(region.rect, pictures, 0.6)]
    return kept + [Region("figure", rect, 0.8) for rect in pictures]


def _inside(rect: Rect, others: list[Rect], share: float = 0.5) -> bool:
    return any(rect.share_in(other) > share for other in others)


def _touches(rect: Rect, others: list[Rect]) -> bool:
    return any(rect.overlap(other) > 0.3 * min(rect.area, other.area) for other in others)


def plausible(lines: list[Line]) -> list[Line]:
    """Without what the detector takes for a giant letter: a picture is no line of text."""
    usual = median([line.rect.height for line in lines] or [0.0])
    return [line for line in lines if line.rect.height <= MAX_LINE_HEIGHT_RATIO * usual]


# --- tables without rules ---------------------------------------------------------------------------------------------


def aligned_tables(lines: list[Line]) -> list[Rect]:
    """Runs of rows whose pieces stand in columns: three columns or more, or two that no running text would make."""
    rects = [line.rect for line in lines]
    rows = [[rects[i] for i in row] for row in bands_of(rects, rows_of(rects, range(len(rects))))]
    return [hull([rect for row in run for rect in row]) for run in _runs(rows) if _is_table(run)]


def _runs(rows: list[list[Rect]]) -> list[list[list[Rect]]]:
    """Rows of several pieces that follow one another, with the lone further lines of their cells between them."""
    runs: list[list[list[Rect]]] = []
    run: list[list[Rect]] = []
    for row in rows:
        if run and _follows(run[-1], row) and (len(row) > 1 or _goes_on(run, row[0])):
            run.append(row)
            continue
        runs.append(run)
        run = [row] if len(row) > 1 else []
    return [run for run in [*runs, run] if run]


def _follows(above: list[Rect], below: list[Rect]) -> bool:
    upper, lower = hull(above), hull(below)
    height = median(rect.height for rect in [*above, *below])
    return lower.y1 - upper.y2 <= MAX_ROW_GAP * height


def _goes_on(run: list[list[Rect]], piece: Rect) -> bool:
    """Whether a lone line is a cell's further line: closely below, from a column's left edge, within its width."""
    if piece.y1 - max(rect.y2 for rect in run[-1]) > MAX_LEADING * piece.height:
        return False
    column = [rect for row in run for rect in row if abs(rect.x1 - piece.x1) < SAME_EDGE * piece.height]
    others = [rect.x1 for row in run for rect in row if rect.x1 > piece.x1 + SAME_EDGE * piece.height]
    return bool(column) and piece.x2 < min(others, default=max(rect.x2 for rect in column) + piece.height)


def _is_table(run: list[list[Rect]]) -> bool:
    full = [row for row in map(_side_by_side, run) if len(row) > 1]
    if len(full) < MIN_TABLE_ROWS:
        return False
    rects = [rect for row in run for rect in row]
    height = median(rect.height for rect in rects)
    if sum(len(row) >= MIN_TABLE_COLUMNS for row in full) < 0.6 * len(full):
        return _is_list_of_pairs(full, height)
    columns = _side_by_side(rects)
    if len(columns) < MIN_TABLE_COLUMNS:
        return False
    filled = [sum(any(rect.overlap(column) for rect in row) for row in full) for column in columns]
    full_columns = sum(count >= 0.6 * len(full) for count in filled)
    return full_columns >= MIN_TABLE_COLUMNS and median(c.width for c in columns) <= MAX_COLUMN_WIDTH * height


def _side_by_side(rects: list[Rect]) -> list[Rect]:
    """Cells or columns from left to right: what stands above one another is one."""
    cells: list[Rect] = []
    for rect in sorted(rects, key=lambda rect: rect.x1):
        if cells and rect.x1 < cells[-1].x2 - OVERLAP * rect.height:
            cells[-1] = cells[-1].union(rect)
        else:
            cells.append(rect)
    return cells


def _is_list_of_pairs(rows: list[list[Rect]], height: float) -> bool:
    """Names and their values. Columns of prose are told by the left one, whose lines are all nearly as wide as it; a
    list by its numbers or bullets, which are no wider than high."""
    pairs = [row for row in rows if len(row) == 2]
    if len(pairs) < max(MIN_TABLE_ROWS, 0.8 * len(rows)):
        return False
    names, values = [row[0] for row in pairs], [row[1] for row in pairs]
    aligned = max(_share_near([getattr(r, side) for r in values], SAME_EDGE * height) for side in ("x1", "x2"))
    if aligned < 0.8 or _share_near([r.x1 for r in names], SAME_EDGE * height) < 0.6:
        return False
    if min(right.x1 for right in values) < max(left.x2 for left in names) - OVERLAP * height:
        return False
    usual, widest = median(r.width for r in names), max(r.width for r in names)
    is_even = sum(r.width >= 0.9 * widest for r in names) > 0.6 * len(names)
    return MIN_NAME_WIDTH * height <= usual <= (MAX_EVEN_WIDTH if is_even else MAX_COLUMN_WIDTH) * height


def _share_near(values: list[float], distance: float) -> float:
    """The share of values that lie near their median."""
    middle = median(values)
    return sum(abs(value - middle) <= distance for value in values) / len(values)


# --- pictures ---------------------------------------------------------------------------------------------------------


def picture_areas(pixels: Any, lines: list[Line]) -> list[Rect]:
    """Solid areas that differ from the page's ground and hold hardly any text."""
    cv2, numpy = vision()
    height, width = pixels.shape[:2]
    if min(height, width) < MIN_PAGE_SIDE:
        return []
    factor = max(1, round(max(height, width) / 500))
    small = cv2.resize(pixels, (max(1, width // factor), max(1, height // factor)), interpolation=cv2.INTER_AREA)
    ground = numpy.median(small.reshape(-1, 3), axis=0)
    ink = (numpy.abs(small.astype(numpy.int16) - ground).max(axis=2) > BACKGROUND_STEP).astype(numpy.uint8)
    for line in lines:
        left, top, right, bottom = (round(value / factor) for value in line.rect)
        ink[max(0, top) : bottom + 1, max(0, left) : right + 1] = 0
    ink = cv2.morphologyEx(ink, cv2.MORPH_CLOSE, numpy.ones((5, 5), numpy.uint8))
    ink = cv2.morphologyEx(ink, cv2.MORPH_OPEN, numpy.ones((9, 9), numpy.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    found = []
    for left, top, part_width, part_height, area in stats[1:count].tolist():
        if area < MIN_PICTURE_SHARE * ink.size or area < MIN_PICTURE_FILL * part_width * part_height:
            continue
        rect = Rect(left * factor, top * factor, (left + part_width) * factor, (top + part_height) * factor)
        if sum(line.rect.overlap(rect) for line in lines) < 0.25 * rect.area:
            found.append(rect)
    return found
