"""Lone digits and dashes of a table that no line holds. No models."""

import numpy
from PIL import Image, ImageDraw

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.image.table_marks import DASH, missed_marks
from tests.support.counted_work import calls_of
from tests.support.ocr_pages import font

FACE = font(20)
TABLE = Rect(10, 10, 590, 190)


def sheet(*texts: tuple[int, int, str]) -> Image.Image:
    image = Image.new("L", (600, 200), 255)
    for x, y, text in texts:
        ImageDraw.Draw(image).text((x, y), text, font=FACE, fill=0)
    return image


def line(x: int, y: int, text: str) -> Line:
    return Line(Rect(x - 3, y - 3, x + FACE.getlength(text) + 3, y + 25), text=text)


ROWS = [(40, 20, "Qty"), (200, 20, "Article"), (40, 60, "12")]
ROWS += [(200, 60, "Rope"), (200, 100, "Paint"), (200, 140, "Oil")]


def marks(image: Image.Image) -> list[Line]:
    return missed_marks(numpy.asarray(image), TABLE, [line(*row) for row in ROWS])


def test_a_digit_alone_in_its_cell_is_a_line_to_be_read() -> None:
    [found] = marks(sheet(*ROWS, (40, 100, "1")))
    assert not found.is_read and found.rect.x1 < 44 < found.rect.x2 and abs(found.rect.center_y - 114) < 6


def test_a_dash_is_known_by_its_shape() -> None:
    image = sheet(*ROWS)
    ImageDraw.Draw(image).rectangle((42, 112, 54, 113), fill=0)
    assert [(mark.text, mark.is_read) for mark in marks(image)] == [(DASH, True)]


def test_rules_specks_and_ink_in_no_row_or_column_are_no_marks() -> None:
    image = sheet(*ROWS, (420, 100, "1"), (40, 175, "7"))
    draw = ImageDraw.Draw(image)
    draw.line((10, 90, 589, 90), fill=0)
    for x in range(20, 180, 4):
        draw.point((x, 130), fill=0)
    draw.line((150, 30, 150, 170), fill=0)
    assert marks(image) == []


def test_texture_is_no_table_full_of_marks() -> None:
    texts = [(x, 100, "1") for x in (40, 60)] + [(40 + 9 * n, 60, ".") for n in range(3)]
    image = sheet(*ROWS, *texts)
    draw = ImageDraw.Draw(image)
    for x in range(200, 560, 10):
        for y in range(24, 170, 40):
            draw.rectangle((x, y, x + 2, y + 11), fill=0)
    assert missed_marks(numpy.asarray(image), TABLE, [line(x, y, "W" * 20) for x, y, _ in ROWS[1::2]]) == []


def test_a_thousand_specks_as_large_as_digits_are_texture_and_not_compared() -> None:
    image = Image.new("L", (3_000, 2_000), 255)
    draw = ImageDraw.Draw(image)
    for x in range(100, 2_900, 30):
        for y in range(100, 1_900, 40):
            draw.rectangle((x, y, x + 3, y + 13), fill=0)
    page, lines = numpy.asarray(image), [line(*row) for row in ROWS]
    assert missed_marks(page, Rect(10, 10, 2_990, 1_990), lines) == []
    assert calls_of(lambda: missed_marks(page, Rect(10, 10, 2_990, 1_990), lines)) < 50_000  # each with all: millions
