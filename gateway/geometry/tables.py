"""The structure of tables: a grid from rules in the pixels, or rows and columns from the boxes of the words.

The thresholds are scored together by bench/ocr_tables.py.
"""

from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median

from gateway.geometry.boxes import Cell, Line, Rect, Table, Word, hull
from gateway.geometry.reading_order import are_even_columns, bands_of, rows_of

# What has fewer rows or columns is a line or a list.
MIN_ROWS, MIN_COLUMNS = 2, 2
# Least cells with text in a grid of rules: a frame around a card's text is no table.
MIN_FILLED = 2
# More gutters than this are the gaps of letters set widely.
MAX_COLUMNS = 40
# Least width of a gutter, in heights of words: wider than a space (a quarter to a third).
MIN_GUTTER = 0.42
# Share of the words that may lie outside the grid of rules: more means that the rules draw something else.
MAX_OUTSIDE_SHARE = 0.2
# Share of the rows, of more than three, that may cross a gutter: headings over several columns.
MAX_CROSSING_SHARE = 0.1
# Share of a word beyond a gutter that makes its cell span both columns, as a heading over the two does; with less,
# it is a long value of one.
MIN_SPAN_SHARE = 0.25
# Horizontal rules decide about the rows only when there are some, and they part at least half as many rows as the
# words form: fewer rules separate the head and the total.
MIN_BANDED_GRID_ROWS, MIN_BANDED_SHARE = 4, 0.5
# Gaps between rows that differ by more, in row heights, are of two kinds, of which the narrow ones lie inside rows.
TWO_KINDS_OF_GAPS = 0.4


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
    words = [word for line in lines for word in line.words or (Word(line.text, line.rect),) if word.text]
    if not words:
        return None
    return (ruled_table(grid, words) if grid is not None else None) or column_table(words, grid)


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
    return _unless_empty(Table(grid.row_count, grid.column_count, tuple(cells)))


def cell_text(words: list[Word]) -> str:
    """A cell's words in rows from the top, one space between them."""
    rects = [word.rect for word in words]
    return " ".join(words[index].text for row in rows_of(rects, range(len(words))) for index in row)


def column_table(words: list[Word], grid: Grid | None) -> Table | None:
    """The table whose rows follow from heights, and its columns from gutters that hardly any row crosses; or None."""
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
    """The words in rows; where rules part the rows, they decide, so that a cell of several lines stays whole."""
    rects = [word.rect for word in words]
    rows = [[words[index] for index in row] for row in bands_of(rects, rows_of(rects, range(len(words))))]
    if grid is None or grid.row_count < MIN_BANDED_GRID_ROWS:
        return rows
    banded: dict[int, list[Word]] = {}
    for word in words:
        banded.setdefault(grid.row_at(word.rect.center_y), []).append(word)
    return [banded[band] for band in sorted(banded)] if len(banded) >= MIN_BANDED_SHARE * len(rows) else rows


def _gutters(rows: list[list[Word]]) -> list[float]:
    """The x of every gutter: a gap that hardly any row crosses, with text on both sides, and wider than a
    space."""
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
    return _with_columns(rows, [(left + right) / 2 for left, right in free if right - left >= MIN_GUTTER * height])


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
    """The rows with the lines of a cell joined: these are set closer than rows, and fill some of the row's columns. A
    line in the first column and another begins a row, unless it is the first in that column."""
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
        begins_row = len(columns) > 1 and 0 in columns & filled
        if gap < narrow and is_partial and not begins_row:
            joined[-1].extend(row)
            filled = filled | columns
        else:
            joined.append(list(row))
            filled = columns
    return joined


def _columns_of(row: list[Word], gutters: list[float]) -> set[int]:
    return {_column_of(word.rect.center_x, gutters) for word in row}


def _unless_empty(table: Table) -> Table | None:
    """The table; None when one cell holds all text, or fewer than MIN_ROWS of its rows hold text or plain cells."""
    if sum(bool(cell.text) for cell in table.cells) < MIN_FILLED:
        return None
    kept = [range(c.row, c.row + c.row_span) for c in table.cells if c.text or c.column_span == 1]
    return table if len({row for rows in kept for row in rows}) >= MIN_ROWS else None


# Fewer aligned rows or columns happen by chance in addresses, captions and headers; two columns need the signs of
# `_is_list_of_pairs`.
MIN_TABLE_ROWS = 3
MIN_TABLE_COLUMNS = 3
# Between two rows of a table.
MAX_ROW_GAP = 2.6
# Median width of a table's columns: the columns of running text are wider.
MAX_COLUMN_WIDTH = 14
# Width of the left of two columns, at least and, where all its lines are equally wide, at most. The first excludes
# numbers and bullets of lists, the second a column of justified text.
MIN_NAME_WIDTH, MAX_EVEN_WIDTH = 1.4, 8
# Between two lines of one cell; boxes have margins, so that it is small.
MAX_LEADING = 0.35
# Edges that differ by less are aligned: a detector's boxes vary in their margins.
SAME_EDGE = 0.6
# How far boxes of neighbouring cells may overlap with their margins.
OVERLAP = 0.5
# Shares of rows or edges that must fit: MOST allows headings, empty cells and totals in a table; NEARLY_ALL is for
# two columns, where chance is likelier.
MOST, NEARLY_ALL = 0.6, 0.8
# Pieces of one row whose middles differ by at most ALIGNED stand on one line; MOST of a table's rows have two such.
# Texts that merely lie beside one another, a side bar and its page, have them by chance in two of five rows. A piece
# narrower than MIN_PIECE_WIDTH is a bullet and stands with its text.
ALIGNED, MIN_PIECE_WIDTH = 0.2, 0.9
# Rows of two pieces, one after the other, inside a table of more columns: totals of groups, missing values.
MAX_HOLES = 2
# A row of two pieces before the first or after the last row of more belongs to the table when its gap is no more
# than SAME_GAP times the usual one, and GAP_JITTER: sums of an invoice, and addresses above it, are set apart.
SAME_GAP, GAP_JITTER = 1.3, 0.15
# A gap so many times as wide as the usual one, which counts as at least WIDE_GAP_HEIGHTS, may be that between two
# tables, or a table and what stands above.
WIDE_GAP, WIDE_GAP_HEIGHTS = 1.5, 0.5
# Between a list's longest name and its values; what is further away is another block, as two addresses in a letter's
# head.
MAX_PAIR_GAP = 10
# Pairs whose rows follow one another more closely are lines of text, as the number and date of a letter: boxes of
# lines have margins, and the rows of a table have more room. So are rows of three columns and more whose median
# width is above MIN_TEXT_WIDTH.
PAIR_LEADING, MIN_TEXT_WIDTH = 0.1, 8
# A line so wide, as a share of the widest, is as wide: justified text with a word less at its end.
NEARLY_AS_WIDE = 0.9


def aligned_tables(lines: list[Line]) -> list[Rect]:
    """Boxes around runs of rows whose pieces are aligned in columns: three or more, or two unlike running text."""
    rects = [line.rect for line in lines]
    rows = [[rects[i] for i in row] for row in bands_of(rects, rows_of(rects, range(len(rects))))]
    runs = [part for run in _runs(rows) for whole in _split(run) for part in _parts(whole)]
    return [hull([rect for row in run for rect in row]) for run in runs if _is_table(run)]


def _runs(rows: list[list[Rect]]) -> list[list[list[Rect]]]:
    """Neighbouring rows of several pieces, with the single further lines of their cells between them."""
    runs: list[list[list[Rect]]] = []
    run: list[list[Rect]] = []
    for row in rows:
        if run and _follows(run[-1], row) and (len(row) > 1 or _goes_on(run, row[0])):
            run.append(row)
            continue
        runs.append(run)
        run = [row] if len(row) > 1 else []
    return [run for run in [*runs, run] if run]


def _split(run: list[list[Rect]]) -> list[list[list[Rect]]]:
    """The run, cut where a wide gap parts rows of other columns: the addresses above the items of an invoice."""
    if len(run) <= MIN_TABLE_ROWS:
        return [run]
    gaps = [_gap(above, below) for above, below in pairwise(run)]
    height = median(rect.height for row in run for rect in row)
    at = max(range(len(gaps)), key=lambda n: gaps[n])
    if gaps[at] < WIDE_GAP * max(median(gaps), WIDE_GAP_HEIGHTS * height):
        return [run]
    above, below = run[: at + 1], run[at + 1 :]
    return [run] if share_columns(above, below) else [*_split(above), *_split(below)]


def share_columns(above: list[list[Rect]], below: list[list[Rect]]) -> bool:
    """Whether nearly all pieces of the part with fewer begin, or end, where pieces of the other do."""
    fewer, more = sorted(([rect for row in part for rect in row] for part in (above, below)), key=len)
    aligned = sum(
        any(min(abs(one.x1 - r.x1), abs(one.x2 - r.x2)) <= SAME_EDGE * one.height for r in more) for one in fewer
    )
    return aligned >= NEARLY_ALL * len(fewer)


def _parts(run: list[list[Rect]]) -> list[list[list[Rect]]]:
    """The run's parts that may be tables: rows of three pieces and more with what belongs to them, and what remains."""
    cores: list[list[int]] = []
    for number, row in enumerate(run):
        if len(side_by_side(row)) < MIN_TABLE_COLUMNS:
            continue
        if cores and sum(len(between) > 1 for between in run[cores[-1][-1] + 1 : number]) <= MAX_HOLES:
            cores[-1].append(number)
        else:
            cores.append([number])
    parts, start = [], 0
    for core in cores:
        if len(core) < MIN_TABLE_ROWS:
            continue
        first, last = core[0], core[-1]
        usual = median(_gap(run[n], run[n + 1]) for n in range(first, last))
        while first > start and _is_near(run[first - 1], run[first], usual):
            first -= 1
        while last + 1 < len(run) and _is_near(run[last], run[last + 1], usual):
            last += 1
        parts += [run[start:first], run[first : last + 1]]
        start = last + 1
    return [part for part in [*parts, run[start:]] if part]


def _gap(above: list[Rect], below: list[Rect]) -> float:
    return hull(below).y1 - hull(above).y2


def _is_near(above: list[Rect], below: list[Rect], usual: float) -> bool:
    """Whether two rows are no further apart than a table's."""
    height = median(rect.height for rect in [*above, *below])
    return _gap(above, below) <= SAME_GAP * max(0.0, usual) + GAP_JITTER * height


def _follows(above: list[Rect], below: list[Rect]) -> bool:
    upper, lower = hull(above), hull(below)
    height = median(rect.height for rect in [*above, *below])
    return lower.y1 - upper.y2 <= MAX_ROW_GAP * height


def _goes_on(run: list[list[Rect]], piece: Rect) -> bool:
    """Whether a single line is a cell's further line: closely below, from a column's left edge, within its width."""
    if piece.y1 - max(rect.y2 for rect in run[-1]) > MAX_LEADING * piece.height:
        return False
    column = [rect for row in run for rect in row if abs(rect.x1 - piece.x1) < SAME_EDGE * piece.height]
    others = [rect.x1 for row in run for rect in row if rect.x1 > piece.x1 + SAME_EDGE * piece.height]
    return bool(column) and piece.x2 < min(others, default=max(rect.x2 for rect in column) + piece.height)


def _is_table(run: list[list[Rect]]) -> bool:
    full = [row for row in map(side_by_side, run) if len(row) > 1]
    if len(full) < MIN_TABLE_ROWS or sum(map(_is_aligned, run)) < MOST * len(full):
        return False
    rects = [rect for row in run for rect in row]
    height = median(rect.height for rect in rects)
    if sum(len(row) >= MIN_TABLE_COLUMNS for row in full) < MOST * len(full):
        return _is_list_of_pairs(full, height)
    columns = side_by_side(rects)
    if len(columns) < MIN_TABLE_COLUMNS:
        return False
    if are_even_columns([[rect for rect in rects if rect.overlap(column)] for column in columns]):
        return False
    filled = [sum(any(rect.overlap(column) for rect in row) for row in full) for column in columns]
    full_columns = sum(count >= MOST * len(full) for count in filled)
    # Lines set as closely as a paragraph's, in columns of several words, are a paper's.
    is_dense = median(_gap(above, below) for above, below in pairwise(run)) <= PAIR_LEADING * height
    widest = (MIN_TEXT_WIDTH if is_dense else MAX_COLUMN_WIDTH) * height
    return full_columns >= MIN_TABLE_COLUMNS and median(c.width for c in columns) <= widest


def _is_aligned(row: list[Rect]) -> bool:
    """Whether two pieces of a row, beside one another, stand on one line."""
    pieces = [rect for rect in row if rect.width >= MIN_PIECE_WIDTH * rect.height]
    return any(
        abs(one.center_y - other.center_y) <= ALIGNED * min(one.height, other.height)
        and min(one.x2, other.x2) - max(one.x1, other.x1) <= 0
        for one, other in combinations(pieces, 2)
    )


def side_by_side(rects: list[Rect]) -> list[Rect]:
    """Cells or columns from left to right: rectangles above one another become one."""
    cells: list[Rect] = []
    for rect in sorted(rects, key=lambda rect: rect.x1):
        if cells and rect.x1 < cells[-1].x2 - OVERLAP * rect.height:
            cells[-1] = cells[-1].union(rect)
        else:
            cells.append(rect)
    return cells


def _is_list_of_pairs(rows: list[list[Rect]], height: float) -> bool:
    """Whether two columns are names and their values. In two columns of prose the lines of the left one are nearly
    equally wide; in a list the left column is numbers or bullets, which are about as wide as high."""
    pairs = [row for row in rows if len(row) == 2]
    if len(pairs) < max(MIN_TABLE_ROWS, NEARLY_ALL * len(rows)):
        return False
    names, values = [row[0] for row in pairs], [row[1] for row in pairs]
    aligned = max(_share_near([getattr(r, side) for r in values], SAME_EDGE * height) for side in ("x1", "x2"))
    if aligned < NEARLY_ALL or _share_near([r.x1 for r in names], SAME_EDGE * height) < MOST:
        return False
    if median(_gap(above, below) for above, below in pairwise(rows)) <= PAIR_LEADING * height:
        return False
    gap = min(right.x1 for right in values) - max(left.x2 for left in names)
    if not -OVERLAP * height <= gap <= MAX_PAIR_GAP * height:
        return False
    usual, widest = median(r.width for r in names), max(r.width for r in names)
    is_even = sum(r.width >= NEARLY_AS_WIDE * widest for r in names) > MOST * len(names)
    return MIN_NAME_WIDTH * height <= usual <= (MAX_EVEN_WIDTH if is_even else MAX_COLUMN_WIDTH) * height


def _share_near(values: list[float], distance: float) -> float:
    """The share of values that lie near their median."""
    middle = median(values)
    return sum(abs(value - middle) <= distance for value in values) / len(values)
