"""Bullets are told from letters by their ink."""

import numpy
import pytest
from PIL import Image, ImageDraw

from gateway.geometry.boxes import Rect
from gateway.ocr.image.ink import PageInk, bullet_at, is_filled, measure
from tests.support.ocr_lines import Pixels, around
from tests.support.ocr_pages import font


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\u2022 Reads the first line", True), ("\u2013 reads the second line", True), ("a call that was made", False),
        ("Reads the first line", False), ("1. Reads the first line", False),
    ],
)  # fmt: skip
def test_a_line_begins_with_a_bullet_only_where_a_mark_stands_above_the_base_line(text: str, expected: bool) -> None:
    image = Image.new("L", (520, 60), 255)
    face = font(26, "Sans")
    ImageDraw.Draw(image).text((20, 12), text, 0, face)
    ink = PageInk(numpy.asarray(image))
    line = measure(ink, around(Rect(14, 10, 26 + face.getlength(text), 46)))
    assert (bullet_at(ink, line) is not None) is expected


def test_a_disc_or_a_square_is_filled_and_a_dash_or_a_cross_is_not() -> None:
    mark: Pixels = numpy.zeros((20, 20), numpy.uint8)
    assert not is_filled(mark)
    mark[6:12, 4:10] = 1
    assert is_filled(mark)
    dash: Pixels = numpy.zeros_like(mark)
    cross: Pixels = numpy.eye(20, dtype=numpy.uint8)
    dash[8:10, 2:12] = 1
    assert not is_filled(dash) and not is_filled(cross)
