"""What is read as a whole on a page."""

import cv2
import numpy
from PIL import Image, ImageDraw

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.image.ink import PageInk
from gateway.ocr.server.engine import page_shape

LEFT, RIGHT = 60, 640


def lines_of(top: int, count: int) -> list[Line]:
    """A name of so many lines and its value beside it."""
    names = [Rect(70, top + 8 + 24 * n, 200, top + 30 + 24 * n) for n in range(count)]
    middle = top + 8 + 12 * (count - 1)
    quads = [
        ((r.x1, r.y1), (r.x2, r.y1), (r.x2, r.y2), (r.x1, r.y2)) for r in [*names, Rect(300, middle, 500, middle + 22)]
    ]
    return [Line(Rect(*quad[0], *quad[2]), quad, size=10) for quad in quads]


def panels(heights: list[int], gap: int) -> list[Rect]:
    """The panels of a page of rows of these heights, in lines, `gap` apart, every second on a darker ground."""
    image = Image.new("RGB", (700, 700), "white")
    draw, top, lines = ImageDraw.Draw(image), 100, []
    for number, count in enumerate(heights):
        bottom = top + 16 + 24 * count
        if number % 2:
            draw.rectangle((LEFT, top, RIGHT, bottom - 1), fill="#e0e0e0")
        lines += lines_of(top, count)
        top = bottom + gap
    pixels = numpy.asarray(image)
    gray = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    return page_shape(pixels, gray, PageInk(gray), lines).panels


def test_a_stripe_of_several_lines_is_a_part_of_its_table_and_a_box_apart_is_read_as_a_whole() -> None:
    assert panels([1, 1, 1, 2, 1, 1], 0) == []
    (box,) = panels([1, 3, 1], 60)
    assert (round(box.x1), round(box.x2)) == (LEFT, RIGHT + 1)
