"""What stands left of code in an editor: numbers and marks, which are cut off; panes side by side; steps of rows."""

from dataclasses import replace
from itertools import accumulate

import numpy
import pytest

from gateway.geometry.boxes import Line, Rect, hull
from gateway.ocr.code.regions import are_parted, number_column, pane_of, row_step, rows_beside
from gateway.ocr.image.upright import tilt_of
from tests.support.ocr_lines import Pixels, around

PITCH, STEP = 10.0, 20.0


def boxes(x: float, width: float, rows: range) -> list[Line]:
    return [Line(Rect(x, STEP * row + 2, x + width, STEP * row + 18), size=8.0) for row in rows]


def test_short_lines_that_end_at_one_place_in_nearly_every_row_are_numbers_beside_code() -> None:
    run, numbers = boxes(100, 200, range(3, 9)), boxes(40, 20, range(12))
    assert number_column(run, [*run, *numbers, *boxes(0, 35, range(0, 12, 5))], PITCH) == numbers
    assert number_column(run, [*run, *numbers[:4]], PITCH) == []
    ragged = [replace(number, rect=number.rect._replace(x2=45.0 + 4 * n)) for n, number in enumerate(numbers)]
    assert number_column(run, [*run, *ragged], PITCH) == []


def test_a_block_reaches_as_far_as_its_numbers_and_no_further_left() -> None:
    numbers, short = boxes(40, 20, range(12)), boxes(100, 10, range(9, 12))
    grown = rows_beside(hull([number.rect for number in numbers]), [*numbers, *short], Rect(0, 60, 300, 180))
    assert (grown.x1, grown.y2) == (40, short[-1].rect.y2)


def test_numbers_between_two_runs_part_them_and_each_pane_has_its_own_lines() -> None:
    left, right = boxes(100, 150, range(10)), boxes(400, 150, range(10))
    columns = [Rect(40, 0, 60, 200), Rect(340, 0, 360, 200)]
    assert are_parted(left, right, columns) and not are_parted(left, right, columns[:1])
    outside = boxes(0, 30, range(10))
    assert pane_of(right, [*outside, *left, *right], columns) == (right, columns[1])
    assert pane_of(left, [*outside, *left, *right], columns) == (left, columns[0])


def test_a_page_whose_boxes_lean_but_whose_rows_are_level_is_not_tilted() -> None:
    page: Pixels = numpy.full((300, 500, 3), 255, numpy.uint8)
    for row in range(12):
        page[20 * row + 5 : 20 * row + 15, 10:450:2] = 0
    quads = [((10.0, y), (410.0, y + 20.0), (410.0, y + 32.0), (10.0, y + 12.0)) for y in range(0, 200, 40)]
    leaning = [Line(Rect(10, quad[0][1], 410, quad[2][1]), quad) for quad in quads]
    assert tilt_of(page, leaning) == 0.0
    slanted = page.copy()
    for x in range(500):
        slanted[:, x] = numpy.roll(page[:, x], round(0.05 * x), axis=0)
    assert tilt_of(slanted, leaning) == pytest.approx(2.86, abs=0.1)


def test_a_row_that_the_pictures_edge_cuts_does_not_tell_the_distance_of_rows() -> None:
    middles = [8.0, 30.0, *(30 + 30.0 * number for number in range(1, 8))]
    assert 28 < row_step([around(Rect(0, y - 9, 100, y + 9)) for y in middles]) < 31


def test_rows_at_distances_of_which_no_two_are_alike_have_the_least_of_them() -> None:
    middles = accumulate((12, 17, 24, 34, 48, 68), initial=10.0)
    assert row_step([Line(Rect(0, y - 5, 100, y + 5)) for y in middles]) > 0
    assert row_step([Line(Rect(0, y - 5, 100, y + 5)) for y in (10, 22, 82, 282, 982, 3000)]) == 12
