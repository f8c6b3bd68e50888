"""A page while the embedded engine reads it: its pixels, its lines, and what is to be told about the reading."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from gateway.geometry.blocks import plausible
from gateway.geometry.boxes import Line, PageBlock, Rect
from gateway.ocr.extras import vision
from gateway.ocr.image.decode import UprightImage
from gateway.ocr.image.deskew import Frame
from gateway.ocr.image.dotted_rules import whole_rules
from gateway.ocr.image.ink import bullet_at, tighten
from gateway.ocr.image.page_ink import PageInk
from gateway.ocr.image.panels import find_boxes, level_edges
from gateway.ocr.layout.banded_tables import LevelEdge, banded_tables
from gateway.ocr.layout.captions import captioned
from gateway.ocr.layout.code import are_code, without_frames
from gateway.ocr.layout.code_text import is_monospaced
from gateway.ocr.layout.headed_columns import headed_columns
from gateway.ocr.layout.islands import islands
from gateway.ocr.layout.regions import picture_areas
from gateway.ocr.layout.side_lists import lists_beside
from gateway.ocr.server.page_report import PageReport

MOSTLY, FEW_LINES = 0.5, 12
"""Share of the lines of a list of names that have a bullet: some go on in a second line; and about how many lines are
read for it."""


class PageShape(NamedTuple):
    """What is read as a whole on a page (cards, side bars, lists), its pictures, and its level edges."""

    panels: list[Rect]
    pictures: list[Rect]
    edges: list[LevelEdge]


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


def page_shape(pixels: Any, gray: Any, ink: PageInk, lines: list[Line]) -> PageShape:
    """What is read as a whole: cards and bars, lists and headed columns side by side, pictures with their captions.

    `pixels`: BGR; `gray`: the page with its dark grounds inverted; `lines`: measured."""
    cv2, numpy = vision()
    rects = [line.rect for line in lines]
    level = level_edges(gray)
    edges = [LevelEdge(*edge) for edge in whole_rules(gray, level)]
    as_drawn = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
    drawn_level = level if numpy.array_equal(as_drawn, gray) else level_edges(as_drawn)
    boxes = find_boxes(as_drawn, drawn_level, rects)
    panels = without_frames(_without_stripes(boxes.panels, edges, rects), lines)
    lists = [
        rect
        for rect in lists_beside(lines, partial(bullet_at, ink))
        if not are_code([line for line in lines if line.rect.share_in(rect) > 0])
    ]
    pictures = picture_areas(pixels, plausible(lines))
    whole = [*lists, *captioned([*boxes.pictures, *pictures], rects)]
    free = [line for line in lines if not any(line.rect.share_in(rect) > 0 for rect in [*panels, *whole])]
    whole += headed_columns(free)
    loose = [rect for rect in rects if not any(rect.share_in(other) > 0 for other in [*panels, *whole])]
    return PageShape([*panels, *whole, *islands(loose)], pictures, edges)


def _without_stripes(panels: list[Rect], edges: list[LevelEdge], rects: list[Rect]) -> list[Rect]:
    """The panels without the stripes of tables, which are not read on their own."""
    if not panels:
        return []
    tables = banded_tables(edges, rects)
    return [panel for panel in panels if not any(table.has_band(panel) for table in tables)]
