"""The rules of a table: horizontal and vertical strokes found by morphology, and the grid they draw."""

from dataclasses import dataclass
from typing import Any

from gateway.ocr.extras import vision
from gateway.ocr.types import Rect

MIN_RULE_SHARE = 0.25
MERGE_PX = 6
PRESENT_SHARE = 0.6
MAX_RULES = 120


@dataclass(frozen=True, slots=True)
class Grid:
    """Rule positions in page pixels, and which inner walls exist.

    `walls_right[r][c]`: a wall between cell (r, c) and (r, c + 1); `walls_below[r][c]`: one below it.
    """

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    walls_right: tuple[tuple[bool, ...], ...]
    walls_below: tuple[tuple[bool, ...], ...]

    @property
    def row_count(self) -> int:
        return len(self.ys) - 1

    @property
    def column_count(self) -> int:
        return len(self.xs) - 1

    def row_at(self, y: float) -> int:
        """The band between horizontal rules, -1 above the first."""
        return sum(y > rule for rule in self.ys) - 1

    def place(self, rect: Rect) -> tuple[int, int] | None:
        row, column = self.row_at(rect.center_y), sum(rect.center_x > rule for rule in self.xs) - 1
        if 0 <= row < self.row_count and 0 <= column < self.column_count:
            return row, column
        return None

    def cells(self) -> list[tuple[int, int, int, int]]:
        """(row, column, row span, column span) of every cell, row by row."""
        taken: set[tuple[int, int]] = set()
        found = []
        for row in range(self.row_count):
            for column in range(self.column_count):
                if (row, column) in taken:
                    continue
                rows, columns = self._extent(row, column, taken)
                taken.update((row + r, column + c) for r in range(rows) for c in range(columns))
                found.append((row, column, rows, columns))
        return found

    def owners(self) -> dict[tuple[int, int], tuple[int, int]]:
        """For every grid position the top left position of the cell that covers it."""
        return {
            (top + row, left + column): (top, left)
            for top, left, rows, columns in self.cells()
            for row in range(rows)
            for column in range(columns)
        }

    def _extent(self, row: int, column: int, taken: set[tuple[int, int]]) -> tuple[int, int]:
        columns = 1
        while (
            column + columns < self.column_count
            and not self.walls_right[row][column + columns - 1]
            and (row, column + columns) not in taken
        ):
            columns += 1
        rows = 1
        while row + rows < self.row_count and not any(
            self.walls_below[row + rows - 1][column + c] for c in range(columns)
        ):
            rows += 1
        return rows, columns


def find_grid(gray: Any, rect: Rect) -> Grid | None:
    """The grid inside `rect` (and a little around it); None when there are not even two rules one way.

    With horizontal rules alone the grid has one column: it still tells where rows end.
    """
    cv2, numpy = vision()
    margin = 8
    top, left = max(0, int(rect.y1) - margin), max(0, int(rect.x1) - margin)
    part = gray[top : int(rect.y2) + margin, left : int(rect.x2) + margin]
    if min(part.shape[:2]) < 16:
        return None
    dark = cv2.adaptiveThreshold(part, 1, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, 25, 10)
    height, width = dark.shape
    across = cv2.morphologyEx(dark, cv2.MORPH_OPEN, numpy.ones((1, max(15, int(width * MIN_RULE_SHARE))), numpy.uint8))
    down = cv2.morphologyEx(dark, cv2.MORPH_OPEN, numpy.ones((max(15, int(height * MIN_RULE_SHARE)), 1), numpy.uint8))
    ys = _positions(across.sum(axis=1), MIN_RULE_SHARE * width)
    xs = _positions(down.sum(axis=0), MIN_RULE_SHARE * height)
    if len(ys) < 2 or len(ys) + len(xs) > MAX_RULES:
        return None
    if len(xs) < 2:
        none = tuple((False,) for _ in ys[1:])
        return Grid((left, left + width), tuple(y + top for y in ys), none, tuple((True,) for _ in ys[1:]))
    xs, ys = _with_open_sides(xs, width), _with_open_ends(ys, height, xs, down)
    short = numpy.ones((max(5, int(min(numpy.diff(ys).min(), 400) * 0.6)), 1), numpy.uint8)
    down = cv2.morphologyEx(dark, cv2.MORPH_OPEN, short)
    return Grid(
        tuple(x + left for x in xs),
        tuple(y + top for y in ys),
        tuple(tuple(_present(down, ys[r], ys[r + 1], x, vertical=True) for x in xs[1:]) for r in range(len(ys) - 1)),
        tuple(tuple(_present(across, xs[c], xs[c + 1], y, vertical=False) for c in range(len(xs) - 1)) for y in ys[1:]),
    )


def ruled_regions(gray: Any) -> list[Rect]:
    """Places on a page where rules cross one another: boxes around every connected net of strokes."""
    cv2, numpy = vision()
    height, width = gray.shape
    dark = cv2.adaptiveThreshold(gray, 1, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, 25, 10)
    across = cv2.morphologyEx(dark, cv2.MORPH_OPEN, numpy.ones((1, max(25, width // 16)), numpy.uint8))
    down = cv2.morphologyEx(dark, cv2.MORPH_OPEN, numpy.ones((max(20, height // 50), 1), numpy.uint8))
    net = cv2.dilate(across | down, numpy.ones((5, 5), numpy.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(net, connectivity=8)
    found = []
    for left, top, part_width, part_height, _ in stats[1:count].tolist():
        if part_width < 0.1 * width or part_height < 0.02 * height:
            continue
        rect = Rect(left, top, left + part_width, top + part_height)
        grid = find_grid(gray, rect)
        if grid is not None and grid.row_count >= 2 and grid.column_count >= 2:
            found.append(rect)
    return found


def _positions(profile: Any, least: float) -> list[float]:
    """Middles of the runs where a profile exceeds `least`, runs closer than MERGE_PX taken as one rule."""
    found: list[list[int]] = []
    for index, value in enumerate(profile.tolist()):
        if value < least:
            continue
        if found and index - found[-1][1] <= MERGE_PX:
            found[-1][1] = index
        else:
            found.append([index, index])
    return [(first + last) / 2 for first, last in found]


def _with_open_sides(xs: list[float], width: int) -> list[float]:
    """A table without outer walls still has its outer columns."""
    least = 0.04 * width
    sides = list(xs)
    if sides[0] > least + 8:
        sides.insert(0, 0.0)
    if sides[-1] < width - least - 8:
        sides.append(float(width))
    return sides


def _with_open_ends(ys: list[float], height: int, xs: list[float], down: Any) -> list[float]:
    """Vertical rules that go on past the last horizontal one draw a further row."""
    ends = list(ys)
    column = down[:, [min(down.shape[1] - 1, int(x)) for x in xs]].any(axis=1)
    if ends[0] > 14 and column[: int(ends[0])].mean() > PRESENT_SHARE:
        ends.insert(0, 0.0)
    if ends[-1] < height - 14 and column[int(ends[-1]) :].mean() > PRESENT_SHARE:
        ends.append(float(height))
    return ends


def _present(strokes: Any, start: float, end: float, at: float, *, vertical: bool) -> bool:
    """Whether a stroke runs along most of a cell's side."""
    first, last = int(start) + 3, max(int(start) + 4, int(end) - 3)
    low, high = max(0, int(at) - MERGE_PX), int(at) + MERGE_PX + 1
    part = strokes[first:last, low:high] if vertical else strokes[low:high, first:last].T
    return bool(part.size) and float(part.any(axis=1).mean()) >= PRESENT_SHARE
