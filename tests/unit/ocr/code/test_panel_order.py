"""Reading order of screens: card by card, side bars as a whole, contents in small print after the text."""

import pytest

from gateway.geometry.boxes import Rect
from gateway.geometry.reading_order import aligned_share, is_aside, page_order, panel_of, reading_order, texts_beside


def column(x: float, y: float, count: int, width: float = 100, height: float = 16, step: float = 24) -> list[Rect]:
    return [Rect(x, y + step * number, x + width, y + step * number + height) for number in range(count)]


def order(rects: list[Rect], panels: list[Rect]) -> list[int]:
    return [index for group in page_order(rects, panels) for row in group for index in row]


def plain(rects: list[Rect]) -> list[int]:
    return [index for group in reading_order(rects) for row in group for index in row]


def test_cards_in_a_row_are_read_one_after_the_other() -> None:
    panels = [Rect(x, 60, x + 180, 160) for x in (20, 220, 420)]
    heading = [Rect(20, 20, 160, 44)]
    cards = [column(x + 12, 72, 3) for x in (20, 220, 420)]
    rects = [*heading, *cards[1], *cards[0], *cards[2]]
    assert order(rects, panels) == [0, 4, 5, 6, 1, 2, 3, 7, 8, 9]


def test_a_side_bar_comes_as_a_whole_before_the_cards_beside_it() -> None:
    panels = [Rect(0, 0, 160, 600), Rect(160, 0, 800, 600), Rect(180, 20, 460, 200), Rect(480, 20, 760, 200)]
    bar, left, right = column(10, 30, 6), column(190, 30, 4), column(490, 30, 4)
    assert order([*right, *left, *bar], panels) == [*range(8, 14), *range(4, 8), *range(4)]


def test_cards_of_two_columns_with_unlike_heights_are_read_down_each_column() -> None:
    panels = [Rect(0, 0, 200, 100), Rect(0, 120, 200, 300), Rect(220, 0, 420, 180), Rect(220, 200, 420, 300)]
    rects = [Rect(p.x1 + 10, p.y1 + 10 + n * 24, p.x1 + 90, p.y1 + 26 + n * 24) for p in panels for n in range(2)]
    assert order(rects, panels) == list(range(8))


def test_a_narrow_column_of_small_print_follows_the_text() -> None:
    contents = column(10, 20, 12, width=120, height=11, step=15)
    text = column(180, 20, 8, width=500, height=16, step=24)
    assert order([*contents, *text], [Rect(0, 0, 150, 400)]) == [*range(12, 20), *range(12)]
    assert is_aside(contents, text)
    assert not is_aside(text, contents)


def test_a_narrow_side_bar_without_a_ground_is_a_column_when_its_rows_are_its_own() -> None:
    bar = column(10, 20, 14, width=70, height=15, step=17)
    text = column(140, 24, 10, width=560, height=15, step=24)
    assert plain([*bar, *text]) == list(range(24))
    assert len(texts_beside([*bar, *text])) == 2


def test_a_list_of_pairs_keeps_its_rows() -> None:
    names, values = column(10, 20, 8, width=70), column(140, 20, 8, width=300)
    assert aligned_share(names, values) == 1.0
    assert plain([*names, *values]) == [n for pair in zip(range(8), range(8, 16), strict=True) for n in pair]
    assert texts_beside([*names, *values]) == [list(range(16))]


def test_two_addresses_at_the_head_of_a_letter_are_read_one_after_the_other() -> None:
    left = [Rect(40, 100 + 22 * n, 40 + width, 116 + 22 * n) for n, width in enumerate((60, 130, 110))]
    right = [Rect(560, 100 + 22 * n, 560 + width, 116 + 22 * n) for n, width in enumerate((140, 90, 120))]
    assert plain([*left, *right]) == list(range(6))


def test_sums_at_the_right_keep_their_names() -> None:
    names = [Rect(400, 100 + 22 * n, 400 + width, 116 + 22 * n) for n, width in enumerate((62, 66, 70))]
    values = [Rect(760 - width, 100 + 22 * n, 760, 116 + 22 * n) for n, width in enumerate((60, 44, 62))]
    assert plain([*names, *values]) == [0, 3, 1, 4, 2, 5]


def test_a_large_name_is_read_before_the_address_far_beside_it() -> None:
    name = Rect(40, 40, 260, 70)
    address = [Rect(600, 38 + 17 * n, 700, 52 + 17 * n) for n in range(2)]
    assert plain([*address, name]) == [2, 0, 1]


def test_a_piece_belongs_to_the_smallest_panel_around_it() -> None:
    panels = [Rect(0, 0, 400, 400), Rect(20, 20, 200, 200)]
    assert panel_of(Rect(30, 30, 90, 46), panels) == 1
    assert panel_of(Rect(230, 30, 290, 46), panels) == 0
    assert panel_of(Rect(430, 30, 490, 46), panels) == -1


def test_two_columns_filled_by_their_lines_are_two_texts_though_their_rows_are_at_one_height() -> None:
    left = [Rect(40, 40 + 24 * n, 280 + 20 * (n % 3), 60 + 24 * n) for n in range(12)]
    right = [Rect(360, rect.y1, rect.x2 + 320, rect.y2) for rect in left]
    assert texts_beside([*left, *right]) == [list(range(12)), list(range(12, 24))]


def test_cards_of_one_width_are_no_asides_though_the_boxes_of_one_are_lower() -> None:
    cards = [Rect(x, 100, x + 200, 300) for x in (0, 220, 440, 660)]
    rects = [
        Rect(x + 10, 110 + 40 * n, x + 150, 110 + 40 * n + (26 if x == 440 else 30))
        for x in (0, 220, 440, 660)
        for n in range(4)
    ]
    assert [i for group in page_order(rects, cards) for row in group for i in row] == list(range(16))


def test_cards_side_by_side_part_a_page_whatever_columns_its_lines_form() -> None:
    above = [Rect(20, 20 + 30 * n, 300, 40 + 30 * n) for n in range(8)]
    right = [Rect(700, 35 + 30 * n, 900, 55 + 30 * n) for n in range(8)]
    cards = [Rect(20, 300, 300, 400), Rect(700, 300, 900, 400)]
    inside = [Rect(30, 310, 280, 330), Rect(30, 340, 280, 360), Rect(710, 310, 880, 330), Rect(710, 340, 880, 360)]
    rects = [*above, *right, *inside]
    order = [i for group in page_order(rects, cards) for row in group for i in row]
    assert order[-4:] == [16, 17, 18, 19]


@pytest.mark.parametrize("count", [2, 3, 8])
def test_columns_of_a_few_lines_of_prose_are_read_one_after_the_other(count: int) -> None:
    left = [Rect(40, 100 + 22 * n, 40 + 360 - 7 * (n % 3), 116 + 22 * n) for n in range(count)]
    right = [Rect(420, 100 + 22 * n, 420 + 360 - 9 * (n % 2), 116 + 22 * n) for n in range(count)]
    assert plain([*left, *right]) == list(range(2 * count))


def test_a_heading_below_two_columns_follows_both() -> None:
    columns = [*column(40, 100, 9, 360), *column(440, 100, 9, 360)]
    heading, wide = Rect(40, 350, 300, 370), [Rect(40, 390 + 24 * n, 800, 406 + 24 * n) for n in range(3)]
    assert plain([*columns, heading, *wide]) == list(range(22))
