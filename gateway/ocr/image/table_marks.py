"""Reads a table with the lone marks that the detector of lines leaves out: a single digit, a dash, between two columns.

A mark is a small piece of ink outside all lines, as high as the table's letters (or a dash), on one level with another
line and above or below one. The thresholds are chosen; bench/ocr_tables.py scores them all together.
Lengths are in heights of the table's lines.
"""

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

from gateway.geometry.boxes import Line, PageBlock, Rect, Table, Word, hull
from gateway.geometry.tables import build_table
from gateway.ocr.extras import vision
from gateway.ocr.image.grids import find_grid

# Height of a mark: a digit has about .6 of a line's box, which has margins.
MIN_HEIGHT, MAX_HEIGHT = 0.38, 1.05
# Width of a dash, and its greatest thickness.
MIN_DASH, MAX_DASH, DASH_THICK = 0.2, 1.1, 0.2
# Width of a mark, whose pieces are at most PIECES_APART apart: two or three digits.
DASH = "–"
MAX_WIDTH, PIECES_APART = 2.0, 0.4
# How far a mark's middle may be from that of another line of its row.
OFF_LEVEL = 0.3
# Room around a mark: the recogniser expects some.
MARGIN = 0.2
# A pixel is ink when it is so many levels below the mean of a window of so many pixels: clearer than the rules that
# `grids` looks for, as print is.
MARK_WINDOW, MARK_BELOW = 41, 20
# A mark read with less certainty is left out: a piece of a picture or a rule reads as `1` at .7.
MARK_FIT = 0.85
# More are texture. a page of a timetable has so many dashes; each takes two milliseconds to read.
MAX_MARKS = 60
# Pieces of ink of which marks are made, each compared with all others; more are texture.
MAX_PIECES = 1_000


def read_table(
    gray: Any, block: PageBlock, read: Callable[[list[Line]], Iterable[Line]], part: Callable[[Line], Line]
) -> tuple[list[Line], Table | None]:
    """A table block's lines with their words parted, and its table, None where it is none. Marks are looked for, and
    read, where the table has empty cells. `read`: reads lines; `part`: parts the words of one."""
    lines = [part(line) for line in block.lines]
    grid = find_grid(gray, block.rect)
    table = build_table(grid, lines)
    if table is None or all(cell.text for cell in table.cells):
        return lines, table
    marks = [part(mark) for mark in read(missed_marks(gray, block.rect, lines)) if mark.text and mark.fit >= MARK_FIT]
    return ([*lines, *marks], build_table(grid, [*lines, *marks])) if marks else (lines, table)


def missed_marks(gray: Any, rect: Rect, lines: Sequence[Line]) -> list[Line]:
    """The unread lines of a table's lone marks, none where there are more than MAX_MARKS. `gray`: 8 bits; `rect`: the
    table; `lines`: those inside, measured."""
    cv2, numpy = vision()
    rects = [line.rect for line in lines]
    level = [rect for rect in rects if rect.width > rect.height]
    left, top = max(0, int(rect.x1)), max(0, int(rect.y1))
    part = gray[top : int(rect.y2), left : int(rect.x2)]
    if len(level) < 3 or not part.size:
        return []
    height = median(rect.height for rect in level)
    window = max(MARK_WINDOW, int(height) | 1)
    dark = cv2.adaptiveThreshold(part, 1, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, window, MARK_BELOW)
    for line in lines:
        x1, y1, x2, y2 = (round(value) for value in line.rect)
        dark[max(0, y1 - top) : max(0, y2 - top), max(0, x1 - left - 1) : max(0, x2 - left + 1)] = 0
    count, _, stats, _ = cv2.connectedComponentsWithStats(dark, connectivity=8)
    boxes = stats[1:count, :4].astype(numpy.float64)
    # What touches the rim of the table belongs to its frame or ground.
    ends = boxes[:, :2] + boxes[:, 2:]
    boxes = boxes[(boxes[:, :2] > 0).all(axis=1) & (ends < dark.shape[::-1]).all(axis=1)]
    wide, high = boxes[:, 2] / height, boxes[:, 3] / height
    is_mark = (high >= MIN_HEIGHT) & (high <= MAX_HEIGHT) & (wide <= MAX_WIDTH)
    is_dash = (high <= DASH_THICK) & (wide >= MIN_DASH) & (wide <= MAX_DASH) & (boxes[:, 3] >= 1)
    boxes = boxes[is_mark | is_dash]
    if len(boxes) > MAX_PIECES:
        return []
    found = [Rect(left + x, top + y, left + x + w, top + y + h) for x, y, w, h in boxes.tolist()]
    marks = [mark for mark in _joined(found, PIECES_APART * height) if _is_in_table(mark, rects, height)]
    return [_line(mark, height) for mark in marks] if len(marks) <= MAX_MARKS else []


def _joined(boxes: list[Rect], near: float) -> list[Rect]:
    """Boxes beside one another on one level as one."""
    joined: list[Rect] = []
    for box in sorted(boxes):
        last = next((n for n, other in enumerate(joined) if _is_beside(other, box, near)), None)
        if last is None:
            joined.append(box)
        else:
            joined[last] = hull([joined[last], box])
    return joined


def _is_beside(one: Rect, other: Rect, near: float) -> bool:
    return other.x1 - one.x2 <= near and min(one.y2, other.y2) > max(one.y1, other.y1)


def _is_in_table(mark: Rect, rects: list[Rect], height: float) -> bool:
    """Whether a mark is in a row and a column of lines, and touches none of them."""
    if mark.width > MAX_WIDTH * height:
        return False
    around = Rect(mark.x1 - PIECES_APART * height, mark.y1, mark.x2 + PIECES_APART * height, mark.y2)
    if any(around.overlap(rect) > 0 for rect in rects):
        return False
    in_row = any(abs(rect.center_y - mark.center_y) <= OFF_LEVEL * height for rect in rects)
    reach = (mark.x1 - height / 2, mark.x2 + height / 2)
    return in_row and any(rect.x1 < reach[1] and rect.x2 > reach[0] for rect in rects)


def _line(mark: Rect, height: float) -> Line:
    """A line as high as the others around a mark; a dash is read by its shape."""
    half = max(height / 2, mark.height / 2 + MARGIN * height)
    side = 2 * MARGIN * height
    x1, y1, x2, y2 = mark.x1 - side, mark.center_y - half, mark.x2 + side, mark.center_y + half
    rect = Rect(x1, y1, x2, y2)
    if mark.height <= DASH_THICK * height:  # a recogniser would see the Chinese numeral one
        return Line(rect, rect.corners, text=DASH, score=1.0, fit=1.0, words=(Word(DASH, rect),), is_read=True)
    return Line(rect, rect.corners)
