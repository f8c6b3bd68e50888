"""Tables as real pages have them: close columns, wrapped cells, pairs of names and values. No models."""

import numpy
import pytest
from PIL import Image, ImageDraw

from gateway.geometry.boxes import Line, Rect, Word
from gateway.geometry.reading_order import bands_of, rows_of
from gateway.geometry.tables import aligned_tables, build_table, column_table
from gateway.ocr.image.grids import find_grid, ruled_regions
from gateway.ocr.image.ink import PageInk, measure, part_words, parts_of, without_rules
from tests.support.ocr_lines import around, cells, words
from tests.support.ocr_pages import font

FACE = font(20)


def boxes(*rows: tuple[float, list[tuple[float, float]]]) -> list[Line]:
    """Lines of height 28 by rows: the y of a row and where its pieces begin and end."""
    rects = [Rect(left, y, right, y + 28) for y, pieces in rows for left, right in pieces]
    return [Line(rect) for rect in rects]


def inked_line(*pieces: tuple[int, str]) -> tuple[PageInk, Line]:
    """The ink of a strip with the texts at their places, and one line around all of them."""
    image = Image.new("L", (900, 60), 255)
    draw = ImageDraw.Draw(image)
    for x, text in pieces:
        draw.text((x, 18), text, font=FACE, fill=0)
    right = pieces[-1][0] + FACE.getlength(pieces[-1][1])
    rect = Rect(pieces[0][0] - 3, 14, right + 3, 46)
    ink = PageInk(numpy.asarray(image))
    return ink, measure(ink, around(rect, "read", 0.9, words=(Word("read", rect),)))


def test_close_cells_seen_as_one_line_are_parted_and_read_anew() -> None:
    ink, line = inked_line((20, "Replies"), (20 + int(FACE.getlength("Replies")) + 24, "Views"))
    parts = parts_of(ink, line)
    assert [part.text for part in parts] == ["", ""]
    assert parts[0].rect.x2 == parts[1].rect.x1 == pytest.approx(20 + FACE.getlength("Replies") + 12, abs=3)
    assert parts[0].quad[1] == (parts[0].rect.x2, 14)


def test_a_line_of_prose_is_not_parted_at_its_spaces() -> None:
    ink, line = inked_line((20, "A full stop.  And two spaces after it, as some have them."))
    assert parts_of(ink, line) == [line]


def test_the_box_of_a_lone_word_is_its_ink() -> None:
    ink, line = inked_line((100, "14"))
    [word] = part_words(ink, line).words
    assert 100 <= word.rect.x1 <= 104 and word.rect.x2 <= 100 + FACE.getlength("14")


def test_names_beside_their_values_are_a_table() -> None:
    rows = [(40.0 * n, [(10.0, 100.0 + 30 * n), (400.0, 470.0 + 10 * n)]) for n in range(5)]
    assert aligned_tables(boxes(*rows)) == [Rect(10, 0, 510, 188)]


@pytest.mark.parametrize(
    "pieces",
    [[(10.0, 360.0), (400.0, 750.0)], [(10.0, 30.0), (60.0, 700.0)]],
    ids=["columns of prose", "a numbered list"],
)
def test_columns_of_prose_and_numbered_lists_are_no_tables(pieces: list[tuple[float, float]]) -> None:
    assert aligned_tables(boxes(*[(30.0 * n, pieces) for n in range(6)])) == []


def test_further_lines_of_a_cell_do_not_end_a_table_and_a_paragraph_below_it_is_not_part_of_it() -> None:
    full = [(10.0, 300.0), (400.0, 450.0), (500.0, 560.0)]
    rows = [(0.0, full), (60.0, full), (89.0, [(10.0, 200.0)]), (150.0, full), (210.0, full)]
    assert aligned_tables(boxes(*rows)) == [Rect(10, 0, 560, 238)]
    rows = [(0.0, full), (60.0, full), (120.0, full), (180.0, [(10.0, 900.0)])]
    assert aligned_tables(boxes(*rows)) == [Rect(10, 0, 560, 148)]


def test_what_stands_at_the_middle_of_a_tall_cell_is_in_its_row() -> None:
    tall = [Rect(10, 0, 300, 28), Rect(400, 14, 450, 42), Rect(10, 28, 200, 56)]
    assert bands_of(tall, rows_of(tall, range(3))) == [[0, 2, 1]]
    closely_set = [Rect(x, y, x + 80, y + 28) for y in (0, 18) for x in (10, 200, 400)]
    assert bands_of(closely_set, rows_of(closely_set, range(6))) == [[0, 1, 2], [3, 4, 5]]


def test_the_lines_of_a_cell_before_and_after_its_row_are_joined() -> None:
    made = words(
        (0, [(0, "name"), (400, "12")]), (60, [(0, "first")]), (76, [(400, "34")]), (92, [(0, "second")]),
        (150, [(0, "third"), (400, "56")]),
    )  # fmt: skip
    assert cells(column_table(made, None)) == [["name", "12"], ["first second", "34"], ["third", "56"]]


def test_a_gap_that_parts_off_only_the_end_of_a_long_cell_is_no_gutter() -> None:
    rows = [(40.0 * n, [(0.0, "name"), (300.0, "7.5")]) for n in range(9)]
    table = column_table(words(*rows, (360, [(0, "energy"), (300, "2410kj"), (370, "581kcal")])), None)
    assert cells(table)[-1] == ["energy", "2410kj 581kcal"]


def pieces(y: float, *spans: tuple[float, float]) -> list[Line]:
    return [Line(Rect(x1, y, x2, y + 20)) for x1, x2 in spans]


def test_rows_of_other_columns_above_a_wide_gap_are_no_part_of_a_table() -> None:
    items = [line for n in range(4) for line in pieces(200 + 34 * n, (50, 200), (330, 360), (420, 480), (560, 620))]
    addresses = [line for n in range(3) for line in pieces(60 + 26 * n, (30, 120), (240, 310), (500, 540))]
    assert aligned_tables([*addresses, *items])[-1] == Rect(50, 200, 620, 322)
    head = pieces(150, (50, 120), (320, 360), (430, 480), (550, 620))
    assert aligned_tables([*head, *items]) == [Rect(50, 150, 620, 322)]  # set apart, but of the same columns


def test_a_word_a_little_over_a_gutter_is_a_long_value_and_one_over_its_middle_a_heading() -> None:
    rows = [(200.0 + 30 * n, [(50.0, "name"), (300.0, "12.50")]) for n in range(5)]
    table = column_table([*words(*rows), Word("62,226,560", Rect(150, 350, 350, 370))], None)
    assert table is not None and {cell.column_span for cell in table.cells} == {1}


def test_closely_set_names_and_values_are_lines_of_text() -> None:
    def pairs(step: float) -> list[Line]:
        return [line for n in range(4) for line in pieces(100 + step * n, (50, 120 + 9 * n), (220, 300))]

    assert aligned_tables(pairs(21)) == [] and len(aligned_tables(pairs(27))) == 1


def ruled(image: Image.Image, xs: tuple[int, ...], ys: tuple[int, ...], ink: int) -> ImageDraw.ImageDraw:
    """Rules at these places, each as long as the others reach."""
    draw = ImageDraw.Draw(image)
    for y in ys:
        draw.line((xs[0], y, xs[-1], y), fill=ink)
    for x in xs:
        draw.line((x, ys[0], x, ys[-1]), fill=ink)
    return draw


def read_line(x: float, y: float, *texts: str) -> Line:
    """A read line, its words a space of 6 apart."""
    found, at = [], x
    for each in texts:
        found.append(Word(each, Rect(at, y, at + 10 * len(each), y + 20)))
        at += 10 * len(each) + 6
    return Line(Rect(x, y, at - 6, y + 20), text=" ".join(texts), words=tuple(found))


def test_a_pale_rule_close_to_text_still_parts_two_rows() -> None:
    image = Image.new("L", (400, 160), 248)
    draw = ruled(image, (10, 54, 390), (10, 34, 58, 82), 214)
    for row, y in enumerate((12, 36, 60)):
        draw.text((26, y - 1), str(row + 1), font=FACE, fill=0)
    lines = [read_line(x, 12 + 24 * r, text) for r in range(3) for x, text in ((26, str(r + 1)), (80, "x"))]
    table = build_table(find_grid(numpy.asarray(image), Rect(10, 10, 390, 82)), lines)
    assert cells(table) == [["1", "x"], ["2", "x"], ["3", "x"]]


def test_a_frame_around_a_table_is_no_table_of_its_own() -> None:
    image = Image.new("L", (420, 320), 255)
    ImageDraw.Draw(image).rectangle((4, 4, 415, 315), outline=200)
    ruled(image, (100, 180, 260, 340), (100, 150, 200, 250), 100)
    found = ruled_regions(numpy.asarray(image))
    assert [tuple(round(side / 10) for side in rect) for rect in found] == [(10, 10, 34, 25)]


def test_a_piece_of_a_dotted_rule_is_no_line() -> None:
    image = Image.new("L", (600, 80), 255)
    draw = ImageDraw.Draw(image)
    draw.text((20, 10), "An ordinary line", font=FACE, fill=0)
    for x in range(300, 420, 4):
        draw.rectangle((x, 60, x + 1, 61), fill=120)
    text, rule = Line(Rect(16, 6, 200, 40)), Line(Rect(296, 54, 424, 68))
    assert without_rules(PageInk(numpy.asarray(image)), [text, rule, text]) == [text, text]
    assert without_rules(PageInk(numpy.asarray(image)), []) == []
