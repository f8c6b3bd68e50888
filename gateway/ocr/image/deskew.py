"""Finds how far a page is turned, levels it, and maps boxes back to the image that was sent.

A scan may lie on its side or be tilted by a degree, and columns, rows and rules are only found on a level page. Callers
get boxes in the frame of their own image (upright by EXIF). Knows nothing of reading: which way up text is, `engine`
finds out.
"""

import math
from dataclasses import dataclass
from statistics import median
from typing import Any

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.extras import vision
from gateway.ocr.image.flatten import point_at

COORDINATE_MAX = 999
"""DeepSeek-OCR's coordinates run from 0 to 999 each way (wire.ocr)."""
MAX_SKEW_DEG = 25.0
"""A larger tilt is a misreading of slanted decoration. Chosen: photographs are held within it. At half, carelessly
taken ones stay tilted; at double, corners of the levelled page would leave the picture."""
MIN_SKEW_LINES = 3
MIN_SKEW_ASPECT = 6
MAX_SKEW_LINES = 40
"""The skew is the median of the longest lines, of at least three and at most 40, that are six times as long as high: a
descender at one end tilts the box of a short line. At half, short lines mislead; at double, receipts and forms have too
few lines to be levelled. More than 40 change the median no longer."""
AGREEING_DEG, AGREEING_SHARE = 1.0, 0.6
"""So many of these lines must be within this angle of the median: else the page is curved or has no one direction. At
half, photographs of bent pages stay tilted; at double the angle, curved pages are turned by chance."""
MATTERING_HEIGHTS = 0.5
"""A skew that moves the end of the text by less, in line heights, is left alone: it mixes no rows, and turning blurs.
At double, the ends of neighbouring rows mix."""
TALL_RATIO, TALL_AREA = 1.5, 2
"""A line this much higher than wide runs up or down; a page does when such lines have this much more area than wide
ones. At 1, square boxes (single letters) would decide; at double, mixed pages are never turned."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Frame:
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
        corners = [(rect.x1, rect.y1), (rect.x2, rect.y1), (rect.x2, rect.y2), (rect.x1, rect.y2)]
        points = [self._unturn(self._unflatten(self._unskew(corner))) for corner in corners]
        xs, ys = [x / self.width for x, _ in points], [y / self.height for _, y in points]
        return _scaled(min(xs)), _scaled(min(ys)), _scaled(max(xs)), _scaled(max(ys))

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


def skew_of(lines: list[Line]) -> float:
    """The page's skew in degrees (positive: lines fall to the right), by its longest lines.

    0 when it is too small to matter, too large to believe, or the lines disagree.
    """
    angles = []
    for line in lines:
        (x1, y1), (x2, y2), (x3, y3), (x4, y4) = line.quad
        length = math.dist(line.quad[0], line.quad[1])
        if length > MIN_SKEW_ASPECT * math.dist(line.quad[0], line.quad[3]):
            angles.append((length, math.degrees(math.atan2((y2 + y3) - (y1 + y4), (x2 + x3) - (x1 + x4)))))
    if len(angles) < MIN_SKEW_LINES:
        return 0.0
    longest = sorted(angles, reverse=True)[:MAX_SKEW_LINES]
    angle = median(value for _, value in longest)
    agreeing = sum(abs(value - angle) < AGREEING_DEG for _, value in longest)
    span = max(line.rect.x2 for line in lines) - min(line.rect.x1 for line in lines)
    moved = abs(math.tan(math.radians(angle))) * span
    matters = moved > MATTERING_HEIGHTS * median(min(line.rect.height, line.rect.width) for line in lines)
    return angle if matters and abs(angle) <= MAX_SKEW_DEG and agreeing >= AGREEING_SHARE * len(longest) else 0.0


def tilt_of(pixels: Any, lines: list[Line]) -> float:
    """The page's skew (`skew_of`), 0 where its rows would be less sharp without: the boxes of lines of code all lean
    one way, as they begin with a quotation mark and end with a comma. `pixels`: BGR."""
    angle_deg = skew_of(lines)
    if not angle_deg:
        return 0.0
    cv2, _ = vision()
    gray = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
    return angle_deg if _sharpness(_turned(gray, angle_deg)) > _sharpness(gray) else 0.0


def _sharpness(gray: Any) -> float:
    """How much rows of pixels differ from their neighbours, as a whole."""
    _, numpy = vision()
    return float(numpy.square(numpy.diff(gray.mean(axis=1, dtype=numpy.float64))).sum())


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
    levelled = []
    for line in lines:
        quad = tuple(rotate(point, center, -angle_deg) for point in line.quad)
        xs, ys = [x for x, _ in quad], [y for _, y in quad]
        levelled.append(Line(Rect(min(xs), min(ys), max(xs), max(ys)), quad))
    return _turned(pixels, angle_deg), levelled
