"""The words of a block of code by their cells: runs of inked cells, with the characters that lines gave them.

Knows no shapes: see `glyphs`. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.geometry.boxes import Line
from gateway.ocr.layout.cells import CellGrid
from gateway.ocr.layout.code_text import LIGATURES, without_ligatures
from gateway.ocr.layout.spelling import as_code

MIN_NUMBERED = 3
"""Rows that begin with a number, which ends in the same column, of a gutter."""

SPECKS, CLEAR_OF_SPECKS = ("'", "`", '"', "_", ".", ","), 3
"""Signs that specks of dirt are read as, and the least number of empty cells between a speck and the text.
At half, signs that were not read go; at
double, specks of indented lines stay."""
CLEAR_OF_LETTERS = 6
"""As CLEAR_OF_SPECKS, of a lone letter: the detector passes over signs, hardly over letters. A small map of the page
beside the code is read as some. At half, a column of figures loses those; at double, few are found."""
LIGATURE_CELLS = 2
"""Cells of a sign that programming typefaces draw for two letters."""
MIN_ROWS, CLEAR_COLUMNS = 5, 2
"""A gutter of which fewer numbers were read has so many rows, and so many columns between it and the text if it is one
number. At half, the only number in a list of a few lines is a line's; at double, editors with a narrow gutter keep
it."""


@dataclass(slots=True)
class Run:
    """A word of a row: its first column, its number of cells, the characters that were read there, without spaces and
    with them, and the one of each cell; empty where none was read, and everywhere while that is not known.
    `is_foreign`: in an editor's gutter, which has a grid of its own."""

    start: int
    length: int
    read: str = ""
    spaced: str = ""
    placed: Sequence[str] = ()
    is_foreign: bool = False

    @property
    def fits(self) -> bool:
        return len(self.read) == self.length


def rows_of_cells(grid: CellGrid) -> list[list[Run]]:
    """The runs of every row; those in an editor's gutter as they were read, if they were: it has a grid of its own."""
    rows = [_runs(grid, number) for number in range(len(grid.middles))]
    edges = Counter(runs[0].start + runs[0].length for runs in rows if runs and runs[0].read.isdigit())
    edge, count = edges.most_common(1)[0] if edges else (0, 0)
    words = [run for runs in rows for run in runs if run.read and not run.read.isdigit()]
    if not count or any(run.start < edge and any(map(str.isalpha, run.read)) for run in words):
        return rows
    is_sure = count >= MIN_NUMBERED and not any(run.start < edge for run in words)
    if not is_sure and not _is_pale_gutter(rows, edge):
        return rows
    for runs in rows:
        gutter = [run for run in runs if run.start < edge]
        for run in gutter:
            run.placed = ()
            run.is_foreign = True
        runs[: len(gutter)] = [run for run in gutter if run.read and is_sure]
    return rows


def _is_pale_gutter(rows: list[list[Run]], edge: int) -> bool:
    """Whether what ends before a column are the numbers of lines though few were read, as they are pale but for the
    current line's: in all rows it is short, with a gap before the text."""
    filled = [runs for runs in rows if runs]
    left = [runs[: sum(run.start < edge for run in runs)] for runs in filled]
    right = [runs[len(gutter)].start for runs, gutter in zip(filled, left, strict=True) if len(gutter) < len(runs)]
    numbered = [number for number, runs in enumerate(rows) if runs and runs[0].start < edge and runs[0].read.isdigit()]
    firsts = {int(rows[number][0].read) - number for number in numbered}
    return (
        len(filled) >= MIN_ROWS
        and min(right, default=0) >= edge + (CLEAR_COLUMNS if len(numbered) == 1 else 1)
        and all(run.start + run.length <= edge + 1 for gutter in left for run in gutter)
        and len(firsts) == 1
        and min(firsts) >= 0
    )


def _runs(grid: CellGrid, number: int) -> list[Run]:
    """A row's runs of inked cells, with the characters read there: each belongs to the nearest run."""
    inked = grid.inked[number].tolist()
    runs: list[Run] = []
    for column, has_ink in enumerate(inked):
        if has_ink and runs and runs[-1].start + runs[-1].length == column:
            runs[-1].length += 1
        elif has_ink:
            runs.append(Run(column, 1))
    starts = [run.start for run in runs]
    for line in sorted(grid.members[number], key=lambda line: line.rect.x1):
        if runs and len(line.letters) == len(line.text):
            _share_out(without_ligatures(line, grid.pitch), grid, runs, starts)
    for run in runs:
        if run.length == LIGATURE_CELLS and run.read in LIGATURES:
            run.read = run.spaced = LIGATURES[run.read]
        run.spaced = as_code(run.spaced)
        run.placed = as_code(run.read) if run.fits else ()
    return runs


def _share_out(line: Line, grid: CellGrid, runs: list[Run], starts: list[int]) -> None:
    """Gives a line's characters to the runs, each to the nearest, with the spaces between those of one run."""
    last: Run | None = None
    is_apart = False
    for x, character in zip(line.letters, line.text, strict=True):
        if character.isspace():
            is_apart = True
            continue
        column = (x - grid.left) / grid.pitch
        place = bisect_right(starts, column) - 1
        near = [runs[n] for n in (place, place + 1) if 0 <= n < len(runs)]
        run = min(near, key=lambda run: max(run.start - column, column - run.start - run.length, 0.0))
        run.spaced += " " + character if is_apart and run is last else character
        run.read += character
        last, is_apart = run, False


def without_specks(runs: list[Run], texts: list[str]) -> None:
    """Empties the texts of a row's first and last run where these are what the edge of a selection or compression with
    loss leaves: one cell that no reading had, clear of all others, and looks like a small sign."""
    if not any(run.read for run in runs):
        return
    for place, gap in ((0, _gap(runs, 0, 1)), (len(texts) - 1, _gap(runs, -2, -1))):
        least = CLEAR_OF_SPECKS if texts and texts[place] in SPECKS else CLEAR_OF_LETTERS
        is_speck = texts and (texts[place] in SPECKS or (len(texts[place]) == 1 and texts[place].isalnum()))
        if is_speck and not runs[place].read and gap >= least:
            texts[place] = ""


def _gap(runs: list[Run], one: int, other: int) -> int:
    """The empty cells between two runs; none where there are not two."""
    return runs[other].start - runs[one].start - runs[one].length if len(runs) > 1 else 0
