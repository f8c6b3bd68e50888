"""Finds the ruled lines of a table: its grid, and the regions of a page that have one."""

from itertools import pairwise
from typing import Any

from gateway.geometry.boxes import Rect
from gateway.geometry.tables import Grid
from gateway.ocr.extras import vision

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
