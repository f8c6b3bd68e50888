"""Photographed sheets are made flat by their four sides; other pages stay as they are."""

import math
from typing import Any

import cv2
import numpy
import pytest

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.image.upright import Warp, flattened, moved, point_at, sheet_matrix
from tests.support.ocr_lines import around

SIZE = (900, 700)
CORNERS = numpy.float32([[110, 90], [800, 60], [850, 640], [60, 600]])
FLAT = numpy.float32([[0, 0], [700, 0], [700, 550], [0, 550]])


def photograph(ground: int = 60, sheet: int = 235) -> Any:
    to_photo = cv2.getPerspectiveTransform(FLAT, CORNERS)
    return cv2.warpPerspective(even((550, 700), sheet), to_photo, SIZE, borderValue=(ground, ground, ground))


def even(size: tuple[int, int], level: int) -> Any:
    """A page of one gray, BGR."""
    return numpy.full((*size, 3), level, numpy.uint8)


def lines_on_the_sheet() -> list[Line]:
    to_photo = cv2.getPerspectiveTransform(FLAT, CORNERS)
    found = []
    for y in range(60, 500, 40):
        quad = tuple(point_at(to_photo, point) for point in ((60, y), (560, y), (560, y + 20), (60, y + 20)))
        xs, ys = [x for x, _ in quad], [y for _, y in quad]
        found.append(Line(Rect(min(xs), min(ys), max(xs), max(ys)), quad))
    return found


@pytest.mark.parametrize(("ground", "sheet"), [(60, 235), (200, 30)])
def test_lines_of_a_sheet_in_perspective_are_level_and_begin_at_one_edge(ground: int, sheet: int) -> None:
    pixels, lines = photograph(ground, sheet), lines_on_the_sheet()
    matrix = sheet_matrix(pixels, lines)
    assert matrix is not None
    flat = moved(lines, matrix)
    falls = [line.quad[1][1] - line.quad[0][1] for line in flat]
    lefts = [line.quad[0][0] for line in flat]
    assert max(map(abs, falls)) < 3 and max(lefts) - min(lefts) < 5  # 25 and 45 before
    assert flattened(pixels, matrix).shape == pixels.shape


def test_boxes_go_back_to_the_photograph() -> None:
    lines = lines_on_the_sheet()
    matrix = sheet_matrix(photograph(), lines)
    frame = Warp(*SIZE, bent=numpy.linalg.inv(matrix))
    for line, flat in zip(lines, moved(lines, matrix), strict=True):
        assert math.dist(frame.box(flat.rect), [v / SIZE[n % 2] * 999 for n, v in enumerate(line.rect)]) < 12


def test_a_card_on_a_screen_a_page_without_surroundings_and_text_off_the_sheet_stay() -> None:
    card = even((700, 900), 60)
    card[60:640, 80:820] = 240
    lines = [around(Rect(120, y, 620, y + 20)) for y in (90, 140)]
    outside = [around(Rect(5, y, 50, y + 9)) for y in (10, 30)]
    assert sheet_matrix(card, lines) is sheet_matrix(even((700, 900), 240), lines) is None
    assert sheet_matrix(photograph(), [*lines_on_the_sheet(), *outside]) is sheet_matrix(photograph(), []) is None


def test_a_window_with_round_corners_and_a_shadow_is_no_sheet() -> None:
    pixels = even((700, 900), 200)
    cv2.rectangle(pixels, (100, 80), (800, 600), (40, 40, 40), -1)
    for x, y, right, down in ((100, 80, 1, 1), (800, 80, -1, 1), (800, 600, -1, -1), (100, 600, 1, -1)):
        cv2.rectangle(pixels, (x, y), (x + 24 * right, y + 24 * down), (200, 200, 200), -1)
        cv2.circle(pixels, (x + 24 * right, y + 24 * down), 24, (40, 40, 40), -1)
    pixels[602:] = cv2.GaussianBlur(pixels, (0, 0), 18)[602:]
    assert sheet_matrix(pixels, [around(Rect(140, y, 640, y + 20)) for y in (150, 300, 450)]) is None
