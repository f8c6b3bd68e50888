"""A page while the embedded engine reads it: its pixels, its lines, and what is to be told about the reading."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateway.geometry.blocks import plausible
from gateway.geometry.boxes import Line, PageBlock, Rect
from gateway.ocr.extras import vision
from gateway.ocr.image.decode import UprightImage
from gateway.ocr.image.deskew import Frame
from gateway.ocr.image.ink import bullet_at, tighten
from gateway.ocr.image.page_ink import PageInk
from gateway.ocr.image.panels import find_boxes, level_edges
from gateway.ocr.layout.code import without_frames
from gateway.ocr.layout.code_text import is_monospaced
from gateway.ocr.layout.regions import picture_areas
from gateway.ocr.server.page_report import PageReport

MOSTLY, FEW_LINES = 0.5, 12
"""Share of the lines of a list of names that have a bullet: some go on in a second line; and about how many lines are
read for it."""


class PageShape(NamedTuple):
    """What is read as a whole on a page (cards, side bars), and its pictures."""

    panels: list[Rect]
    pictures: list[Rect]


@dataclass(slots=True)
class PageReading:
    """A page while it is read: the decoded image, its upright and level pixels (BGR and gray), their ink, the frame
    that maps boxes back to the image, its lines and its shape."""

    page: UprightImage
    pixels: Any
    even: Any
    gray: Any
    ink: PageInk
    frame: Frame
    lines: list[Line]
    shape: PageShape
    report: PageReport = field(init=False)

    def __post_init__(self) -> None:
        self.report = PageReport(self.line_box)

    def line_box(self, line: Line) -> tuple[int, int, int, int]:
        """A line's ink in thousandths of the image."""
        return self.frame.box(tighten(self.ink, line.rect))

    def is_code(self, block: PageBlock) -> bool:
        """Whether a read block of code is that: its letters stand at one pitch, and it is no list of names."""
        lines = block.lines[:: 1 + len(block.lines) // FEW_LINES]
        marked = sum(bullet_at(self.ink, line, is_solid=True) is not None for line in lines)
        return is_monospaced(block.lines, block.pitch) and marked <= MOSTLY * len(lines)


def page_shape(pixels: Any, gray: Any, lines: list[Line]) -> PageShape:
    """What is read as a whole: cards and bars.

    `pixels`: BGR; `gray`: the page with its dark grounds inverted; `lines`: measured."""
    cv2, _ = vision()
    as_drawn = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
    boxes = find_boxes(as_drawn, level_edges(as_drawn), [line.rect for line in lines])
    return PageShape(without_frames(boxes.panels, lines), picture_areas(pixels, plausible(lines)))
