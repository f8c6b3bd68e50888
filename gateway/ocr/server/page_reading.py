"""A page while the embedded engine reads it: its pixels, its lines, and what is to be told about the reading."""

from dataclasses import dataclass, field
from typing import Any

from gateway.ocr.image.decode import UprightImage
from gateway.ocr.image.deskew import Frame
from gateway.ocr.image.ink import tighten
from gateway.ocr.server.page_report import PageReport
from gateway.ocr.types import Line, Rect


@dataclass(slots=True)
class PageReading:
    """A page while it is read: the decoded image, its upright and level pixels (BGR and gray), the frame that maps
    boxes back to the image, its lines and its panels (cards, side bars)."""

    page: UprightImage
    pixels: Any
    even: Any
    gray: Any
    frame: Frame
    lines: list[Line]
    panels: list[Rect]
    report: PageReport = field(init=False)

    def __post_init__(self) -> None:
        self.report = PageReport(self.line_box)

    def line_box(self, line: Line) -> tuple[int, int, int, int]:
        """A line's ink in thousandths of the image."""
        return self.frame.box(tighten(self.gray, line.rect))
