"""The values that the stages of the embedded OCR engine pass on. Coordinates are pixels of the working page, floats."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

# Four corners, clockwise from the top left.
Quad = tuple[tuple[float, float], ...]


class Rect(NamedTuple):
    """An upright rectangle: left, top, right, bottom; right and bottom are exclusive."""

    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def width(self) -> float:
        return self.x2 - self.x1

    @property
    def height(self) -> float:
        return self.y2 - self.y1

    @property
    def area(self) -> float:
        return max(0.0, self.width) * max(0.0, self.height)

    @property
    def center_x(self) -> float:
        return (self.x1 + self.x2) / 2

    @property
    def center_y(self) -> float:
        return (self.y1 + self.y2) / 2

    @property
    def corners(self) -> Quad:
        """Its corners clockwise from the top left."""
        return (self.x1, self.y1), (self.x2, self.y1), (self.x2, self.y2), (self.x1, self.y2)

    def overlap(self, other: "Rect") -> float:
        """The area of the intersection."""
        width = min(self.x2, other.x2) - max(self.x1, other.x1)
        height = min(self.y2, other.y2) - max(self.y1, other.y1)
        return max(0.0, width) * max(0.0, height)

    def share_in(self, other: "Rect") -> float:
        """The share of this rectangle's area inside the other, 0..1."""
        return self.overlap(other) / self.area if self.area > 0 else 0.0

    def union(self, other: "Rect") -> "Rect":
        """The smallest rectangle around both."""
        return Rect(min(self.x1, other.x1), min(self.y1, other.y1), max(self.x2, other.x2), max(self.y2, other.y2))


def around(points: Iterable[tuple[float, float]]) -> Rect:
    """The smallest upright rectangle around some points."""
    xs, ys = zip(*points, strict=True)
    return Rect(min(xs), min(ys), max(xs), max(ys))


def hull(rects: "list[Rect]") -> Rect:
    """The smallest rectangle around all of them (at least one)."""
    return Rect(
        min(rect.x1 for rect in rects),
        min(rect.y1 for rect in rects),
        max(rect.x2 for rect in rects),
        max(rect.y2 for rect in rects),
    )


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its box."""

    text: str
    rect: Rect


class Uncertain(NamedTuple):
    """A word as it is given, what else it may be, and its box."""

    text: str
    alternatives: tuple[str, ...]
    rect: Rect


@dataclass(slots=True)
class Line:
    """One run of text on one line. `text`, `score` (0..1) and `words` are empty until it has been read.

    `quad`: its corners clockwise from the top left. `size` is the height of its small letters in pixels, `weight` how
    black they are (0..1), `pitch` the distance in pixels at which its ink repeats and `rhythm` how clearly (0..1); 0
    until measured. `letters`: the x of the middle of each character of `text`; empty for a line that runs downwards.
    `fit` (0..1): how sure the reading is, how well the text explains the picture (see recogniser.LineReading);
    `is_read`: the line has been read, though its text may be empty; `doubts`: its words that may be read otherwise.
    """

    rect: Rect
    quad: Quad = ()
    text: str = ""
    score: float = 0.0
    words: tuple[Word, ...] = ()
    size: float = 0.0
    weight: float = 0.0
    pitch: float = 0.0
    rhythm: float = 0.0
    letters: tuple[float, ...] = ()
    fit: float = 0.0
    is_read: bool = False
    doubts: tuple[Uncertain, ...] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """An area of the page, `label`: title, table, figure or code; `score` 0..1; `pitch` of code's letters in pixels."""

    label: str
    rect: Rect
    score: float
    pitch: float = 0.0


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell and the grid positions it covers (row and column of its top left, and spans)."""

    row: int
    column: int
    text: str
    row_span: int = 1
    column_span: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its size in rows and columns, and its cells row by row."""

    row_count: int
    column_count: int
    cells: tuple[Cell, ...]


@dataclass(slots=True)
class PageBlock:
    """A block of the page in reading order: `label` is text, title, table, code or image; `level` 1 to 6 for
    titles; `table` for tables once read; `pitch` of code's letters, in pixels."""

    label: str
    rect: Rect
    lines: list[Line] = field(default_factory=list)
    level: int = 0
    table: Table | None = None
    pitch: float = 0.0


def no_such_pages(count: int) -> str:
    """The error for pages that a document of `count` pages has not."""
    if count == 1:
        return "the document has 1 page; ask for page 1"
    return f"the document has {count} pages; ask for pages between 1 and {count}"
