"""Charts, diagrams and boxes of Office documents: titles, axes, values and texts, in reading order."""

import pptx
import pytest
from pptx.util import Emu

from tests.support.office_files import saved, text_in


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
