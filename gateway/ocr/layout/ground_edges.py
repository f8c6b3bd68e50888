"""Where the ground of a block of code ends: the sides of a window drawn on a picture or a gradient, which no search for
panels finds. Beyond it there is no sign. Works on the block's page in gray, dark ink.
"""

from collections.abc import Sequence
from typing import Any

from gateway.geometry.boxes import Rect
from gateway.ocr.extras import vision

GROUND_STEP = 12
"""Levels of 256 by which the middle of a row or column of pixels differs from the block's ground where another ground
begins. Chosen: at half, the current line's shade is another ground; at double, dark windows on dark pages have no
edge."""
ROW_REACH = 0.4
"""As cells.ROW_REACH."""
SOFT_PX = 2
"""Pixels before an edge that smoothing or compression with loss may have changed."""


def left_edge(gray: Any, rect: Rect, left: float) -> float:
    """The x, between `left` and the block's left side, from which on all is on the block's ground."""
    _, numpy = vision()
    first, side, end = max(0, int(left)), int(rect.x1), int(rect.x2)
    part = gray[max(0, int(rect.y1)) : int(rect.y2), first:end]
    if side <= first or part.size == 0:
        return left
    ground = float(numpy.median(part[:, side - first :]))
    away = numpy.abs(numpy.median(part[:, : side - first], axis=0) - ground)
    others = numpy.flatnonzero(away > GROUND_STEP)
    return float(first + others[-1] + 1) if len(others) else left


def without_right(gray: Any, rect: Rect, reach: float) -> Any:
    """The page with the block's ground where another one begins, up to `reach` right of the block: the step between
    two grounds is no sign at the ends of the longest rows."""
    _, numpy = vision()
    top, bottom, end = max(0, int(rect.y1)), int(rect.y2), min(gray.shape[1], int(rect.x2 + reach) + 1)
    side = min(end, int(rect.x2) + SOFT_PX)
    part = gray[top:bottom, side:end]
    if part.size == 0:
        return gray
    ground = float(numpy.median(gray[top:bottom, max(0, int(rect.x1)) : side]))
    others = numpy.flatnonzero(numpy.abs(numpy.median(part, axis=0) - ground) > GROUND_STEP)
    if not len(others):
        return gray
    gray = gray.copy()
    gray[:, max(side, side + int(others[0]) - SOFT_PX) : end] = ground
    return gray


def crossed_rows(gray: Any, rect: Rect, middles: Sequence[float]) -> Any:
    """Which rows have a change of ground in them; of the first and the last also between them and their neighbour."""
    _, numpy = vision()
    part = gray[:, max(0, int(rect.x1)) : int(rect.x2)]
    crossed = numpy.zeros(len(middles), bool)
    if len(middles) < 2 or part.shape[1] == 0:
        return crossed
    half = ROW_REACH * (middles[1] - middles[0])
    for number, middle in enumerate(middles):
        top = middle - half if number < len(middles) - 1 else middles[-2]
        bottom = middle + half if number else middles[1]
        rows = part[max(0, int(top)) : int(bottom) + 1]
        if len(rows):
            # The line of a frame is no ground: on both sides of it there is the same.
            grounds = numpy.median(rows, axis=1)
            end = max(1, len(grounds) // 4)
            crossed[number] = abs(numpy.median(grounds[:end]) - numpy.median(grounds[-end:])) > GROUND_STEP
    return crossed
