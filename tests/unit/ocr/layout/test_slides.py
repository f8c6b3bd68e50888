"""What slides and letters set side by side is read part by part: captions, headed columns, blocks far apart."""

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.layout.captions import captioned
from gateway.ocr.layout.headed_columns import headed_columns
from gateway.ocr.layout.islands import islands

PICTURE = Rect(50, 100, 350, 300)
CAPTION = Rect(50, 310, 300, 330)
BESIDE = [Rect(400, 120, 700, 140), Rect(400, 160, 640, 180)]


def line(x: float, y: float, width: float, size: float) -> Line:
    return Line(Rect(x, y, x + width, y + 2.2 * size), size=size)


def block(x: float, y: float, widths: list[float], step: float = 22) -> list[Rect]:
    return [Rect(x, y + n * step, x + width, y + n * step + 20) for n, width in enumerate(widths)]


def test_a_caption_goes_with_its_picture_where_text_stands_beside_it() -> None:
    assert captioned([PICTURE], [CAPTION, *BESIDE]) == [Rect(50, 100, 350, 330)]
    assert captioned([PICTURE, PICTURE], [CAPTION, *BESIDE]) == [Rect(50, 100, 350, 330)]
    assert captioned([PICTURE], [CAPTION]) == []


def test_a_paragraph_below_a_picture_a_wider_line_and_text_far_below_are_no_caption() -> None:
    paragraph = [Rect(50, 310 + 25 * n, 340, 330 + 25 * n) for n in range(5)]
    assert captioned([PICTURE], [*paragraph, *BESIDE]) == []
    assert captioned([PICTURE], [Rect(50, 310, 600, 330), *BESIDE]) == []
    assert captioned([PICTURE], [Rect(50, 360, 300, 380), *BESIDE]) == []
    assert captioned([Rect(50, 100, 120, 140)], [Rect(50, 145, 120, 165), Rect(400, 110, 700, 130)]) == []


def test_columns_under_large_headings_are_read_one_by_one() -> None:
    heads = [line(60, 100, 120, 30), line(460, 100, 120, 30)]
    below = [line(60, 180, 300, 14), line(60, 215, 200, 14), line(420, 180, 200, 14)]  # the second one is centred
    first, second = headed_columns([*heads, *below])
    assert (first.y2, round(second.x1)) == (below[1].rect.y2, 420)


def test_the_heads_of_a_table_and_a_line_under_two_headings_make_no_columns() -> None:
    heads, cells = [line(60, 100, 120, 14), line(460, 100, 120, 14)], [line(60, 140, 120, 14), line(460, 140, 99, 14)]
    assert headed_columns([*heads, *cells]) == []
    across = [line(60, 100, 120, 30), line(460, 100, 120, 30), line(60, 180, 500, 14), line(460, 182, 100, 14)]
    assert headed_columns(across) == []


def test_addresses_side_by_side_are_blocks_of_their_own() -> None:
    left, right = block(50, 100, [120, 200, 180, 150]), block(600, 100, [160, 140, 190])
    assert islands([*left, *right]) == [Rect(50, 100, 250, 186), Rect(600, 100, 790, 164)]


def test_the_rows_of_a_table_and_names_with_values_are_none() -> None:
    columns = [block(x, 100, [150, 140, 160, 120, 130]) for x in (50, 400, 750)]
    assert islands([rect for column in columns for rect in column]) == []  # every line stands beside two others
    values = [Rect(700 - width, 100 + 22 * n, 700, 120 + 22 * n) for n, width in enumerate((60, 50, 70))]
    assert islands([*block(500, 100, [110, 90, 120]), *values]) == []


def test_a_block_and_rows_on_other_lines_far_beside_it_are_read_one_after_the_other() -> None:
    address = block(50, 100, [120, 200, 180, 150, 160])
    rows = [Rect(x, y, x + 80, y + 20) for y in (100, 139, 178) for x in (600, 720)]
    assert islands([*address, *rows]) == [Rect(50, 100, 250, 208), Rect(600, 100, 800, 198)]
    title_above = [Rect(600, 76, 800, 96)]
    assert islands([*address, *rows, *title_above]) == []


def test_blocks_have_the_headings_above_them_where_each_has_one() -> None:
    left, right = block(80, 200, [160, 220, 180]), block(600, 200, [160, 140, 190, 150])
    heads = [Rect(50, 165, 150, 190), Rect(572, 165, 700, 190)]
    assert islands([*heads, *left, *right]) == [Rect(50, 165, 300, 264), Rect(572, 165, 790, 286)]
    assert islands([heads[0], *left, *right]) == [Rect(80, 200, 300, 264), Rect(600, 200, 790, 286)]


def test_pages_of_very_many_lines_are_not_searched() -> None:
    many = [Rect(50, 30 * n, 250, 30 * n + 20) for n in range(300)]
    assert islands(many) == []
    assert headed_columns([Line(rect, size=10) for rect in many]) == []


def test_a_figure_has_the_caption_above_it_where_every_one_has() -> None:
    heads = [line(x, 130, 90, 18) for x in (50, 400, 750)]
    below = [line(x, 175, 150, 8) for x in (50, 400, 750)]
    captions = [line(x, 106, 70, 8) for x in (50, 400, 750)]
    assert [rect.y1 for rect in headed_columns([*captions, *heads, *below])] == [106, 106, 106]
    assert [rect.y1 for rect in headed_columns([*captions[:2], *heads, *below])] == [130, 130, 130]


def test_a_sum_in_large_letters_stays_on_the_row_of_its_name() -> None:
    names = [line(50, 100, 110, 14), line(50, 140, 60, 9)]
    sums = [line(400, 100, 100, 14), line(422, 140, 78, 9)]
    assert headed_columns([*names, *sums]) == []


def test_two_addresses_as_long_as_each_other_are_blocks_and_names_go_with_their_values() -> None:
    left, right = block(50, 100, [150, 140, 160, 120, 130], 20), block(300, 100, [150, 140, 160, 120, 130], 20)
    assert islands([*left, *right]) == [Rect(50, 100, 210, 200), Rect(300, 100, 460, 200)]
    roomy = [*block(50, 100, [150, 140, 160, 120, 130], 28), *block(300, 100, [150, 140, 160, 120, 130], 28)]
    assert islands(roomy) == []
    names, values = block(600, 100, [90, 60, 80], 20), block(720, 100, [90, 110, 100], 20)
    assert islands([*left, *right, *names, *values])[-1] == Rect(600, 100, 830, 160)
