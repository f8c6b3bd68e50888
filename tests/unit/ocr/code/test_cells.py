"""Code read again by its cells: look-alikes, left-out signs, frames, spaces; what is no grid stays as it was read."""

from dataclasses import replace

import numpy
import pytest
from PIL import Image, ImageDraw

from gateway.geometry.boxes import Line, PageBlock, Rect
from gateway.ocr.code.cells import cell_grid, without_sides
from gateway.ocr.code.reading import code_text, read_block, read_cells
from tests.support.ocr_lines import Pixels, around
from tests.support.ocr_pages import font

FACE = font(16, "SansMono")
PITCH = FACE.getlength("m")
STEP, LEFT, TOP = 22, 40, 40


def drawn(rows: tuple[str, ...]) -> Pixels:
    image = Image.new("L", (LEFT * 2 + round(PITCH * 60), TOP * 2 + STEP * len(rows)), 255)
    for number, row in enumerate(rows):
        ImageDraw.Draw(image).text((LEFT, TOP + STEP * number), row, 0, FACE)
    pixels: Pixels = numpy.asarray(image)
    return pixels


def line(text: str, row: int, column: int = 0) -> Line:
    """A line as the recogniser gives it, its letters in their columns."""
    left, top = LEFT + PITCH * column, TOP + STEP * row
    rect = Rect(left - 2, top, left + PITCH * len(text) + 2, top + 18)
    letters = tuple(left + PITCH * (place + 0.5) for place in range(len(text)))
    return around(rect, text, 0.9, letters=letters, fit=0.9, is_read=True)


def nothing(picture: Pixels, careful: bool) -> str:
    """A recogniser that sees nothing."""
    return ""


def read_rows(pixels: Pixels, lines: list[Line]) -> list[str]:
    """The rows of a picture of code, read by its cells."""
    grid = cell_grid(pixels, lines, PITCH)
    assert grid is not None
    read = read_cells(grid, nothing)
    assert read is not None
    return code_text(read, PITCH).splitlines()


def test_rows_that_are_not_at_one_distance_keep_their_letters() -> None:
    """The rows of a receipt: a letter of a low row is none that goes below the line."""
    rows = [
        "1 x Very small data 919.94",
        "7 x Normal letters 304.85",
        "9 x Another sample 137.17",
        "5 x Till and 524.80",
    ]
    down = (0, 5, -1, 4)
    image = Image.new("L", (LEFT * 2 + round(PITCH * 60), 240), 255)
    lines = []
    for number, row in enumerate(rows):
        ImageDraw.Draw(image).text((LEFT, TOP + 30 * number + down[number]), row, 0, FACE)
        moved = line(row, 0)
        shift = 30.0 * number + (down[number] if number % 2 else 0)
        rect = moved.rect._replace(y1=moved.rect.y1 + shift, y2=moved.rect.y2 + shift)
        lines.append(replace(moved, rect=rect))
    assert read_rows(numpy.asarray(image), lines) == rows


FRAME = ("+-------+------+", "| alpha | beta |", "| gamma | beta |", "+-------+------+")
MISREAD = {
    "a letter read once as its look-alike takes the reading of its shape": (
        ("pool = libs.local", "lines = pool.all", "total = level + 1"), [line("poo1 = libs.local", 0)]),
    "a letter whose capital is drawn alike has the case of its height": (
        ("Error Off Open", "often open Other", "Order of others"),
        [line("Error off open", 0), line("often Open other", 1)]),
    "a word read with a letter too few is spelled by its shapes": (
        ("alpha beta gamma", "gamma alpha beta", "beta gamma alpha", "alpha gamma beta"),
        [line("alpa", 0), line("beta gamma", 0, 6)]),
    "slashes are known by how they lean": (
        ("alpha // gamma", "gamma \\\\ alpha", "beta gamma alpha"),
        [line("alpha 11 gamma", 0), line("gamma ll alpha", 1)]),
    "a wide sign in one cell is what its shape says": (
        ("alpha = beta", "gamma = alpha", "beta = gamma"), [line("alpha \u4e8c beta", 0)]),
}  # fmt: skip
"""What is drawn, and the lines that were misread: the rows behind them were read rightly."""


@pytest.mark.parametrize("rule", MISREAD)
def test_shapes_mend_what_was_misread(rule: str) -> None:
    rows, lines = MISREAD[rule]
    first = max(int((each.rect.y1 - TOP) / STEP) for each in lines) + 1
    right = [line(row, number) for number, row in enumerate(rows) if number >= first]
    assert read_rows(drawn(rows), [*lines, *right]) == list(rows)


def test_cells_of_rows_that_reach_over_a_panels_side_are_blank() -> None:
    rows = ("alpha beta", "gamma beta")
    grid = cell_grid(drawn((*rows, "_" * 10)), [line(row, n) for n, row in enumerate(rows)], PITCH)
    assert grid is not None and grid.inked[-1].any()
    grid.leave_out_beyond(Rect(0, 0, 1000, TOP + STEP * 2.5))
    assert grid.inked[1].any() and not grid.inked[-1].any()


def test_frames_that_no_line_was_found_for_come_back_as_text() -> None:
    lines = [line(word, row, at) for row in (1, 2) for word, at in ((FRAME[row][2:7], 2), ("beta", 10))]
    assert read_rows(drawn(FRAME), lines) == list(FRAME)


def test_box_drawing_signs_are_told_from_bars() -> None:
    rows = ("┌───────┬──────┐", "│ alpha │ beta │", "│ gamma │ beta │", "└───────┴──────┘")
    step = round(FACE.getmetrics()[0] + FACE.getmetrics()[1])
    image = Image.new("L", (300, 40 + step * 4), 255)
    ImageDraw.Draw(image).multiline_text((20, 20), "\n".join(rows), 0, FACE, spacing=0)
    lines = []
    for row, word, at in ((1, "alpha", 2), (1, "beta", 10), (2, "gamma", 2), (2, "beta", 10)):
        bottom = ImageDraw.Draw(image).multiline_textbbox((20, 20), "\n".join(rows[: row + 1]), FACE, spacing=0)[3]
        left = 20 + PITCH * at
        rect = Rect(left - 2, bottom - 17, left + PITCH * len(word) + 2, bottom)
        letters = tuple(left + PITCH * (place + 0.5) for place in range(len(word)))
        lines.append(Line(rect, (), word, 0.9, letters=letters, fit=0.9, is_read=True))
    assert [row for row in read_rows(numpy.asarray(image), lines) if "alpha" in row] == [rows[1]]


def test_a_line_off_the_rows_stays_as_it_was_read() -> None:
    rows = tuple(f"value {n} of the list" for n in range(8))
    lines = [line(row, n) for n, row in enumerate(rows)]
    title = replace(line("title", 0), rect=Rect(LEFT, 33, LEFT + 50, 43))
    grid = cell_grid(drawn(rows), [title, *lines], PITCH)
    assert grid is not None and grid.others == (title,)


def test_lines_without_a_grid_are_given_back() -> None:
    rows = ("one line", "another")
    uneven = [line(rows[0], 0), line(rows[1], 1), replace(line("x", 1), rect=Rect(LEFT, 71, LEFT + 9, 83))]
    block = PageBlock("code", Rect(LEFT, TOP, 300, 90), uneven, pitch=2.0)
    assert read_block(numpy.repeat(drawn(rows)[:, :, None], 3, axis=2), block, uneven, [], nothing) == uneven


def test_the_sides_of_a_panel_are_painted_over() -> None:
    image = Image.new("L", (200, 100), 244)
    ImageDraw.Draw(image).rectangle((20, 20, 180, 80), outline=150)
    gray = numpy.asarray(image)
    assert int(without_sides(gray, [Rect(20.5, 20.5, 180.5, 80.5)], Rect(30, 30, 90, 50)).min()) == 244
    assert without_sides(gray, [], Rect(30, 30, 90, 50)) is gray
