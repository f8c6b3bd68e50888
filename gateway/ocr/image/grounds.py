"""Inverts the regions whose text is lighter than its ground, so that ink is dark on the whole page.

Screenshots have dark themes, dark pages light cards, light pages dark code. The search for rules, ink and regions takes
ink for dark; so everything after this step may. Naive form: for every pixel, the ground is the median of its
surroundings; pixels of one ground, which may change slowly, form a region; a region is inverted when more of what
differs from its ground is lighter than darker. Knows nothing of text. The thresholds are chosen; bench/ocr_real.py
scores them all together.
"""

from typing import Any

from gateway.ocr.extras import vision

REDUCTION = 4
"""The ground is sought on a page reduced so much each way: a sixteenth of the work. At half, four times the work for
the same regions; at double, bars of one line of text vanish."""
WINDOW = 11
"""Side of the median's window, in reduced pixels: wider than two lines of print, so that ink is the smaller part. At
half, large letters are grounds; at double, buttons and bars belong to what surrounds them."""
EDGE_STEP = 24
"""Grounds that differ by more within one reduced pixel, of 256 levels, are of two regions. At half, gradients and the
shadow of a photograph are cut; at double, cards that differ little from a page join it."""
INK_STEP = 40
"""A pixel that differs from its ground by more is ink. At half, noise is ink; at double, pale comments are not."""
MIN_INK_SHARE = 0.004
"""A region with a smaller share of ink says nothing of its text: it is taken as dark or light like the page. At half, a
speck decides; at double, pages of a few words are not inverted."""
MIDDLE = 128
"""Levels from black to white, halved: what is darker is a dark ground where no ink tells."""
MIN_REGION = 30
"""Reduced pixels; a smaller region is a part of a letter or picture and follows the one around it."""
BAND, EDGE_WINDOW = 16, 9
"""Pixels on both sides of an inverted region's edge in which a finer median, of EDGE_WINDOW pixels at full size,
decides: the coarse one rounds corners by so much. At half, a piece of the old ground remains there and is read, or
strokes near an edge are taken for ground; at double, thick letters near an edge are taken for ground."""

STRIP = 64
"""Rows whose finer medians are sought at a time. Chosen: at half, more margins are computed twice; at double, more
pixels beside the band."""


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
