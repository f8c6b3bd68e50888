"""Small blocks of text side by side, far apart: the addresses of an invoice, the columns of a letter's foot.

Their lines often stand at the same heights, so that they look like a table without rules; but they are set as closely
as text, each from one edge, with wide gaps between them, and mostly differ in their number of lines. Each is read as a
whole, like a card. Pure geometry; knows neither pixels nor text. The thresholds are chosen; bench/ocr_real.py scores
them all together. Lengths are in line heights.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from gateway.geometry.boxes import Rect, hull

MAX_LEADING, SAME_EDGE, SAME_HEIGHT = 0.45, 0.5, 0.65
"""Lines of one block are no further apart, begin (or end) at edges that differ by no more, and the lower is at least
this share of the higher. At half, blocks fall into lines; at double, rows of a table are the lines of a block."""
MIN_LINES, MAX_LINES = 2, 8
"""Lines of a block; longer ones are columns of text or of a table."""
MIN_APART = 3.5
"""Gap between two blocks. At half, the columns of narrow tables are blocks; at double, those of a letter's foot are
read across."""
MIN_WIDTH = 5.0
"""Width of a block; narrower ones are values, which stay on the rows of their names."""
MIN_BLOCKS = 2
MIN_LONE_LINES = 3
"""Lines from which a block is read by itself, where at most half of them have text far away at their height."""
MAX_GRID_LINES = 3
"""Blocks whose lines all stand at the same heights are rows of a table where there are more lines than this; two that
are set as closely as text are addresses."""
TEXT_LEADING, TEXT_APART = 0.1, 2.5
"""Lines set as closely as a paragraph's: the gap between their boxes, which have margins; rows of tables have two times
as much and more (measured on 40 drawn pages). Blocks of such lines may stand nearer to one another. At half the first,
two addresses of one number of lines are a table; at double, small tables without rules are addresses. At half the
second, names part from their values; at double, addresses side by side are one."""
HEAD_GAP, OUTDENT = 0.8, 1.5
"""Largest gap between a heading and its block, and how far to the left of it the heading may begin, in its heights."""
MAX_PAGE_LINES = 250
"""A page with more lines is no letter or invoice; the search compares all pairs."""
SAME_ROW = 0.25
"""Middles of lines that differ by less stand at one height."""
MIN_BESIDE = 0.5
"""Blocks stand side by side with this share of the lower one's height."""


def islands(rects: Sequence[Rect]) -> list[Rect]:
    """The boxes of blocks side by side. `rects`: of the lines of a page that are in no panel."""
    if len(rects) > MAX_PAGE_LINES:
        return []
    blocks = [block for block in _blocks(rects) if MIN_LINES <= len(block) <= MAX_LINES]
    found: list[Rect] = []
    for row in map(_clusters, _side_by_side(blocks)):
        boxes = [hull(block) for block in row]
        around = hull(boxes)
        between = [r for r in rects if r.overlap(around) > 0 and not any(r in block for block in row)]
        if not between and _are_islands(row):
            found += _headed(boxes, rects)
    for block in blocks:
        box = hull(block)
        if len(block) >= MIN_LONE_LINES and not any(box.overlap(other) > 0 for other in found):
            beside = _beside(block, rects)
            if beside is not None and not any(beside.overlap(other) > 0 for other in found):
                found += [box, beside]
    return found


def _headed(boxes: list[Rect], rects: Sequence[Rect]) -> list[Rect]:
    """The boxes, each with the heading right above it where every one has one."""
    heads = []
    for box in boxes:
        above = [r for r in rects if r.y2 - r.height / 2 < box.y1 and r.x1 < box.x2 and r.x2 > box.x1]
        head = max(above, key=lambda rect: rect.y2, default=None)
        if (
            head is None
            or box.y1 - head.y2 > HEAD_GAP * head.height
            or not 0 <= box.x1 - head.x1 <= OUTDENT * head.height
        ):
            return boxes
        heads.append(head)
    return [box.union(head) for box, head in zip(boxes, heads, strict=True)] if len(set(heads)) == len(heads) else boxes


def _beside(block: list[Rect], rects: Sequence[Rect]) -> Rect | None:
    """The box of what stands far beside a block, on other lines than the block's; None where nothing does, or it
    reaches further up or down."""
    box, height = hull(block), median(rect.height for rect in block)
    near = [r for r in rects if r not in block and box.y1 < r.center_y < box.y2]
    if len(near) < MIN_LINES:
        return None
    around = hull(near)
    gap = max(around.x1 - box.x2, box.x1 - around.x2)
    above, below = (
        any(r not in near and r not in block and side - height < r.center_y < side + height for r in rects)
        for side in (box.y1, box.y2)
    )
    shared = sum(any(abs(r.center_y - line.center_y) <= SAME_ROW * height for r in near) for line in block)
    return around if gap >= MIN_APART * height and not (above or below) and shared <= len(block) / 2 else None


def _blocks(rects: Sequence[Rect]) -> list[list[Rect]]:
    """The lines gathered into blocks: each joins the block whose last line it stands right below."""
    blocks: list[list[Rect]] = []
    for rect in sorted(rects, key=lambda rect: (rect.y1, rect.x1)):
        above = [block for block in blocks if _goes_on(block[-1], rect)]
        if above:
            max(above, key=lambda block: block[-1].y2).append(rect)
        else:
            blocks.append([rect])
    return blocks


def _goes_on(above: Rect, below: Rect) -> bool:
    height = min(above.height, below.height)
    if height < SAME_HEIGHT * max(above.height, below.height) or below.center_y <= above.y2 - height / 2:
        return False
    is_aligned = min(abs(above.x1 - below.x1), abs(above.x2 - below.x2)) <= SAME_EDGE * height
    return is_aligned and below.y1 - above.y2 <= MAX_LEADING * height


def _side_by_side(blocks: list[list[Rect]]) -> list[list[list[Rect]]]:
    """Blocks at one height, from the left; two and more."""
    rows: list[list[list[Rect]]] = []
    for block in sorted(blocks, key=lambda block: hull(block).y1):
        box = hull(block)
        row = next((row for row in rows if all(_is_beside(box, hull(other)) for other in row)), None)
        if row is None:
            rows.append([block])
        else:
            row.append(block)
    return [sorted(row, key=lambda block: hull(block).x1) for row in rows if len(row) > 1]


def _clusters(row: list[list[Rect]]) -> list[list[Rect]]:
    """The blocks of a row; those set as text and not far apart are one: names with their values beside an address."""
    clusters = [row[0]]
    for block in row[1:]:
        near = hull(block).x1 - hull(clusters[-1]).x2 < TEXT_APART * median(rect.height for rect in block)
        if near and _is_text(block) and _is_text(clusters[-1]):
            clusters[-1] = [*clusters[-1], *block]
        else:
            clusters.append(block)
    return clusters


def _is_beside(one: Rect, other: Rect) -> bool:
    shared = min(one.y2, other.y2) - max(one.y1, other.y1)
    apart = min(one.x2, other.x2) <= max(one.x1, other.x1)
    return apart and shared >= MIN_BESIDE * min(one.height, other.height)


def _are_islands(row: list[list[Rect]]) -> bool:
    height = median(rect.height for block in row for rect in block)
    boxes = [hull(block) for block in row]
    is_text = all(map(_is_text, row))
    least = TEXT_APART if is_text else MIN_APART
    if len(row) < MIN_BLOCKS or any(box.width < MIN_WIDTH * height for box in boxes):
        return False
    if any(right.x1 - left.x2 < least * height for left, right in pairwise(boxes)):
        return False
    is_grid = all(_is_grid(one, other, height) for one, other in pairwise(row))
    return not is_grid or len(row[0]) <= MAX_GRID_LINES or (is_text and len(row) == MIN_BLOCKS)


def _is_text(block: list[Rect]) -> bool:
    """Whether lines follow one another as closely as those of a paragraph. Of several columns each line may have one
    beside it."""
    height = median(rect.height for rect in block)
    ordered = sorted(block, key=lambda rect: (rect.x1 // (TEXT_APART * height), rect.y1))
    gaps = [below.y1 - above.y2 for above, below in pairwise(ordered) if below.y1 > above.center_y]
    return bool(gaps) and median(gaps) <= TEXT_LEADING * height


def _is_grid(one: list[Rect], other: list[Rect], height: float) -> bool:
    """Whether every line of two blocks stands at the height of one of the other."""
    return all(
        any(abs(a.center_y - b.center_y) <= SAME_ROW * height for b in second)
        for first, second in ((one, other), (other, one))
        for a in first
    )
