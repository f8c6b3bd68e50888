"""Reads a block of code again, cell by cell: letters that look the same are the same.

The recogniser reads lines as it reads prose, and errs where prose does not help: `0` for `O` or `o`, `l` for `1`, signs
left out. On a screen each letter of a monospaced typeface is drawn alike wherever it stands. So the cells are gathered
by their shape; each shape takes the character that most of its readings say, readings between letters of their own kind
first. Where as many letters were read as a word has cells, a character changes only if its shape clearly says so; else
the word is spelled by its shapes. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gateway.geometry.boxes import Line, PageBlock, Rect, hull
from gateway.geometry.panel_order import panel_of
from gateway.ocr.colours import any_colour
from gateway.ocr.extras import vision
from gateway.ocr.layout.cells import CellGrid, cell_grid, without_sides
from gateway.ocr.layout.frames import signs_of
from gateway.ocr.layout.look_alikes import known_shapes, told_apart
from gateway.ocr.layout.runs import Run, rows_of_cells, without_specks
from gateway.ocr.layout.shape_reading import Place, Read, read_shapes
from gateway.ocr.layout.shapes import Shapes, shapes_of
from gateway.ocr.layout.spelling import is_wide, placed

MIN_FITTING = 0.6
"""Share of words with as many letters as cells; with fewer the grid is not that of the letters."""
LONG_WORD, MAX_SIGNS, NEARLY_ALL = 7, 3, 0.85
"""Of words of so many cells and more, nearly all may lack so many letters: quotation marks and commas, which the
detector's boxes leave out. At half the share, a grid of another pitch is taken; at double (above 1), data in quotation
marks is not read by its cells."""
IN_CONTEXT, ALONE = 3, 1
"""Weights of a reading between letters of its kind (both digits, or both letters) and of any other."""
CLEAR_SHARE, MIN_VOTES = 0.7, 4
"""A shape's character replaces another reading when it has this share of the votes, and so many."""
BARS = "|Il1!\u2502"
"""What a bar is read as."""
IN_NUMBERS = (".", ",")
"""Signs over which a digit has digits beside it."""
MIN_UNREAD, MAX_UNKNOWN = 5, 0.2
"""A run of so many cells that the recogniser did not read at all is the line of a frame: a smaller share of its cells
may be unknown, and are as the others."""
SMUDGES, MAX_SMUDGE = "'\"`|_-.", 2
"""What marks that are no sign are told as, if anything; and the most cells of one, as a docstring's end has three."""
NEAR_SHAPE = 0.93
"""A shape that was never read is that of its nearest, if so like: neighbours that reach into a cell change its ink."""
KNOWN_SHARE = 0.5
"""Least share of the votes for a shape to spell a word that was read with too many or too few letters."""
SHAPE_FIT = 0.9
"""Confidence of a row that was read by its shapes alone."""
WHOLE_WORD, PART_OF_WORD = re.compile(r"^[a-z]{4,7}$"), re.compile(r"[a-z]{4,7}")
"""Words between whose copies shapes are read; as shape_reading.MIN_WORD and MAX_WORD."""
INSIDE = 0.5
"""Share of a line in the block from which it is of the block, as blocks.CLAIM_SHARE."""


def read_block(page: Any, block: PageBlock, lines: list[Line], panels: list[Rect], read: Read) -> list[Line]:
    """The lines of a read block of code, by their cells where it has such. `page`: BGR, dark ink; `lines` and `panels`:
    of the page; `read`: reads a picture of a line."""
    foreign = [line.rect for line in lines if line.rect.share_in(block.rect) < INSIDE]
    gray = without_sides(any_colour(page), panels, block.rect)
    around = panel_of(block.rect, panels)
    grid = cell_grid(gray, block.lines, block.pitch, foreign)
    if grid is not None and around >= 0:
        grid.leave_out_beyond(panels[around])
    return (read_cells(grid, read) if grid is not None else None) or [line for line in block.lines if line.text]


def read_cells(grid: CellGrid, read: Read) -> list[Line] | None:
    """The block's rows as lines, one a row, with a letter for every column; None where the cells say nothing."""
    _, numpy = vision()
    rows, inked = rows_of_cells(grid), grid.inked.copy()
    for number, runs in enumerate(rows):
        for run in runs:
            grid.inked[number, run.start : run.start + run.length] &= not run.is_foreign
    shapes = shapes_of(grid)
    if shapes is None:
        return None
    words = [run for runs in rows for run in runs if run.read]
    if not words or not _is_grid_of(words):
        return None
    signs = signs_of([grid.ink[first] for first in shapes.firsts], shapes.of_cell)
    _vote(shapes, rows)
    plain = _plain_words(rows)
    shapes.told = read_shapes(grid, shapes, signs, plain, read)
    if " " in shapes.told.values():
        blank = numpy.isin(shapes.of_cell, [n for n, character in shapes.told.items() if character == " "])
        grid.inked[:] = inked & ~blank
        rows = rows_of_cells(grid)
    characters = _characters(grid, shapes, signs)
    if _place(rows, shapes, characters):
        # Words of another length than what was read have a say too, once it is known which letter is missing.
        shapes.forget()
        _vote(shapes, rows)
        characters = _characters(grid, shapes, signs)
    texts = [
        [] if _is_smudged(grid, number, runs, shapes) else [_spelled(run, number, shapes, characters) for run in runs]
        for number, runs in enumerate(rows)
    ]
    for runs, pieces in zip(rows, texts, strict=True):
        without_specks(runs, pieces)
    lines = (_line(grid, number, runs, texts[number]) for number, runs in enumerate(rows) if runs)
    return [*(line for line in lines if line is not None), *grid.others]


def _plain_words(rows: list[list[Run]]) -> list[Place]:
    """The words of small letters that were read letter by letter; parts of words where there are no others: data has
    all its words in quotation marks."""
    fitting = [(number, run) for number, runs in enumerate(rows) for run in runs if run.fits and run.placed]
    for pattern in (WHOLE_WORD, PART_OF_WORD):
        found = [
            (number, run.start + part.start(), part[0])
            for number, run in fitting
            for part in pattern.finditer(run.read)
        ]
        if found:
            return found
    return []


def _is_grid_of(words: list[Run]) -> bool:
    """Whether the words have as many letters as cells, but for signs at their ends that were not read."""
    fitting = sum(run.fits for run in words)
    near = sum(abs(len(run.read) - run.length) <= MAX_SIGNS for run in words if run.length >= LONG_WORD)
    is_long = sum(run.length >= LONG_WORD for run in words)
    telling = sum(run.length >= LONG_WORD or run.fits for run in words)
    return fitting >= MIN_FITTING * len(words) or (near >= NEARLY_ALL * is_long and telling >= MIN_FITTING * len(words))


def _vote(shapes: Shapes, rows: list[list[Run]]) -> None:
    for number, runs in enumerate(rows):
        for run in runs:
            for place, character in enumerate(run.placed):
                if not character or is_wide(character) or shapes.unsure[number, run.start + place]:
                    continue
                around = _kinds_around(run.placed, place)
                shape = shapes.of_cell[number, run.start + place]
                is_between_kin = around == {_kind(character)}
                shapes.votes[shape][character] += IN_CONTEXT if is_between_kin else ALONE
                shapes.in_context[shape][character] += is_between_kin
                shapes.around[shape] |= around


def _place(rows: list[list[Run]], shapes: Shapes, characters: list[tuple[str, float, int]]) -> bool:
    """Puts the characters of the runs that do not fit into their cells; whether there were any."""
    is_any = False
    for number, runs in enumerate(rows):
        for run in runs:
            if run.read and not run.fits and not run.is_foreign:
                cells = _cells(run, number, shapes, characters)
                run.placed = placed(run.read, [known if share >= KNOWN_SHARE else "" for known, share, _ in cells])
                is_any = is_any or bool(run.placed)
    return is_any


def _cells(
    run: Run, number: int, shapes: Shapes, characters: list[tuple[str, float, int]]
) -> list[tuple[str, float, int]]:
    """What is known of each cell of a run, as `_characters` gives it."""
    return [characters[shapes.of_cell[number, run.start + place]] for place in range(run.length)]


def _kinds_around(text: Sequence[str], place: int) -> set[str]:
    """The kinds of the letters or digits on both sides, of a number's over its points; other signs part words."""
    before, after = place - 1, place + 1
    while before >= 0 and text[before] in IN_NUMBERS:
        before -= 1
    while after < len(text) and text[after] in IN_NUMBERS:
        after += 1
    beside = [text[n] for n in (before, after) if 0 <= n < len(text)]
    return {_kind(character) for character in beside if character.isalnum()}


def _kind(character: str) -> str:
    if character.isdigit():
        return "digit"
    return "capital" if character.isupper() else "small" if character.islower() else "sign"


def _characters(grid: CellGrid, shapes: Shapes, signs: list[str]) -> list[tuple[str, float, int]]:
    """For each shape its character, the share of the votes for it, and their number."""
    ink = [grid.ink[first] for first in shapes.firsts]
    known = known_shapes(shapes, ink)
    voted = [number for number, votes in enumerate(shapes.votes) if votes]
    found: list[tuple[str, float, int]] = []
    for number, votes in enumerate(shapes.votes):
        total = votes.total()
        if number in shapes.told:
            character = shapes.told[number]
            found.append((character, 1.0 if not character.isalnum() else KNOWN_SHARE, MIN_VOTES))
            continue
        is_read = total and (signs[number] in "-_=+." or _is_no_bar(signs[number], votes))
        if signs[number] and not is_read:
            found.append((signs[number], 1.0, MIN_VOTES))
            continue
        if not total:
            nearest = max(voted, key=lambda other: shapes.likeness[number][other], default=number)
            is_near = nearest != number and shapes.likeness[number][nearest] >= NEAR_SHAPE
            found.append((shapes.votes[nearest].most_common(1)[0][0], KNOWN_SHARE, 0) if is_near else ("", 0.0, 0))
            continue
        counts = told_apart(votes, shapes, number, known)
        character, count = counts.most_common(1)[0]
        found.append((character, count / total, total))
    return found


def _is_no_bar(sign: str, votes: Counter[str]) -> bool:
    """Whether a shape that looks like a bar was mostly read as something else: narrow brackets of small print do."""
    return sign == "|" and votes.most_common(1)[0][0] not in BARS


def _is_smudged(grid: CellGrid, number: int, runs: list[Run], shapes: Shapes) -> bool:
    """Whether a row where no line was found holds single shapes that no line has: sides of tabs, ends of letters."""
    if grid.members[number] or any(run.length > MAX_SMUDGE for run in runs):
        return False
    cells = [shapes.of_cell[number, run.start + place] for run in runs for place in range(run.length)]
    return all(shapes.told.get(shape, "") in SMUDGES and not shapes.votes[shape] for shape in cells)


def _spelled(run: Run, number: int, shapes: Shapes, characters: list[tuple[str, float, int]]) -> str:
    """A run's text."""
    if run.is_foreign:
        return run.spaced
    cells = _cells(run, number, shapes, characters)
    if run.placed:
        unsure = shapes.unsure[number, run.start : run.start + run.length].tolist()
        word = [
            known
            if not read or (is_wide(read) and known) or (share >= CLEAR_SHARE and votes >= MIN_VOTES and not is_unsure)
            else read
            for read, (known, share, votes), is_unsure in zip(run.placed, cells, unsure, strict=True)
        ]
        return "".join(word) if all(word) else run.spaced
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
    for run, piece in zip(runs, texts, strict=False):
        if not piece:
            continue
        gap = run.start - len(text) if not text else max(1, run.start - len(text))
        text += " " * gap + piece
    first = len(text) - len(text.lstrip())
    text = text.strip()
    if not text:
        return None
    letters = [grid.x_of(first + place) for place in range(len(text))]
    members = [line for line in grid.members[number] if line.text]
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
