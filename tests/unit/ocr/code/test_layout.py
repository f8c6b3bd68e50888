"""The OCR engine's geometry and shapes, on made-up lines: no pixels, no models."""

import math

import numpy
import pytest

from gateway.geometry.blocks import build_blocks
from gateway.geometry.boxes import Cell, Line, PageBlock, Rect, Region, Table, Word
from gateway.geometry.tables import Grid, aligned_tables, column_table, ruled_table
from gateway.ocr.image.ink import PageInk, choose_gaps, tighten
from gateway.ocr.image.upright import Warp, level, tilt_of
from gateway.ocr.server.app import OutputLimit
from gateway.ocr.server.report import content_of, html_table, markdown_table, scripts_of
from gateway.ocr.text.locate import find_text
from tests.support.ocr_lines import around, cells, words


def line(x: float, y: float, text: str, width: float = 0, height: float = 20, size: float = 10) -> Line:
    width = width or 10 * len(text)
    parts, at = [], x
    for word in text.split():
        parts.append(Word(word, Rect(at, y, at + 10 * len(word), y + height)))
        at += 10 * (len(word) + 1)
    return around(Rect(x, y, x + width, y + height), text, 1.0, words=tuple(parts), size=size, weight=0.3)


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


def test_columns_are_told_by_the_gaps_between_words() -> None:
    made = words(
        (0, [(0, "Item"), (200, "Qty"), (300, "Price")]),
        (30, [(0, "Blue"), (50, "pen"), (210, "2"), (300, "18.50")]), (60, [(0, "Binder"), (210, "6"), (310, "3.15")]),
    )  # fmt: skip
    table = [["Item", "Qty", "Price"], ["Blue pen", "2", "18.50"], ["Binder", "6", "3.15"]]
    assert cells(column_table(made, None)) == table


def test_a_wrapped_cell_without_rules_is_one_cell() -> None:
    made = words(
        (0, [(0, "Task"), (300, "Due")]), (50, [(0, "Prepare"), (300, "May")]), (74, [(0, "accounts")]),
        (130, [(0, "Repair"), (300, "June")]),
    )  # fmt: skip
    assert cells(column_table(made, None)) == [["Task", "Due"], ["Prepare accounts", "May"], ["Repair", "June"]]


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
    what = ["What", "Brought forward", "Rope", "Paint", "Wax sold by the second store", "Tar"]
    assert [row[1] for row in cells(column_table(made, None))] == what


def test_running_text_is_no_table() -> None:
    first, second = (
        [(0.0, "alpha"), (60.0, "beta"), (110.0, "gamma")],
        [(0.0, "be"), (30.0, "gammas"), (100.0, "alphas")],
    )
    assert column_table(words((0, first), (30, second), (60, [(0, "a" * 16)])), None) is None


def test_missing_walls_merge_cells() -> None:
    grid = Grid((0, 100, 200, 300), (0, 40, 80), ((False, True), (True, True)), ((True, True, True), (True,) * 3))
    table = ruled_table(grid, words((10, [(80, "Head"), (240, "R")]), (50, [(40, "a"), (140, "b"), (240, "c")])))
    written = '<table><tr><td colspan="2">Head</td><td>R</td></tr><tr><td>a</td><td>b</td><td>c</td></tr></table>'
    assert table is not None and html_table(table) == written


def test_tables_are_written_as_html_and_as_markdown() -> None:
    table = Table(2, 2, (Cell(0, 0, "a < b"), Cell(0, 1, "x|y"), Cell(1, 0, ""), Cell(1, 1, "2")))
    assert html_table(table) == "<table><tr><td>a &lt; b</td><td>x|y</td></tr><tr><td></td><td>2</td></tr></table>"
    assert markdown_table(table) == "| a < b | x\\|y |\n| --- | --- |\n|  | 2 |"


def test_aligned_rows_are_found_and_paragraphs_are_not() -> None:
    rows = [line(x, 30 * i, "1,234.50") for i in range(5) for x in (0, 200, 400)]
    paragraph = [line(0, 400 + 30 * i, "running text over the whole width of it") for i in range(5)]
    assert aligned_tables(rows + paragraph) == [Rect(0, 0, 480, 140)] and aligned_tables(paragraph) == []


# --- answers ----------------------------------------------------------------------------------------------------------


def test_a_paragraph_flows_where_a_row_was_full_and_breaks_where_it_was_not() -> None:
    full = line(0, 0, "a row that runs to the very edge here ok", width=395)
    lines = [full, line(0, 25, "short end."), line(0, 50, "another"), line(0, 75, "- a point")]
    block = PageBlock("text", Rect(0, 0, 400, 100), lines)
    assert content_of(block) == "a row that runs to the very edge here ok short end.\nanother\n- a point"


@pytest.mark.parametrize(
    ("text", "scripts"), [("plain words", ["Latin"]), ("Привет мир abc", ["Cyrillic", "Latin"]), ("12.50", [])]
)
def test_scripts_are_named_by_their_letters(text: str, scripts: list[str]) -> None:
    assert scripts_of(text) == scripts


@pytest.mark.parametrize(
    ("sought", "labels"),
    [
        ("total", ["total", "total"]), ("Grand Total:", ["Grand Total:"]), ("INV-2041", ["INV-2041"]),
        ("lnvoice", ["Invoice"]), ("due on receipt", ["due on receipt"]), ("€", ["€"]), ("elephant", []), ("", []),
    ],
)  # fmt: skip
def test_text_is_found_folded_partly_nearly_or_not_at_all(sought: str, labels: list[str]) -> None:
    total = [line(0, 30, "Total 5.00 €"), line(300, 30, "Grand total")]
    due = [[line(0, 60, "payment due on")], [line(0, 90, "receipt of goods")]]
    hits = find_text([[line(0, 0, "Invoice No:INV-2041")], total, *due], sought)
    assert [hit.label for hit in hits] == labels


def test_a_hit_inside_a_word_covers_its_share_of_it() -> None:
    [hit] = find_text([[line(0, 0, "No:INV2041")]], "INV2041")
    assert hit.rect.x1 == pytest.approx(100 * 2 / 9, abs=1) and hit.rect.x2 == 100


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_stop_string_ends_the_answer_however_it_is_cut(cut: int) -> None:
    text = "one two END three"
    limit = OutputLimit(stops=("END",))
    shown = "".join(limit.feed(text[i : i + cut]) for i in range(0, len(text), cut)) + limit.finish()
    assert (shown, limit.finish_reason) == ("one two ", "stop")


# --- frames and ink ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_boxes_go_back_to_the_image_as_it_came(turns: int) -> None:
    page: numpy.ndarray = numpy.zeros((300, 500), numpy.uint8)
    page[30:60, 400:450] = 1
    rows, columns = numpy.nonzero(numpy.rot90(page, turns))
    box = Warp(500, 300, turns).box(Rect(columns.min(), rows.min(), columns.max() + 1, rows.max() + 1))
    assert box == pytest.approx((400 / 500 * 999, 30 / 300 * 999, 450 / 500 * 999, 60 / 300 * 999), abs=1)


def test_a_tilted_page_is_levelled_and_boxes_go_back() -> None:
    angle, lines = 3.0, []
    slope = math.tan(math.radians(angle))
    for y in range(50, 250, 40):
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
    came = [side / (500, 300)[n % 2] * 999 for n, side in enumerate(lines[0].rect)]
    assert Warp(500, 300, 0, angle).box(levelled[0].rect) == pytest.approx(came, abs=5)


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
    assert choose_gaps([(10, 13), (30, 33), (50, 53), (70, 73)], [33.0, 70.0], 20) == [(30, 33), (70, 73)]
