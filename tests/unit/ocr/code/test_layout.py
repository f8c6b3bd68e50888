"""The OCR engine's geometry and shapes, on made-up lines: no pixels, no models."""

import math

import numpy
import pytest

from gateway.geometry.blocks import build_blocks
from gateway.geometry.boxes import Cell, Line, PageBlock, Rect, Region, Table, Word
from gateway.geometry.reading_order import reading_order
from gateway.geometry.tables import Grid, aligned_tables, column_table, ruled_table
from gateway.ocr.image.ink import PageInk, choose_gaps, tighten
from gateway.ocr.image.upright import Warp, level, tilt_of
from gateway.ocr.server.app import OutputLimit
from gateway.ocr.server.report import content_of, html_table, markdown_table, scripts_of
from gateway.ocr.text.locate import find_text


def line(x: float, y: float, text: str, width: float = 0, height: float = 20, size: float = 10) -> Line:
    width = width or 10 * len(text)
    words, at = [], x
    for word in text.split():
        words.append(Word(word, Rect(at, y, at + 10 * len(word), y + height)))
        at += 10 * (len(word) + 1)
    quad = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
    return Line(Rect(x, y, x + width, y + height), quad, text, 1.0, tuple(words), size, 0.3)


def order(rects: list[Rect]) -> list[int]:
    return [index for group in reading_order(rects) for row in group for index in row]


# --- order ------------------------------------------------------------------------------------------------------------


def test_rows_are_read_left_to_right_and_top_to_bottom() -> None:
    rects = [Rect(300, 11, 350, 31), Rect(0, 50, 200, 70), Rect(0, 10, 200, 30), Rect(300, 49, 350, 69)]
    assert order(rects) == [2, 0, 1, 3]


def test_columns_are_read_one_after_the_other_under_a_wide_heading() -> None:
    rects = [Rect(0, 0, 900, 40)]
    rects += [Rect(0, 60 + 30 * i, 430, 80 + 30 * i) for i in range(6)]
    rects += [Rect(470, 63 + 30 * i, 900, 83 + 30 * i) for i in range(6)]
    assert order(rects) == list(range(13))


@pytest.mark.parametrize("count", [3, 5, 6])
def test_columns_of_running_text_are_columns_however_many_stand_side_by_side(count: int) -> None:
    ends = (180, 150, 172, 160, 50, 178, 140, 168, 175, 155, 60)  # ragged, the last line of a paragraph short
    rects = [Rect(200 * n, 24 * i, 200 * n + end, 24 * i + 18) for n in range(count) for i, end in enumerate(ends)]
    assert order(rects) == list(range(11 * count))


def test_six_narrow_columns_of_a_page_are_columns_and_no_table_though_their_lines_stand_on_one_grid() -> None:
    ends = [(147, 160, 121, 158, 150, 139, 144, 163)[(5 * n + i) % 8] for n in range(6) for i in range(40)]
    rects = [Rect(190 * n, 22 * i, 190 * n + ends[40 * n + i], 22 * i + 25) for n in range(6) for i in range(40)]
    assert order(rects) == list(range(240))
    assert aligned_tables([Line(rect) for rect in rects]) == []


def test_of_a_spread_the_left_page_is_read_first_whatever_the_heights_of_its_boxes() -> None:
    columns = ((0, 20), (200, 8), (500, 12), (700, 18))  # x and lines: two pages of two columns
    height = {0: 18, 200: 20, 500: 20, 700: 20}
    rects = [Rect(x, 26 * i, x + 180 - i % 3, 26 * i + height[x]) for x, count in columns for i in range(count)]
    rects.append(Rect(250, 600, 650, 640))  # a title across the foot
    assert order(rects) == list(range(len(rects)))


def test_contents_beside_a_wide_text_are_read_after_it() -> None:
    contents = [Rect(0, 37 * i, 120 - 5 * (i % 4), 37 * i + 16) for i in range(8)]
    text = [Rect(160, 30 * i, 700 - 20 * (i % 2), 30 * i + 20) for i in range(12)]
    assert order([*contents, *text]) == [*range(8, 20), *range(8)]


def test_a_column_of_prices_is_no_column_of_text() -> None:
    rects = [r for i in range(8) for r in (Rect(0, 30 * i, 400, 20 + 30 * i), Rect(700, 30 * i, 760, 20 + 30 * i))]
    assert order(rects) == list(range(16))


def test_labels_of_a_form_stay_beside_their_values() -> None:
    rects = [r for i in range(6) for r in (Rect(0, 40 * i, 80, 20 + 40 * i), Rect(200, 40 * i, 320, 20 + 40 * i))]
    assert order(rects) == list(range(12))


@pytest.mark.slow
def test_every_line_comes_once_whatever_the_page() -> None:
    rng = numpy.random.default_rng(5)
    for _ in range(30):
        corners = rng.uniform(0, 1000, (60, 2))
        sizes = rng.uniform(5, 400, (60, 2))
        rects = [Rect(x, y, x + w, y + h) for (x, y), (w, h) in zip(corners.tolist(), sizes.tolist(), strict=True)]
        assert sorted(order(rects)) == list(range(60))


# --- blocks -----------------------------------------------------------------------------------------------------------


def test_titles_get_levels_by_size() -> None:
    lines = [line(0, 0, "Largest", height=50, size=26), line(0, 80, "Middle", height=38, size=18)]
    lines += [line(0, 140 + 25 * i, "running text of the page goes here") for i in range(6)]
    lines += [line(0, 320, "Middle too", height=38, size=18)]
    titles = [block for block in build_blocks(lines, []) if block.label == "title"]
    assert [block.level for block in titles] == [1, 2, 2]


def test_a_figure_full_of_text_is_text() -> None:
    lines = [line(0, 30 * i, "receipt line number") for i in range(12)]
    blocks = build_blocks(lines, [Region("figure", Rect(0, 0, 400, 400), 0.95)])
    assert {block.label for block in blocks} == {"text"}


# --- tables -----------------------------------------------------------------------------------------------------------


def words(*rows: list[tuple[float, str]]) -> list[Word]:
    return [
        Word(text, Rect(x, 30 * number, x + 10 * len(text), 30 * number + 20))
        for number, row in enumerate(rows)
        for x, text in row
    ]


def texts(table: Table | None) -> list[list[str]]:
    assert table is not None
    grid = [[""] * table.column_count for _ in range(table.row_count)]
    for cell in table.cells:
        grid[cell.row][cell.column] = cell.text
    return grid


def test_columns_are_told_by_the_gaps_between_words() -> None:
    table = column_table(
        words(
            [(0, "Item"), (200, "Qty"), (300, "Price")],
            [(0, "Blue"), (50, "pen"), (210, "2"), (300, "18.50")],
            [(0, "Binder"), (210, "6"), (310, "3.15")],
        ),
        None,
    )
    assert texts(table) == [["Item", "Qty", "Price"], ["Blue pen", "2", "18.50"], ["Binder", "6", "3.15"]]


def test_a_wrapped_cell_without_rules_is_one_cell() -> None:
    made = [
        Word(text, Rect(x, y, x + 10 * len(text), y + 20))
        for x, y, text in [
            (0, 0, "Task"), (300, 0, "Due"),
            (0, 50, "Prepare"), (300, 50, "May"), (0, 74, "accounts"),
            (0, 130, "Repair"), (300, 130, "June"),
        ]
    ]  # fmt: skip
    assert texts(column_table(made, None)) == [["Task", "Due"], ["Prepare accounts", "May"], ["Repair", "June"]]


def test_rows_below_a_head_set_apart_are_rows_whichever_of_their_cells_are_empty() -> None:
    rows = [
        {0: "Day", 150: "What", 400: "Out", 500: "In", 600: "Left"},
        {0: "1 May", 150: "Brought forward", 600: "99.00"},
        {0: "2 May", 150: "Rope", 400: "36.07", 600: "62.93"},
        {0: "2 May", 150: "Paint", 600: "62.93"},
        {0: "3 May", 150: "Wax sold", 500: "14.54", 600: "77.47"},
        {150: "by the second store"},
        {0: "3 May", 150: "Tar", 400: "7.47", 600: "70.00"},
    ]
    made = [
        Word(text, Rect(x, 22 * number + 30 * (number > 0), x + 9 * len(text), 22 * number + 20 + 30 * (number > 0)))
        for number, row in enumerate(rows)
        for x, text in row.items()
    ]
    assert [row[1] for row in texts(column_table(made, None))] == [
        "What", "Brought forward", "Rope", "Paint", "Wax sold by the second store", "Tar",
    ]  # fmt: skip


def test_running_text_is_no_table() -> None:
    rows: list[list[tuple[float, str]]]
    rows = [[(0, "alpha"), (60, "beta"), (110, "gamma")], [(0, "be"), (30, "gammas"), (100, "alphas")], [(0, "a" * 16)]]
    assert column_table(words(*rows), None) is None


def test_missing_walls_merge_cells() -> None:
    grid = Grid((0, 100, 200, 300), (0, 40, 80), ((False, True), (True, True)), ((True, True, True), (True,) * 3))
    inside = [
        Word("Head", Rect(80, 10, 120, 30)),
        Word("R", Rect(240, 10, 260, 30)),
        *(Word(c, Rect(40 + 100 * i, 50, 60 + 100 * i, 70)) for i, c in enumerate("abc")),
    ]
    table = ruled_table(grid, inside)
    assert table is not None
    assert html_table(table) == (
        '<table><tr><td colspan="2">Head</td><td>R</td></tr><tr><td>a</td><td>b</td><td>c</td></tr></table>'
    )


def test_tables_are_written_as_html_and_as_markdown() -> None:
    table = Table(2, 2, (Cell(0, 0, "a < b"), Cell(0, 1, "x|y"), Cell(1, 0, ""), Cell(1, 1, "2")))
    assert html_table(table) == "<table><tr><td>a &lt; b</td><td>x|y</td></tr><tr><td></td><td>2</td></tr></table>"
    assert markdown_table(table) == "| a < b | x\\|y |\n| --- | --- |\n|  | 2 |"


def test_aligned_rows_are_found_and_paragraphs_are_not() -> None:
    rows = [line(x, 30 * i, "1,234.50") for i in range(5) for x in (0, 200, 400)]
    paragraph = [line(0, 400 + 30 * i, "running text over the whole width of it") for i in range(5)]
    assert aligned_tables(rows + paragraph) == [Rect(0, 0, 480, 140)]
    assert aligned_tables(paragraph) == []


# --- answers ----------------------------------------------------------------------------------------------------------


def test_a_paragraph_flows_where_a_row_was_full_and_breaks_where_it_was_not() -> None:
    block = PageBlock(
        "text",
        Rect(0, 0, 400, 100),
        [
            line(0, 0, "a row that runs to the very edge here ok", width=395),
            line(0, 25, "short end.", width=100),
            line(0, 50, "another", width=70),
            line(0, 75, "- a point", width=90),
        ],
    )
    assert content_of(block) == "a row that runs to the very edge here ok short end.\nanother\n- a point"


def test_scripts_are_named_by_their_letters() -> None:
    assert scripts_of("plain words") == ["Latin"]
    assert scripts_of("Привет мир abc") == ["Cyrillic", "Latin"]
    assert scripts_of("12.50") == []


@pytest.mark.parametrize(
    ("sought", "labels"),
    [
        ("total", ["total", "total"]),
        ("Grand Total:", ["Grand Total:"]),
        ("INV-2041", ["INV-2041"]),
        ("lnvoice", ["Invoice"]),
        ("due on receipt", ["due on receipt"]),
        ("€", ["€"]),
        ("elephant", []),
        ("", []),
    ],
)
def test_text_is_found_folded_partly_nearly_or_not_at_all(sought: str, labels: list[str]) -> None:
    rows = [
        [line(0, 0, "Invoice No:INV-2041")],
        [line(0, 30, "Total 5.00 €"), line(300, 30, "Grand total")],
        [line(0, 60, "payment due on")],
        [line(0, 90, "receipt of goods")],
    ]
    hits = find_text(rows, sought)
    assert [hit.label for hit in hits] == labels


def test_a_hit_inside_a_word_covers_its_share_of_it() -> None:
    [hit] = find_text([[line(0, 0, "No:INV2041")]], "INV2041")
    assert hit.rect.x1 == pytest.approx(100 * 2 / 9, abs=1)
    assert hit.rect.x2 == 100


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_stop_string_ends_the_answer_however_it_is_cut(cut: int) -> None:
    text = "one two END three"
    limit = OutputLimit(stops=("END",))
    shown = "".join(limit.feed(text[i : i + cut]) for i in range(0, len(text), cut)) + limit.finish()
    assert (shown, limit.finish_reason) == ("one two ", "stop")


def test_max_tokens_ends_the_answer_with_length() -> None:
    limit = OutputLimit(max_tokens=2)
    assert limit.feed("abcde") + limit.feed("fghij") == "abcdefgh"
    assert limit.finish_reason == "length"


# --- frames and ink ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_boxes_go_back_to_the_image_as_it_came(turns: int) -> None:
    page: numpy.ndarray = numpy.zeros((300, 500), numpy.uint8)
    page[30:60, 400:450] = 1
    turned = numpy.rot90(page, turns)
    rows, columns = numpy.nonzero(turned)
    rect = Rect(columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    box = Warp(500, 300, turns).box(rect)
    assert box == pytest.approx((400 / 500 * 999, 30 / 300 * 999, 450 / 500 * 999, 60 / 300 * 999), abs=1)


def test_a_tilted_page_is_levelled_and_boxes_go_back() -> None:
    angle = 3.0
    slope = math.tan(math.radians(angle))
    lines = []
    for i in range(5):
        y = 50 + 40 * i
        quad = ((10.0, y), (410.0, y + 400 * slope), (410.0, y + 20 + 400 * slope), (10.0, y + 20.0))
        lines.append(Line(Rect(10, y, 410, y + 20 + 400 * slope), quad))
    page: numpy.ndarray = numpy.full((300, 500, 3), 255, numpy.uint8)
    for line in lines:
        for x in range(12, 408, 4):
            y = round(line.quad[0][1] + 5 + (x - 10) * slope)
            page[y : y + 10, x : x + 2] = 0
    assert tilt_of(page, lines) == pytest.approx(angle, abs=0.1)
    _, levelled = level(numpy.zeros((300, 500, 3), numpy.uint8), lines, angle)
    assert all(one.rect.height < 22 for one in levelled)
    frame = Warp(500, 300, 0, angle)
    back = frame.box(levelled[0].rect)
    first = lines[0].rect
    assert back == pytest.approx(
        (first.x1 / 500 * 999, first.y1 / 300 * 999, first.x2 / 500 * 999, first.y2 / 300 * 999), abs=5
    )


@pytest.mark.parametrize("is_inverted", [False, True])
def test_boxes_are_tightened_to_ink_and_leave_rules_out(is_inverted: bool) -> None:
    gray: numpy.ndarray = numpy.full((100, 200), 255, numpy.uint8)
    gray[40:60, 50:120] = 0
    gray[22:24, :] = 0
    if is_inverted:
        gray = 255 - gray
    assert tighten(PageInk(gray), Rect(30, 20, 150, 80)) == Rect(50, 40, 120, 60)


def test_a_box_without_ink_stays_as_it_is() -> None:
    rect = Rect(10, 10, 50, 30)
    assert tighten(PageInk(numpy.full((60, 60), 200, numpy.uint8)), rect) == rect


def test_words_part_at_wide_gaps_near_where_they_are_expected() -> None:
    letters = [(10, 12), (22, 24), (34, 41), (51, 53), (63, 70), (80, 82)]
    assert choose_gaps(letters, [36.0, 68.0], 20) == [(34, 41), (63, 70)]
    assert choose_gaps([(10, 15)], [12.0, 40.0], 20) is None
    even = [(10, 13), (30, 33), (50, 53), (70, 73)]
    assert choose_gaps(even, [33.0, 70.0], 20) == [(30, 33), (70, 73)]
