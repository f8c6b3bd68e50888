"""Finds tables without rules, by the alignment of their lines.

Works on lines that have not been read; knows no pixels. The thresholds are chosen; bench/ocr.py and bench/ocr_tables.py
score them all together, and no measurement of a single one is recorded. Lengths are in line heights unless their
explanation says otherwise.
"""

from itertools import combinations, pairwise
from statistics import median

from gateway.geometry.boxes import Line, Rect, hull
from gateway.geometry.reading_order import bands_of, rows_of

MIN_TABLE_ROWS = 3
MIN_TABLE_COLUMNS = 3
"""Fewer aligned rows or columns happen by chance in addresses, captions and headers; two columns need the signs of
`_is_list_of_pairs`. At half such text becomes tables; at double most small tables are read as text."""
MAX_ROW_GAP = 2.6
"""Between two rows of a table. At half, tables with roomy rows fall apart; at double, text below joins the table."""
MAX_COLUMN_WIDTH = 14
"""Median width of a table's columns: the columns of running text are wider. At half, tables with
sentences in their cells are missed; at double, pages of three text columns are tables."""
MIN_NAME_WIDTH, MAX_EVEN_WIDTH = 1.4, 8
"""Width of the left of two columns, at least and, where all its lines are equally wide, at most. The first excludes
numbers and bullets of lists, the second a column of justified text. At half the first, bulleted lists become tables,
at double lists of short keys do not; the second is the same trade-off for narrow text columns."""
MAX_LEADING = 0.35
"""Between two lines of one cell; boxes have margins, so that it is small. At half, wrapped cells end the table; at
double, a paragraph right below a table joins its last cell."""
SAME_EDGE = 0.6
"""Edges that differ by less are aligned: a detector's boxes vary in their margins. At half, true columns are
missed; at double, ragged text looks aligned."""
OVERLAP = 0.5
"""How far boxes of neighbouring cells may overlap with their margins. At half, close columns merge; at double, lines
above one another, shifted a little, count as two columns."""
MOST, NEARLY_ALL = 0.6, 0.8
"""Shares of rows or edges that must fit: MOST allows headings, empty cells and totals in a table; NEARLY_ALL is for two
columns, where chance is likelier. At half, chance alignments pass; double is all of them and more."""
ALIGNED, MIN_PIECE_WIDTH = 0.2, 0.9
"""Pieces of one row whose middles differ by at most ALIGNED stand on one line; MOST of a table's rows have two such.
Texts that merely lie beside one another, a side bar and its page, have them by chance in two of five rows. A piece
narrower than MIN_PIECE_WIDTH is a bullet and stands with its text. At half, jitter of boxes hides tables; at double, a
side bar and its page are one."""
MAX_HOLES = 2
"""Rows of two pieces, one after the other, inside a table of more columns: totals of groups, missing values. At half,
such tables fall in two; at double, two tables become one."""
SAME_GAP, GAP_JITTER = 1.3, 0.15
"""A row of two pieces before the first or after the last row of more belongs to the table when its gap is no more than
SAME_GAP times the usual one, and GAP_JITTER: sums of an invoice, and addresses above it, are set apart. At half, last
rows with empty cells are lost; at double, sums join."""
WIDE_GAP, WIDE_GAP_HEIGHTS = 1.5, 0.5
"""A gap so many times as wide as the usual one, which counts as at least WIDE_GAP_HEIGHTS, may be that between two
tables, or a table and what stands above. At half, chance gaps part tables; at double, addresses join the items of an
invoice."""
MAX_PAIR_GAP = 10
"""Between a list's longest name and its values; what is further away is another block, as two addresses in a letter's
head. At half, lists over a page's width are missed; at double, the two addresses become a table."""
PAIR_LEADING, MIN_TEXT_WIDTH = 0.1, 8
"""Pairs whose rows follow one another more closely are lines of text, as the number and date of a letter: boxes of
lines have margins, and the rows of a table have more room. So are rows of three columns and more whose median width is
above MIN_TEXT_WIDTH. At half, such lines are tables; at double, dense lists are text."""
NEARLY_AS_WIDE = 0.9
"""A line so wide, as a share of the widest, is as wide: justified text with a word less at its end."""


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
    body = _without_sums(full)
    if sum(len(row) >= MIN_TABLE_COLUMNS for row in body) < MOST * len(body):
        return _is_list_of_pairs(full, height)
    columns = side_by_side(rects)
    if len(columns) < MIN_TABLE_COLUMNS:
        return False
    filled = [sum(any(rect.overlap(column) for rect in row) for row in body) for column in columns]
    full_columns = sum(count >= MOST * len(body) for count in filled)
    # Lines set as closely as a paragraph's, in columns of several words, are a paper's.
    is_dense = median(_gap(above, below) for above, below in pairwise(run)) <= PAIR_LEADING * height
    widest = (MIN_TEXT_WIDTH if is_dense else MAX_COLUMN_WIDTH) * height
    return full_columns >= MIN_TABLE_COLUMNS and median(c.width for c in columns) <= widest


def _without_sums(rows: list[list[Rect]]) -> list[list[Rect]]:
    """The rows without the sums below them: last rows of two pieces, in columns that other rows have too. A short
    invoice may have as many sums as items."""
    last = max((number for number, row in enumerate(rows) if len(row) >= MIN_TABLE_COLUMNS), default=-1)
    body, sums = rows[: last + 1], rows[last + 1 :]
    return body if len(body) >= MIN_TABLE_ROWS and sums and share_columns(body, sums) else rows


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
