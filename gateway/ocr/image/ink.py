"""Shrinks boxes to the ink inside them, and finds where the words of a line part.

A detector's boxes have margins, and a recogniser's columns drift along a line, but callers want boxes that fit the ink.
The thresholds are chosen; bench/ocr.py scores them all together, and no measurement of a single one is recorded.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import Any

from gateway.geometry.boxes import Line, Rect, Word
from gateway.ocr.extras import vision


def any_colour(page: Any) -> Any:
    """The page in gray, so that ink of any colour is darker than its ground: the mean of its luminance and its darkest
    channel. Magenta on gray may have the ground's luminance. `page`: BGR, dark ink."""
    cv2, _ = vision()
    blue, green, red = cv2.split(page)
    return cv2.addWeighted(cv2.cvtColor(page, cv2.COLOR_BGR2GRAY), 0.5, cv2.min(cv2.min(blue, green), red), 0.5, 0)


# A smaller box, or one whose gray levels (of 256) span less, has no clear ink.
MIN_SIDE_PX = 3
MIN_CONTRAST = 24
# From this share of dark pixels the text is light on dark: ink covers less than ground. A little above half, as bold
# capitals come near it.
DARK_GROUND_SHARE = 0.55
# How far from Otsu's threshold towards the ground a pixel still counts as ink: the soft edges of letters.
EDGE_SHARE = 0.4
# A row or column of pixels in this outer share of the box that is inked over RULE_FILL of its length is a table's
# rule, not a letter.
RIM_SHARE, RULE_FILL = 0.3, 0.9
# Parts of ink that are removed, in heights of the box: those that touch its left or right side, are narrower than
# STRAY_SIDE and not of FULL_HEIGHT (neighbouring letters; an `l` or `I` is higher); those that touch its top or
# bottom and are lower than STRAY_END (descenders of the line above); bars over FULL_WIDTH of the width; and specks
# of fewer pixels than SPECK_SHARE of the squared height (a dot of an `i` has 0.01).
STRAY_SIDE, STRAY_END, FULL_HEIGHT = 0.12, 0.18, 0.95
FULL_WIDTH = 0.98
SPECK_SHARE = 0.0004

# A 0/1 array of the ink inside a box, and the array's left and top on the page.
Found = tuple[Any, int, int]


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


# Widths of letters, in heights of a line's box: a typeface's letters are half to two thirds of its size wide, the
# box is 1.2 to 2 sizes high.
MIN_PITCH, MAX_PITCH = 0.28, 0.75
# A line less wide than so many heights holds under ten letters: its peak says nothing.
MIN_ASPECT = 6
# Share of the fullest column's ink that counts as full: gaps matter, not which letter is black. Chosen;
FULL_INK = 0.5
# The transform is this many times as long as the line, so that it has that many points in the width of a peak.
PADDING = 4

# Pitches tried around one that is known: boxes of a page that is not quite level differ by so much; a peak of a line
# of 70 letters is as wide as one step.
NEARBY = (0.985, 0.9925, 1.0, 1.0075, 1.015)


def pitch_of(ink: Any, height: float) -> tuple[float, float]:
    """The pitch in pixels and the rhythm, 0..1: the share of the ink's variation that repeats at it; (0, 0) for a short
    line. `ink`: 0/1, rows by columns; `height`: of the line's box."""
    _, numpy = vision()
    width = ink.shape[1]
    if width < MIN_ASPECT * height:
        return 0.0, 0.0
    profile = _profile(ink)
    total = float(numpy.abs(profile).sum())
    if total == 0:
        return 0.0, 0.0
    length = 1 << (PADDING * width - 1).bit_length()
    first, last = int(length / (MAX_PITCH * height)), int(length / (MIN_PITCH * height)) + 1
    power = numpy.abs(numpy.fft.rfft(profile, length))[first:last]
    if not len(power):
        return 0.0, 0.0
    peak = int(power.argmax())
    return length / (first + peak), float(power[peak]) / total


def rhythm_at(ink: Any, pitch: float) -> float:
    """The rhythm of a line at a pitch near the given one; higher for a line of few letters, whatever they are."""
    _, numpy = vision()
    profile = _profile(ink)
    total = float(numpy.abs(profile).sum())
    if total == 0:
        return 0.0
    turns = numpy.arange(len(profile))[None] / (pitch * numpy.array(NEARBY)[:, None])
    return float(numpy.abs(numpy.exp(2j * numpy.pi * turns) @ profile).max()) / total


def _profile(ink: Any) -> Any:
    """The ink of each column, at most FULL_INK of the fullest, less its mean."""
    _, numpy = vision()
    profile = ink.sum(axis=0).astype(numpy.float32)
    profile = numpy.minimum(profile, FULL_INK * profile.max())
    return profile - profile.mean()


# Greatest width of a bullet, least gap behind it, and how far its lower end is from the base line and from the top
# of the small letters, in heights of small letters.
MAX_WIDTH, MIN_GAP, CLEAR = 1.2, 0.4, 0.1
# Rows with this share of the most ink of any row are the band of the small letters, as ink.PROFILE_SHARE.
BAND_SHARE = 0.6

# Least share of ink in the box around a disc or square (a disc fills .79), and how much wider than high it is at
# most.
FILLED, MAX_ASPECT = 0.7, 1.5


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


# A shrunk box with less of the old area holds a speck, not the text: the old one stays.
MIN_TIGHT_SHARE = 0.05
# A gap of so many heights of small letters parts columns: justified spaces are about one. The height is taken as at
# most MAX_SIZE_SHARE of the line's, as for a line of capitals the measured one may be theirs, and as at least
# MIN_SIZE_SHARE, as in a line of dashes (`-rw-r--r--`) it is that of their strokes.
COLUMN_GAP_SIZES = 2.0
MIN_SIZE_SHARE, MAX_SIZE_SHARE = 0.3, 0.42
# Gaps between words: the widest are taken as they are when the narrowest of them is CLEAR_RATIO times the next. Else
# each gap scores its width less DRIFT_WEIGHT times its distance from the expected place, of at most
# MAX_DRIFT_HEIGHTS line heights.
CLEAR_RATIO = 1.35
DRIFT_WEIGHT = 0.4
MAX_DRIFT_HEIGHTS = 3.0
# Room left around a word, in line heights, so that a box does not touch its letters; at most half the gap.
MARGIN_HEIGHTS = 0.15
# Rows with PROFILE_SHARE of the most ink of any row are the band of the small letters. If the band is CAPITALS_SHARE
# of all inked rows, the line has no ascenders, so it is of capitals or digits, which are CAPITAL_RATIO times as high
# as small letters in usual typefaces.
PROFILE_SHARE = 0.6
CAPITAL_RATIO = 1.37
CAPITALS_SHARE = 0.85
# A piece of a rule: its width, and at most the height of its box and of its ink, in heights of the page's lines.
RULE_WIDTH, RULE_BOX, RULE_INK = 2.0, 0.75, 0.25
# How far before a line, in its heights, its bullet may begin.
BULLET_REACH = 1.4

Gap = tuple[int, int]


def tighten(page: PageInk, rect: Rect) -> Rect:
    """The box of the ink inside `rect`; the rectangle itself where there is no clear ink."""
    _, numpy = vision()
    found = page.ink(rect)
    if found is None:
        return rect
    ink, left, top = found
    rows, columns = numpy.flatnonzero(ink.any(axis=1)), numpy.flatnonzero(ink.any(axis=0))
    if not len(rows) or not len(columns):
        return rect
    tight = Rect(
        float(left + columns[0]), float(top + rows[0]), float(left + columns[-1] + 1), float(top + rows[-1] + 1)
    )
    return tight if tight.area >= MIN_TIGHT_SHARE * rect.area else rect


def without_rules(page: PageInk, lines: list[Line]) -> list[Line]:
    """The lines without pieces of rules, dotted ones above all, which the detector takes for text."""
    if not lines:
        return []
    usual = median(line.rect.height for line in lines)
    return [line for line in lines if not _is_rule(page, line, usual)]


def _is_rule(page: PageInk, line: Line, usual: float) -> bool:
    if line.rect.width < RULE_WIDTH * usual or line.rect.height > RULE_BOX * usual:
        return False
    return tighten(page, line.rect).height <= RULE_INK * usual


def parts_of(page: PageInk, line: Line) -> list[Line]:
    """The line cut at gaps wider than any space: the detector takes close cells for one line.

    The parts are unread. A line that runs downwards, or was not measured, is left whole.
    """
    found = page.ink(line.rect) if line.size else None
    if found is None:
        return [line]
    ink, left, _ = found
    size = min(line.size, MAX_SIZE_SHARE * line.rect.height)
    wide = [gap for gap in _gaps(ink)[0] if _width(gap) >= COLUMN_GAP_SIZES * size]
    if not wide:
        return [line]
    cuts = [0.0, *((left + _middle(gap) - line.rect.x1) / line.rect.width for gap in wide), 1.0]
    return [_cut(line, start, end) for start, end in pairwise(cuts)]


def _cut(line: Line, start: float, end: float) -> Line:
    """The unread part of a line between two fractions of its width."""
    top_left, top_right, bottom_right, bottom_left = line.quad
    quad = (
        _between(top_left, top_right, start),
        _between(top_left, top_right, end),
        _between(bottom_left, bottom_right, end),
        _between(bottom_left, bottom_right, start),
    )
    xs, ys = [x for x, _ in quad], [y for _, y in quad]
    rect = Rect(min(xs), min(ys), max(xs), max(ys))
    return replace(line, rect=rect, quad=quad, text="", score=0.0, words=(), fit=0.0, is_read=False)


def _between(one: tuple[float, float], other: tuple[float, float], share: float) -> tuple[float, float]:
    return one[0] + (other[0] - one[0]) * share, one[1] + (other[1] - one[1]) * share


def measure(page: PageInk, line: Line) -> Line:
    """The line with its size and weight, from the profile of its ink; a line that runs downwards keeps 0."""
    _, numpy = vision()
    found = page.ink(line.rect) if line.rect.width > line.rect.height else None
    if found is None:
        return line
    ink = found[0]
    columns = numpy.flatnonzero(ink.any(axis=0))
    profile = ink.sum(axis=1)
    rows = numpy.flatnonzero(profile)
    if not len(rows):
        return line
    full = numpy.flatnonzero(profile >= PROFILE_SHARE * profile.max())
    band = ink[full[0] : full[-1] + 1, columns[0] : columns[-1] + 1]
    height = float(len(band))
    # Capitals and digits fill the whole height; their small letters would be lower.
    size = height / CAPITAL_RATIO if height >= CAPITALS_SHARE * (rows[-1] - rows[0] + 1) else height
    size = max(size, MIN_SIZE_SHARE * line.rect.height)
    pitch, rhythm = pitch_of(ink, line.rect.height)
    return replace(line, size=size, weight=float(band.mean()), pitch=pitch, rhythm=rhythm)


def bullet_at(page: PageInk, line: Line, *, is_solid: bool = False) -> float | None:
    """The x of a line's bullet or dash (`bullets.begins_with_bullet`), inside its box or before it: the detector leaves
    some outside. None for a line without. `is_solid`: a disc or a square, no dash."""
    before = line.rect._replace(x1=max(0.0, line.rect.x1 - BULLET_REACH * line.rect.height))
    for rect in (line.rect, before):
        found = page.ink(rect) if line.size else None
        if found is not None:
            gaps, first, _ = _gaps(found[0])
            is_bullet = begins_with_bullet(found[0], gaps, line.size)
            if is_bullet and not (is_solid and not is_filled(found[0][:, first : gaps[0][0]])):
                return float(found[1] + first)
    return None


def rhythm(page: PageInk, line: Line, pitch: float) -> float:
    """How clearly the line's ink repeats at a pitch, 0..1; 0 where there is no clear ink."""
    found = page.ink(line.rect)
    return rhythm_at(found[0], pitch) if found is not None else 0.0


def part_words(page: PageInk, line: Line) -> Line:
    """The line with its words' left and right sides moved to the gaps in its ink; unchanged where these do not fit."""
    if len(line.words) == 1:
        ink_only = tighten(page, line.rect)
        word = Word(line.words[0].text, Rect(ink_only.x1, line.rect.y1, ink_only.x2, line.rect.y2))
        return replace(line, words=(word,))
    if len(line.words) < 2 or line.rect.height > line.rect.width:
        return line
    found = page.ink(line.rect)
    if found is None:
        return line
    ink, left, _ = found
    gaps, first, last = _gaps(ink)
    expected = [word.rect.x2 - left for word in line.words[:-1]]
    chosen = choose_gaps(gaps, expected, line.rect.height)
    if chosen is None:
        return line
    margin = max(1.0, MARGIN_HEIGHTS * line.rect.height)
    starts = [first - margin, *(max(_middle(gap), gap[1] - margin) for gap in chosen)]
    ends = [*(min(_middle(gap), gap[0] + margin) for gap in chosen), last + margin]
    words = tuple(
        Word(word.text, Rect(float(left + start), word.rect.y1, float(left + end), word.rect.y2))
        for word, start, end in zip(line.words, starts, ends, strict=True)
    )
    return replace(line, words=words)


def choose_gaps(gaps: Sequence[Gap], expected: Sequence[float], height: float) -> list[Gap] | None:
    """One gap for each expected boundary (its x), in order; None where these are not near. `height` of the line.

    The widest gaps are taken when clearly wider than the rest; else for each boundary the one whose width outweighs its
    distance most.
    """
    count = len(expected)
    if len(gaps) < count:
        return None
    widest = sorted(gaps, key=lambda gap: gap[0] - gap[1])
    chosen = sorted(widest[:count])
    if len(gaps) > count and _width(widest[count - 1]) < CLEAR_RATIO * _width(widest[count]):
        near = (max(gaps, key=lambda gap: _width(gap) - DRIFT_WEIGHT * abs(_middle(gap) - at)) for at in expected)
        chosen = sorted(set(near))
    limit = MAX_DRIFT_HEIGHTS * height
    is_near = all(abs(_middle(gap) - at) <= limit for gap, at in zip(chosen, expected, strict=False))
    return chosen if len(chosen) == count and is_near else None


def _width(gap: Gap) -> int:
    return gap[1] - gap[0]


def _middle(gap: Gap) -> float:
    return (gap[0] + gap[1]) / 2


def _gaps(ink: Any) -> tuple[list[Gap], int, int]:
    """Runs of columns without ink between the first and the last inked column, and these two (the last exclusive)."""
    _, numpy = vision()
    inked = numpy.flatnonzero(ink.any(axis=0))
    if not len(inked):
        return [], 0, 0
    jumps = numpy.flatnonzero(numpy.diff(inked) > 1)
    gaps = [(int(inked[j]) + 1, int(inked[j + 1])) for j in jumps.tolist()]
    return gaps, int(inked[0]), int(inked[-1]) + 1
