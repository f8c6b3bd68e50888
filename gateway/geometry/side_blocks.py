"""Two blocks of text side by side that are read one after the other, as the two addresses at the head of a letter.

Pure geometry on rows; knows neither pixels nor text. The thresholds are chosen; bench/ocr_real.py scores them all
together.
"""

from collections.abc import Sequence

from gateway.geometry.boxes import Rect, hull

MIN_APART_HEIGHTS, MIN_APART_SHARE = 8, 0.22
"""Two blocks beside one another, as the two addresses at the head of a letter, are further apart than this, in heights
and as a share of the area's width. At half, forms lose their rows; at double, addresses are read across."""
MIN_BLOCK_ROWS, SAME_LEFT, MIN_RAGGED = 2, 0.4, 1.0
"""Each of the blocks has so many rows from one left edge (within SAME_LEFT heights), and one has rows that differ in
width by more than MIN_RAGGED heights: numbers, set to the right, are the values of their rows. At half, sums are read
as a block; at double, short addresses are read across."""
SAME_RIGHT = 0.2
"""Pieces whose right edges differ by less end at one, like sums in letters of two sizes."""
SAME_LINE = 0.3
"""A small line is beside a large one when this share of its height is."""

Row = list[int]


def blocks_apart(rects: Sequence[Rect], rows: list[Row]) -> list[list[Row]]:
    """The rows, parted where two blocks far apart lie side by side: first the left block's, then the right one's."""
    width = hull([rects[i] for row in rows for i in row]).width
    parts: list[list[Row]] = [[]]
    start = 0
    while start < len(rows):
        end, cut = _block_end(rects, rows, start, width)
        if end == start:
            end, cut = _tall_end(rects, rows, start, width)
        if end == start:
            parts[-1].append(rows[start])
            start += 1
            continue
        run = rows[start:end]
        left = [[i for i in row if rects[i].center_x < cut] for row in run]
        right = [[i for i in row if rects[i].center_x >= cut] for row in run]
        parts += [[row for row in left if row], [row for row in right if row], []]
        start = end
    return [part for part in parts if part]


def _block_end(rects: Sequence[Rect], rows: list[Row], start: int, width: float) -> tuple[int, float]:
    """The end of the run of rows from `start` that are two blocks apart, and an x between these; `start` for none."""
    if len(rows[start]) != 2:
        return start, 0.0
    first, second = (rects[i] for i in rows[start])
    apart = max(MIN_APART_HEIGHTS * first.height, MIN_APART_SHARE * width)
    end, edges = start, (first.x1, second.x1)
    sides: tuple[list[Rect], list[Rect]] = ([], [])
    while end < len(rows):
        row = [rects[i] for i in rows[end]]
        places = [_edge_of(rect, edges) for rect in row]
        above = rects[rows[end - 1][0]]
        if None in places or len(set(places)) < len(row) or (end > start and row[0].y1 - above.y2 > above.height):
            break
        for rect, place in zip(row, places, strict=True):
            sides[place or 0].append(rect)
        end += 1
    left, right = sides
    if min(len(left), len(right)) < MIN_BLOCK_ROWS or not (_is_ragged(left) or _is_ragged(right)) or _are_sums(right):
        return start, 0.0
    most, least = max(rect.x2 for rect in left), min(rect.x1 for rect in right)
    return (end, (most + least) / 2) if least - most >= apart else (start, 0.0)


def _tall_end(rects: Sequence[Rect], rows: list[Row], start: int, width: float) -> tuple[int, float]:
    """The same for a large line with several small ones far beside it, as a firm's name and its address."""
    pieces = [rects[i] for i in rows[start]]
    end = start + 1
    while end < len(rows):
        following = [rects[i] for i in rows[end]]
        tall = max((*pieces, *following), key=lambda rect: rect.height)
        if any(min(tall.y2, rect.y2) - max(tall.y1, rect.y1) < SAME_LINE * rect.height for rect in following):
            break
        pieces += following
        end += 1
    tall = max(pieces, key=lambda rect: rect.height)
    beside = [rect for rect in pieces if rect is not tall]
    apart = max(MIN_APART_HEIGHTS * min(rect.height for rect in pieces), MIN_APART_SHARE * width)
    if len(beside) < MIN_BLOCK_ROWS or len(beside) < end - start - 1 or any(r.height >= tall.height for r in beside):
        return start, 0.0
    around = hull(beside)
    left, right = (tall.x2, around.x1) if tall.x1 < around.x1 else (around.x2, tall.x1)
    return (end, (left + right) / 2) if right - left >= apart else (start, 0.0)


def _edge_of(rect: Rect, edges: tuple[float, float]) -> int | None:
    """Which of the two left edges a piece begins at; None for neither."""
    return next((n for n, edge in enumerate(edges) if abs(rect.x1 - edge) <= SAME_LEFT * rect.height), None)


def _are_sums(rects: list[Rect]) -> bool:
    """Whether pieces end at one right edge rather than begin at one left edge."""
    lefts, rights = [rect.x1 for rect in rects], [rect.x2 for rect in rects]
    return max(rights) - min(rights) <= SAME_RIGHT * rects[0].height and max(lefts) - min(lefts) > max(rights) - min(
        rights
    )


def _is_ragged(rects: list[Rect]) -> bool:
    widths = [rect.width for rect in rects]
    return max(widths) - min(widths) > MIN_RAGGED * rects[0].height
