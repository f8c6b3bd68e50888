"""The pitch of a line's letters: the distance at which its ink repeats, and how clearly it does.

In a monospaced typeface the gaps between letters come at one distance, so that the spectrum of the ink, summed over
columns, has a peak there; proportional type has none. Naive form: for every distance, the sum of the column sums times
exp(2 pi i x / distance); here by a fast Fourier transform. Knows nothing of pages.
"""

from typing import Any

from gateway.ocr.extras import vision

MIN_PITCH, MAX_PITCH = 0.28, 0.75
"""Widths of letters, in heights of a line's box: a typeface's letters are half to two thirds of its size wide, the box
is 1.2 to 2 sizes high. At half or double, spaces between words or strokes of letters would be the pitch."""
MIN_ASPECT = 6
"""A line less wide than so many heights holds under ten letters: its peak says nothing."""
FULL_INK = 0.5
"""Share of the fullest column's ink that counts as full: gaps matter, not which letter is black. Chosen; at double the
stems of `l` and `|` outweigh them."""
PADDING = 4
"""The transform is this many times as long as the line, so that it has that many points in the width of a peak."""

NEARBY = (0.985, 0.9925, 1.0, 1.0075, 1.015)
"""Pitches tried around one that is known: boxes of a page that is not quite level differ by so much; a peak of a line
of 70 letters is as wide as one step."""


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
