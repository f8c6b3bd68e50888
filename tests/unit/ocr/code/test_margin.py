"""What stands left of code in an editor: numbers of lines and marks, which are cut off; and panes side by side."""

from dataclasses import replace

import numpy
import pytest

from gateway.geometry.boxes import Line, Rect, hull
from gateway.ocr.code.regions import are_parted, number_column, pane_of, rows_beside
from gateway.ocr.image.upright import tilt_of

PITCH, STEP = 10.0, 20.0
Pixels = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.uint8]]


def line(text: str, x: float, row: int) -> Line:
    """A read line whose first letter's left side is at x."""
    letters = tuple(x + PITCH * (n + 0.5) for n in range(len(text)))
    rect = Rect(x, STEP * row + 2, x + PITCH * len(text), STEP * row + 18)
    quad = ((rect.x1, rect.y1), (rect.x2, rect.y1), (rect.x2, rect.y2), (rect.x1, rect.y2))
    return Line(rect, quad, text, 1.0, size=8.0, letters=letters, fit=1.0, is_read=True)


def unread(rect: Rect) -> Line:
    return Line(rect, size=8.0)


def boxes(x: float, width: float, rows: range) -> list[Line]:
    return [unread(Rect(x, STEP * row + 2, x + width, STEP * row + 18)) for row in rows]


def test_short_lines_that_end_at_one_place_in_nearly_every_row_are_numbers_beside_code() -> None:
    run, numbers = boxes(100, 200, range(3, 9)), boxes(40, 20, range(12))
    files = boxes(0, 35, range(0, 12, 5))
    assert number_column(run, [*run, *numbers, *files], PITCH) == numbers
    assert number_column(run, [*run, *numbers[:4]], PITCH) == []
    ragged = [replace(number, rect=number.rect._replace(x2=45.0 + 4 * n)) for n, number in enumerate(numbers)]
    assert number_column(run, [*run, *ragged], PITCH) == []


def test_a_block_reaches_as_far_as_its_numbers_and_no_further_left() -> None:
    numbers, short = boxes(40, 20, range(12)), boxes(100, 10, range(9, 12))
    column = hull([number.rect for number in numbers])
    grown = rows_beside(column, [*numbers, *short], Rect(0, 60, 300, 180))
    assert (grown.x1, grown.y2) == (40, short[-1].rect.y2)


def test_numbers_between_two_runs_part_them_and_each_pane_has_its_own_lines() -> None:
    left, right = boxes(100, 150, range(10)), boxes(400, 150, range(10))
    columns = [Rect(40, 0, 60, 200), Rect(340, 0, 360, 200)]
    assert are_parted(left, right, columns) and not are_parted(left, right, columns[:1])
    outside = boxes(0, 30, range(10))
    inside, own = pane_of(right, [*outside, *left, *right], columns)
    assert inside == right and own == columns[1]
    inside, own = pane_of(left, [*outside, *left, *right], columns)
    assert inside == left and own == columns[0]


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
