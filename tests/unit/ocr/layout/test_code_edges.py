"""What stands beside code and is none of it: another ground, marks in a gutter, pale line numbers, specks."""

from itertools import accumulate

import numpy

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.code.regions import row_step
from gateway.ocr.layout.ground_edges import crossed_rows, left_edge, without_right
from gateway.ocr.layout.gutter_marks import marked_columns
from gateway.ocr.code.shapes import as_capitals
from gateway.ocr.code.reading import Run, _is_pale_gutter, without_specks
from gateway.ocr.code.shapes import _nearest
from tests.unit.ocr.layout.test_look_alikes import shapes

WINDOW, AROUND = 230, 120


Pixels = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.uint8]]


def page() -> Pixels:
    """A window, its left side at 40 and its lower one at 100, on another ground."""
    gray: Pixels = numpy.full((140, 200), AROUND, numpy.uint8)
    gray[:100, 40:] = WINDOW
    return gray


def test_code_begins_right_of_the_side_of_its_window() -> None:
    rect = Rect(80, 10, 180, 90)
    assert left_edge(page(), rect, 10) == 40
    assert left_edge(page(), rect, 60) == 60


def test_the_step_to_another_ground_right_of_code_is_no_ink_and_a_page_without_one_is_given_back() -> None:
    gray = page()[:, ::-1].copy()
    rect = Rect(20, 10, 150, 90)
    assert without_right(gray, rect, 5) is gray
    painted = without_right(gray, rect, 20)
    assert (painted[10:90, 150:171] == WINDOW).all() and (painted[:, 171:] == gray[:, 171:]).all()
    assert (gray[10:90, 160:] == AROUND).all()


def test_a_row_over_the_side_of_a_window_is_crossed_and_one_with_a_frames_line_is_not() -> None:
    gray = page()
    gray[49:51] = 0
    crossed = crossed_rows(gray, Rect(80, 10, 180, 90), [10.0, 30.0, 50.0, 70.0, 90.0])
    assert crossed.tolist() == [False, False, False, False, False]
    crossed = crossed_rows(gray, Rect(80, 10, 180, 90), [10.0, 30.0, 50.0, 70.0, 90.0, 110.0])
    assert crossed.tolist()[:4] == [False] * 4 and crossed[5]


def cells(rows: int, columns: int) -> numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float64]]:
    """Letters in all columns but the first: strokes that end within their cells."""
    ink = numpy.zeros((rows, columns, 10, 6))
    ink[:, 1:, 3:8, 2:4] = 1
    return ink


def test_bars_over_the_height_of_some_rows_are_marks_and_bars_over_nearly_all_a_frame() -> None:
    ink = cells(10, 4)
    ink[2:5, 0, :, :2] = 1
    assert marked_columns(ink, ink.any(axis=(2, 3))) == 1
    ink[1:9, 0, :, :2] = 1
    assert marked_columns(ink, ink.any(axis=(2, 3))) == 0


def test_letters_in_the_first_column_are_no_marks() -> None:
    ink = cells(10, 4)
    ink[:, 0, 3:8, 2:4] = 1
    assert marked_columns(ink, ink.any(axis=(2, 3))) == 0


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


def test_a_tall_shape_read_as_a_small_letter_that_another_surely_is_is_its_capital() -> None:
    block = shapes([{"o": 90}, {"o": 9}, {"o": 9}], [{}, {}, {}], [set(), set(), set()], [[1, 0.8, 0.97]] * 3)
    block.likeness = numpy.array([[1.0, 0.8, 0.97], [0.8, 1.0, 0.8], [0.97, 0.8, 1.0]])
    read = [("o", 1.0, 90), ("o", 1.0, 9), ("o", 1.0, 9)]
    assert [character for character, *_ in as_capitals(read, [False, True, True], block)] == ["o", "O", "o"]
    assert as_capitals(read, [False, False, False], block) == read


def test_drawings_beyond_the_commonest_join_the_shape_that_they_are_most_like() -> None:
    leaders = numpy.zeros((2, 8, 6))
    leaders[0, 1:7, 2] = 1
    leaders[1, 3, 1:5] = 1
    others = leaders[::-1].copy()
    others[0, 4, 2] = 0.9
    places, is_sure = _nearest(others, leaders)
    assert places.tolist() == [1, 0] and is_sure.tolist() == [False, True]
