"""Reading order: columns, forms and lists of pages; screens card by card, side bars as a whole, contents last."""

import numpy
import pytest

from gateway.geometry.boxes import Line, Rect
from gateway.geometry.reading_order import aligned_share, is_aside, panel_of, texts_beside
from gateway.geometry.tables import aligned_tables
from tests.support.ocr_lines import column, order


def at_rows(y: float, step: float, *sides: tuple[float, float]) -> list[Rect]:
    """Boxes of text, each a step below the one before, by their left and right sides."""
    return [Rect(left, y + step * n, right, y + step * n + 16) for n, (left, right) in enumerate(sides)]


def running(count: int) -> list[Rect]:
    ends = (180, 150, 172, 160, 50, 178, 140, 168, 175, 155, 60)  # ragged, the last line of a paragraph short
    return [Rect(200 * n, 24 * i, 200 * n + end, 24 * i + 18) for n in range(count) for i, end in enumerate(ends)]


def prose(count: int) -> list[Rect]:
    left = at_rows(100, 22, *((40, 400 - 7 * (n % 3)) for n in range(count)))
    return [*left, *at_rows(100, 22, *((420, 780 - 9 * (n % 2)) for n in range(count)))]


def paired(*columns: list[Rect]) -> list[Rect]:
    return [rect for row in zip(*columns, strict=True) for rect in row]


SPREAD = ((0, 20, 18), (200, 8, 20), (500, 12, 20), (700, 18, 20))
"""x, lines and their height: two pages of two columns."""
CARDS = [Rect(x, 60, x + 180, 160) for x in (20, 220, 420)]
BAR = [Rect(0, 0, 160, 600), Rect(160, 0, 800, 600), Rect(180, 20, 460, 200), Rect(480, 20, 760, 200)]
UNLIKE = [Rect(0, 0, 200, 100), Rect(0, 120, 200, 300), Rect(220, 0, 420, 180), Rect(220, 200, 420, 300)]
WIDE = [Rect(x, 100, x + 200, 300) for x in (0, 220, 440, 660)]
CONTENTS, TEXT = column(10, 20, 12, 120, 11, 15), column(180, 20, 8, 500)
SIDE_BAR, BESIDE = column(10, 20, 14, 70, 15, 17), column(140, 24, 10, 560, 15)
NAMES, VALUES = column(10, 20, 8, 70), column(140, 20, 8, 300)
PAGES: dict[str, tuple[list[Rect], list[Rect]]] = {
    "rows left to right and top to bottom": (
        [Rect(0, 10, 200, 30), Rect(300, 11, 350, 31), Rect(0, 50, 200, 70), Rect(300, 49, 350, 69)], []),
    "columns one after the other under a wide heading": (
        [Rect(0, 0, 900, 40), *column(0, 60, 6, 430, 20, 30), *column(470, 63, 6, 430, 20, 30)], []),
    **{f"{count} columns of running text": (running(count), []) for count in (3, 5, 6)},
    **{f"columns of {count} lines of prose": (prose(count), []) for count in (2, 3, 8)},
    "of a spread the left page first whatever the heights of its boxes, a title across the foot last": (
        [Rect(x, 26 * i, x + 180 - i % 3, 26 * i + height) for x, count, height in SPREAD for i in range(count)]
        + [Rect(250, 600, 650, 640)], []),
    "contents beside a wide text after it": (
        [Rect(160, 30 * i, 700 - 20 * (i % 2), 30 * i + 20) for i in range(12)]
        + [Rect(0, 37 * i, 120 - 5 * (i % 4), 37 * i + 16) for i in range(8)], []),
    "prices beside their articles": (paired(column(0, 0, 8, 400, 20, 30), column(700, 0, 8, 60, 20, 30)), []),
    "values beside their labels": (paired(column(0, 0, 6, 80, 20, 40), column(200, 0, 6, 120, 20, 40)), []),
    "a list of pairs by its rows": (paired(NAMES, VALUES), []),
    "sums at the right beside their names": (
        paired(at_rows(100, 22, (400, 462), (400, 466), (400, 470)),
               at_rows(100, 22, (700, 760), (716, 760), (698, 760))), []),
    "two addresses at the head of a letter one after the other": (
        at_rows(100, 22, (40, 100), (40, 170), (40, 150)) + at_rows(100, 22, (560, 700), (560, 650), (560, 680)), []),
    "a large name before the address far beside it": ([Rect(40, 40, 260, 70), *column(600, 38, 2, 100, 14, 17)], []),
    "a heading below two columns after both": (
        [*column(40, 100, 9, 360), *column(440, 100, 9, 360), Rect(40, 350, 300, 370), *column(40, 390, 3, 760)], []),
    "a narrow side bar without a ground whose rows are its own": ([*SIDE_BAR, *BESIDE], []),
    "cards in a row one after the other": (
        [Rect(20, 20, 160, 44), *(rect for card in CARDS for rect in column(card.x1 + 12, 72, 3))], CARDS),
    "a side bar as a whole before the cards beside it": (
        [*column(10, 30, 6), *column(190, 30, 4), *column(490, 30, 4)], BAR),
    "cards of two columns with unlike heights down each column": (
        [rect for card in UNLIKE for rect in column(card.x1 + 10, card.y1 + 10, 2, 80)], UNLIKE),
    "contents in small print after the text": ([*TEXT, *CONTENTS], [Rect(0, 0, 150, 400)]),
    "cards of one width are no asides though the boxes of one are lower": (
        [r for c in WIDE for r in column(c.x1 + 10, 110, 4, 140, 26 if c.x1 == 440 else 30, 40)], WIDE),
}  # fmt: skip
"""The boxes of a page in the order in which they are read, and its panels."""


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_read_in_the_order_of_its_texts(page: str) -> None:
    rects, panels = PAGES[page]
    given = rects[::-1]
    assert [given[index] for index in order(given, panels)] == rects


def test_six_narrow_columns_of_a_page_are_columns_and_no_table_though_their_lines_stand_on_one_grid() -> None:
    ends = [(147, 160, 121, 158, 150, 139, 144, 163)[(5 * n + i) % 8] for n in range(6) for i in range(40)]
    rects = [Rect(190 * n, 22 * i, 190 * n + ends[40 * n + i], 22 * i + 25) for n in range(6) for i in range(40)]
    assert order(rects) == list(range(240)) and aligned_tables([Line(rect) for rect in rects]) == []


@pytest.mark.slow
def test_every_line_comes_once_whatever_the_page() -> None:
    rng = numpy.random.default_rng(5)
    for _ in range(30):
        corners, sizes = rng.uniform(0, 1000, (60, 2)), rng.uniform(5, 400, (60, 2))
        rects = [Rect(x, y, x + w, y + h) for (x, y), (w, h) in zip(corners.tolist(), sizes.tolist(), strict=True)]
        assert sorted(order(rects)) == list(range(60))


def test_contents_are_an_aside_of_their_text_and_a_side_bar_or_filled_columns_are_texts_beside_another() -> None:
    assert is_aside(CONTENTS, TEXT) and not is_aside(TEXT, CONTENTS)
    assert len(texts_beside([*SIDE_BAR, *BESIDE])) == 2
    assert aligned_share(NAMES, VALUES) == 1.0 and texts_beside([*NAMES, *VALUES]) == [list(range(16))]
    left = [Rect(40, 40 + 24 * n, 280 + 20 * (n % 3), 60 + 24 * n) for n in range(12)]
    right = [Rect(360, rect.y1, rect.x2 + 320, rect.y2) for rect in left]  # at one height, row by row
    assert texts_beside([*left, *right]) == [list(range(12)), list(range(12, 24))]


def test_a_piece_belongs_to_the_smallest_panel_around_it() -> None:
    panels = [Rect(0, 0, 400, 400), Rect(20, 20, 200, 200)]
    assert [panel_of(Rect(x, 30, x + 60, 46), panels) for x in (30, 230, 430)] == [1, 0, -1]


def test_cards_side_by_side_part_a_page_whatever_columns_its_lines_form() -> None:
    above = [*column(20, 20, 8, 280, 20, 30), *column(700, 35, 8, 200, 20, 30)]
    cards = [Rect(20, 300, 300, 400), Rect(700, 300, 900, 400)]
    inside = [*column(30, 310, 2, 250, 20, 30), *column(710, 310, 2, 170, 20, 30)]
    assert order([*above, *inside], cards)[-4:] == [16, 17, 18, 19]
