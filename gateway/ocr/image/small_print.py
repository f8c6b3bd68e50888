"""Mends what both recognisers get wrong in small print, by the ink: `rn` read as `m`.

A recogniser sees a line enlarged and blurred; the page's pixels tell better whether the stem in the middle has the
shoulder of an `m`. Knows no words of any language. The thresholds are chosen; bench/ocr.py scores them all together.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gateway.geometry.boxes import Line, Word
from gateway.ocr.extras import vision
from gateway.ocr.image.page_ink import PageInk

MAX_SIZE = 12.0
"""Height of small letters, in pixels, up to which print is small. At half, 14 px print keeps its errors; at double,
lines that have no such errors cost time too."""
STEM_SHARE, BLANK_SHARE = 0.3, 0.08
"""Darkness, as a share of the darkest, of stems, and up to which a pixel is blank. At half or double, grounds
are ink, or thin stems are missed."""
SHOULDER, STRAIGHT = 0.15, 0.08
"""How much darker a stem is where an arch joins it, as a share of the darkest: more at a shoulder, less at a straight
stem; between the two the letter stays as it was read. At half or double, noise decides."""
MIN_WIDTH, MAX_WIDTH = 1.42, 2.2
"""Width of `rn` in heights of small letters. At half, an `m` of a monospaced typeface, whose middle stem has hardly a
shoulder, is one; at double, three letters are."""
OFF_MIDDLE = 0.36
"""How far the middle stem is from where the letter was read, in heights of small letters. At half, hardly any is so
near; at double, an `i` that touches an `m` of two stems counts as the first."""
MIN_BAND_PX = 5
"""Fewer rows of small letters show no shoulder."""


def mended(page: PageInk, line: Line) -> Line:
    """The line, read, with `rn` for each `m` of small print whose middle stem has no shoulder, though the last has
    one."""
    if not 0 < line.size <= MAX_SIZE or len(line.letters) != len(line.text) or "m" not in line.text:
        return line
    band = _band(page, line)
    if band is None:
        return line
    text, letters = "", list[float]()
    for letter, x in zip(line.text, line.letters, strict=True):
        is_rn = letter == "m" and _is_rn(band, x - max(0, int(line.rect.x1)), line.size)
        text += "rn" if is_rn else letter
        letters += [x - line.size / 2, x + line.size / 2] if is_rn else [x]
    if text == line.text:
        return line
    words = [Word(new, word.rect) for new, word in zip(text.split(), line.words, strict=False)]
    return replace(line, text=text, letters=tuple(letters), words=tuple(words))


def _small_letters(ink: Any) -> slice:
    """The rows of the small letters."""
    _, numpy = vision()
    profile = ink.sum(axis=1)
    full = numpy.flatnonzero(profile >= profile.max() / 2)
    return slice(int(full[0]), int(full[-1]) + 1)


def _band(page: PageInk, line: Line) -> Any:
    """How dark the rows of the line's small letters are against their ground, 0..1; None where they are too few."""
    _, numpy = vision()
    found = page.ink(line.rect)
    if found is None:
        return None
    ink, left, top = found
    part = page.gray[top:, left : left + ink.shape[1]][_small_letters(ink)]
    dark = numpy.median(part) - part.astype(numpy.float32)
    return dark / max(1.0, float(dark.max())) if len(part) >= MIN_BAND_PX else None


def _is_rn(band: Any, x: float, size: float) -> bool:
    """Whether the letter around column `x` has three stems, a straight one in the middle and a shoulder at the last."""
    _, numpy = vision()
    start = max(0, int(x - 2 * size))
    part = band[:, start : int(x + 2 * size) + 1]
    rows = len(part)
    low = numpy.median(part[rows // 2 : rows - 1], axis=0)
    blank = numpy.flatnonzero(part.max(axis=0) <= BLANK_SHARE) + start
    first = max((int(at) for at in blank if at < x), default=-1) + 1 - start
    last = min((int(at) for at in blank if at > x), default=-1) - start
    stems = list(_starts(low[first:last] > STEM_SHARE)) if 0 <= first < last else []
    if len(stems) != 3 or not MIN_WIDTH * size <= last - first <= MAX_WIDTH * size:
        return False
    if abs(start + first + stems[1] - x) > OFF_MIDDLE * size:
        return False
    # Below the top row, where the arm of an r ends, the arch of an m still meets its stem.
    rise = part[1] - low
    middle, end = (float(rise[max(0, first + at - 1) : first + at + 1].max()) for at in stems[1:])
    return middle <= STRAIGHT and end >= SHOULDER


def _starts(columns: Any) -> Iterator[int]:
    """Where runs of true values begin."""
    for at, value in enumerate(columns.tolist()):
        if value and not (at and columns[at - 1]):
            yield at
