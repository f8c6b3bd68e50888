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
from gateway.ocr.image.bullets import begins_with_bullet, is_filled
from gateway.ocr.image.page_ink import PageInk
from gateway.ocr.image.pitch import pitch_of, rhythm_at

MIN_TIGHT_SHARE = 0.05
"""A shrunk box with less of the old area holds a speck, not the text: the old one stays."""
COLUMN_GAP_SIZES = 2.0
MIN_SIZE_SHARE, MAX_SIZE_SHARE = 0.3, 0.42
"""A gap of so many heights of small letters parts columns: justified spaces are about one. The height is taken as at
most MAX_SIZE_SHARE of the line's, as for a line of capitals the measured one may be theirs, and as at least
MIN_SIZE_SHARE, as in a line of dashes (`-rw-r--r--`) it is that of their strokes. At half, justified lines
fall apart; at double, close cells stay one line."""
CLEAR_RATIO = 1.35
DRIFT_WEIGHT = 0.4
MAX_DRIFT_HEIGHTS = 3.0
"""Gaps between words: the widest are taken as they are when the narrowest of them is CLEAR_RATIO times the next. Else
each gap scores its width less DRIFT_WEIGHT times its distance from the expected place, of at most MAX_DRIFT_HEIGHTS
line heights. At half the weight, gaps inside wide-set words win; at double, the recogniser's drift wins over the ink.
At half the limit, long lines keep their drift; at double, a wrong gap may move a word by its own length."""
MARGIN_HEIGHTS = 0.15
"""Room left around a word, in line heights, so that a box does not touch its letters; at most half the gap."""
PROFILE_SHARE = 0.6
CAPITAL_RATIO = 1.37
CAPITALS_SHARE = 0.85
"""Rows with PROFILE_SHARE of the most ink of any row are the band of the small letters. If the band is CAPITALS_SHARE
of all inked rows, the line has no ascenders, so it is of capitals or digits, which are CAPITAL_RATIO times as high as
small letters in usual typefaces. At half the first, descenders count; at double (above 1) there is no band."""
RULE_WIDTH, RULE_BOX, RULE_INK = 2.0, 0.75, 0.25
"""A piece of a rule: its width, and at most the height of its box and of its ink, in heights of the page's lines. At
half or double the last, thick rules stay, or small print goes."""
BULLET_REACH = 1.4
"""How far before a line, in its heights, its bullet may begin. At half, bullets set apart are missed; at double, text
of the next column is taken for bullets."""

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
    """One gap for each expected boundary (its x), in order: wide ones near it. None when there are too few.

    The widest gaps are taken when clearly wider than the rest; else width is weighed against drift. `height` of the
    line.
    """
    count = len(expected)
    if len(gaps) < count:
        return None
    widest = sorted(gaps, key=lambda gap: gap[0] - gap[1])
    limit = MAX_DRIFT_HEIGHTS * height
    if len(gaps) == count or _width(widest[count - 1]) >= CLEAR_RATIO * _width(widest[count]):
        chosen = sorted(widest[:count])
        if all(abs(_middle(gap) - at) <= limit for gap, at in zip(chosen, expected, strict=True)):
            return chosen
    return _best_path(gaps, expected, limit)


def _best_path(gaps: Sequence[Gap], expected: Sequence[float], limit: float) -> list[Gap] | None:
    """The gaps with the greatest sum of scores, or None. Equals trying all increasing choices of gaps; by dynamic
    programming over boundaries and gaps, both from left to right."""
    worst = float("-inf")
    best = [0.0] * len(gaps)
    choices: list[list[int]] = []
    for number, at in enumerate(expected):
        row, sources = [worst] * len(gaps), [-1] * len(gaps)
        reach, source = (0.0, -1) if number == 0 else (worst, -1)
        for index, gap in enumerate(gaps):
            drift = abs(_middle(gap) - at)
            if drift <= limit and reach > worst:
                row[index], sources[index] = reach + _width(gap) - DRIFT_WEIGHT * drift, source
            if number and best[index] > reach:
                reach, source = best[index], index
        best = row
        choices.append(sources)
    end = max(range(len(gaps)), key=lambda index: best[index])
    if best[end] == worst:
        return None
    path = [end]
    for sources in reversed(choices[1:]):
        path.append(sources[path[-1]])
    return [gaps[index] for index in reversed(path)]


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
