"""Pairs of signs that typefaces draw as one are read as a whole, between copies of a word."""

from collections import Counter
from typing import Any

import numpy
import pytest

from gateway.ocr.code.cells import CellGrid
from gateway.ocr.layout.ligatures import read_ligatures
from gateway.ocr.code.reading import Run
from gateway.ocr.code.shapes import Shapes

WORD, PAIR = "total", (5, 6)


def block(*, touching: bool) -> tuple[CellGrid, Shapes]:
    """A row with a word and, two cells on, a pair of other shapes."""
    ink = numpy.zeros((1, 8, 20, 10))
    ink[:, :, 8:12, 2:8] = 1
    if touching:
        ink[0, 6, 8:12, 2:10] = 1
        ink[0, 7, 8:12, 0:8] = 1
    of_cell = numpy.array([[0, 1, 0, 2, 3, -1, 5, 6]])
    votes = [Counter({letter: 9}) for letter in ("t", "o", "a", "l", "", "", "")]
    count = len(votes)
    shapes = Shapes(
        of_cell,
        [(0, 0)] * count,
        votes,
        [Counter() for _ in votes],
        [set() for _ in votes],
        numpy.eye(count),
        numpy.zeros_like(of_cell, bool),
    )
    return CellGrid(0.0, 10.0, (10.0, 30.0), ink, of_cell >= 0, ((),), ()), shapes


def found(answer: str, read: str, *, touching: bool = True) -> dict[int, str]:
    grid, shapes = block(touching=touching)

    def reader(picture: Any, careful: bool) -> str:
        assert picture.shape[1] == 13 * 10 and not careful
        return WORD + answer + WORD

    rows = [[Run(0, 5, WORD, WORD, WORD), Run(6, 2, read, read)]]
    return read_ligatures(grid, rows, shapes, [(0, 0, WORD)], reader)


@pytest.mark.parametrize(
    ("answer", "read", "signs"),
    [("\u2190", "", "<-"), ("\u21d2", "", "=>"), ("86", "86", "&&"), ("&6", "&6", "&&")],
)
def test_an_arrow_is_two_signs_and_figures_that_touch_are_two_ampersands(answer: str, read: str, signs: str) -> None:
    assert found(answer, read) == dict(zip(PAIR, signs, strict=True))


def test_figures_that_stand_apart_and_letters_are_what_they_were_read_as() -> None:
    assert found("86", "86", touching=False) == {}
    assert found("if", "if") == {}


def test_a_pair_whose_shapes_stand_elsewhere_too_is_no_drawing_of_its_own() -> None:
    grid, shapes = block(touching=True)
    shapes.of_cell[0, 4] = PAIR[0]
    rows = [[Run(0, 5, WORD, WORD, WORD), Run(6, 2, "86", "86")]]
    assert read_ligatures(grid, rows, shapes, [(0, 0, WORD)], lambda picture, careful: WORD + "86" + WORD) == {}
