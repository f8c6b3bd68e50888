"""Which characters a shape can be by the height of its ink: that of small letters or of capitals, or above both.

Works on shapes and the votes for their characters. The thresholds are chosen; bench/ocr_real.py scores them all
together.
"""

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from statistics import median
from typing import Any

from gateway.ocr.extras import vision

MIN_INK = 0.3
"""Ink of a row of pixels that counts."""
SURE_INK = 0.5
"""Ink that surely is a letter's: what compression with loss leaves around letters is paler. At half, an `a` with a
speck below it is an `@`; at double (1), nothing goes below the base line."""
SMALL, TALL = "aenrumvwxzs", "AEHTNRLMDBKF234567"
"""Letters that tell the tops and bottoms of small letters, and of capitals and digits."""
SURE_TOP, MIN_RISE_PX = 0.25, 2.5
"""A shape is as high as small letters, or as capitals and digits, when its top is within this share of their distance,
which must be so many pixels: round letters begin lower, in print of few pixels by half of it. At half, no shape is
sure; at double, every one is."""
UPPER = 0.55
"""A shape that ends above this share of a capital's height is a quotation mark or the like."""
QUOTES = "\"'`^*~°-“”‘’"
MIN_DEPTH_PX, MIN_DEPTH = 2.0, 0.15
"""A shape that ends so far below the base line, in pixels and heights of capitals, is none of those on it: round
letters end a pixel lower. At half, they are; at double, bars of small print are not."""
DEEP_ALIKE = {"I": "|", "l": "|", "1": "|", "!": "|", "a": "@", ".": ",", ":": ";"}
"""Characters on the base line, and what is read as them that goes below it."""
MIN_VOTES_KEPT = 9
"""So many votes for a letter stand against its height: three readings in context."""


class Height(Enum):
    """Where a shape's ink stands."""

    UNKNOWN = 0
    SMALL = 1
    TALL = 2
    ABOVE_ONE = 3
    """Above the small letters, one stroke wide; ABOVE_TWO: two strokes."""
    ABOVE_TWO = 4
    DEEP = 5
    """Below the base line."""


QUOTE_OF = {Height.ABOVE_ONE: "'", Height.ABOVE_TWO: '"'}
"""What a shape above the small letters is that was never read."""


def heights_of(ink: Sequence[Any], votes: Sequence[Counter[str]]) -> list[Height]:
    """The height of each shape, from those that surely are small letters or capitals. `ink`: height x width each."""
    extents = [_extent(cell) for cell in ink]
    usual = [
        [extent for extent, counts in zip(extents, votes, strict=True) if counts and _best(counts) in letters]
        for letters in (SMALL, TALL)
    ]
    if not all(usual):
        return [Height.UNKNOWN] * len(extents)
    low, high = (median(top for top, _ in known) for known in usual)
    base = median(bottom for known in usual for _, bottom in known)
    return [_height(cell, extent, (high, low, base)) for cell, extent in zip(ink, extents, strict=True)]


def of_its_height(votes: Counter[str], height: Height, around: set[str]) -> Counter[str]:
    """The votes, those for a character of another height given to its look-alike of this one. `around`: the kinds of
    the letters beside (glyphs.Shapes)."""
    if height is Height.UNKNOWN:
        return votes
    moved: Counter[str] = Counter()
    for character, count in votes.items():
        is_sure = count >= MIN_VOTES_KEPT and height in (Height.SMALL, Height.TALL)
        moved[character if is_sure else _alike(character, height, around)] += count
    return moved


def _alike(character: str, height: Height, around: set[str]) -> str:
    if height is Height.SMALL and character in "0OCSVWXZ" and "capital" not in around:
        return "o" if character == "0" else character.lower()
    if height is Height.DEEP:
        return DEEP_ALIKE.get(character, character)
    if height is Height.TALL and character in "csvwxz" and "small" not in around:
        return character.upper()
    if height in (Height.ABOVE_ONE, Height.ABOVE_TWO) and character not in QUOTES:
        return QUOTE_OF[height]
    return character


def _best(counts: Counter[str]) -> str:
    return counts.most_common(1)[0][0]


def _extent(cell: Any) -> tuple[float, float]:
    _, numpy = vision()
    rows = numpy.flatnonzero((cell > MIN_INK).any(axis=1))
    return (float(rows[0]) if len(rows) else 0.0, _bottom(cell, MIN_INK))


def _bottom(cell: Any, least: float) -> float:
    _, numpy = vision()
    rows = numpy.flatnonzero((cell > least).any(axis=1))
    return float(rows[-1] + 1) if len(rows) else 0.0


def _height(cell: Any, extent: tuple[float, float], lines: tuple[float, float, float]) -> Height:
    """`lines`: the tops of capitals and of small letters, and the base line."""
    top, bottom = extent
    high, low, base = lines
    if bottom <= high + UPPER * (base - high) and top <= (high + low) / 2 and _is_inside(cell):
        return Height.ABOVE_ONE if _strokes(cell) == 1 else Height.ABOVE_TWO if _strokes(cell) == 2 else Height.UNKNOWN
    if _bottom(cell, SURE_INK) - base >= max(MIN_DEPTH_PX, MIN_DEPTH * (base - high)):
        return Height.DEEP
    if low - high < MIN_RISE_PX:
        return Height.UNKNOWN
    share = (top - high) / (low - high)
    return Height.SMALL if share >= 1 - SURE_TOP else Height.TALL if share <= SURE_TOP else Height.UNKNOWN


def _is_inside(cell: Any) -> bool:
    """Whether a cell's ink stands clear of its sides: what reaches in from a neighbour does not."""
    _, numpy = vision()
    columns = numpy.flatnonzero((cell > MIN_INK).any(axis=0))
    return len(columns) > 0 and columns[0] > 0 and columns[-1] < cell.shape[1] - 1


def _strokes(cell: Any) -> int:
    """The number of upright parts of a cell's ink."""
    _, numpy = vision()
    columns = (cell > MIN_INK).any(axis=0).astype(int)
    return int((numpy.diff(columns, prepend=0) == 1).sum())
