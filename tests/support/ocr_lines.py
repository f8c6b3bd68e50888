"""Boxes, lines and words of made-up pages, for the geometry of OCR without pixels or models."""

from collections.abc import Sequence
from typing import Any

import numpy

from gateway.geometry.boxes import Line, Rect, Table, Word
from gateway.geometry.reading_order import page_order

Pixels = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.uint8]]


def around(rect: Rect, text: str = "", score: float = 0.0, **more: Any) -> Line:
    """A line whose corners are those of its box."""
    quad = ((rect.x1, rect.y1), (rect.x2, rect.y1), (rect.x2, rect.y2), (rect.x1, rect.y2))
    return Line(rect, quad, text, score, **more)


def column(x: float, y: float, count: int, width: float = 100, height: float = 16, step: float = 24) -> list[Rect]:
    """Boxes one below the other."""
    return [Rect(x, y + step * number, x + width, y + step * number + height) for number in range(count)]


def words(*rows: tuple[float, list[tuple[float, str]]]) -> list[Word]:
    """The words of rows by their y and the x of each."""
    return [Word(text, Rect(x, y, x + 10 * len(text), y + 20)) for y, row in rows for x, text in row]


def cells(table: Table | None) -> list[list[str]]:
    """The texts of a table, row by row."""
    assert table is not None
    grid = [[""] * table.column_count for _ in range(table.row_count)]
    for cell in table.cells:
        grid[cell.row][cell.column] = cell.text
    return grid


def order(rects: list[Rect], panels: Sequence[Rect] = ()) -> list[int]:
    """The numbers of boxes in the order in which they are read."""
    return [index for group in page_order(rects, panels) for row in group for index in row]
