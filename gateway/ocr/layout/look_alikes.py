"""Which of two look-alikes a shape of a block of code is: `0` or `O`, `1` or `l`.

The recogniser tells them by what stands beside, which in code says little: `$^O`, `Name.Other`, `i1`. Where the shape
was read between its own kind it is known; other shapes are told by their likeness to the known ones. Works on shapes
and the votes for their characters. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from gateway.ocr.extras import vision
from gateway.ocr.layout.shapes import Shapes

PAIRS = (("0", "O"), ("1", "l"))
BESIDE = {"0": {"digit"}, "O": {"capital", "small"}, "1": {"digit"}, "l": {"small"}}
"""The kinds of letters beside which a character is likely."""
ALIKE, CLEARLY = 0.94, 0.02
"""A shape less like the known ones of a character than ALIKE is not that one in another weight, but its look-alike; of
two it is the one that it is more like by CLEARLY. At half the distance from 1, roundings of pixels make letters unlike;
at double, `O` is like a nought with a dot in it."""
STRONG, FILLED, EMPTY = 0.4, 0.45, 0.22
"""Ink of a stroke; the least ink in the middle of a nought with a dot or a stroke in it, and the most of an `O`. At
half, small `O` that smoothing fills are noughts; at double, few noughts are told by their dots. Measured on fresh
screens: .58 to .85 of noughts, 0 to .1 of `O`."""
Known = dict[str, list[int]]
"""The shapes of each character of a pair that are surely that."""


def known_shapes(shapes: Shapes, ink: Sequence[Any]) -> Known:
    """The shapes that were read between their own kind as one of a pair, and not as the other; and the noughts with a
    dot in them, beside which an empty ring is an `O`. `ink`: of each shape."""
    known: Known = {}
    for pair in PAIRS:
        for one, other in (pair, pair[::-1]):
            known[one] = [n for n, votes in enumerate(shapes.in_context) if votes[one] and not votes[other]]
    rings = [n for n, votes in enumerate(shapes.votes) if votes and votes.most_common(1)[0][0] in "0O"]
    middles = {n: _middle(ink[n]) for n in rings}
    dotted = [n for n in rings if middles[n] >= FILLED]
    if dotted:
        empty = [n for n in rings if middles[n] <= EMPTY]
        known["0"] = [n for n in known["0"] if n not in empty and n not in dotted] + dotted
        known["O"] = [n for n in known["O"] if n not in empty and n not in dotted] + empty
    return known


def _middle(ink: Any) -> float:
    """The most ink in the middle of a ring, between its strokes."""
    _, numpy = vision()
    dark = ink >= STRONG
    rows, columns = numpy.flatnonzero(dark.any(axis=1)), numpy.flatnonzero(dark.any(axis=0))
    if not len(rows):
        return 0.0
    box = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = box.shape
    inner = box[round(height * 0.4) : max(round(height * 0.6), round(height * 0.4) + 1)]
    left, right = round(width * 0.4), max(round(width * 0.6), round(width * 0.4) + 1)
    return float(inner[:, left:right].mean(axis=0).max())


def told_apart(votes: Counter[str], shapes: Shapes, number: int, known: Known) -> Counter[str]:
    """The votes for a shape, those for both of a pair given to the one that it is."""
    told = Counter(votes)
    for pair in PAIRS:
        if any(character in told for character in pair):
            count = sum(told.pop(character, 0) for character in pair)
            told[_one_of(pair, votes, shapes, number, known)] += count
    return told


def _one_of(pair: tuple[str, str], votes: Counter[str], shapes: Shapes, number: int, known: Known) -> str:
    read = max(pair, key=lambda character: votes[character])
    other = pair[pair[0] == read]
    for character in pair:
        if number in known[character]:
            return character
    if len(shapes.around[number]) > 1 and shapes.around[number] <= BESIDE[read]:
        return read  # Capitals beside it and small letters: no digit of a name's end.
    likeness = {c: max((float(shapes.likeness[number][n]) for n in known[c]), default=0.0) for c in pair}
    if likeness[other] >= ALIKE and likeness[other] > likeness[read] + CLEARLY:
        return other
    is_unlike = bool(known[read]) and likeness[read] < ALIKE
    return other if is_unlike and shapes.around[number] <= BESIDE[other] else read
