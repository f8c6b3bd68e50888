"""`0` and `O`, `1` and `l`: by what stands beside, else by their likeness to shapes that are known."""

from collections import Counter

import numpy

from gateway.ocr.code.shapes import Shapes, known_shapes, told_apart


def shapes(
    votes: list[dict[str, int]], context: list[dict[str, int]], around: list[set[str]], likeness: list[list[float]]
) -> Shapes:
    count = len(votes)
    of_cell = numpy.arange(count)[None]
    firsts = [(0, number) for number in range(count)]
    counters = [Counter(part) for part in votes], [Counter(part) for part in context]
    return Shapes(of_cell, firsts, *counters, around, numpy.array(likeness), numpy.zeros_like(of_cell, bool))


Pixels = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float64]]


def ring(*, has_dot: bool = False) -> Pixels:
    ink = numpy.zeros((20, 12))
    ink[4:16, 2:10] = 1
    ink[6:14, 4:8] = 0
    if has_dot:
        ink[9:11, 5:7] = 1
    return ink


def told(block: Shapes, number: int, ink: list[Pixels] | None = None) -> dict[str, int]:
    known = known_shapes(block, ink or [ring() for _ in block.votes])
    return dict(told_apart(block.votes[number], block, number, known))


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


def test_a_nought_has_a_dot_where_the_typeface_has_such_and_an_empty_ring_is_a_letter() -> None:
    likeness = [[1.0, 0.97, 0.97], [0.97, 1.0, 0.97], [0.97, 0.97, 1.0]]
    around = [{"small"}, {"small"}, {"digit"}]
    block = shapes([{"O": 4}, {"0": 2}, {"0": 9}], [{}, {}, {"0": 3}], around, likeness)
    ink = [ring(has_dot=True), ring(), ring(has_dot=True)]
    assert [told(block, n, ink) for n in range(3)] == [{"0": 4}, {"O": 2}, {"0": 9}]
    assert [told(block, n) for n in range(3)] == [{"0": 4}, {"0": 2}, {"0": 9}]


def test_between_capitals_and_small_letters_a_ring_is_a_letter_though_like_a_nought() -> None:
    likeness = [[1.0, 0.97], [0.97, 1.0]]
    block = shapes([{"O": 5, "0": 2}, {"0": 9}], [{}, {"0": 3}], [{"capital", "small"}, {"digit"}], likeness)
    assert told(block, 0) == {"O": 7}


def test_other_letters_keep_their_votes() -> None:
    block = shapes([{"e": 4, "c": 1}], [{}], [set()], [[1.0]])
    assert told(block, 0) == {"e": 4, "c": 1}
