"""Finds how often a page must be turned by 90 degrees to be upright, by reading its longest lines both ways up.

Knows nothing of layout. Lines are read by `text.line_reader`.
"""

from typing import Any

from gateway.geometry.boxes import Line
from gateway.ocr.image.deskew import mostly_tall
from gateway.ocr.scripts.guess import LATIN, clear_guess
from gateway.ocr.text.line_reader import LineReader

SAMPLE_LINES = 6
SURE_SCORE = 0.85
BETTER_BY = 0.05
FLIPPED_SCORE, MUCH_BETTER_BY = 0.8, 0.15
"""Which way up a page is: its longest SAMPLE_LINES are read as they are and, unless they score SURE_SCORE, upside down,
which must score better by BETTER_BY. Chosen: with half the lines one of digits or capitals may mislead, with double
every turned page costs more reading; with half the score upside-down pages pass, at double (above 1) every page is read
both ways; half the difference lets noise turn pages of bad print. Below FLIPPED_SCORE the difference must be
MUCH_BETTER_BY: letters that the reader does not know, such as Thai, are misread either way up (measured: .03 to .1
apart). At half of it they turn pages; at double, bad print stays upside down."""


def quarter_turns(reader: LineReader, pixels: Any, lines: list[Line]) -> tuple[int, list[Line]]:
    """How many quarter turns anticlockwise make the page upright; and its lines, some of them read."""
    if not lines:
        return 0, lines
    tall = mostly_tall(lines)
    sample = sorted(lines, key=lambda line: -max(line.rect.width, line.rect.height))[:SAMPLE_LINES]
    upright = reader.read_all(pixels, sample)
    if not tall and _mean_score(upright) >= SURE_SCORE:
        readings = {id(old): new for old, new in zip(sample, upright, strict=True)}
        return 0, [readings.get(id(line), line) for line in lines]
    if not tall and clear_guess(" ".join(line.text for line in upright)) != LATIN:
        return 0, lines  # upright, in letters that the reader does not know
    flipped = reader.read_all(pixels, sample, upside_down=True)
    is_sure = _mean_score(flipped) >= FLIPPED_SCORE
    is_flipped = _mean_score(flipped) > _mean_score(upright) + (BETTER_BY if is_sure else MUCH_BETTER_BY)
    if tall:
        return (3 if is_flipped else 1), lines
    return (2 if is_flipped else 0), lines


def _mean_score(lines: list[Line]) -> float:
    return sum(line.score for line in lines) / len(lines)
