"""Turns a page so that its text stands upright and level, and leads boxes back to the page as it came.

A scan may lie on its side or a degree askew: columns, rows and rules are only found on a level page. Callers see boxes
in the frame of the image they sent (upright by EXIF), so everything that was turned is turned back here.
"""

import math
from dataclasses import dataclass
from statistics import median
from typing import Any

from gateway.ocr.extras import vision
from gateway.ocr.types import Line, Rect

COORDINATE_MAX = 999
MAX_SKEW_DEG = 25.0
MIN_SKEW_LINES = 3
MIN_SKEW_ASPECT = 6

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Frame:
    """How the working page came from the image: quarter turns anticlockwise, then a rotation about its middle.

    `width` and `height` are those of the image in working pixels, before any turn.
    """

    width: int
    height: int
    quarter_turns: int = 0
    skew_deg: float = 0.0

    def box(self, rect: Rect) -> tuple[int, int, int, int]:
        """The rectangle in the image as it came, 0..999 each way."""
        corners = [(rect.x1, rect.y1), (rect.x2, rect.y1), (rect.x2, rect.y2), (rect.x1, rect.y2)]
        points = [self._unturn(self._unskew(corner)) for corner in corners]
        xs, ys = [x / self.width for x, _ in points], [y / self.height for _, y in points]
        return _scaled(min(xs)), _scaled(min(ys)), _scaled(max(xs)), _scaled(max(ys))

    @property
    def turned_size(self) -> tuple[int, int]:
        return (self.height, self.width) if self.quarter_turns % 2 else (self.width, self.height)

    def _unskew(self, point: Point) -> Point:
        if not self.skew_deg:
            return point
        width, height = self.turned_size
        return rotate(point, (width / 2, height / 2), self.skew_deg)

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
    """Clockwise on the screen, where y grows downwards."""
    angle = math.radians(angle_deg)
    dx, dy = point[0] - center[0], point[1] - center[1]
    return (
        center[0] + dx * math.cos(angle) - dy * math.sin(angle),
        center[1] + dx * math.sin(angle) + dy * math.cos(angle),
    )


def mostly_tall(lines: list[Line]) -> bool:
    """Whether most of the text runs up or down the page."""
    tall = sum(line.rect.area for line in lines if line.rect.height > 1.5 * line.rect.width)
    wide = sum(line.rect.area for line in lines if line.rect.width > 1.5 * line.rect.height)
    return tall > 2 * wide


def skew_of(lines: list[Line]) -> float:
    """The page's skew in degrees (positive: lines fall to the right), by its longest lines; 0 when it does not matter.

    Short lines tell little (a descender at one end tilts their box), and a skew that moves nothing by half a line over
    the width of the text is left alone.
    """
    angles = []
    for line in lines:
        (x1, y1), (x2, y2), (x3, y3), (x4, y4) = line.quad
        length = math.dist(line.quad[0], line.quad[1])
        if length > MIN_SKEW_ASPECT * math.dist(line.quad[0], line.quad[3]):
            angles.append((length, math.degrees(math.atan2((y2 + y3) - (y1 + y4), (x2 + x3) - (x1 + x4)))))
    if len(angles) < MIN_SKEW_LINES:
        return 0.0
    longest = sorted(angles, reverse=True)[:40]
    angle = median(value for _, value in longest)
    agreeing = sum(abs(value - angle) < 1.0 for _, value in longest)
    span = max(line.rect.x2 for line in lines) - min(line.rect.x1 for line in lines)
    moved = abs(math.tan(math.radians(angle))) * span
    matters = moved > 0.5 * median(min(line.rect.height, line.rect.width) for line in lines)
    return angle if matters and abs(angle) <= MAX_SKEW_DEG and agreeing >= 0.6 * len(longest) else 0.0


def level(pixels: Any, lines: list[Line], angle_deg: float) -> tuple[Any, list[Line]]:
    """The page and its lines rotated by minus the angle about the page's middle, same size, edges repeated."""
    cv2, _ = vision()
    height, width = pixels.shape[:2]
    center = (width / 2, height / 2)
    # OpenCV's positive angles turn anticlockwise on the screen, which is what levels a falling line.
    matrix = cv2.getRotationMatrix2D(center, angle_deg, 1.0)
    turned = cv2.warpAffine(pixels, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    levelled = []
    for line in lines:
        quad = tuple(rotate(point, center, -angle_deg) for point in line.quad)
        xs, ys = [x for x, _ in quad], [y for _, y in quad]
        levelled.append(Line(Rect(min(xs), min(ys), max(xs), max(ys)), quad))
    return turned, levelled
