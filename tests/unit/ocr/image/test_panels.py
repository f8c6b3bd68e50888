"""Panels of screens: cards and side bars are found by their sides; cells of tables and stripes are none."""

import numpy
from PIL import Image, ImageDraw, ImageFilter

from gateway.geometry.boxes import Rect
from gateway.ocr.image.panels import find_panels, level_edges

GROUND, CARD, STROKE = (243, 244, 246), (255, 255, 255), (229, 231, 235)


def page(*boxes: tuple[int, int, int, int], radius: int = 8) -> Image.Image:
    image = Image.new("RGB", (800, 500), GROUND)
    for box in boxes:
        ImageDraw.Draw(image).rounded_rectangle(box, radius, CARD, STROKE)
    return image


def rows_in(box: tuple[int, int, int, int], count: int = 2) -> list[Rect]:
    left, top = box[0] + 12, box[1] + 12
    return [Rect(left, top + 22 * number, left + 90, top + 22 * number + 16) for number in range(count)]


def panels(image: Image.Image, lines: list[Rect]) -> list[tuple[int, ...]]:
    gray = numpy.asarray(image.convert("L"))
    found = find_panels(gray, level_edges(gray), lines)
    return sorted(tuple(round(side) for side in rect) for rect in found)


def near(found: list[tuple[int, ...]], boxes: list[tuple[int, int, int, int]]) -> bool:
    return len(found) == len(boxes) and numpy.allclose(found, sorted(boxes), rtol=0, atol=4)


def test_pale_cards_with_round_corners_are_panels() -> None:
    boxes = [(20, 20, 260, 140), (280, 20, 520, 140), (20, 160, 520, 400)]
    assert near(panels(page(*boxes), [line for box in boxes for line in rows_in(box)]), boxes)


def test_a_side_bar_to_the_rim_is_a_panel_and_so_is_the_rest_of_the_page() -> None:
    image = page()
    ImageDraw.Draw(image).rectangle((0, 0, 180, 500), (15, 23, 42))
    found = panels(image, rows_in((0, 0, 180, 500)) + rows_in((300, 20, 700, 400)))
    assert near(found, [(0, 0, 180, 500), (180, 0, 800, 500)])


def test_a_button_a_box_whose_side_cuts_a_line_and_a_page_without_edges_have_no_panel() -> None:
    button, box = (20, 20, 200, 60), (20, 20, 260, 140)
    assert panels(page(button), rows_in(button, 1)) == panels(page(), rows_in(box)) == []
    assert panels(page(box), [*rows_in(box), Rect(200, 60, 340, 76)]) == []


def test_of_a_ruled_table_only_its_frame_is_a_panel() -> None:
    image = page()
    cells = [(x, y, x + 200, y + 80) for y in (40, 120, 200) for x in (40, 240, 440)]
    for cell in cells:
        ImageDraw.Draw(image).rectangle(cell, CARD, (120, 120, 120))
    assert near(panels(image, [line for cell in cells for line in rows_in(cell)]), [(40, 40, 640, 280)])


def test_cards_that_only_a_soft_shadow_lifts_from_a_white_page_are_panels() -> None:
    boxes = [(40, 60, 300, 240), (330, 60, 590, 240)]
    image = Image.new("L", (640, 300), 255)
    draw = ImageDraw.Draw(image)
    for left, top, right, bottom in boxes:
        draw.rounded_rectangle((left - 2, top, right + 2, bottom + 4), 10, fill=180)
    image = image.filter(ImageFilter.GaussianBlur(3))
    draw = ImageDraw.Draw(image)
    for box in boxes:
        draw.rounded_rectangle(box, 8, fill=255)
    assert near(panels(image.convert("RGB"), [line for box in boxes for line in rows_in(box)]), boxes)
