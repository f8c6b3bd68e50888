"""What of a cell is ink of its letter: not what reaches in from beside, and pale letters of pale rows too."""

import numpy

from gateway.ocr.code.cells import ink_of

HEIGHT, WIDTH = 16, 10
Cells = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float32]]


def white(rows: int, columns: int) -> Cells:
    return numpy.full((rows, columns, HEIGHT, WIDTH), 255, numpy.float32)


def test_the_end_of_a_neighbours_underscore_is_no_ink_of_a_letter() -> None:
    cells = white(1, 2)
    cells[0, 0, 13, :] = 0
    cells[0, 1, 13, :2] = 0
    cells[0, 1, 4:10, 4:7] = 0
    ink, _ = ink_of(cells)
    assert ink[0, 0, 13].all() and not ink[0, 1, 13].any() and ink[0, 1, 4:10, 4:7].all()


def test_a_dot_beside_a_blank_cell_is_the_letters_own() -> None:
    cells = white(1, 2)
    cells[0, 1, 2, :2] = 0
    cells[0, 1, 6:13, 4:6] = 0
    assert ink_of(cells)[0][0, 1, 2, :2].all()


def test_a_part_that_reaches_far_in_is_a_letters_own() -> None:
    cells = white(1, 2)
    cells[0, 0, 6, 4:] = 0
    cells[0, 1, 6, :6] = 0
    assert ink_of(cells)[0][0, 1, 6, :6].all()
