"""Whether a line begins with a bullet, by its ink, before anything is read.

Knows nothing of lists. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

from collections.abc import Sequence
from typing import Any

from gateway.ocr.extras import vision

MAX_WIDTH, MIN_GAP, CLEAR = 1.2, 0.4, 0.1
"""Greatest width of a bullet, least gap behind it, and how far its lower end is from the base line and from the top of
the small letters, in heights of small letters. At half the last, a lone letter is a bullet; at double, low ones are
none."""
BAND_SHARE = 0.6
"""Rows with this share of the most ink of any row are the band of the small letters, as ink.PROFILE_SHARE."""

FILLED, MAX_ASPECT = 0.7, 1.5
"""Least share of ink in the box around a disc or square (a disc fills .79), and how much wider than high it is at most.
At half the first, asterisks are discs; at double (above 1), none is; at double the second, dashes are."""


def begins_with_bullet(ink: Any, gaps: Sequence[tuple[int, int]], size: float) -> bool:
    """Whether a line begins with a bullet: a separate piece of ink above the base line, at the height of the small
    letters. `ink`: 0 or 1; `gaps`: runs of columns without; `size`: height of small letters."""
    _, numpy = vision()
    if not gaps:
        return False
    start, end = gaps[0]
    mark = ink[:, :start]
    columns, rows = numpy.flatnonzero(mark.any(axis=0)), numpy.flatnonzero(mark.any(axis=1))
    if not len(rows) or end - start < MIN_GAP * size or start - columns[0] > MAX_WIDTH * size:
        return False
    profile = ink[:, end:].sum(axis=1)
    band = numpy.flatnonzero(profile >= BAND_SHARE * profile.max())
    clear = CLEAR * size
    return bool(band[0] + clear < rows[-1] < band[-1] - clear)


def is_filled(mark: Any) -> bool:
    """Whether a mark, 0 or 1, is a disc or a square."""
    _, numpy = vision()
    rows, columns = numpy.flatnonzero(mark.any(axis=1)), numpy.flatnonzero(mark.any(axis=0))
    if not len(rows):
        return False
    box = mark[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = box.shape
    return bool(box.mean() >= FILLED and width <= MAX_ASPECT * height and height <= MAX_ASPECT * width)
