"""The distance of the rows of a block of code."""

from itertools import accumulate

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.code.regions import row_step


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
