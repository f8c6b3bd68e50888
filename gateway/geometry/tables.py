"""The structure of tables: a grid from rules in the pixels, or rows and columns from the boxes of the words.

Knows nothing of output formats: see `render`. The thresholds are chosen; bench/ocr_tables.py scores them all together,
and no measurement of a single one is recorded.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from gateway.geometry.boxes import Cell, Line, Rect, Table, Word
from gateway.geometry.reading_order import bands_of, rows_of

MIN_ROWS, MIN_COLUMNS = 2, 2
"""What has fewer rows or columns is a line or a list."""
MIN_FILLED = 2
"""Least cells with text in a grid of rules: a frame around a card's text is no table."""
MAX_COLUMNS = 40
"""More gutters than this are the gaps of letters set widely. At half, calendars of 31 days are no tables."""
MIN_GUTTER = 0.42
"""Least width of a gutter, in heights of words: wider than a space (a quarter to a third). At half, spaces that chance
puts above one another are gutters; at double, narrow columns merge."""
MIN_PARTED_GUTTER, PARTED_SHARE = 0.1, 0.6
"""The same where in this share of the rows a line of the detector ends on the left and one begins on the right: boxes
of words have margins, which leave little of a narrow gutter. At half, words set widely part; at double, columns set to
the right and to the left of one gutter merge."""
MAX_OUTSIDE_SHARE = 0.2
"""Share of the words that may lie outside the grid of rules: more means that the rules draw something else. At half, a
caption makes a small table fail; at double, boxes beside a table count as its grid."""
MAX_CROSSING_SHARE = 0.1
"""Share of the rows, of more than three, that may cross a gutter: headings over several columns. At half, tables of
under twenty rows allow none; at double, columns of long cells part where words chance to end."""
MIN_SPAN_SHARE = 0.25
"""Share of a word beyond a gutter that makes its cell span both columns, as a heading over the two does; with less, it
is a long value of one. At half, such values join their neighbours; at double, no word spans anything."""
MIN_BANDED_GRID_ROWS, MIN_BANDED_SHARE = 4, 0.5
"""Horizontal rules decide about the rows only when there are some, and they part at least half as many rows as the
words form: fewer rules separate the head and the total. At double nearly no table without walls keeps its cells whole.
"""
TWO_KINDS_OF_GAPS = 0.4
"""Gaps between rows that differ by more, in row heights, are of two kinds, of which the narrow ones lie inside rows. At
half, the jitter of boxes joins rows; at double, wrapped cells become rows."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Positions of the rules in page pixels, and which walls between cells exist.

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
        """The number of the row at a height, -1 above the first rule, `row_count` below the last."""
        return sum(y > rule for rule in self.ys) - 1

    def place(self, rect: Rect) -> tuple[int, int] | None:
        """Row and column of the rectangle's middle; None outside the grid."""
        row, column = self.row_at(rect.center_y), sum(rect.center_x > rule for rule in self.xs) - 1
        if 0 <= row < self.row_count and 0 <= column < self.column_count:
            return row, column
        return None

    def cells(self) -> list[tuple[int, int, int, int]]:
        """(row, column, row span, column span) of every cell, row by row."""
        covered: set[tuple[int, int]] = set()
        found = []
        for row in range(self.row_count):
            for column in range(self.column_count):
                if (row, column) in covered:
                    continue
                rows, columns = self._extent(row, column, covered)
                covered.update((row + r, column + c) for r in range(rows) for c in range(columns))
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

    def _extent(self, row: int, column: int, covered: set[tuple[int, int]]) -> tuple[int, int]:
        columns = 1
        while (
            column + columns < self.column_count
            and not self.walls_right[row][column + columns - 1]
            and (row, column + columns) not in covered
        ):
            columns += 1
        rows = 1
        while row + rows < self.row_count and not any(
            self.walls_below[row + rows - 1][column + c] for c in range(columns)
        ):
            rows += 1
        return rows, columns


def build_table(grid: Grid | None, lines: list[Line]) -> Table | None:
    """The table of some lines; None when their words form no two rows and two columns.

    `grid`: the rules drawn around them, as far as there are any; `lines`: read lines, with their words parted.
    """
    pieces = [[word for word in line.words or (Word(line.text, line.rect),) if word.text] for line in lines]
    words = [word for piece in pieces for word in piece]
    ends = {word.rect for piece in pieces if piece for word in (piece[0], piece[-1])}
    if not words:
        return None
    table = ruled_table(grid, words) if grid is not None and not _is_cut(grid, pieces) else None
    return table or column_table(words, grid, ends)


def ruled_table(grid: Grid, words: list[Word]) -> Table | None:
    """The table whose cells the rules draw; None when the rules enclose no table of these words."""
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
    if outside > MAX_OUTSIDE_SHARE * len(words):
        return None
    cells = [
        Cell(row, column, cell_text(contents.get((row, column), [])), row_span, column_span)
        for row, column, row_span, column_span in grid.cells()
    ]
    return _unless_empty(_without_rims(Table(grid.row_count, grid.column_count, tuple(cells))))


def _is_cut(grid: Grid, pieces: list[list[Word]]) -> bool:
    """Whether the walls cut the greater part of the lines between two words as close as those of a phrase: a card's
    picture and buttons draw such a grid."""
    owners = grid.owners()
    cut = several = 0
    for piece in pieces:
        places = [grid.place(word.rect) for word in piece]
        near = [
            (owners[one], owners[other])
            for (left, one), (right, other) in pairwise(zip(piece, places, strict=True))
            if one is not None and other is not None and right.rect.x1 - left.rect.x2 < MIN_GUTTER * left.rect.height
        ]
        several += bool(near)
        cut += any(one != other for one, other in near)
    return cut > 0 and 2 * cut >= several


def cell_text(words: list[Word]) -> str:
    """A cell's words in rows from the top, one space between them."""
    rects = [word.rect for word in words]
    return " ".join(words[index].text for row in rows_of(rects, range(len(words))) for index in row)


def column_table(words: list[Word], grid: Grid | None, ends: Collection[Rect] = ()) -> Table | None:
    """The table whose rows follow from heights, and its columns from gutters that hardly any row crosses; or None.
    `ends`: boxes of the words at the ends of the detector's lines."""
    rows = _rows(words, grid)
    if len(rows) < MIN_ROWS:
        return None
    gutters = _gutters(rows, ends)
    if not gutters or len(gutters) + 1 > MAX_COLUMNS:
        return None
    cells: list[Cell] = []
    for number, row in enumerate(_joined_rows(rows, gutters)):
        cells.extend(_row_cells(number, row, gutters))
    count = 1 + max(cell.row for cell in cells)
    return Table(count, len(gutters) + 1, tuple(cells)) if count >= MIN_ROWS else None


def _rows(words: list[Word], grid: Grid | None) -> list[list[Word]]:
    """The words in rows; where rules part the rows, they decide, so that a cell of several lines stays whole."""
    rects = [word.rect for word in words]
    rows = [[words[index] for index in row] for row in bands_of(rects, rows_of(rects, range(len(words))))]
    if grid is None or grid.row_count < MIN_BANDED_GRID_ROWS:
        return rows
    banded: dict[int, list[Word]] = {}
    for word in words:
        banded.setdefault(grid.row_at(word.rect.center_y), []).append(word)
    return [banded[band] for band in sorted(banded)] if len(banded) >= MIN_BANDED_SHARE * len(rows) else rows


def _gutters(rows: list[list[Word]], ends: Collection[Rect]) -> list[float]:
    """The x of every gutter: a gap that hardly any row crosses, with text on both sides, and wider than a space or
    between pieces that the detector parted."""
    words = [word for row in rows for word in row]
    height = median(word.rect.height for word in words)
    allowed = max(0, round(MAX_CROSSING_SHARE * len(rows))) if len(rows) > 3 else 0
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
    wide = [
        (gap[0] + gap[1]) / 2
        for gap in free
        if gap[1] - gap[0] >= (MIN_PARTED_GUTTER if _is_parted(rows, gap, ends) else MIN_GUTTER) * height
    ]
    return _with_columns(rows, wide)


def _is_parted(rows: list[list[Word]], gap: tuple[float, float], ends: Collection[Rect]) -> bool:
    """Whether the words on both sides of a gap are ends of lines in most rows that have words on both sides."""
    parted = both = 0
    for row in rows:
        left = [word.rect for word in row if word.rect.x2 <= gap[0]]
        right = [word.rect for word in row if word.rect.x1 >= gap[1]]
        if left and right:
            nearest = max(left, key=lambda rect: rect.x2), min(right, key=lambda rect: rect.x1)
            both += 1
            parted += all(rect in ends for rect in nearest)
    return parted >= max(MIN_ROWS, PARTED_SHARE * both)


def _with_columns(rows: list[list[Word]], gutters: list[float]) -> list[float]:
    """The gutters with a column of more than one row on one side at least, and text on both."""
    columns: list[float] = []
    for number, gutter in enumerate(gutters):
        right_edge = gutters[number + 1] if number + 1 < len(gutters) else float("inf")
        left_edge = columns[-1] if columns else float("-inf")
        left = sum(any(left_edge < w.rect.x1 and w.rect.x2 <= gutter for w in row) for row in rows)
        right = sum(any(gutter <= w.rect.x1 and w.rect.x2 <= right_edge for w in row) for row in rows)
        if left and right and max(left, right) > 1:
            columns.append(gutter)
    return columns


def _column_of(x: float, gutters: list[float]) -> int:
    return sum(x > gutter for gutter in gutters)


def _row_cells(number: int, row: list[Word], gutters: list[float]) -> list[Cell]:
    """One row's cells; a word over a gutter makes its cell span the columns it covers."""
    contents: dict[int, list[Word]] = {}
    spans: dict[int, int] = {}
    for word in sorted(row, key=lambda word: word.rect.x1):
        reach = MIN_SPAN_SHARE * word.rect.width
        first, last = _column_of(word.rect.x1 + reach, gutters), _column_of(word.rect.x2 - reach, gutters)
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
    """The rows with the lines of a cell joined: these are set closer than rows, and fill some of the row's columns."""
    tops = [min(word.rect.y1 for word in row) for row in rows]
    bottoms = [max(word.rect.y2 for word in row) for row in rows]
    gaps = [below - above for above, below in zip(bottoms, tops[1:], strict=False)]
    height = median(bottom - top for top, bottom in zip(tops, bottoms, strict=True))
    # Where gaps come in two kinds, the narrow ones are inside rows.
    narrow = (
        (min(gaps) + max(gaps)) / 2 if gaps and max(gaps) - min(gaps) > TWO_KINDS_OF_GAPS * height else float("-inf")
    )
    joined: list[list[Word]] = [list(rows[0])]
    filled = _columns_of(rows[0], gutters)
    for gap, row in zip(gaps, rows[1:], strict=True):
        columns = _columns_of(row, gutters)
        is_partial = columns != filled or len(columns) == 1
        if gap < narrow and is_partial:
            joined[-1].extend(row)
            filled = filled | columns
        else:
            joined.append(list(row))
            filled = columns
    return joined


def _columns_of(row: list[Word], gutters: list[float]) -> set[int]:
    return {_column_of(word.rect.center_x, gutters) for word in row}


def _without_rims(table: Table) -> Table:
    """The table without first or last rows and columns that are one cell without text: the margin between the rim of a
    sheet or screen and the rules."""
    while True:
        blank = [cell for cell in table.cells if not cell.text]
        full_rows = {c.row for c in blank if (c.row_span, c.column_span) == (1, table.column_count)}
        full_columns = {c.column for c in blank if (c.row_span, c.column_span) == (table.row_count, 1)}
        rows, columns = _inner(table.row_count, full_rows), _inner(table.column_count, full_columns)
        if len(rows) == table.row_count and len(columns) == table.column_count:
            return table
        kept = [
            replace(cell, row=cell.row - rows.start, column=cell.column - columns.start)
            for cell in table.cells
            if cell.row in rows and cell.column in columns
        ]
        table = Table(len(rows), len(columns), tuple(kept))


def _inner(count: int, blank: Collection[int]) -> range:
    """The numbers from 0 to `count` without blank ones at both ends."""
    first = next((number for number in range(count) if number not in blank), count)
    last = next((number for number in reversed(range(first, count)) if number not in blank), first - 1)
    return range(first, last + 1)


def _unless_empty(table: Table) -> Table | None:
    """The table; None when one cell holds all text, or fewer than MIN_ROWS of its rows hold text or plain cells."""
    if sum(bool(cell.text) for cell in table.cells) < MIN_FILLED:
        return None
    keep_rows = _occupied(table.row_count, [(c.row, c.row_span) for c in table.cells if c.text or c.column_span == 1])
    return table if len(keep_rows) >= MIN_ROWS else None


def _occupied(count: int, ranges: list[tuple[int, int]]) -> list[int]:
    return [index for index in range(count) if any(start <= index < start + span for start, span in ranges)]
