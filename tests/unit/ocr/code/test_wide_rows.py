"""Signs of code: as one cell holds them, where rows stand far apart, and in words of which most lack a sign."""

import numpy

from gateway.ocr.code.cells import sign_of
from gateway.ocr.code.reading import Run, _is_grid_of, as_code, is_wide


def cell(rows: slice, columns: slice) -> numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float64]]:
    ink = numpy.zeros((32, 12))
    ink[rows, columns] = 1
    return ink


def test_a_bar_is_known_by_its_height_in_letters_however_far_apart_rows_are() -> None:
    assert sign_of(cell(slice(7, 25), slice(5, 7))) == "|" and sign_of(cell(slice(9, 25), slice(5, 7))) == ""


def test_an_underscore_is_known_by_how_low_it_is_in_letters_however_far_apart_rows_are() -> None:
    assert sign_of(cell(slice(22, 24), slice(1, 11))) == "_" and sign_of(cell(slice(17, 19), slice(2, 10))) == "-"


def test_data_in_quotation_marks_has_a_grid_though_each_word_lacks_its_comma() -> None:
    numbers = [Run(0, 3, str(number)) for number in range(100, 108)]
    assert _is_grid_of([*numbers, *(Run(5, 14, '"SystemError"') for _ in numbers)])
    assert not _is_grid_of([*numbers, *(Run(5, 20, '"SystemError"') for _ in numbers)])


def test_signs_that_code_does_not_hold_are_what_they_look_like_in_one_cell() -> None:
    assert as_code("a =\u223c \u65e5") == "a =~ 0"
    assert is_wide("\u65e5") and not is_wide("0")
