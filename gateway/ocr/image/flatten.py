"""Flattens a photographed sheet: finds its four sides and undoes the perspective, so that rows and columns are
straight.

The sheet is the largest area that is lighter, or darker, than what is around it. It must hold the text, have a side
that is neither upright nor level, and leave the lines of text as parallel as they are: else the page stays as it is.
Bent sheets are not made flat. Knows nothing of reading. The thresholds are chosen; bench/ocr_real.py scores them all
together."""

import math
from itertools import product
from statistics import median
from typing import Any

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.extras import vision

REDUCED_SIDE_PX = 500
"""Pages are reduced to about this side to look for the sheet; its corners are then right within a pixel or two of
that. At half, they are off by a line's height; at double, it takes four times as long and finds the same."""
MIN_SHEET, MAX_SHEET = 0.25, 0.98
"""Share of the picture that the sheet covers; one that covers all has no sides in it."""
LEVELS = (1.0, 0.85, 0.7, 1.15)
"""Levels that part the sheet from what is around it, as shares of Otsu's, in the order in which they are tried: light
that falls off over the sheet moves the right one. At half as many, dim photographs keep their perspective."""
MIN_HELD = 0.95
"""Share of the lines that have their middle on the sheet. At half, a card on a page is taken for the sheet."""
MAX_BULGE = 0.02
"""How far the sheet's outline may be from four straight sides, as a share of its length. At half, worn corners hide the
sheet; at double, bent sheets count as flat."""
MIN_TILT_DEG = 0.8
"""A side so far from upright or level makes a picture a photograph: cards on a screen have straight sides, found within
half a degree. At half, these are bent; at double, tables of slight perspective keep it."""
MAX_LEVEL_SLOPE, MAX_LEVEL_SHARE, WINDOW_SHARE = 0.005, 0.5, 0.9
"""An outline of which so much is upright or level is a window's on a screen, whose round corners and shadow only seem
to tilt its sides; a page with an area of WINDOW_SHARE is no photograph. Measured: windows .91 to .99, with their shadow
.53 to .75; photographed sheets .02 to .43. At half, photographs keep their perspective; at double (above 1), windows
are bent."""
MIN_RIM_STEP, RIM_PX, GLIMPSE_PX = 20, 3, 96
"""A sheet has another ground around it: the picture, reduced to GLIMPSE_PX, differs by so many levels between its rim
of RIM_PX and its middle. Spares other pages the search. At double, pale desks are missed."""
MIN_ASPECT, WORSE_DEG, PARALLEL_DEG = 6, 0.02, 0.2
"""Lines so many times as wide as high show directions, as deskew.MIN_SKEW_ASPECT. Flattening must leave them parallel,
or not make them differ by more than WORSE_DEG more on average; of several sheets the one with the most parallel lines
is taken. On photographs of flat sheets .04 to .15 is left; at half, noise of short lines keeps their perspective; at
double, a sheet with a wrong corner bends the page."""


def sheet_matrix(pixels: Any, lines: list[Line]) -> Any | None:
    """The 3 x 3 matrix that takes the page's points to those of a flat page of the same size; None where there is no
    sheet in perspective. `pixels`: BGR, 8 bits."""
    if not lines or not _has_surroundings(pixels):
        return None
    best, least = None, max(_spread(lines) + WORSE_DEG, PARALLEL_DEG)
    for corners, level_share in _sheets(pixels):
        held = sum(_is_inside(line.rect, corners) for line in lines)
        if held < MIN_HELD * len(lines):
            continue
        if level_share >= WINDOW_SHARE:
            return None
        if level_share >= MAX_LEVEL_SHARE or _tilt(corners) < MIN_TILT_DEG:
            continue
        matrix = _matrix(corners, pixels.shape[1], pixels.shape[0])
        after = _spread(moved(lines, matrix))
        if after <= least:
            best, least = matrix, after
    return best


def flattened(pixels: Any, matrix: Any) -> Any:
    """The page, seen from straight above; same size, edges repeated."""
    cv2, _ = vision()
    size = (pixels.shape[1], pixels.shape[0])
    return cv2.warpPerspective(pixels, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


def moved(lines: list[Line], matrix: Any) -> list[Line]:
    """The lines where they are on the flat page; new and unread."""
    found = []
    for line in lines:
        quad = tuple(point_at(matrix, point) for point in line.quad)
        xs, ys = [x for x, _ in quad], [y for _, y in quad]
        found.append(Line(Rect(min(xs), min(ys), max(xs), max(ys)), quad))
    return found


def point_at(matrix: Any, point: tuple[float, float]) -> tuple[float, float]:
    """Where a 3 x 3 matrix takes a point."""
    x, y, scale = (float(row[0]) * point[0] + float(row[1]) * point[1] + float(row[2]) for row in matrix)
    return x / scale, y / scale


def _sheets(pixels: Any) -> list[tuple[Any, float]]:
    """The corners, clockwise from the top left, of what may be the sheet: the largest light and the largest dark area,
    at each of LEVELS, where it has four straight sides; and the share of its outline that is upright or level."""
    cv2, numpy = vision()
    height, width = pixels.shape[:2]
    factor = max(1.0, max(height, width) / REDUCED_SIDE_PX)
    size = (max(1, round(width / factor)), max(1, round(height / factor)))
    gray = cv2.medianBlur(cv2.cvtColor(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY), 7)
    found = []
    middle, _ = cv2.threshold(gray, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    for part, kind in product(LEVELS, (cv2.THRESH_BINARY, cv2.THRESH_BINARY_INV)):
        _, mask = cv2.threshold(gray, part * middle, 255, kind)
        mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, numpy.ones((9, 9), numpy.uint8))
        outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        outline = cv2.convexHull(max(outlines, key=cv2.contourArea)) if outlines else None
        if outline is None or not MIN_SHEET * gray.size <= cv2.contourArea(outline) <= MAX_SHEET * gray.size:
            continue
        corners = cv2.approxPolyDP(outline, MAX_BULGE * cv2.arcLength(outline, True), True).reshape(-1, 2)
        if len(corners) == 4:
            ratio = numpy.float32([width / size[0], height / size[1]])
            found.append((_in_order(corners.astype(numpy.float32)) * ratio, _level_share(outline)))
    return found


def _level_share(outline: Any) -> float:
    """The share of a convex outline's length that is upright or level."""
    _, numpy = vision()
    points = outline.reshape(-1, 2).astype(float)
    steps = numpy.abs(numpy.roll(points, -1, axis=0) - points)
    lengths = numpy.hypot(steps[:, 0], steps[:, 1])
    is_level = steps.min(axis=1) <= MAX_LEVEL_SLOPE * steps.max(axis=1)
    return float(lengths[is_level].sum() / max(1.0, lengths.sum()))


def _in_order(corners: Any) -> Any:
    """Four corners clockwise from the top left."""
    _, numpy = vision()
    middle = corners.mean(axis=0)
    clockwise = corners[numpy.argsort(numpy.arctan2(corners[:, 1] - middle[1], corners[:, 0] - middle[0]))]
    return numpy.roll(clockwise, -int((clockwise - middle).sum(axis=1).argmin()), axis=0)


def _matrix(corners: Any, width: int, height: int) -> Any:
    """From the sheet to a rectangle of its mean width and height at its middle, within the page."""
    cv2, numpy = vision()
    top, right, bottom, left = (float(math.dist(corners[n], corners[(n + 1) % 4])) for n in range(4))
    half_x, half_y = min(width, (top + bottom) / 2) / 2, min(height, (left + right) / 2) / 2
    x = min(max(float(corners[:, 0].mean()), half_x), width - half_x)
    y = min(max(float(corners[:, 1].mean()), half_y), height - half_y)
    flat = [[x - half_x, y - half_y], [x + half_x, y - half_y], [x + half_x, y + half_y], [x - half_x, y + half_y]]
    return cv2.getPerspectiveTransform(numpy.float32(corners), numpy.float32(flat))


def _is_inside(rect: Rect, corners: Any) -> bool:
    cv2, _ = vision()
    return bool(cv2.pointPolygonTest(corners, (rect.center_x, rect.center_y), False) >= 0)


def _has_surroundings(pixels: Any) -> bool:
    """Whether the rim of the picture is of another brightness than its middle."""
    cv2, numpy = vision()
    small = cv2.cvtColor(cv2.resize(pixels, (GLIMPSE_PX, GLIMPSE_PX), interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
    rim = numpy.ones(small.shape, bool)
    rim[RIM_PX:-RIM_PX, RIM_PX:-RIM_PX] = False
    quarter = GLIMPSE_PX // 4
    middle = small[quarter:-quarter, quarter:-quarter]
    return abs(float(numpy.median(small[rim])) - float(numpy.median(middle))) >= MIN_RIM_STEP


def _tilt(corners: Any) -> float:
    """How far the sides are from upright and level, at most, in degrees."""
    sides = [corners[(n + 1) % 4] - corners[n] for n in range(4)]
    return max(math.degrees(math.atan2(min(abs(x), abs(y)), max(abs(x), abs(y)))) for x, y in sides)


def _spread(lines: list[Line]) -> float:
    """How much the directions of the lines differ from the usual one on average, by length, in degrees."""
    angles: list[tuple[float, float]] = []
    for line in lines:
        (x1, y1), (x2, y2), (x3, y3), (x4, y4) = line.quad
        length = math.dist(line.quad[0], line.quad[1])
        if length > MIN_ASPECT * math.dist(line.quad[0], line.quad[3]):
            angles.append((math.degrees(math.atan2((y2 + y3) - (y1 + y4), (x2 + x3) - (x1 + x4))), length))
    if not angles:
        return 0.0
    usual = median(angle for angle, _ in angles)
    return sum(abs(angle - usual) * length for angle, length in angles) / sum(length for _, length in angles)
