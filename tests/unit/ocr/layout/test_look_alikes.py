"""`0` and `O`, `1` and `l`: by what stands beside, else by their likeness to shapes that are known."""

from collections import Counter

import numpy

from gateway.ocr.layout.look_alikes import known_shapes, told_apart
from gateway.ocr.layout.shapes import Shapes


def shapes(
    votes: list[dict[str, int]], context: list[dict[str, int]], around: list[set[str]], likeness: list[list[float]]
) -> Shapes:
    count = len(votes)
    of_cell = numpy.arange(count)[None]
    firsts = [(0, number) for number in range(count)]
    counters = [Counter(part) for part in votes], [Counter(part) for part in context]
    return Shapes(of_cell, firsts, *counters, around, numpy.array(likeness), numpy.zeros_like(of_cell, bool))


def told(block: Shapes, number: int) -> dict[str, int]:
    return dict(told_apart(block.votes[number], block, number, known_shapes(block)))


def test_what_was_read_between_its_kind_is_that_wherever_it_stands() -> None:
    block = shapes([{"0": 9, "O": 12}], [{"O": 4}], [{"capital"}], [[1.0]])
    assert told(block, 0) == {"O": 21}


def test_a_shape_like_a_known_one_is_the_same_character() -> None:
    likeness = [[1.0, 0.8, 0.96], [0.8, 1.0, 0.8], [0.96, 0.8, 1.0]]
    block = shapes([{"O": 3}, {"0": 3}, {"0": 5}], [{"O": 1}, {"0": 1}, {}], [{"capital"}, {"digit"}, set()], likeness)
    assert told(block, 2) == {"O": 5}


def test_a_shape_unlike_the_known_ones_is_the_other_beside_letters_and_stays_beside_digits() -> None:
    likeness = [[1.0, 0.8, 0.8], [0.8, 1.0, 0.8], [0.8, 0.8, 1.0]]
    around = [{"digit"}, {"small"}, {"digit"}]
    block = shapes([{"0": 9}, {"0": 2}, {"0": 2}], [{"0": 3}, {}, {}], around, likeness)
    assert told(block, 1) == {"O": 2}
    assert told(block, 2) == {"0": 2}


def test_other_letters_keep_their_votes() -> None:
    block = shapes([{"e": 4, "c": 1}], [{}], [set()], [[1.0]])
    assert told(block, 0) == {"e": 4, "c": 1}
