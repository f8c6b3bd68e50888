"""Shapes of code that no line told: they are read between copies of a known word; strokes of an editor are no signs."""

import numpy
import pytest

from gateway.ocr.code.cells import cell_grid
from gateway.ocr.code.reading import code_text, read_cells
from gateway.ocr.image.ink import any_colour
from tests.support.ocr_lines import Pixels
from tests.unit.ocr.code.test_cells import PITCH, drawn, line


class Scripted:
    """A recogniser that says of every picture that the shapes between the words are those given, in turn."""

    def __init__(self, word: str, quick: str, careful: str = "") -> None:
        self.word, self.answers = word, {False: quick, True: careful}
        self.widths: list[int] = []

    def __call__(self, picture: Pixels, careful: bool) -> str:
        self.widths.append(picture.shape[1])
        count = round((picture.shape[1] / round(PITCH) - 1 - len(self.word)) / (len(self.word) + 1))
        return self.word + "".join(self.answers[careful] + self.word for _ in range(count))


def read(rows: tuple[str, ...], known: dict[int, str], recogniser: Scripted) -> list[str]:
    grid = cell_grid(
        drawn(rows), [line(text.strip(), n, len(text) - len(text.lstrip())) for n, text in known.items()], PITCH
    )
    assert grid is not None
    lines = read_cells(grid, recogniser)
    assert lines is not None
    return code_text(lines, PITCH).splitlines()


ROWS = ("the return was", "was the return", "}", "return the was")


@pytest.mark.parametrize(
    ("word", "sign", "brace"),
    [
        pytest.param("return", "}", ["}"], id="a lone brace is read between copies of a word"),
        pytest.param("return", "", [], id="where both recognisers see nothing there is nothing"),
        pytest.param("nothing", "}", [], id="an answer in which the word is misread tells nothing"),
    ],
)
def test_a_sign_that_no_line_covers_is_read_beside_a_known_word(word: str, sign: str, brace: list[str]) -> None:
    answer = read(ROWS, {0: ROWS[0], 1: ROWS[1], 3: ROWS[3]}, Scripted(word, sign))
    assert [row for row in answer if row] == [*ROWS[:2], *brace, ROWS[3]]


def test_the_pictures_of_a_block_are_bounded() -> None:
    letters = [chr(code) for code in range(33, 127) if not chr(code).isalnum()]
    rows = ("value and return", "return value and", *(sign * 2 for sign in letters), "and value return")
    recogniser = Scripted("nothing", "?")
    read(rows, {0: rows[0], 1: rows[1], len(rows) - 1: rows[-1]}, recogniser)
    assert 0 < len(recogniser.widths) <= 16


def test_ink_of_its_grounds_luminance_is_darker_than_the_ground() -> None:
    page: Pixels = numpy.full((20, 20, 3), (185, 183, 182), numpy.uint8)
    page[5:15, 5:15] = (63, 255, 63)
    gray = any_colour(page)
    assert int(gray[0, 0]) - int(gray[10, 10]) > 50
