"""Charts, diagrams and boxes of Office documents: titles, axes, values and texts, in reading order."""

import pptx
import pytest
from pptx.chart.data import XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Emu

from tests.support.office_files import saved, text_in


def test_points_of_a_chart_that_have_places_of_their_own_keep_them() -> None:
    deck = pptx.Presentation()
    values = XyChartData()
    for name, points in (("North", ((1, 2), (3, 4))), ("South", ((5, 6),))):
        series = values.add_series(name)
        for point in points:
            series.add_data_point(*point)
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, Emu(0), Emu(0), Emu(9), Emu(9), values)
    read = text_in("pptx", saved(deck), plain=True).split("\n\n")
    assert read[1:] == ["\tNorth\n1\t2\n3\t4", "\tSouth\n5\t6"]


@pytest.mark.parametrize(
    ("boxes", "order"),
    [
        ([(0, 3, 4), (0, 0, 4), (0, 1.5, 4)], "bca"),  # drawn from bottom to top
        ([(6, 0, 4), (6, 1.1, 4), (0, 0, 4), (0, 1.1, 4)], "cdab"),  # two columns, each with its head
        ([(5, 2, 4), (0, 2, 4), (5, 0, 4), (0, 0, 4)], "dcba"),  # cards in rows
    ],
)
def test_the_boxes_of_a_slide_are_read_as_they_stand(boxes: list[tuple[float, float, float]], order: str) -> None:
    deck = pptx.Presentation()
    shapes = deck.slides.add_slide(deck.slide_layouts[6]).shapes
    for name, (x, y, width) in zip("abcd", boxes, strict=False):
        shapes.add_textbox(*(Emu(round(900_000 * each)) for each in (x, y, width, 1))).text_frame.text = name
    assert text_in("pptx", saved(deck), plain=True).split("\n\n")[1:] == list(order)


def test_a_placeholder_stands_where_its_layout_has_it() -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[3])  # a title, and two contents side by side
    slide.shapes.title.text = "Stores"
    slide.placeholders[2].text, slide.placeholders[1].text = "right", "left"
    slide.shapes.add_textbox(Emu(0), Emu(6_700_000), Emu(900_000), Emu(90_000)).text_frame.text = "below"
    tree = slide.shapes._spTree
    tree.insert(2, tree[-1])
    assert text_in("pptx", saved(deck), plain=True).split("\n\n")[1:] == ["Stores", "left", "right", "below"]
