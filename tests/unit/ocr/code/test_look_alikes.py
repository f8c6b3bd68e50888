"""`0` and `O`, `1` and `l`: by their likeness to known shapes, else by what stands beside."""

from collections import Counter

import numpy
import pytest
from PIL import Image, ImageDraw

from gateway.ocr.code.shapes import Shapes, known_shapes, told_apart
from tests.support.ocr_pages import font

Pixels = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float32]]


def cell(character: str, right: float = 0.0) -> Pixels:
    """A letter's ink, drawn a fraction of a pixel to the right."""
    image = Image.new("L", (12, 20), 0)
    ImageDraw.Draw(image).text((1 + right, 1), character, 255, font(16, "SansMono"))
    ink: Pixels = numpy.asarray(image, numpy.float32) / 255
    return ink


def ring(*, has_dot: bool = False) -> Pixels:
    ink: Pixels = numpy.zeros((20, 12), numpy.float32)
    ink[4:16, 2:10] = 1
    ink[6:14, 4:8] = 0
    if has_dot:
        ink[9:11, 5:7] = 1
    return ink


def told(
    number: int, ink: list[Pixels], votes: list[dict[str, int]], context: list[dict[str, int]], around: list[set[str]]
) -> dict[str, int]:
    """What the votes for a shape become. `context`: the votes between letters of their kind."""
    firsts = [(0, place) for place in range(len(votes))]
    of_cell = numpy.arange(len(votes))[None]
    counted, between = ([Counter(counts) for counts in part] for part in (votes, context))
    block = Shapes(of_cell, firsts, counted, between, around, None, numpy.zeros_like(of_cell, bool))
    return dict(told_apart(block.votes[number], block, number, known_shapes(block, ink), ink))


def test_what_was_read_between_its_kind_is_that_wherever_it_stands() -> None:
    assert told(0, [ring()], [{"0": 9, "O": 12}], [{"O": 4}], [{"capital"}]) == {"O": 21}


@pytest.mark.parametrize(("drawn", "read", "want"), [("l", "1", "l"), ("1", "l", "1")])
def test_a_shape_drawn_like_a_known_one_is_that_whatever_stands_beside(drawn: str, read: str, want: str) -> None:
    ink = [cell("l"), cell("1"), cell(drawn, 0.5)]
    made = told(2, ink, [{"l": 3}, {"1": 3}, {read: 1}], [{"l": 2}, {"1": 2}, {}], [set(), set(), {"small"}])
    assert made == {want: 4}


@pytest.mark.parametrize(("beside", "want"), [("digit", "1"), ("small", "l")])
def test_a_shape_unlike_the_known_ones_is_the_other_beside_its_kind_alone(beside: str, want: str) -> None:
    assert told(1, [cell("l"), cell("1")], [{"l": 9}, {"l": 2}], [{"l": 3}, {}], [{"small"}, {beside}]) == {want: 2}


def test_a_nought_has_a_dot_where_the_typeface_has_such_and_an_empty_ring_is_a_letter() -> None:
    block = [{"O": 4}, {"0": 2}, {"0": 9}], [{}, {}, {"0": 3}], [{"small"}, {"small"}, {"digit"}]
    dotted = [ring(has_dot=True), ring(), ring(has_dot=True)]
    assert [list(told(n, dotted, *block)) for n in range(3)] == [["0"], ["O"], ["0"]]


def test_between_capitals_and_small_letters_a_ring_is_a_letter_though_like_a_nought() -> None:
    block = [{"O": 5, "0": 2}, {"0": 9}], [{}, {"0": 3}], [{"capital", "small"}, {"digit"}]
    assert told(0, [ring(), ring()], *block) == {"O": 7}


def test_other_letters_keep_their_votes() -> None:
    assert told(0, [cell("e")], [{"e": 4, "c": 1}], [{}], [set()]) == {"e": 4, "c": 1}
