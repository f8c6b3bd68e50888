"""What stands beside code and is none of it: another ground, marks in a gutter, pale line numbers, specks."""

from itertools import accumulate

import numpy

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.code.reading import Run, _is_pale_gutter, without_specks
from gateway.ocr.code.regions import row_step
from gateway.ocr.code.shapes import _nearest

WINDOW, AROUND = 230, 120


Pixels = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.uint8]]


def rows_beside(gutter: list[Run]) -> list[list[Run]]:
    return [[*([run] if run.length else []), Run(6, 4, "code")] for run in gutter]


def test_numbers_too_pale_to_read_are_a_gutter_if_the_current_lines_was_read() -> None:
    pale = [Run(1, 1), Run(0, 2), Run(0, 2), Run(1, 1), Run(0, 2, "17"), Run(0, 0)]
    assert _is_pale_gutter(rows_beside(pale), 2)
    assert not _is_pale_gutter(rows_beside(pale)[2:], 2)
    near = [[Run(0, 2, "17"), Run(3, 4, "code")], *([Run(3, 4, "code")] for _ in range(6))]
    assert not _is_pale_gutter(near, 2)


def test_a_mark_far_from_all_text_that_no_reading_had_is_a_speck() -> None:
    texts = ["'", "code", ","]
    without_specks([Run(0, 1), Run(6, 4, "code"), Run(20, 1)], texts)
    assert texts == ["", "code", ""]
    texts = ["-", "code", "i"]
    without_specks([Run(0, 1), Run(6, 4, "code"), Run(20, 1)], texts)
    assert texts == ["-", "code", ""]
    texts = ["-", "code", ","]
    without_specks([Run(0, 1), Run(6, 4, "code"), Run(11, 1)], texts)
    assert texts == ["-", "code", ","]


def test_a_row_that_the_pictures_edge_cuts_does_not_tell_the_distance_of_rows() -> None:
    middles = [8.0, 30.0, *(30 + 30.0 * number for number in range(1, 8))]
    lines = []
    for y in middles:
        rect = Rect(0, y - 9, 100, y + 9)
        lines.append(Line(rect, ((0, y - 9), (100, y - 9), (100, y + 9), (0, y + 9))))
    assert 28 < row_step(lines) < 31


def test_rows_at_distances_of_which_no_two_are_alike_have_the_least_of_them() -> None:
    middles = accumulate((12, 17, 24, 34, 48, 68), initial=10.0)
    assert row_step([Line(Rect(0, y - 5, 100, y + 5)) for y in middles]) > 0
    assert row_step([Line(Rect(0, y - 5, 100, y + 5)) for y in (10, 22, 82, 282, 982, 3000)]) == 12


def test_drawings_beyond_the_commonest_join_the_shape_that_they_are_most_like() -> None:
    leaders = numpy.zeros((2, 8, 6))
    leaders[0, 1:7, 2] = 1
    leaders[1, 3, 1:5] = 1
    others = leaders[::-1].copy()
    others[0, 4, 2] = 0.9
    places, is_sure = _nearest(others, leaders)
    assert places.tolist() == [1, 0] and is_sure.tolist() == [False, True]
