"""Flattens a photographed sheet: finds its four sides and undoes the perspective, so that rows and columns are
straight.

The sheet is the largest area that is lighter, or darker, than what is around it. It must hold the text, have a side
that is neither upright nor level, and leave the lines of text as parallel as they are: else the page stays as it is.
Bent sheets are not made flat. Knows nothing of reading. The thresholds are chosen; bench/ocr_real.py scores them all
together.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Any

from gateway.geometry.boxes import Line, Rect, around
from gateway.ocr.extras import vision

# The ground is sought on a page reduced so much each way: a sixteenth of the work.
REDUCTION = 4
# Side of the median's window, in reduced pixels: wider than two lines of print, so that ink is the smaller part.
WINDOW = 11
# Grounds that differ by more within one reduced pixel, of 256 levels, are of two regions.
EDGE_STEP = 24
# A pixel that differs from its ground by more is ink.
INK_STEP = 40
# A region with a smaller share of ink says nothing of its text: it is taken as dark or light like the page.
MIN_INK_SHARE = 0.004
# Levels from black to white, halved: what is darker is a dark ground where no ink tells.
MIDDLE = 128
# Reduced pixels; a smaller region is a part of a letter or picture and follows the one around it.
MIN_REGION = 30
# Pixels on both sides of an inverted region's edge in which a finer median, of EDGE_WINDOW pixels at full size,
# decides: the coarse one rounds corners by so much.
BAND, EDGE_WINDOW = 16, 9

# Rows whose finer medians are sought at a time.
STRIP = 64


def even_grounds(pixels: Any) -> Any:
    """The page with its light-on-dark regions inverted; the same array where there are none. `pixels`: BGR, 8 bits."""
    cv2, numpy = vision()
    height, width = pixels.shape[:2]
    if min(height, width) < REDUCTION * WINDOW:
        return pixels
    gray = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
    dark = _light_on_dark(gray)
    if dark is None:
        return pixels
    mask = cv2.resize(dark, (width, height), interpolation=cv2.INTER_NEAREST)
    kernel = numpy.ones((2 * BAND + 1, 2 * BAND + 1), numpy.uint8)
    sure, possible = cv2.erode(mask, kernel), cv2.dilate(mask, kernel)
    inverted = sure | _dark_in(gray, possible & (1 - sure))
    return cv2.copyTo(cv2.bitwise_not(pixels), inverted, pixels.copy())


def _dark_in(gray: Any, band: Any) -> Any:
    """A mask, 0 or 1, of the pixels of a band whose finer median is dark. The median is sought in strips of rows, and
    in each only where the band is: the same pixels as of the whole page's median."""
    cv2, numpy = vision()
    found = numpy.zeros_like(band)
    reach = EDGE_WINDOW // 2
    for top in range(0, len(band), STRIP):
        columns = numpy.flatnonzero(band[top : top + STRIP].any(axis=0))
        if not len(columns):
            continue
        left, right = int(columns[0]), int(columns[-1]) + 1
        above, before = min(top, reach), min(left, reach)
        part = gray[top - above : top + STRIP + reach, left - before : right + reach]
        strip = band[top : top + STRIP, left:right]
        height, width = strip.shape
        median = cv2.medianBlur(part, EDGE_WINDOW)[above : above + height, before : before + width]
        found[top : top + STRIP, left:right] = strip & (median < MIDDLE)
    return found


def _light_on_dark(gray: Any) -> Any:
    """A reduced mask, 0 or 1, of the regions to invert; None without any."""
    cv2, numpy = vision()
    height, width = gray.shape
    size = (max(1, width // REDUCTION), max(1, height // REDUCTION))
    small = cv2.resize(gray, size, interpolation=cv2.INTER_AREA)
    ground = cv2.medianBlur(small, WINDOW)
    full = cv2.resize(ground, (width, height), interpolation=cv2.INTER_NEAREST)
    lighter = _share(cv2.subtract(gray, full), size)
    darker = _share(cv2.subtract(full, gray), size)
    steps = cv2.morphologyEx(ground, cv2.MORPH_GRADIENT, numpy.ones((3, 3), numpy.uint8))
    flat = (steps <= EDGE_STEP).astype(numpy.uint8)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(flat, connectivity=4)
    areas = numpy.maximum(1.0, stats[:, cv2.CC_STAT_AREA])
    flags = labels.ravel()
    light, black, level = (
        numpy.bincount(flags, weights=array.ravel(), minlength=count) / areas for array in (lighter, darker, ground)
    )
    told = numpy.maximum(light, black) >= MIN_INK_SHARE
    is_dark = told & (light > black)
    biggest = 1 + int(areas[1:].argmax()) if count > 1 else 0
    is_dark |= ~told & (level < MIDDLE) & is_dark[biggest]
    if not is_dark[1:].any():
        return None
    seeds = (areas >= MIN_REGION)[labels] & (labels > 0)
    # Each remaining pixel, edges among them, follows the nearest region.
    _, nearest = cv2.distanceTransformWithLabels(
        (~seeds).astype(numpy.uint8), cv2.DIST_L1, 3, labelType=cv2.DIST_LABEL_PIXEL
    )
    owner = numpy.zeros(int(nearest.max()) + 1, numpy.int32)
    owner[nearest[seeds]] = labels[seeds]
    return is_dark[owner[nearest]].astype(numpy.uint8)


def _share(difference: Any, size: tuple[int, int]) -> Any:
    """The share of each reduced pixel that differs by more than INK_STEP."""
    cv2, numpy = vision()
    return cv2.resize((difference > INK_STEP).astype(numpy.float32), size, interpolation=cv2.INTER_AREA)


# DeepSeek-OCR's coordinates run from 0 to 999 each way (wire.ocr).
COORDINATE_MAX = 999
MIN_TILT_LINES = 3
# Reaches and steps of the search in degrees, each around the best of the one before.
TILT_STEPS = ((6.0, 0.5), (0.5, 0.1), (0.1, 0.02))
LINE_PX = 12  # height to which lines are reduced for the search: letters keep their rows
MIN_INK_STEP = 12  # levels below the mean around that are ink
MAX_INK_POINTS = 40_000
# Rows must be so much sharper along the tilt than level ones.
MIN_TILT_GAIN = 1.1
# Of lines so many times as wide as high, this share must run along the tilt: others are a page in perspective.
LONG_LINE, AGREEING_DEG, AGREEING_SHARE = 6, 1.0, 0.6
# A tilt that moves the end of the text by less, in line heights, is left alone: it mixes no rows, and turning blurs.
MATTERING_HEIGHTS = 0.3
# A line this much higher than wide runs up or down; a page does when such lines have this much more area than wide
# ones.
TALL_RATIO, TALL_AREA = 1.5, 2

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Warp:
    """How the working page was made from the image: quarter turns anticlockwise, then a sheet made flat, then a
    rotation about its middle.

    `width` and `height` are those of the image in working pixels, before any turn. `bent`: the 3 x 3 matrix back from
    the flat page (flatten.sheet_matrix, inverted); None where nothing was flattened.
    """

    width: int
    height: int
    quarter_turns: int = 0
    skew_deg: float = 0.0
    bent: Any = None

    def box(self, rect: Rect) -> tuple[int, int, int, int]:
        """The rectangle (of the working page) in the image that was sent: x1, y1, x2, y2, each 0..999."""
        x1, y1, x2, y2 = around(self._unturn(self._unflatten(self._unskew(corner))) for corner in rect.corners)
        width, height = self.width, self.height
        return _scaled(x1 / width), _scaled(y1 / height), _scaled(x2 / width), _scaled(y2 / height)

    @property
    def turned_size(self) -> tuple[int, int]:
        """Width and height after the quarter turns."""
        return (self.height, self.width) if self.quarter_turns % 2 else (self.width, self.height)

    def _unskew(self, point: Point) -> Point:
        if not self.skew_deg:
            return point
        width, height = self.turned_size
        return rotate(point, (width / 2, height / 2), self.skew_deg)

    def _unflatten(self, point: Point) -> Point:
        return point if self.bent is None else point_at(self.bent, point)

    def _unturn(self, point: Point) -> Point:
        """Undo anticlockwise quarter turns one by one: (x, y) of the turned page was (width - y, x) before."""
        x, y = point
        for turn in range(self.quarter_turns, 0, -1):
            before_width = self.width if turn % 2 else self.height
            x, y = before_width - y, x
        return x, y


def _scaled(share: float) -> int:
    return min(COORDINATE_MAX, max(0, round(share * COORDINATE_MAX)))


def rotate(point: Point, center: Point, angle_deg: float) -> Point:
    """The point rotated about `center`, clockwise on the screen, where y grows downwards."""
    angle = math.radians(angle_deg)
    dx, dy = point[0] - center[0], point[1] - center[1]
    return (
        center[0] + dx * math.cos(angle) - dy * math.sin(angle),
        center[1] + dx * math.sin(angle) + dy * math.cos(angle),
    )


def mostly_tall(lines: list[Line]) -> bool:
    """Whether most of the text, by area, runs up or down the page."""
    tall = sum(line.rect.area for line in lines if line.rect.height > TALL_RATIO * line.rect.width)
    wide = sum(line.rect.area for line in lines if line.rect.width > TALL_RATIO * line.rect.height)
    return tall > TALL_AREA * wide


def tilt_of(pixels: Any, lines: list[Line]) -> float:
    """The page's tilt in degrees, positive where lines fall to the right: the direction in which the ink of its lines
    gathers in the sharpest rows. 0 when it moves the end of no line by much. `pixels`: BGR, dark ink."""
    _, numpy = vision()
    xs, ys = _ink_of_lines(pixels, lines)
    if not len(xs):
        return 0.0
    level_rows = _sharpness(xs, ys, 0.0)
    boxes = median(math.degrees(math.atan2(b[1] - a[1], b[0] - a[0])) for a, b, *_ in (line.quad for line in lines))
    best = max((0.0, boxes), key=lambda start: _sharpness(xs, ys, start))
    for reach, step in TILT_STEPS:
        angles = best + numpy.arange(-reach, reach + step / 2, step)
        best = float(max(angles.tolist(), key=lambda angle: _sharpness(xs, ys, angle)))
    moved_heights = abs(math.tan(math.radians(best))) * float(xs.max() - xs.min()) / LINE_PX
    is_clear = _sharpness(xs, ys, best) > MIN_TILT_GAIN * level_rows
    long = [line.quad for line in lines if line.rect.width > LONG_LINE * math.dist(line.quad[0], line.quad[3])]
    angles = [math.degrees(math.atan2(b[1] - a[1], b[0] - a[0])) for a, b, *_ in long]
    agreeing = sum(abs(angle - best) < AGREEING_DEG for angle in angles)
    has_one = len(long) < MIN_TILT_LINES or agreeing >= AGREEING_SHARE * len(long)
    return best if is_clear and has_one and moved_heights > MATTERING_HEIGHTS else 0.0


def _ink_of_lines(pixels: Any, lines: list[Line]) -> tuple[Any, Any]:
    """The x and y of the ink inside the boxes of lines, on a page reduced so that lines are LINE_PX high."""
    cv2, numpy = vision()
    if len(lines) < MIN_TILT_LINES:
        return numpy.zeros(0), numpy.zeros(0)
    height = median(min(math.dist(line.quad[0], line.quad[3]), line.rect.height) for line in lines)
    scale = min(1.0, LINE_PX / max(1.0, height))
    gray = cv2.resize(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY), None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    window = 2 * LINE_PX + 1
    ink = cv2.adaptiveThreshold(gray, 1, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, window, MIN_INK_STEP)
    mask = numpy.zeros_like(ink)
    for line in lines:
        cv2.fillConvexPoly(mask, (numpy.float32(line.quad) * scale).astype(numpy.int32), 1)
    ys, xs = numpy.nonzero(ink & mask)
    every = 1 + len(xs) // MAX_INK_POINTS
    ratio = LINE_PX / max(1.0, height * scale)
    return xs[::every] * ratio, ys[::every] * ratio


def _sharpness(xs: Any, ys: Any, angle_deg: float) -> float:
    """How much rows of points along a direction differ from their neighbours, as a whole."""
    _, numpy = vision()
    rows = (ys - xs * math.tan(math.radians(angle_deg))).round().astype(numpy.int64)
    counts = numpy.bincount(rows - rows.min()).astype(numpy.float64)
    return float(numpy.square(numpy.diff(counts)).sum())


def _turned(pixels: Any, angle_deg: float) -> Any:
    cv2, _ = vision()
    height, width = pixels.shape[:2]
    # OpenCV's positive angles turn anticlockwise on the screen, which is what levels a falling line.
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), angle_deg, 1.0)
    return cv2.warpAffine(pixels, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


def level(pixels: Any, lines: list[Line], angle_deg: float) -> tuple[Any, list[Line]]:
    """The page and its lines rotated by minus the angle about the page's middle; same size, edges repeated. The lines
    are new and unread."""
    height, width = pixels.shape[:2]
    center = (width / 2, height / 2)
    return _turned(pixels, angle_deg), _carried(lines, lambda point: rotate(point, center, -angle_deg))


def _carried(lines: list[Line], to: Callable[[Point], Point]) -> list[Line]:
    """The lines with each corner taken elsewhere; new and unread."""
    quads = [tuple(to(point) for point in line.quad) for line in lines]
    return [Line(around(quad), quad) for quad in quads]


# Pages are reduced to about this side to look for the sheet; its corners are then right within a pixel or two of
# that.
REDUCED_SIDE_PX = 500
# Share of the picture that the sheet covers; one that covers all has no sides in it.
MIN_SHEET, MAX_SHEET = 0.25, 0.98
# Levels that part the sheet from what is around it, as shares of Otsu's, in the order in which they are tried: light
# that falls off over the sheet moves the right one.
LEVELS = (1.0, 0.85, 0.7, 1.15)
# Share of the lines that have their middle on the sheet.
MIN_HELD = 0.95
# How far the sheet's outline may be from four straight sides, as a share of its length.
MAX_BULGE = 0.02
# A side so far from upright or level makes a picture a photograph: cards on a screen have straight sides, found
# within half a degree.
MIN_TILT_DEG = 0.8
# An outline of which so much is upright or level is a window's on a screen, whose round corners and shadow only seem
# to tilt its sides; a page with an area of WINDOW_SHARE is no photograph. Measured: windows .91 to .99, with their
# shadow .53 to .75; photographed sheets .02 to .43.
MAX_LEVEL_SLOPE, MAX_LEVEL_SHARE, WINDOW_SHARE = 0.005, 0.5, 0.9
# A sheet has another ground around it: the picture, reduced to GLIMPSE_PX, differs by so many levels between its rim
# of RIM_PX and its middle. Spares other pages the search.
MIN_RIM_STEP, RIM_PX, GLIMPSE_PX = 20, 3, 96
# Lines so many times as wide as high show directions, as deskew.MIN_SKEW_ASPECT. Flattening must leave them
# parallel, or not make them differ by more than WORSE_DEG more on average; of several sheets the one with the most
# parallel lines is taken. On photographs of flat sheets .04 to .15 is left;
MIN_ASPECT, WORSE_DEG, PARALLEL_DEG = 6, 0.02, 0.2


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
    return _carried(lines, lambda point: point_at(matrix, point))


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
