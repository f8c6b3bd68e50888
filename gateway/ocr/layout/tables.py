"""The structure of tables: a grid from rules, or rows and columns from where the words stand.

Words are given with their boxes; rules are looked for in the pixels. Knows nothing of formats: see ocr_answer.
"""

from itertools import pairwise
from statistics import median
from typing import Any

from gateway.ocr.layout.reading_order import bands_of, rows_of
from gateway.ocr.layout.ruling_lines import Grid, find_grid
from gateway.ocr.types import Cell, Line, Rect, Table, Word

MIN_ROWS, MIN_COLUMNS = 2, 2
MAX_COLUMNS = 40
MIN_GUTTER = 0.42
"""In heights of words."""


def build_table(gray: Any, rect: Rect, lines: list[Line]) -> Table | None:
    """The table inside `rect`, None when what stands there has no two rows and two columns."""
    words = [word for line in lines for word in (line.words or (Word(line.text, line.rect),)) if word.text]
    if not words:
        return None
    grid = find_grid(gray, rect)
    table = ruled_table(grid, words) if grid is not None else None
    return table or column_table(words, grid)


def ruled_table(grid: Grid, words: list[Word]) -> Table | None:
    """Cells as the rules draw them; None when the rules enclose no table."""
    if grid.row_count < MIN_ROWS or grid.column_count < MIN_COLUMNS:
        return None
    contents: dict[tuple[int, int], list[Word]] = {}
    owners = grid.owners()
    outside = 0
    for word in words:
        place = grid.place(word.rect)
        if place is None:
            outside += 1
            continue
        contents.setdefault(owners[place], []).append(word)
    if outside > 0.2 * len(words):
        return None
    cells = [
        Cell(row, column, cell_text(contents.get((row, column), [])), row_span, column_span)
        for row, column, row_span, column_span in grid.cells()
    ]
    return _without_empty(Table(grid.row_count, grid.column_count, tuple(cells)))


def cell_text(words: list[Word]) -> str:
    """A cell's words in rows from the top, one space between them."""
    rects = [word.rect for word in words]
    return " ".join(words[index].text for row in rows_of(rects, range(len(words))) for index in row)


def column_table(words: list[Word], grid: Grid | None) -> Table | None:
    """Rows by height and columns by gutters no word crosses (a spanning heading may)."""
    rows = _rows(words, grid)
    if len(rows) < MIN_ROWS:
        return None
    gutters = _gutters(rows)
    if not gutters or len(gutters) + 1 > MAX_COLUMNS:
        return None
    cells: list[Cell] = []
    for number, row in enumerate(_joined_rows(rows, gutters)):
        cells.extend(_row_cells(number, row, gutters))
    count = 1 + max(cell.row for cell in cells)
    return Table(count, len(gutters) + 1, tuple(cells)) if count >= MIN_ROWS else None


def _rows(words: list[Word], grid: Grid | None) -> list[list[Word]]:
    """Words in rows; where horizontal rules part every row, the rules decide (cells of several lines stay whole)."""
    rects = [word.rect for word in words]
    rows = [[words[index] for index in row] for row in bands_of(rects, rows_of(rects, range(len(words))))]
    if grid is None or grid.row_count < 4:
        return rows
    banded: dict[int, list[Word]] = {}
    for word in words:
        banded.setdefault(grid.row_at(word.rect.center_y), []).append(word)
    return [banded[band] for band in sorted(banded)] if len(banded) >= 0.5 * len(rows) else rows


def _gutters(rows: list[list[Word]]) -> list[float]:
    """The x of every gutter: a gap wider than a space that nearly no row crosses, with text on both sides."""
    words = [word for row in rows for word in row]
    height = median(word.rect.height for word in words)
    allowed = max(0, round(0.1 * len(rows))) if len(rows) > 3 else 0
    edges = sorted({word.rect.x1 for word in words} | {word.rect.x2 for word in words})
    free: list[tuple[float, float]] = []
    for left, right in pairwise(edges):
        middle = (left + right) / 2
        crossed = sum(any(word.rect.x1 < middle < word.rect.x2 for word in row) for row in rows)
        if crossed > allowed:
            continue
        if free and free[-1][1] == left:
            free[-1] = (free[-1][0], right)
        else:
            free.append((left, right))
    wide = [(gap[0] + gap[1]) / 2 for gap in free if gap[1] - gap[0] >= MIN_GUTTER * height]
    return _with_columns(rows, wide)


def _with_columns(rows: list[list[Word]], gutters: list[float]) -> list[float]:
    """Without gutters that part off nothing but the ends of what crosses them."""
    kept: list[float] = []
    for number, gutter in enumerate(gutters):
        right_edge = gutters[number + 1] if number + 1 < len(gutters) else float("inf")
        left_edge = kept[-1] if kept else float("-inf")
        left = sum(any(left_edge < w.rect.x1 and w.rect.x2 <= gutter for w in row) for row in rows)
        right = sum(any(gutter <= w.rect.x1 and w.rect.x2 <= right_edge for w in row) for row in rows)
        if left and right and max(left, right) > 1:
            kept.append(gutter)
    return kept


def _column_of(x: float, gutters: list[float]) -> int:
    return sum(x > gutter for gutter in gutters)


def _row_cells(number: int, row: list[Word], gutters: list[float]) -> list[Cell]:
    """One row's cells: runs of words; a run over a gutter spans the columns it covers."""
    contents: dict[int, list[Word]] = {}
    spans: dict[int, int] = {}
    for word in sorted(row, key=lambda word: word.rect.x1):
        first, last = _column_of(word.rect.x1 + 1, gutters), _column_of(word.rect.x2 - 1, gutters)
        owner = next((column for column, end in spans.items() if column <= first <= end), first)
        contents.setdefault(owner, []).append(word)
        spans[owner] = max(spans.get(owner, owner), last)
    cells = []
    column = 0
    while column <= len(gutters):
        end = spans.get(column, column)
        cells.append(Cell(number, column, cell_text(contents.get(column, [])), 1, end - column + 1))
        column = end + 1
    return cells


def _joined_rows(rows: list[list[Word]], gutters: list[float]) -> list[list[Word]]:
    """Rows, with the lines of a cell joined: they are set closer than rows are, and fill some of the row's columns."""
    tops = [min(word.rect.y1 for word in row) for row in rows]
    bottoms = [max(word.rect.y2 for word in row) for row in rows]
    gaps = [below - above for above, below in zip(bottoms, tops[1:], strict=False)]
    height = median(bottom - top for top, bottom in zip(tops, bottoms, strict=True))
    # Where gaps come in two kinds, the narrow ones are inside rows.
    narrow = (min(gaps) + max(gaps)) / 2 if gaps and max(gaps) - min(gaps) > 0.4 * height else float("-inf")
    joined: list[list[Word]] = [list(rows[0])]
    filled = _columns_of(rows[0], gutters)
    for gap, row in zip(gaps, rows[1:], strict=True):
        columns = _columns_of(row, gutters)
        is_part = columns != filled or len(columns) == 1
        if gap < narrow and is_part:
            joined[-1].extend(row)
            filled = filled | columns
        else:
            joined.append(list(row))
            filled = columns
    return joined


def _columns_of(row: list[Word], gutters: list[float]) -> set[int]:
    return {_column_of(word.rect.center_x, gutters) for word in row}


def _without_empty(table: Table) -> Table | None:
    """Without rows and columns that hold nothing at all; None when too little is left."""
    if not any(cell.text for cell in table.cells):
        return None
    keep_rows = _occupied(table.row_count, [(c.row, c.row_span) for c in table.cells if c.text or c.column_span == 1])
    return table if len(keep_rows) >= MIN_ROWS else None


def _occupied(count: int, ranges: list[tuple[int, int]]) -> list[int]:
    return [index for index in range(count) if any(start <= index < start + span for start, span in ranges)]
