"""Finds the regions that the layout model misses: tables without rules, by the alignment of their lines, and pictures,
by their pixels.

`complete` joins all sources. Where two overlap, the first of these wins: connected rules, aligned columns, pictures,
the model. Knows nothing of what the lines say. The thresholds are chosen; bench/ocr.py and bench/ocr_tables.py
score them all together, and no measurement of a single one is recorded. Lengths are in line heights unless their
explanation says otherwise.
"""

from statistics import median
from typing import Any

from gateway.ocr.extras import vision
from gateway.ocr.layout.code import Rhythm, code_regions
from gateway.ocr.layout.reading_order import bands_of, rows_of
from gateway.ocr.types import Line, Rect, Region, hull

MIN_TABLE_ROWS = 3
MIN_TABLE_COLUMNS = 3
"""Fewer aligned rows or columns happen by chance in addresses, captions and headers; two columns need the signs of
`_is_list_of_pairs`. At half such text becomes tables; at double most small tables are read as text."""
MAX_ROW_GAP = 2.6
"""Between two rows of a table. At half, tables with roomy rows fall apart; at double, text below joins the table."""
MAX_COLUMN_WIDTH = 14
"""Median width of a table's columns: the columns of running text are wider. At half, tables with
sentences in their cells are missed; at double, pages of three text columns are tables."""
MIN_NAME_WIDTH, MAX_EVEN_WIDTH = 1.4, 8
"""Width of the left of two columns, at least and, where all its lines are equally wide, at most. The first excludes
numbers and bullets of lists, the second a column of justified text. At half the first, bulleted lists become tables,
at double lists of short keys do not; the second is the same trade-off for narrow text columns."""
MAX_LEADING = 0.35
"""Between two lines of one cell; boxes have margins, so that it is small. At half, wrapped cells end the table; at
double, a paragraph right below a table joins its last cell."""
SAME_EDGE = 0.6
"""Edges that differ by less are aligned: a detector's boxes vary in their margins. At half, true columns are
missed; at double, ragged text looks aligned."""
OVERLAP = 0.5
"""How far boxes of neighbouring cells may overlap with their margins. At half, close columns merge; at double, lines
above one another, shifted a little, count as two columns."""
MOST, NEARLY_ALL = 0.6, 0.8
"""Shares of rows or edges that must fit: MOST allows headings, empty cells and totals in a table; NEARLY_ALL is for two
columns, where chance is likelier. At half, chance alignments pass; double is all of them and more."""
NEARLY_AS_WIDE = 0.9
"""A line so wide, as a share of the widest, is as wide: justified text with a word less at its end."""
MAX_LINE_HEIGHT_RATIO = 5
"""A line higher than so many median lines is a picture that the detector took for a letter. At half, large titles are
ignored when pictures are looked for; at double, pictures of that size stay hidden behind their false line."""
INSIDE_SHARE, IN_PICTURE_SHARE, TOUCH_SHARE = 0.5, 0.6, 0.3
"""A rectangle lies in another with the greater part of its area; a region gives way to a picture only with somewhat
more, as its lines may be read; a picture that shares TOUCH_SHARE of the smaller area with a known figure or table is
that figure. At half, neighbours swallow one another; at double, regions are reported twice."""
PICTURE_SIDE_PX = 500
"""Pages are reduced to about this side to look for pictures: enough for their outlines, in little time. At half, small
logos vanish; at double the closing of 5 pixels no longer bridges a photograph's gaps."""
MIN_PICTURE_SHARE = 0.012
"""Least area of a picture, as a share of the page: a logo of about a ninth of each side. At half, seals and smudges are
pictures; at double, logos are not."""
MIN_PICTURE_FILL = 0.6
"""Least filled share of a picture's box: a frame or a net of rules is not solid. At half, frames are pictures; at
double (above 1) there are none."""
MAX_PICTURE_TEXT = 0.25
"""Share of a picture's area that lines may cover; see `blocks.MAX_FIGURE_TEXT_SHARE`."""
BACKGROUND_STEP = 28
"""Greatest difference from the ground, in 8-bit levels of one channel, that is still ground: shadows and the noise of a
scan. At half, shaded paper is a picture; at double, pale photographs are not."""
MIN_PAGE_SIDE = 64
"""Pixels; a smaller image has no room for a picture beside text."""


def complete(seen: list[Region], ruled: list[Rect], lines: list[Line], pixels: Any, rhythm: Rhythm) -> list[Region]:
    """All regions of a page, none mostly inside another. `seen`: the layout model's; `ruled`: boxes around connected
    rules; `lines`: the detector's, unread; `pixels`: the page, BGR, 8 bits;
    `rhythm`: of a line at a pitch."""
    code = code_regions(lines, rhythm)
    blocks = [region.rect for region in code]
    lines = [line for line in lines if not _inside(line.rect, blocks)]
    return code + _others(
        [region for region in seen if not _meets(region.rect, blocks)],
        [rect for rect in ruled if not _meets(rect, blocks)],
        lines,
        pixels,
        blocks,
    )


def _meets(rect: Rect, blocks: list[Rect]) -> bool:
    """Whether a rectangle is mostly in a block of code, or a block in it."""
    return any(rect.overlap(block) > INSIDE_SHARE * min(rect.area, block.area) for block in blocks)


def _others(seen: list[Region], ruled: list[Rect], lines: list[Line], pixels: Any, code: list[Rect]) -> list[Region]:
    tables = [Region("table", rect, 1.0) for rect in ruled]
    for rect in aligned_tables([line for line in lines if not _inside(line.rect, ruled)]):
        model = [region.rect for region in seen if region.label == "table" and region.rect.overlap(rect) > 0]
        tables.append(Region("table", hull([rect, *model]), 0.9))
    regions = tables + [region for region in seen if not _inside(region.rect, [table.rect for table in tables])]
    lines = plausible(lines)
    figures = [region.rect for region in regions if region.label in ("figure", "table")]
    pictures = [rect for rect in picture_areas(pixels, lines) if not _touches(rect, figures) and not _meets(rect, code)]
    regions = [region for region in regions if not _inside(region.rect, pictures, IN_PICTURE_SHARE)]
    return regions + [Region("figure", rect, 0.8) for rect in pictures]


def _inside(rect: Rect, others: list[Rect], share: float = INSIDE_SHARE) -> bool:
    return any(rect.share_in(other) > share for other in others)


def _touches(rect: Rect, others: list[Rect]) -> bool:
    return any(rect.overlap(other) > TOUCH_SHARE * min(rect.area, other.area) for other in others)


def plausible(lines: list[Line]) -> list[Line]:
    """The lines without those far higher than usual: the detector takes some pictures for a giant letter."""
    usual = median([line.rect.height for line in lines] or [0.0])
    return [line for line in lines if line.rect.height <= MAX_LINE_HEIGHT_RATIO * usual]


# --- tables without rules ---------------------------------------------------------------------------------------------


def aligned_tables(lines: list[Line]) -> list[Rect]:
    """Boxes around runs of rows whose pieces are aligned in columns: three or more, or two unlike running text."""
    rects = [line.rect for line in lines]
    rows = [[rects[i] for i in row] for row in bands_of(rects, rows_of(rects, range(len(rects))))]
    return [hull([rect for row in run for rect in row]) for run in _runs(rows) if _is_table(run)]


def _runs(rows: list[list[Rect]]) -> list[list[list[Rect]]]:
    """Neighbouring rows of several pieces, with the single further lines of their cells between them."""
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
    """Whether a single line is a cell's further line: closely below, from a column's left edge, within its width."""
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
    if sum(len(row) >= MIN_TABLE_COLUMNS for row in full) < MOST * len(full):
        return _is_list_of_pairs(full, height)
    columns = _side_by_side(rects)
    if len(columns) < MIN_TABLE_COLUMNS:
        return False
    filled = [sum(any(rect.overlap(column) for rect in row) for row in full) for column in columns]
    full_columns = sum(count >= MOST * len(full) for count in filled)
    return full_columns >= MIN_TABLE_COLUMNS and median(c.width for c in columns) <= MAX_COLUMN_WIDTH * height


def _side_by_side(rects: list[Rect]) -> list[Rect]:
    """Cells or columns from left to right: rectangles above one another become one."""
    cells: list[Rect] = []
    for rect in sorted(rects, key=lambda rect: rect.x1):
        if cells and rect.x1 < cells[-1].x2 - OVERLAP * rect.height:
            cells[-1] = cells[-1].union(rect)
        else:
            cells.append(rect)
    return cells


def _is_list_of_pairs(rows: list[list[Rect]], height: float) -> bool:
    """Whether two columns are names and their values. In two columns of prose the lines of the left one are nearly
    equally wide; in a list the left column is numbers or bullets, which are about as wide as high."""
    pairs = [row for row in rows if len(row) == 2]
    if len(pairs) < max(MIN_TABLE_ROWS, NEARLY_ALL * len(rows)):
        return False
    names, values = [row[0] for row in pairs], [row[1] for row in pairs]
    aligned = max(_share_near([getattr(r, side) for r in values], SAME_EDGE * height) for side in ("x1", "x2"))
    if aligned < NEARLY_ALL or _share_near([r.x1 for r in names], SAME_EDGE * height) < MOST:
        return False
    if min(right.x1 for right in values) < max(left.x2 for left in names) - OVERLAP * height:
        return False
    usual, widest = median(r.width for r in names), max(r.width for r in names)
    is_even = sum(r.width >= NEARLY_AS_WIDE * widest for r in names) > MOST * len(names)
    return MIN_NAME_WIDTH * height <= usual <= (MAX_EVEN_WIDTH if is_even else MAX_COLUMN_WIDTH) * height


def _share_near(values: list[float], distance: float) -> float:
    """The share of values that lie near their median."""
    middle = median(values)
    return sum(abs(value - middle) <= distance for value in values) / len(values)


# --- pictures ---------------------------------------------------------------------------------------------------------


def picture_areas(pixels: Any, lines: list[Line]) -> list[Rect]:
    """Boxes of solid areas that differ from the page's ground and hold hardly any text. `pixels`: BGR, 8 bits."""
    cv2, numpy = vision()
    height, width = pixels.shape[:2]
    if min(height, width) < MIN_PAGE_SIDE:
        return []
    factor = max(1, round(max(height, width) / PICTURE_SIDE_PX))
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
        if sum(line.rect.overlap(rect) for line in lines) < MAX_PICTURE_TEXT * rect.area:
            found.append(rect)
    return found
