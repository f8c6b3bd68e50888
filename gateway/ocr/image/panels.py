"""Finds the panels of a screen: boxes between straight edges, whose text is read apart.

Cells of tables and bars of programs are none. The thresholds are chosen.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

from gateway.geometry.boxes import Rect
from gateway.ocr.extras import vision

# Levels of gray, of 256, between two pixels with one between them, that make an edge: a white card on pale gray
# differs by 6 and more.
EDGE_STEP = 4
# Least length of a straight edge, in pixels and as a share of the picture's shorter side: longer than the strokes of
# letters.
MIN_SIDE_PX, MIN_SIDE_SHARE = 32, 0.03
# An edge that is thicker is no line but texture, or a card's shadow: of that, the places count whose step is the
# greatest of CREST_PX across the edge.
MAX_THICK_PX, CREST_PX = 6, 5
# Sides may end so far before the corner, which may be round.
CORNER_PX = 26
# Sides that differ by less end at one height.
SAME_PX = 4
# Edges of each direction that are looked at, the longest first; pairs of them are compared. A screen has under a
# hundred; more are a picture's or a large table's.
MAX_EDGES = 120
# Rows of text in a panel: a field, a button or a stripe of a table with one is a piece of text like others.
MIN_ROWS = 2
# A panel that covers more of the picture parts nothing.
MAX_PAGE_SHARE = 0.97
# A line is cut by a side when more than this share of it lies on either hand: then there is no panel.
CUT_SHARE = 0.15
# So many panels that touch one another, side by side, are a table's cells; RIM_CELLS if one reaches the picture's
# rim, as the bars of a program do.
CELLS, RIM_CELLS = 2, 8
# Rows of so many pieces, nearer than NEAR heights to a side from both hands, are rows of one striped table.
NEAR, ROW_PIECES = 0.9, 3
# A panel inside another that shares one or two of its sides is a cell; with three it is a bar.
BAR_SIDES = 3


class Edge(NamedTuple):
    """A straight edge: its place across its direction, and where it begins and ends along it, in pixels."""

    at: float
    start: float
    end: float


def find_panels(gray: Any, level: list[Edge], lines: Sequence[Rect]) -> list[Rect]:
    """The boxes of a page in gray, 8 bits, that hold rows of text, the largest first. `level`: its level edges;
    `lines`: boxes of lines of text."""
    cv2, _ = vision()
    height, width = gray.shape
    if min(height, width) < 2 * MIN_SIDE_PX or len(lines) < MIN_ROWS:
        return []
    upright = level_edges(cv2.transpose(gray))
    # The rim ends sides as an edge does.
    upright = [Edge(0.0, 0.0, height), Edge(width, 0.0, height), *upright]
    level = [Edge(0.0, 0.0, width), Edge(height, 0.0, width), *level]
    pairs = combinations(sorted(upright), 2)
    found = [(left, right, rect) for left, right in pairs if (rect := _between(left, right, level, width)) is not None]
    boxes = [rect for rect in _distinct(_nearest(found, width)) if rect.area <= MAX_PAGE_SHARE * width * height]
    return _without_cells([rect for rect in boxes if _holds(rect, lines)], Rect(0, 0, width, height))


def level_edges(gray: Any) -> list[Edge]:
    """The long straight level edges of a page in gray, 8 bits, the longest MAX_EDGES."""
    cv2, numpy = vision()
    height, width = gray.shape
    step = numpy.zeros((height, width), numpy.uint8)
    step[1:-1] = cv2.absdiff(gray[2:], gray[:-2])
    _, mask = cv2.threshold(step, EDGE_STEP - 1, 1, cv2.THRESH_BINARY)
    least = numpy.ones((1, max(MIN_SIDE_PX, round(MIN_SIDE_SHARE * min(height, width)))), numpy.uint8)
    runs = cv2.morphologyEx(mask, cv2.MORPH_OPEN, least)
    thin, thick = _by_thickness(runs)
    if thick.any():
        crest = (step == cv2.dilate(step, numpy.ones((CREST_PX, 1), numpy.uint8))) & (thick > 0)
        crests = cv2.morphologyEx(crest.astype(numpy.uint8), cv2.MORPH_OPEN, least)
        thin += _by_thickness(crests)[0]
    return sorted(thin, key=lambda edge: edge.start - edge.end)[:MAX_EDGES]


def _by_thickness(runs: Any) -> tuple[list[Edge], Any]:
    """The runs of a mask that are thin as edges, and a mask of the others."""
    cv2, numpy = vision()
    thick = numpy.zeros_like(runs)
    # Most rows hold no edge: of several such rows one is kept, which parts the runs as all of them do.
    held = runs.max(axis=1) > 0
    rows = numpy.flatnonzero(held | numpy.append(held[1:], True))  # the last one too: there are always some
    count, labels, stats, _ = cv2.connectedComponentsWithStats(runs[rows], connectivity=4)
    thin = [
        Edge(int(rows[top]) + height / 2, left, left + length)
        for left, top, length, height, _ in stats[1:count].tolist()
        if height <= MAX_THICK_PX
    ]
    is_thick = stats[:, 3] > MAX_THICK_PX
    is_thick[0] = False
    if is_thick.any():
        thick[rows] = is_thick[labels]
    return thin, thick


def _between(left: Edge, right: Edge, level: list[Edge], width: int) -> Rect | None:
    """The panel between two upright edges of one height, or of one and the rim, joined above and below; or None."""
    sides = [edge for edge in (left, right) if 0 < edge.at < width]
    if right.at - left.at < MIN_SIDE_PX or not sides:
        return None
    top, bottom = sides[0].start, sides[0].end
    if not _end_alike(sides[0], sides[-1]):
        return None
    first = left.at + (CORNER_PX if left.at > 0 else SAME_PX)
    last = right.at - (CORNER_PX if right.at < width else SAME_PX)
    joining = [edge.at for edge in level if edge.start <= first and edge.end >= last]
    above = [at for at in joining if top - CORNER_PX <= at <= top + SAME_PX]
    below = [at for at in joining if bottom - SAME_PX <= at <= bottom + CORNER_PX]
    if not above or not below or min(below) - max(above) < MIN_SIDE_PX:
        return None
    return Rect(left.at, max(above), right.at, min(below))


def _end_alike(one: Edge, other: Edge) -> bool:
    """Whether two sides have one height: the same ends, or the same middle where a shadow blurs the corners of one."""
    top, bottom = one.start - other.start, one.end - other.end
    is_soft = abs(top + bottom) <= 2 * SAME_PX and max(abs(top), abs(bottom)) <= CORNER_PX / 2
    return is_soft or max(abs(top), abs(bottom)) <= SAME_PX


def _nearest(found: list[tuple[Edge, Edge, Rect]], width: int) -> list[Rect]:
    """The panels of edges that are each the other's nearest; the rim may be the side of several."""
    rights: dict[Edge, float] = {}
    lefts: dict[Edge, float] = {}
    for left, right, _ in found:
        rights[left] = min(rights.get(left, right.at), right.at)
        lefts[right] = max(lefts.get(right, left.at), left.at)
    return [
        rect
        for left, right, rect in found
        if (left.at == 0 or rights[left] == right.at) and (right.at == width or lefts[right] == left.at)
    ]


def _distinct(rects: list[Rect]) -> list[Rect]:
    """The rectangles, the largest first, without those found twice: by both edges of a frame's stroke."""
    kept: list[Rect] = []
    for rect in sorted(rects, key=lambda rect: -rect.area):
        if not any(all(abs(a - b) <= 2 * SAME_PX for a, b in zip(rect, other, strict=True)) for other in kept):
            kept.append(rect)
    return kept


def _holds(rect: Rect, lines: Sequence[Rect]) -> bool:
    """Whether a panel has rows of text inside and cuts no line."""
    shares = [line.share_in(rect) for line in lines]
    inside = [line for line, share in zip(lines, shares, strict=True) if share >= 1 - CUT_SHARE]
    if not inside or any(CUT_SHARE < share < 1 - CUT_SHARE for share in shares):
        return False
    outside = [line for line, share in zip(lines, shares, strict=True) if share <= CUT_SHARE]
    if any(_goes_on(inside, outside, rect, edge) for edge in (rect.y1, rect.y2)):
        return False
    return max(line.center_y for line in inside) - min(line.center_y for line in inside) > inside[0].height / 2


def _goes_on(inside: list[Rect], outside: list[Rect], rect: Rect, edge: float) -> bool:
    """Whether rows of pieces go on over a level side, as those of a striped table do: near on both hands."""
    height = inside[0].height
    near = [
        [line for line in part if line.x1 < rect.x2 and line.x2 > rect.x1 and _away(line, edge) < NEAR * height]
        for part in (inside, outside)
    ]
    return min(map(len, near)) >= ROW_PIECES


def _away(line: Rect, y: float) -> float:
    """How far a line's nearer rim is from a height."""
    return min(abs(line.y1 - y), abs(line.y2 - y))


def _without_cells(rects: list[Rect], page: Rect) -> list[Rect]:
    """The rectangles without those that lie side by side, or in a corner of another, like a table's cells."""
    groups: list[list[Rect]] = []
    for rect in rects:
        near = [group for group in groups if any(_touch(rect, other) for other in group)]
        groups = [group for group in groups if group not in near] + [[rect, *(r for group in near for r in group)]]
    cells = {rect for group in groups if len(group) >= (RIM_CELLS if _at_rim(group, page) else CELLS) for rect in group}
    return [rect for rect in rects if rect not in cells and not any(_is_cell_of(rect, other) for other in rects)]


def _touch(one: Rect, other: Rect) -> bool:
    """Whether two rectangles share a side from outside."""
    beside = min(one.y2, other.y2) - max(one.y1, other.y1) > SAME_PX
    stacked = min(one.x2, other.x2) - max(one.x1, other.x1) > SAME_PX
    return (beside and min(abs(one.x2 - other.x1), abs(other.x2 - one.x1)) <= SAME_PX) or (
        stacked and min(abs(one.y2 - other.y1), abs(other.y2 - one.y1)) <= SAME_PX
    )


def _is_cell_of(inner: Rect, outer: Rect) -> bool:
    shared = sum(abs(a - b) <= SAME_PX for a, b in zip(inner, outer, strict=True))
    return inner.area < outer.area and inner.share_in(outer) > 1 - CUT_SHARE and 0 < shared < BAR_SIDES


def _at_rim(rects: list[Rect], page: Rect) -> bool:
    return any(r.x1 <= page.x1 or r.y1 <= page.y1 or r.x2 >= page.x2 or r.y2 >= page.y2 for r in rects)
