"""Paints over the faint long strokes of an editor: guides of indentation, the frame of the current line, rulers.

They are no signs, but run through the cells of a block of code. Naive form: every run of pixels, longer than letters
are high or words are wide, that is darker than the pixels on both sides, but not nearly as dark as letters. Works on a
page with dark ink; knows nothing of text. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

from typing import Any

from gateway.geometry.boxes import Rect
from gateway.ocr.extras import vision

BESIDE_PX = 3
"""Distance from a stroke's middle of the pixels that it is compared with: strokes are at most 4 pixels thick."""
MIN_STEP = 4
"""Levels, of 256, by which a stroke is darker than both sides."""
FAINT = 0.35
"""A stroke is faint that is less dark than this share of what letters are. At half, guides stay; at double, the frames
of tables that terminals draw go too."""
LETTER_PERCENTILE = 99
"""So many of a block's pixels, in per cent, are lighter than the dark parts of its letters."""
UPRIGHT_ROWS, LEVEL_PITCHES = 0.95, 24
"""Least length of an upright stroke, in distances of rows, and of a level one, in letters. At half, stems and
underlined words are strokes; at double, the guides of a single row stay."""

FILLED = 0.85
"""Share of a stroke's length that is faint ink: beside letters near it, it is not. At half, the soft upper edges of a
line of letters are a stroke; at double (above 1), none is."""


def without_guides(gray: Any, box: Rect, pitch: float, row_step: float) -> Any:
    """The page, 8 bits, with the faint strokes in a box painted over; the same array where there are none."""
    _, numpy = vision()
    left, top = max(0, int(box.x1 - row_step)), max(0, int(box.y1 - row_step))
    right, bottom = int(box.x2 + row_step) + 1, int(box.y2 + row_step) + 1
    part = gray[top:bottom, left:right]
    if min(part.shape) <= 2 * BESIDE_PX:
        return gray
    ground = numpy.median(part, axis=1, keepdims=True)
    darkest = float(numpy.percentile(numpy.clip(ground - part, 0, None), LETTER_PERCENTILE))
    painted = part
    for is_upright, length in ((True, UPRIGHT_ROWS * row_step), (False, LEVEL_PITCHES * pitch)):
        turned = painted.T if is_upright else painted
        clear = _without_level(turned, max(2, round(length)), FAINT * darkest)
        if clear is not turned:
            painted = clear.T if is_upright else clear
    if painted is part:
        return gray
    gray = gray.copy()
    gray[top:bottom, left:right] = painted
    return gray


def _without_level(gray: Any, length: int, faint: float) -> Any:
    """The picture without faint level strokes of at least a length in pixels."""
    cv2, numpy = vision()
    above, below = gray[: -2 * BESIDE_PX], gray[2 * BESIDE_PX :]
    inner = numpy.ascontiguousarray(gray[BESIDE_PX:-BESIDE_PX])
    darker = cv2.subtract(numpy.ascontiguousarray(numpy.minimum(above, below)), inner)
    faint_ink = ((darker >= MIN_STEP) & (darker < faint)).astype(numpy.float32)
    filled = (cv2.blur(faint_ink, (length, 1)) >= FILLED).astype(numpy.uint8)
    if not filled.any():
        return gray
    stroke = cv2.dilate(filled, numpy.ones((1, length), numpy.uint8))
    painted = gray.copy()
    painted[BESIDE_PX:-BESIDE_PX] = numpy.where(stroke > 0, numpy.maximum(inner, numpy.maximum(above, below)), inner)
    return painted
