"""Lists side by side, as slides have them: each is read as a whole, with its heading, like a card.

Their rows stand at the same heights, so that by geometry alone they are a table of two columns; the bullets at the left
edges tell them apart. Works on unread lines; knows no pixels. The thresholds are chosen; bench/ocr_real.py scores them
all together. Lengths are in line heights.
"""

from collections.abc import Callable
from statistics import median

from gateway.geometry.boxes import Line, Rect, hull

SAME_EDGE = 0.6
"""Left edges that differ by less are one: boxes have margins."""
MIN_BULLETS, MIN_LISTS = 2, 2
"""A list has so many bullets at one left edge, and there are so many lists."""
MIN_APART = 6.0
"""Left edges of two lists are further apart: levels of one list are not."""
MIN_BESIDE = 0.5
"""Lists stand side by side with this share of the lower one's height."""
MAX_LEADING, MAX_HEADING = 1.2, 2.0
"""Greatest gap above a further line of an item, and below a list's heading. At half, wrapped items and headings set
apart are left outside; at double, the next paragraph joins."""
OUTDENT = 1.5
"""How far left of its bullets a list's heading begins at most."""

BulletAt = Callable[[Line], float | None]
"""The x of a line's bullet, in or before its box; None where there is none."""


def lists_beside(lines: list[Line], bullet_at: BulletAt) -> list[Rect]:
    """The boxes of lists side by side, each with its heading; none where a line reaches over two."""
    if len(lines) < MIN_LISTS * MIN_BULLETS:
        return []
    height = median(line.rect.height for line in lines)
    bullets = ((line, bullet_at(line)) for line in lines if _has_company(line, lines))
    edges = _edges([line.rect._replace(x1=at) for line, at in bullets if at is not None], height)
    lists = [edge for edge in edges if len(edge) >= MIN_BULLETS]
    lists = [one for one in lists if any(_is_beside(one, other, height) for other in lists if other is not one)]
    lists = _with_levels(lists, height)
    if len(lists) < MIN_LISTS:
        return []
    lefts = [min(rect.x1 for rect in rects) - SAME_EDGE * height for rects in lists]
    found = [
        _extent(rects, [line.rect for line in lines], right, height)
        for rects, right in zip(lists, [*lefts[1:], float("inf")], strict=True)
    ]
    is_apart = all(one.overlap(other) == 0 for n, one in enumerate(found) for other in found[:n])
    crossing = (
        any(0.1 < line.rect.share_in(rect) < 0.9 for rect in found) for line in lines if line.rect.height < 2 * height
    )
    return found if is_apart and not any(crossing) else []


def _has_company(line: Line, lines: list[Line]) -> bool:
    """Whether another line stands beside this one, far enough for a list of its own."""
    rect = line.rect
    return any(
        abs(other.rect.x1 - rect.x1) > MIN_APART * rect.height
        and abs(other.rect.center_y - rect.center_y) < rect.height
        for other in lines
    )


def _edges(rects: list[Rect], height: float) -> list[list[Rect]]:
    """The rectangles gathered by their left edges."""
    edges: list[list[Rect]] = []
    for rect in sorted(rects, key=lambda rect: rect.x1):
        if edges and rect.x1 - edges[-1][-1].x1 <= SAME_EDGE * height:
            edges[-1].append(rect)
        else:
            edges.append([rect])
    return edges


def _with_levels(lists: list[list[Rect]], height: float) -> list[list[Rect]]:
    """The lists from the left, the levels of one list as one."""
    whole: list[list[Rect]] = []
    for rects in sorted(lists, key=lambda rects: rects[0].x1):
        if whole and rects[0].x1 - whole[-1][0].x1 <= MIN_APART * height:
            whole[-1] = whole[-1] + rects
        else:
            whole.append(rects)
    return whole


def _is_beside(one: list[Rect], other: list[Rect], height: float) -> bool:
    first, second = hull(one), hull(other)
    shared = min(first.y2, second.y2) - max(first.y1, second.y1)
    return abs(first.x1 - second.x1) > MIN_APART * height and shared > MIN_BESIDE * min(first.height, second.height)


def _extent(bullets: list[Rect], rects: list[Rect], right: float, height: float) -> Rect:
    """A list's box: its items with their further lines, those that stand beside nothing too, and its heading. `right`:
    where the next list begins."""
    box = hull(bullets)
    left = box.x1 - SAME_EDGE * height
    inside = [rect for rect in rects if left <= rect.x1 < right]
    box = hull([box, *(rect for rect in inside if box.y1 <= rect.center_y <= box.y2)])
    for rect in sorted(inside, key=lambda rect: rect.y1):
        if rect.center_y > box.y2 and rect.y1 - box.y2 < MAX_LEADING * height:
            box = box.union(rect)
    above = [rect for rect in rects if rect.center_y < box.y1 and left - OUTDENT * height <= rect.x1 < right]
    nearest = max(above, key=lambda rect: rect.y2, default=None)
    if nearest is not None and nearest.x2 < right and box.y1 - nearest.y2 < MAX_HEADING * height:
        box = box.union(nearest)
    return box
