"""Level edges of dotted rules become as long as the rules; text and texture do not."""

import io
from typing import Any

import numpy
from PIL import Image, ImageDraw

from gateway.ocr.image.dotted_rules import whole_rules
from gateway.ocr.image.areas import Edge, level_edges
from tests.support.ocr_pages import font


def gray(image: Image.Image, quality: int = 0) -> Any:
    if quality:
        out = io.BytesIO()
        image.save(out, "JPEG", quality=quality)
        image = Image.open(out)
    return numpy.asarray(image.convert("L"))


def dotted(y: int, *spans: tuple[int, int]) -> Image.Image:
    image = Image.new("L", (800, 120), 255)
    for start, end in spans:
        for x in range(start, end, 2):
            image.putpixel((x, y), 120)
    return image


def longest(pixels: Any) -> Edge:
    return max(whole_rules(pixels, level_edges(pixels)), key=lambda edge: edge.end - edge.start)


def test_the_pieces_of_a_dotted_rule_are_one_edge() -> None:
    edge = longest(gray(dotted(61, (40, 300), (303, 520), (530, 760)), 45))
    assert edge.start <= 48
    assert edge.end >= 750


def test_two_dotted_rules_side_by_side_stay_two() -> None:
    edges = whole_rules(pixels := gray(dotted(61, (40, 300), (360, 760)), 45), level_edges(pixels))
    assert max(edge.end - edge.start for edge in edges) < 420


def test_the_base_line_of_text_is_no_rule() -> None:
    image = Image.new("L", (800, 120), 255)
    ImageDraw.Draw(image).text((40, 40), "minimum immune summer common nominee union noun", font=font(20), fill=0)
    base = Edge(58.5, 60, 100)
    assert whole_rules(gray(image), [base]) == [base]


def test_a_page_without_edges_has_no_rules() -> None:
    assert whole_rules(gray(Image.new("L", (100, 100), 255)), []) == []
