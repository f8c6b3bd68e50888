"""Pictures are told from the darker part of a gradient by their outline."""

from typing import Any

import numpy

from gateway.geometry.blocks import build_blocks
from gateway.geometry.boxes import Line, Rect, Region
from gateway.ocr.server.engine import picture_areas
from tests.support.ocr_lines import Pixels


def test_a_solid_area_on_even_ground_is_a_picture() -> None:
    pixels: Pixels = numpy.full((600, 900, 3), 230, numpy.uint8)
    pixels[100:400, 500:800] = (60, 120, 90)
    (found,) = picture_areas(pixels, [])
    assert abs(found.x1 - 500) < 12 and abs(found.y2 - 400) < 12


def test_a_bar_of_one_colour_at_the_rim_or_with_text_is_a_ground_and_no_picture() -> None:
    pixels: Pixels = numpy.full((600, 900, 3), 255, numpy.uint8)
    pixels[:90] = (120, 70, 30)  # a letter's coloured head
    pixels[200:400, 300:600] = (120, 70, 30)
    assert picture_areas(pixels, [Line(Rect(320, 220, 500, 240))]) == [] and len(picture_areas(pixels, [])) == 1


def test_a_bar_of_one_colour_with_its_title_is_no_picture() -> None:
    pixels: Any = numpy.full((800, 1280, 3), (228, 217, 207), numpy.uint8)
    pixels[:53] = (148, 83, 11)
    pixels[20:34, 20:160:4] = 255
    assert picture_areas(pixels, [Line(Rect(16, 16, 166, 38))]) == []


def test_a_figure_with_sentences_as_wide_as_itself_is_text_and_one_with_labels_stays() -> None:
    sentences = [Line(Rect(0, 30 * i, 500, 20 + 30 * i)) for i in range(2)]
    labels = [Line(Rect(0, 30 * i, 60, 20 + 30 * i)) for i in range(4)]
    wide = Rect(0, 0, 600, 900)
    assert [b.label for b in build_blocks(sentences, [Region("figure", wide, 0.5)])] == ["text"]
    assert [b.label for b in build_blocks(labels, [Region("figure", wide, 0.5)])] == ["image"]


def test_a_heading_whose_lines_belong_to_a_table_around_it_is_no_block() -> None:
    lines = [Line(Rect(x, y, x + 80, y + 12), text="cell") for y in (0, 20, 40) for x in (0, 100, 200)]
    table, heading = Region("table", Rect(0, 0, 300, 60), 1), Region("title", Rect(0, 0, 90, 12), 1)
    assert [block.label for block in build_blocks(lines, [table, heading])] == ["table"]
