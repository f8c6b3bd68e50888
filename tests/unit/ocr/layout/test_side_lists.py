"""Lists side by side are found by their bullets, each with its heading; rows of a table are none."""

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.layout.side_lists import lists_beside

LEFT, RIGHT = 80.0, 640.0


def row(y: float, *pieces: tuple[float, float]) -> list[Line]:
    return [Line(Rect(x, y, x + width, y + 30), size=14) for x, width in pieces]


def two_lists() -> list[Line]:
    """A heading and three items on the left, a heading and two on the right; the first item on the left goes on."""
    return [
        *row(100, (LEFT - 18, 200), (RIGHT - 18, 180)),
        *row(160, (LEFT, 420), (RIGHT, 300)),
        *row(194, (LEFT + 22, 160)),
        *row(240, (LEFT, 380), (RIGHT, 340)),
        *row(284, (LEFT, 260)),
    ]


def bullet_at(line: Line) -> float | None:
    return line.rect.x1 if line.rect.x1 in (LEFT, RIGHT) else None


def test_each_list_has_its_heading_its_further_lines_and_the_item_that_stands_beside_nothing() -> None:
    left, right = lists_beside(two_lists(), bullet_at)
    assert (left.y1, left.y2, left.x2) == (100, 314, 500)
    assert (right.y1, right.y2) == (100, 270)


def test_rows_without_bullets_and_a_single_list_are_none() -> None:
    assert lists_beside(two_lists(), lambda line: None) == []
    assert lists_beside(two_lists(), lambda line: LEFT if line.rect.x1 == LEFT else None) == []


def test_a_line_across_both_shows_that_they_are_no_lists_side_by_side() -> None:
    across = Line(Rect(LEFT + 300, 205, RIGHT + 200, 235), size=14)
    assert lists_beside([*two_lists(), across], bullet_at) == []


def test_the_second_level_of_a_list_is_no_list_of_its_own() -> None:
    deeper = [*row(330, (RIGHT + 30, 300)), *row(330, (LEFT, 200)), *row(374, (RIGHT + 30, 280)), *row(374, (LEFT, 90))]

    def at(line: Line) -> float | None:
        return RIGHT + 30 if line.rect.x1 == RIGHT + 30 else bullet_at(line)

    left, right = lists_beside([*two_lists(), *deeper], at)
    assert (round(left.x2), right.y2) == (500, 404)
