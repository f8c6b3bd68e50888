"""The ink inside boxes of a page: what is darker, or lighter, than the ground there.

Otsu's threshold inside a box separates ink and ground, whichever is darker. A page asks for the same boxes several
times (to measure a line, to cut it, for its bullet and its rhythm, for the box of a word), so each is looked at once.
The thresholds are chosen; bench/ocr.py scores them all together, and no measurement of a single one is recorded.
"""

from typing import Any

from gateway.geometry.boxes import Rect
from gateway.ocr.colours import any_colour
from gateway.ocr.extras import vision

MIN_SIDE_PX = 3
MIN_CONTRAST = 24
"""A smaller box, or one whose gray levels (of 256) span less, has no clear ink. At half, paper noise is ink; at double,
pale print keeps its loose boxes."""
DARK_GROUND_SHARE = 0.55
"""From this share of dark pixels the text is light on dark: ink covers less than ground. A little above half, as bold
capitals come near it."""
EDGE_SHARE = 0.4
"""How far from Otsu's threshold towards the ground a pixel still counts as ink: the soft edges of letters. At half,
thin strokes are cut off; at double, shadows of the paper are ink."""
RIM_SHARE, RULE_FILL = 0.3, 0.9
"""A row or column of pixels in this outer share of the box that is inked over RULE_FILL of its length is a table's
rule, not a letter. At half the share, rules stay in loose boxes; at double, the bars of `E` and `T` in the middle may
go."""
STRAY_SIDE, STRAY_END, FULL_HEIGHT = 0.12, 0.18, 0.95
FULL_WIDTH = 0.98
SPECK_SHARE = 0.0004
"""Parts of ink that are removed, in heights of the box: those that touch its left or right side, are narrower than
STRAY_SIDE and not of FULL_HEIGHT (neighbouring letters; an `l` or `I` is higher); those that touch its top or bottom
and are lower than STRAY_END (descenders of the line above); bars over FULL_WIDTH of the width; and specks of fewer
pixels than SPECK_SHARE of the squared height (a dot of an `i` has 0.01). At half, strays widen the boxes; at double,
commas and accents are cut off."""


Found = tuple[Any, int, int]
"""A 0/1 array of the ink inside a box, and the array's left and top on the page."""


class PageInk:
    """The ink of a page in gray, 8 bits, which must not change meanwhile. What it keeps is bounded by the boxes that
    lines and words of one page have: together about the page's area."""

    def __init__(self, gray: Any, colours: Any = None) -> None:
        """`colours`: the same page, BGR with dark ink, for ink that gray does not tell from its ground: dark blue on
        black."""
        self.gray, self._colours = gray, colours
        self._known: dict[Rect, Found | None] = {}

    def ink(self, rect: Rect) -> Found | None:
        """The ink inside the box, not to be written to; None where there is no clear ink."""
        if rect not in self._known:
            found = _ink_in(self.gray, rect)
            if found is None and self._colours is not None:
                left, top = max(0, int(rect.x1)), max(0, int(rect.y1))
                box = Rect(rect.x1 - left, rect.y1 - top, rect.x2 - left, rect.y2 - top)
                part = self._colours[top : int(rect.y2) + 1, left : int(rect.x2) + 1]
                found = _ink_in(any_colour(part), box) if part.size else None
                found = found and (found[0], left, top)
            self._known[rect] = found
        return self._known[rect]


def _ink_in(gray: Any, rect: Rect) -> Found | None:
    cv2, numpy = vision()
    height, width = gray.shape[:2]
    left, top = max(0, int(rect.x1)), max(0, int(rect.y1))
    right, bottom = min(width, int(rect.x2 + 0.999)), min(height, int(rect.y2 + 0.999))
    part = gray[top:bottom, left:right]
    if not part.size or min(part.shape[:2]) < MIN_SIDE_PX or int(part.max()) - int(part.min()) < MIN_CONTRAST:
        return None
    middle, dark = cv2.threshold(part, 0, 1, cv2.THRESH_BINARY_INV + cv2.THRESH_OTSU)
    is_inverted = float(dark.mean()) > DARK_GROUND_SHARE
    ground = float(numpy.median(part[dark == (1 if is_inverted else 0)]))
    threshold = middle + EDGE_SHARE * (ground - middle)
    ink = (part > threshold if is_inverted else part <= threshold).astype(numpy.uint8)
    return _without_strays(_without_rules(ink)), left, top


def _without_rules(ink: Any) -> Any:
    """The ink without the rules of a table or form, which run through the whole box near its rim."""
    height, width = ink.shape
    band = max(2, round(RIM_SHARE * height))
    ink = ink.copy()
    rows, columns = ink.mean(axis=1) >= RULE_FILL, ink.mean(axis=0) >= RULE_FILL
    if width > 1.5 * height:
        rows[band : max(band, height - band)] = False
        ink[rows] = 0
    if width > 2 * band:
        columns[band : width - band] = False
        ink[:, columns] = 0
    return ink


def _without_strays(ink: Any) -> Any:
    """The ink without specks and without parts that reach in from outside: they touch the rim and hardly enter."""
    cv2, numpy = vision()
    _, labels, stats, _ = cv2.connectedComponentsWithStats(ink.astype(numpy.uint8), connectivity=8)
    height, width = ink.shape
    left, top, part_width, part_height, area = stats.T
    touches_sides = (left == 0) | (left + part_width == width)
    touches_ends = (top == 0) | (top + part_height == height)
    slim_side = touches_sides & (part_width <= max(1, STRAY_SIDE * height)) & (part_height < FULL_HEIGHT * height)
    slim_end = touches_ends & (part_height <= max(1, STRAY_END * height))
    rule = (part_width >= FULL_WIDTH * width) & (part_height <= STRAY_SIDE * height)
    keep = (area >= max(2, SPECK_SHARE * height * height)) & ~slim_side & ~slim_end & ~rule
    keep[0] = False
    return keep[labels] if keep.any() else ink
