"""Tables whose rows are parted by rules or stripes alone."""

from gateway.geometry.boxes import Rect
from gateway.ocr.layout.banded_tables import LevelEdge, banded_tables


def cells(xs: list[float], y: float, width: float = 80) -> list[Rect]:
    return [Rect(x, y, x + width, y + 20) for x in xs]


def ruled(start: float, end: float, heights: list[float]) -> list[LevelEdge]:
    """Rules, each with its two edges."""
    return [LevelEdge(y + side, start, end) for y in heights for side in (0, 2)]


COLUMNS: list[float] = [110, 300, 500]
ROWS = [rect for n in range(4) for rect in cells(COLUMNS, 205 + 30 * n)]
RULES = ruled(100, 600, [230, 260, 290])


def test_rules_under_rows_make_a_table_as_wide_as_they_are() -> None:
    (table,) = banded_tables(RULES, ROWS)
    assert (table.rect.x1, table.rect.x2) == (100, 600)
    assert table.edges == (205, 230, 260, 290, 315)  # the rows above the first rule and below the last belong to it


def test_tables_side_by_side_stay_apart_and_what_is_above_and_below_stays_out() -> None:
    right = [Rect(r.x1 + 600, r.y1, r.x2 + 600, r.y2) for r in ROWS]
    addresses = cells([110, 420], 140)
    sums = cells([300, 500], 360)
    tables = banded_tables([*RULES, *ruled(700, 1200, [230, 260, 290])], [*ROWS, *right, *addresses, *sums])
    assert sorted((t.rect.x1, t.rect.y1, t.rect.x2, t.rect.y2) for t in tables) == [
        (100, 205, 600, 315),
        (700, 205, 1200, 315),
    ]


def test_a_heading_set_further_off_belongs_to_the_table_where_its_columns_do() -> None:
    far = [Rect(r.x1, r.y1 - 20, r.x2, r.y2 - 20) for r in ROWS[:3]]
    assert banded_tables(RULES, [*far, *ROWS[3:]])[0].rect.y1 == 185
    elsewhere = cells([140, 330, 530], 185, 20)
    assert banded_tables(RULES, [*elsewhere, *ROWS[3:]])[0].rect.y1 == 230


def test_a_paragraph_between_a_table_and_the_rule_over_the_pages_foot_stays_out() -> None:
    rules = ruled(100, 600, [230, 260, 290, 320, 520])
    paragraph = [Rect(110, 400, 590, 420), Rect(110, 425, 540, 445)]
    (table,) = banded_tables(rules, [*ROWS, *paragraph])
    assert (table.rect.y1, table.rect.y2) == (205, 320)


def test_bands_with_cells_of_several_lines_are_one_row_each() -> None:
    stripes = [LevelEdge(y, 100, 600) for y in (230, 290, 350, 410)]
    whole = [rect for n in range(3) for rect in cells(COLUMNS, 235 + 60 * n)]
    further = [rect for n in range(3) for rect in cells(COLUMNS[:2], 260 + 60 * n)]
    (table,) = banded_tables(stripes, [*whole, *further])
    assert table.edges == (230, 290, 350, 410)


def test_two_full_rows_between_two_edges_are_two_rows_whose_edge_was_missed() -> None:
    (table,) = banded_tables(ruled(100, 600, [230, 290, 320]), [*ROWS, *cells(COLUMNS, 325)])
    assert table.edges == (205, 230, 260, 290, 320, 345)


def test_lists_between_strokes_and_the_items_of_a_receipt_are_no_tables() -> None:
    menu = [rect for n in range(4) for rect in cells([110], 205 + 30 * n)]
    assert banded_tables(RULES, menu) == []
    messages = [rect for n in range(3) for rect in [*cells([110, 500], 235 + 60 * n), *cells([110], 260 + 60 * n, 300)]]
    assert banded_tables(ruled(100, 600, [230, 290, 350, 410]), messages) == []
    items = [rect for n in range(9) for rect in cells([110, 500], 235 + 22 * n)]
    assert banded_tables(ruled(100, 600, [200, 230, 440, 480]), items) == []


def test_a_line_over_the_side_of_the_rules_ends_the_table() -> None:
    assert banded_tables(RULES, [*ROWS, Rect(50, 236, 400, 256)]) == []


def test_a_heading_of_fewer_cells_than_the_rows_belongs_to_the_table_when_it_stands_over_its_columns() -> None:
    wide: list[float] = [110, 190, 270, 350, 430, 510]
    stripes = [LevelEdge(y, 100, 600) for y in (230, 260, 290, 320, 350)]
    numbers = [rect for n in range(3) for rect in cells(wide, 265 + 30 * n, 50)]
    names = cells([110, 270, 430], 235, 50)
    groups = cells([110, 270, 430], 205, 50)
    assert banded_tables(stripes, [*groups, *names, *numbers])[0].edges == (205, 230, 260, 290, 320, 350)
    addresses = cells([150, 390], 205, 50)
    assert banded_tables(stripes, [*addresses, *names, *numbers])[0].rect.y1 == 230


def test_lines_of_cells_that_are_all_wrapped_are_no_rows() -> None:
    stripes = [LevelEdge(y, 100, 600) for y in (230, 260, 312, 342, 372)]
    pair: list[float] = [110, 300]
    wrapped = [*cells(pair, 266), *cells(pair, 287)]
    rows = [*cells(pair, 235), *wrapped, *cells(pair, 317), *cells(pair, 347)]
    assert banded_tables(stripes, rows)[0].edges == (230, 260, 312, 342, 372)


def test_a_box_whose_sides_are_all_the_tables_is_a_band_of_it() -> None:
    (table,) = banded_tables(RULES, ROWS)
    assert table.has_band(Rect(101, 229, 600, 262))
    assert not table.has_band(Rect(101, 229, 590, 262))
    assert not table.has_band(Rect(101, 240, 600, 262))


def test_sums_of_fewer_cells_are_rows_of_their_own_where_the_edge_between_them_was_missed() -> None:
    sums = [rect for n in (4, 5) for rect in cells(COLUMNS[1:], 205 + 30 * n)]
    (table,) = banded_tables(ruled(100, 600, [200, 230, 260, 290, 320, 380]), [*ROWS, *sums])
    assert [round(edge) for edge in table.edges] == [200, 230, 260, 290, 320, 350, 380]
