"""Reads a block of code again, cell by cell: letters that look the same are the same.

The recogniser reads lines as it reads prose, and errs where prose does not help: `0` for `O` or `o`, `l` for `1`, signs
left out. On a screen each letter of a monospaced typeface is drawn alike wherever it stands. So the cells are gathered
by their shape; each shape takes the character that most of its readings say, readings between letters of their own kind
first. Where as many letters were read as a word has cells, a character changes only if its shape clearly says so; else
the word is spelled by its shapes. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from gateway.ocr.layout.cells import CellGrid, cell_grid, without_sides
from gateway.ocr.layout.code_text import without_ligatures
from gateway.ocr.layout.frames import signs_of
from gateway.ocr.layout.glyph_heights import heights_of, of_its_height
from gateway.ocr.layout.shapes import Shapes, shapes_of
from gateway.ocr.types import Line, PageBlock, Rect, hull

MIN_FITTING = 0.6
"""Share of words with as many letters as cells; with fewer the grid is not that of the letters."""
IN_CONTEXT, ALONE = 3, 1
"""Weights of a reading between letters of its kind (both digits, or both letters) and of any other."""
CLEAR_SHARE, MIN_VOTES = 0.7, 4
"""A shape's character replaces another reading when it has this share of the votes, and so many."""
LOOK_ALIKE = {
    "0": ("O", {"capital"}),
    "O": ("0", {"digit"}),
    "1": ("l", {"small"}),
    "l": ("1", {"digit"}),
}
"""What the recogniser takes for one another, and the kind of letters beside which that is likely; or none."""
MIN_UNREAD, MAX_UNKNOWN = 5, 0.2
"""A run of so many cells that the recogniser did not read at all is the line of a frame: a smaller share of its cells
may be unknown, and are as the others."""
MIN_SURE, UNLIKE = 3, 0.94
"""So many readings in context make a shape surely that character; a shape less like it than UNLIKE is not the same one
in another weight, but its look-alike."""
NEAR_SHAPE = 0.88
"""A shape that was never read is that of its nearest, if so like: neighbours that reach into a cell change its ink."""
KNOWN_SHARE = 0.5
"""Least share of the votes for a shape to spell a word that was read with too many or too few letters."""


SHAPE_FIT = 0.9
"""Confidence of a row that was read by its shapes alone."""
INSIDE = 0.5
"""Share of a line in the block from which it is of the block, as blocks.CLAIM_SHARE."""


@dataclass(slots=True)
class Run:
    """A word of a row: its first column, its number of cells, and the characters that were read there, without
    spaces and with them."""

    start: int
    length: int
    read: str = ""
    spaced: str = ""

    @property
    def fits(self) -> bool:
        return len(self.read) == self.length


def read_block(gray: Any, block: PageBlock, lines: list[Line], panels: list[Rect]) -> list[Line]:
    """The lines of a read block of code, by their cells where it has such. `gray`: the page, dark ink; `lines` and
    `panels`: of the page."""
    foreign = [line.rect for line in lines if line.rect.share_in(block.rect) < INSIDE]
    grid = cell_grid(without_sides(gray, panels, block.rect), block.lines, block.pitch, foreign)
    return (read_cells(grid) if grid is not None else None) or block.lines


def read_cells(grid: CellGrid) -> list[Line] | None:
    """The block's rows as lines, one a row, with a letter for every column; None where the cells say nothing."""
    shapes = shapes_of(grid)
    if shapes is None:
        return None
    rows = [_runs(grid, number) for number in range(len(grid.middles))]
    words = [run for runs in rows for run in runs if run.read]
    if not words or sum(run.fits for run in words) < MIN_FITTING * len(words):
        return None
    _vote(shapes, rows)
    signs = signs_of([grid.ink[first] for first in shapes.firsts], shapes.of_cell)
    characters = _characters(grid, shapes, signs)
    texts = [[_spelled(run, number, shapes, characters) for run in runs] for number, runs in enumerate(rows)]
    lines = (_line(grid, number, runs, texts[number]) for number, runs in enumerate(rows) if runs)
    return [*(line for line in lines if line is not None), *grid.others]


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


def _vote(shapes: Shapes, rows: list[list[Run]]) -> None:
    for number, runs in enumerate(rows):
        for run in runs:
            if not run.fits:
                continue
            for place, character in enumerate(run.read):
                around = _kinds_around(run.read, place)
                weight = IN_CONTEXT if around == {_kind(character)} else ALONE
                shape = shapes.of_cell[number, run.start + place]
                shapes.votes[shape][character] += weight
                shapes.around[shape] |= around


def _kinds_around(text: str, place: int) -> set[str]:
    """The kinds of the nearest letters or digits on both sides within a word."""
    before = next((c for c in reversed(text[:place]) if c.isalnum()), "")
    after = next((c for c in text[place + 1 :] if c.isalnum()), "")
    return {_kind(character) for character in (before, after) if character}


def _kind(character: str) -> str:
    if character.isdigit():
        return "digit"
    return "capital" if character.isupper() else "small" if character.islower() else "sign"


def _characters(grid: CellGrid, shapes: Shapes, signs: list[str]) -> list[tuple[str, float, int]]:
    """For each shape its character, the share of the votes for it, and their number."""
    heights = heights_of([grid.ink[first] for first in shapes.firsts], shapes.votes)
    sure = {
        character: [n for n, votes in enumerate(shapes.votes) if votes[character] >= IN_CONTEXT * MIN_SURE]
        for character in LOOK_ALIKE
    }
    voted = [number for number, votes in enumerate(shapes.votes) if votes]
    found: list[tuple[str, float, int]] = []
    for number, votes in enumerate(shapes.votes):
        total = votes.total()
        if signs[number] and (signs[number] not in "-_=+." or not total):
            found.append((signs[number], 1.0, MIN_VOTES))
            continue
        if not total:
            nearest = max(voted, key=lambda other: shapes.likeness[number][other], default=number)
            is_near = nearest != number and shapes.likeness[number][nearest] >= NEAR_SHAPE
            found.append((shapes.votes[nearest].most_common(1)[0][0], KNOWN_SHARE, 0) if is_near else ("", 0.0, 0))
            continue
        counts = of_its_height(votes, heights[number], shapes.around[number])
        counts = _unlike_known(counts, shapes, number, sure)
        character, count = counts.most_common(1)[0]
        found.append((character, count / total, total))
    return found


def _unlike_known(votes: Counter[str], shapes: Shapes, number: int, sure: dict[str, list[int]]) -> Counter[str]:
    """The votes; weak ones given to the look-alike where another shape is surely that character and unlike, and what
    stands beside is of the look-alike's kind."""
    moved: Counter[str] = Counter()
    for character, count in votes.items():
        others = sure.get(character, [])
        is_weak = others and count < IN_CONTEXT * MIN_SURE
        if is_weak and max(shapes.likeness[number][n] for n in others) < UNLIKE:
            alike, kinds = LOOK_ALIKE[character]
            character = alike if shapes.around[number] <= kinds else character
        moved[character] += count
    return moved


def _spelled(run: Run, number: int, shapes: Shapes, characters: list[tuple[str, float, int]]) -> str:
    """A run's text."""
    cells = [characters[shapes.of_cell[number, run.start + place]] for place in range(run.length)]
    if run.fits:
        return "".join(
            known if share >= CLEAR_SHARE and votes >= MIN_VOTES else read
            for read, (known, share, votes) in zip(run.read, cells, strict=True)
        )
    unknown = sum(not known or share < KNOWN_SHARE for known, share, _ in cells)
    if unknown == 0:
        return "".join(known for known, _, _ in cells)
    if not run.read and run.length >= MIN_UNREAD and unknown <= MAX_UNKNOWN * run.length:
        commonest = Counter(known for known, _, _ in cells if known).most_common(1)[0][0]
        return "".join(known or commonest for known, _, _ in cells)
    return run.spaced


def _line(grid: CellGrid, number: int, runs: list[Run], texts: list[str]) -> Line | None:
    """A row as one line with its spaces; None where nothing is known of its ink."""
    text, letters = "", list[float]()
    for run, piece in zip(runs, texts, strict=True):
        if not piece:
            continue
        gap = run.start - len(text) if not text else max(1, run.start - len(text))
        text += " " * gap + piece
    first = len(text) - len(text.lstrip())
    text = text.strip()
    if not text:
        return None
    letters = [grid.x_of(first + place) for place in range(len(text))]
    members = grid.members[number]
    left, right = grid.x_of(first) - grid.pitch / 2, grid.x_of(first + len(text)) - grid.pitch / 2
    if members:
        rect = hull([line.rect for line in members])
        letters_read = max(1, sum(len(line.text) for line in members))
        score = sum(line.score * len(line.text) for line in members) / letters_read
        fit = sum(line.fit * len(line.text) for line in members) / letters_read
        return replace(members[0], rect=rect, text=text, letters=tuple(letters), score=score, fit=fit, words=())
    height = grid.middles[1] - grid.middles[0]
    middle = grid.middles[number]
    rect = Rect(left, middle - height / 2, right, middle + height / 2)
    quad = ((rect.x1, rect.y1), (rect.x2, rect.y1), (rect.x2, rect.y2), (rect.x1, rect.y2))
    return Line(rect, quad, text, SHAPE_FIT, letters=tuple(letters), fit=SHAPE_FIT, is_read=True)
