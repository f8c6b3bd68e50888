"""Tick boxes stand before their labels, a space apart; the first letter of a word is none."""

import numpy
import pytest
from PIL import Image, ImageDraw

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.image.tick_boxes import tick_boxes
from tests.support.ocr_pages import font

_LABELS = ("Deposit", "Direct debit", "Delivery")


def _page(size: int, *, with_boxes: bool) -> tuple[Image.Image, list[Line]]:
    page = Image.new("L", (400, 60 * len(_LABELS)), 255)
    draw, lines = ImageDraw.Draw(page), []
    for number, label in enumerate(_LABELS):
        x, y = 60, 20 + 60 * number
        draw.text((x, y), label, font=font(size), fill=0)
        left, top, right, bottom = draw.textbbox((x, y), label, font=font(size))
        lines.append(Line(Rect(left - 2, top - 3, right + 2, bottom + 3)))
        if with_boxes:
            box = (x - size, top, x - size + 0.7 * size, top + 0.7 * size)
            draw.rectangle(box, outline=0, fill=0 if number == 1 else None)
    return page, lines


@pytest.mark.parametrize("size", [14, 15, 20, 30])
def test_a_box_before_its_label_is_found_and_a_letter_that_looks_like_one_is_not(size: int) -> None:
    page, lines = _page(size, with_boxes=True)
    ticks = sorted(tick_boxes(numpy.array(page), lines), key=lambda tick: tick[0].y1)
    assert [is_ticked for _, is_ticked in ticks] == [False, True, False]
    page, lines = _page(size, with_boxes=False)
    assert tick_boxes(numpy.array(page), lines) == []
