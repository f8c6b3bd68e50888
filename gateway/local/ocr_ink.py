"""Tightens boxes to the ink inside them.

A detector's boxes carry a margin and a recogniser's columns are coarse; what callers draw or crop is the ink. Otsu's
threshold inside the box tells ink from ground, whichever is darker.
"""

from typing import Any

from gateway.local.ocr_extra import vision
from gateway.local.ocr_types import Rect

MIN_SIDE_PX = 3
MIN_CONTRAST = 24


def tighten(gray: Any, rect: Rect) -> Rect:
    """The box of the ink inside `rect` of a gray page; the rectangle itself where there is no clear ink."""
    cv2, numpy = vision()
    height, width = gray.shape[:2]
    left, top = max(0, int(rect.x1)), max(0, int(rect.y1))
    right, bottom = min(width, int(rect.x2 + 0.999)), min(height, int(rect.y2 + 0.999))
    part = gray[top:bottom, left:right]
    if min(part.shape[:2]) < MIN_SIDE_PX or int(part.max()) - int(part.min()) < MIN_CONTRAST:
        return rect
    _, dark = cv2.threshold(part, 0, 1, cv2.THRESH_BINARY_INV + cv2.THRESH_OTSU)
    # The ground covers the box's rim: when most of the rim is dark, the text is light on dark.
    rim = numpy.concatenate([dark[0], dark[-1], dark[:, 0], dark[:, -1]])
    ink = 1 - dark if rim.mean() > 0.5 else dark
    ink = _without_strays(ink)
    rows, columns = numpy.flatnonzero(ink.any(axis=1)), numpy.flatnonzero(ink.any(axis=0))
    if not len(rows) or not len(columns):
        return rect
    tight = Rect(left + columns[0], top + rows[0], left + columns[-1] + 1, top + rows[-1] + 1)
    return tight if tight.width * tight.height >= 0.05 * rect.area else rect


def _without_strays(ink: Any) -> Any:
    """Without specks, and without what reaches in from outside: parts that touch the rim and hardly enter the box."""
    cv2, numpy = vision()
    count, labels, stats, _ = cv2.connectedComponentsWithStats(ink.astype(numpy.uint8), connectivity=8)
    height, width = ink.shape
    keep = numpy.zeros(count, dtype=bool)
    for index in range(1, count):
        left, top, part_width, part_height, area = stats[index]
        touches_sides = left == 0 or left + part_width == width
        touches_ends = top == 0 or top + part_height == height
        slim_side = touches_sides and part_width <= max(1, 0.12 * height) and part_height < 0.95 * height
        slim_end = touches_ends and part_height <= max(1, 0.18 * height)
        rule = part_width >= 0.98 * width and part_height <= 0.12 * height
        keep[index] = area >= max(2, 0.0004 * height * height) and not slim_side and not slim_end and not rule
    return keep[labels] if keep.any() else ink
