"""Finds the lone marks of a table that the detector of lines leaves out: a single digit, a dash, between two columns.

A mark is a small piece of ink outside all lines, as high as the table's letters (or a dash), on one level with another
line and above or below one. The thresholds are chosen; bench/ocr_tables.py scores them all together.
Lengths are in heights of the table's lines.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise
from statistics import median
from typing import Any, NamedTuple

from gateway.geometry.boxes import Line, PageBlock, Rect, Table, Word, hull
from gateway.geometry.tables import Grid, build_table
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


class Boxes(NamedTuple):
    """What has four sides: panels, which hold rows of text, and pictures, which hold none; the largest first."""

    panels: list[Rect]
    pictures: list[Rect]


def find_boxes(gray: Any, level: list[Edge], lines: Sequence[Rect]) -> Boxes:
    """The panels and pictures of a page in gray, 8 bits. `level`: its level edges; `lines`: boxes of lines of text."""
    cv2, _ = vision()
    height, width = gray.shape
    if min(height, width) < 2 * MIN_SIDE_PX or len(lines) < MIN_ROWS:
        return Boxes([], [])
    upright = level_edges(cv2.transpose(gray))
    # The rim ends sides as an edge does.
    upright = [Edge(0.0, 0.0, height), Edge(width, 0.0, height), *upright]
    level = [Edge(0.0, 0.0, width), Edge(height, 0.0, width), *level]
    pairs = combinations(sorted(upright), 2)
    found = [(left, right, rect) for left, right in pairs if (rect := _between(left, right, level, width)) is not None]
    boxes = [rect for rect in _distinct(_nearest(found, width)) if rect.area <= MAX_PAGE_SHARE * width * height]
    pictures = [rect for rect in boxes if not any(line.overlap(rect) for line in lines)]
    panels = [rect for rect in boxes if _holds(rect, lines)]
    page = Rect(0, 0, width, height)
    return Boxes(_without_cells(panels, page), _without_cells(pictures, page))


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


# A rule runs over this share of the table's side, in one piece of this share, and at least so many pixels: longer
# than the strokes of letters.
MIN_RULE_SHARE = 0.25
MIN_RULE_PX = 15
# Rules closer than this are one: double rules, and the two edges of a thick one.
MERGE_PX = 6
# Share of a cell's side that a stroke must cover to be its wall: print breaks, and scans tilt.
PRESENT_SHARE = 0.6
# More lines than this are a hatching or graph paper, whose grid would take long to build.
MAX_RULES = 120
# A pixel is dark when it is this many levels below the mean of a window of so many pixels: window wider than a
# stroke, difference above paper noise.
THRESHOLD_WINDOW, THRESHOLD_BELOW = 25, 10
# A rule of cells is thinner than this, a stroke of 150 dpi and more.
THIN_PX = 7
# Least size of a net of rules, as shares of the page: as wide as a column of a small table, as high as two rows.
NET_WIDTH_SHARE, NET_HEIGHT_SHARE = 0.1, 0.02
# Pixels added around a table, so that rules at its rim are seen; nothing narrower than two such margins holds a
# grid.
MIN_PART_PX = 16
AROUND_PX = 8
# Room beyond the last rule that is a further column (plus AROUND_PX) or row, as share of the width and in pixels:
# more than the margin alone.
OPEN_SIDE_SHARE, OPEN_END_PX = 0.04, 14


def find_grid(gray: Any, rect: Rect) -> Grid | None:
    """The grid inside `rect` and AROUND_PX around it; None with fewer than two horizontal rules. `gray`: 8 bits.

    With horizontal rules alone the grid has one column, and its rows still show where cells end.
    """
    cv2, numpy = vision()
    margin = AROUND_PX
    top, left = max(0, int(rect.y1) - margin), max(0, int(rect.x1) - margin)
    part = gray[top : int(rect.y2) + margin, left : int(rect.x2) + margin]
    if min(part.shape[:2]) < MIN_PART_PX:
        return None
    dark = cv2.adaptiveThreshold(
        part, 1, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, THRESHOLD_WINDOW, THRESHOLD_BELOW
    )
    height, width = dark.shape
    across = cv2.morphologyEx(
        dark | _thin(part), cv2.MORPH_OPEN, numpy.ones((1, max(MIN_RULE_PX, int(width * MIN_RULE_SHARE))), numpy.uint8)
    )
    down = cv2.morphologyEx(
        dark, cv2.MORPH_OPEN, numpy.ones((max(MIN_RULE_PX, int(height * MIN_RULE_SHARE)), 1), numpy.uint8)
    )
    ys = _positions(across.sum(axis=1), MIN_RULE_SHARE * width)
    xs = _positions(down.sum(axis=0), MIN_RULE_SHARE * height)
    if len(ys) < 2 or len(ys) + len(xs) > MAX_RULES:
        return None
    if len(xs) < 2:
        none = tuple((False,) for _ in ys[1:])
        return Grid((left, left + width), tuple(y + top for y in ys), none, tuple((True,) for _ in ys[1:]))
    xs = _with_open_sides(xs, width)
    short = numpy.ones((max(5, int(min(numpy.diff(ys).min(), 400) * 0.6)), 1), numpy.uint8)
    down = cv2.morphologyEx(dark, cv2.MORPH_OPEN, short)
    return Grid(
        tuple(x + left for x in xs),
        tuple(y + top for y in ys),
        tuple(tuple(_present(down, ys[r], ys[r + 1], x, vertical=True) for x in xs[1:]) for r in range(len(ys) - 1)),
        tuple(tuple(_present(across, xs[c], xs[c + 1], y, vertical=False) for c in range(len(xs) - 1)) for y in ys[1:]),
    )


def _thin(gray: Any) -> Any:
    """A mask of what is darker than the pixels just above and below: pale rules, which text near them hides from the
    mean of a window."""
    cv2, numpy = vision()
    hollow = cv2.morphologyEx(gray, cv2.MORPH_BLACKHAT, numpy.ones((THIN_PX, 1), numpy.uint8))
    return (hollow >= THRESHOLD_BELOW).astype(numpy.uint8)


def ruled_regions(gray: Any) -> list[Rect]:
    """Boxes around the connected rules on a page that draw two rows and two columns at least. `gray`: 8 bits."""
    cv2, numpy = vision()
    height, width = gray.shape
    dark = cv2.adaptiveThreshold(
        gray, 1, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, THRESHOLD_WINDOW, THRESHOLD_BELOW
    )
    across = cv2.morphologyEx(dark, cv2.MORPH_OPEN, numpy.ones((1, max(25, width // 16)), numpy.uint8))
    down = cv2.morphologyEx(dark, cv2.MORPH_OPEN, numpy.ones((max(20, height // 50), 1), numpy.uint8))
    net = cv2.dilate(across | down, numpy.ones((5, 5), numpy.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(net, connectivity=8)
    found: list[tuple[Grid, Rect]] = []
    for left, top, part_width, part_height, _ in stats[1:count].tolist():
        if part_width < NET_WIDTH_SHARE * width or part_height < NET_HEIGHT_SHARE * height:
            continue
        rect = Rect(left, top, left + part_width, top + part_height)
        grid = find_grid(gray, rect)
        if grid is not None and min(_wide_gaps(grid.xs), _wide_gaps(grid.ys)) >= 2:
            found.append((grid, rect))
    return [rect for grid, rect in found if not any(_is_frame(grid, rect, *other) for other in found)]


def _wide_gaps(rules: tuple[float, ...]) -> int:
    """How many rows or columns between rules have room for a letter: the others are margins of frames in frames."""
    return sum(second - first > OPEN_END_PX for first, second in pairwise(rules))


def _is_frame(grid: Grid, rect: Rect, inner: Grid, inside: Rect) -> bool:
    """Whether a net only frames another: the rim of a sheet or screen around a table, which adds a row and a column on
    each side at most."""
    is_around = inside != rect and inside.share_in(rect) > 1 / 2
    return is_around and grid.row_count <= inner.row_count + 2 and grid.column_count <= inner.column_count + 2


def _positions(profile: Any, least: float) -> list[float]:
    """Middles of the runs where a profile is at least `least`; runs at most MERGE_PX apart are one rule."""
    found: list[list[int]] = []
    for index, value in enumerate(profile.tolist()):
        if value < least:
            continue
        if found and index - found[-1][1] <= MERGE_PX:
            found[-1][1] = index
        else:
            found.append([index, index])
    return [(first + last) / 2 for first, last in found]


def _with_open_sides(xs: list[float], width: int) -> list[float]:
    """Adds the outer sides of a table whose outer columns have no walls."""
    least = OPEN_SIDE_SHARE * width
    sides = list(xs)
    if sides[0] > least + AROUND_PX:
        sides.insert(0, 0.0)
    if sides[-1] < width - least - AROUND_PX:
        sides.append(float(width))
    return sides


def _present(strokes: Any, start: float, end: float, at: float, *, vertical: bool) -> bool:
    """Whether a stroke runs along most of a cell's side."""
    first, last = int(start) + 3, max(int(start) + 4, int(end) - 3)
    low, high = max(0, int(at) - MERGE_PX), int(at) + MERGE_PX + 1
    part = strokes[first:last, low:high] if vertical else strokes[low:high, first:last].T
    return bool(part.size) and float(part.any(axis=1).mean()) >= PRESENT_SHARE


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
# `ink` takes away, as print is.
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
