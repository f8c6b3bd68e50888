"""Reads a block of code again, cell by cell: letters that look the same are the same.

The recogniser reads lines as it reads prose, and errs where prose does not help: `0` for `O` or `o`, `l` for `1`, signs
left out. On a screen each letter of a monospaced typeface is drawn alike wherever it stands. So the cells are gathered
by their shape; each shape takes the character that most of its readings say, readings between letters of their own kind
first. Where as many letters were read as a word has cells, a character changes only if its shape clearly says so; else
the word is spelled by its shapes. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import atan2, cos, inf, pi, sin
from statistics import median
from typing import Any
from unicodedata import east_asian_width

from gateway.geometry.boxes import Line, PageBlock, Rect, Uncertain, hull
from gateway.geometry.reading_order import panel_of, rows_of
from gateway.ocr.code.cells import CellGrid, cell_grid, ink_span, signs_of, without_sides
from gateway.ocr.code.shapes import Place, Read, Shapes, known_shapes, read_shapes, shapes_of, told_apart
from gateway.ocr.extras import vision
from gateway.ocr.image.ink import any_colour
from gateway.ocr.text.doubts import settle

# What a nought with a dot or a stroke in it is read as in a line of code.
ZERO_LIKE = "\u65e5\u66f0\u0398\u03b8"
# Signs outside ASCII that code does not hold and NFKC does not fold, by what they look like in a cell.
ASCII_LIKE = {"\u223c": "~", "\u02dc": "~", "\uff5e": "~", "\u2223": "|", "\u2013": "-", "\u2212": "-", "\u02c6": "^"}


def is_wide(character: str) -> bool:
    """Whether a character takes two cells, so that no single cell can hold it."""
    return east_asian_width(character) in "WF"


def as_code(text: str) -> str:
    """What was read, with the signs that stand in one cell as code has them."""
    return "".join("0" if c in ZERO_LIKE else ASCII_LIKE.get(c, c) for c in text)


# Rows of a block, and the share of them that must begin with a number that counts them, that make the numbers a
# gutter: some are misread.
MIN_ROWS, MIN_NUMBERED = 3, 0.5
# A line's number at the start of a row; before it the mark of a changed line or of a breakpoint, read as a sign.
NUMBER = re.compile(r"(?:[^\w\s]{1,2} ?)?(\d{1,5})(?= |$)")
# Distance of two rows, in usual ones, from which there is a blank row between.
BLANK_ROW = 1.6
# Distance of the letters on both sides of a sign, in pitches: 2 around a sign of one column, 3 around one of two.
LIGATURES = {"≠": "!=", "→": "->", "⇒": "=>", "≤": "<=", "≥": ">=", "←": "<-", "≡": "=="}
LIGATURE_REACH = 2.5
# Empty cells between two words from which they are more than one space: the recogniser's places are good to half a
# letter.
WIDE_SPACE = 1.6
# Longest line written, in letters; more is a mistake of the pitch.
MAX_COLUMNS = 400
# Words of a block whose letters, once read, stand at its pitch within this share. On the two dozen screens of code
# of ocr-real .95 and more lie within .04, of running text at its best pitch .2 to .6.
READ_PITCH, READ_SHARE = 0.07, 0.7


def is_monospaced(lines: list[Line], pitch: float) -> bool:
    """Whether the words of read lines have their letters at this pitch."""
    near = total = 0
    for line in lines:
        if len(line.letters) != len(line.text):
            continue
        for word in re.finditer(r"\S{4,}", line.text):
            count = word.end() - word.start() - 1
            advance = (line.letters[word.end() - 1] - line.letters[word.start()]) / count
            near += count * (abs(advance / pitch - 1) < READ_PITCH)
            total += count
    return near >= READ_SHARE * total


def code_text(lines: list[Line], pitch: float) -> str:
    """The block's rows with their spaces, without an editor's line numbers; blank rows where there is room for them.

    `lines`: read; those of one row may be in pieces.
    """
    rects = [line.rect for line in lines]
    rows = [[lines[i] for i in row] for row in rows_of(rects, range(len(rects)))]
    rows = [[without_ligatures(line, pitch) if line.letters else line for line in row if line.text] for row in rows]
    rows = [row for row in rows if row]
    middles = [median(line.rect.center_y for line in row) for row in rows]
    edge, numbered = _gutter(rows, middles, pitch)
    rows = [[line for line in (_right_of(line, edge, pitch) for line in row) if line.text] for row in rows]
    inside = [line for row in rows[numbered] for line in row if line.letters]
    origin = _origin(inside or [line for row in rows for line in row], pitch)
    texts = [_row_text(row, pitch, origin) for row in rows]
    return "\n".join(_with_blanks(middles, texts)).strip("\n")


def _gutter(rows: list[list[Line]], middles: list[float], pitch: float) -> tuple[float, slice]:
    """The x right of the line numbers, and the rows from the first to the last that has one: numbers at the starts of
    rows that count them, blank rows included. Minus infinity and all rows where there are none."""
    counted = []
    step = _row_step(middles)
    for place, (row, middle) in enumerate(zip(rows, middles, strict=True)):
        match = NUMBER.match(row[0].text)
        if match and row[0].letters:
            offset = int(match[1]) - round((middle - middles[0]) / step)
            counted.append((offset, row[0].letters[match.end(1) - 1], place))
    usual = Counter(offset for offset, *_ in counted).most_common(1)
    if len(rows) < MIN_ROWS or not usual or usual[0][1] < MIN_NUMBERED * len(rows):
        return -inf, slice(None)
    xs, places = zip(*((x, place) for offset, x, place in counted if offset == usual[0][0]), strict=True)
    return max(xs) + pitch / 2, slice(places[0], places[-1] + 1)


def _right_of(line: Line, edge: float, pitch: float) -> Line:
    """The line without its characters up to an x, and the spaces after them; whole where a word stands across it: the
    title above a gutter is no number."""
    cut = sum(x <= edge for x in line.letters)
    is_in_word = 0 < cut < len(line.text) and " " not in line.text[cut - 1 : cut + 1]
    if not cut or (is_in_word and line.letters[cut] - line.letters[cut - 1] < WIDE_SPACE * pitch):
        return line
    cut += len(line.text[cut:]) - len(line.text[cut:].lstrip())
    return replace(line, text=line.text[cut:], letters=line.letters[cut:], words=())


def _row_step(middles: list[float]) -> float:
    """The distance of neighbouring rows: of the lesser third, as there are blank rows."""
    steps = sorted(below - above for above, below in pairwise(middles))
    return max(1.0, steps[len(steps) // 3]) if steps else 1.0


def without_ligatures(line: Line, pitch: float) -> Line:
    """The line with signs that are two letters wide written as the two letters that programming typefaces join."""
    text, letters = "", list[float]()
    for place, character in enumerate(line.text):
        pair = LIGATURES.get(character)
        if pair and 0 < place < len(line.text) - 1:
            around = line.letters[place + 1] - line.letters[place - 1]
            if around > LIGATURE_REACH * pitch:
                middle = line.letters[place]
                text += pair
                letters += [middle - pitch / 2, middle + pitch / 2]
                continue
        text += character
        letters.append(line.letters[place])
    return replace(line, text=text, letters=tuple(letters), words=())


def _origin(lines: list[Line], pitch: float) -> float:
    """The x of the middle of column 0, so that letters stand in the middles of their columns."""
    letters = [x for line in lines for x in line.letters]
    if not letters:
        return min((line.rect.x1 for line in lines), default=0.0) + pitch / 2
    start = min(line.letters[0] for line in lines if line.letters)
    angles = [2 * pi * (x - start) / pitch for x in letters]
    return start + pitch * atan2(sum(map(sin, angles)), sum(map(cos, angles))) / (2 * pi)


def _row_text(row: list[Line], pitch: float, origin: float) -> str:
    text = ""
    for line in row:
        first = line.letters[0] if line.letters else line.rect.x1 + pitch / 2
        column = min(MAX_COLUMNS, max(0, round((first - origin) / pitch)))
        gap = column - len(text)
        text += " " * (max(1, gap) if text else gap) + _spaced(line, pitch)
    return text.rstrip()


def _spaced(line: Line, pitch: float) -> str:
    """The line's text with as many spaces between words as there are empty columns."""
    if len(line.letters) != len(line.text):
        return line.text
    text, last = "", 0.0
    for word in re.finditer(r"\S+", line.text):
        if text:
            empty = (line.letters[word.start()] - last) / pitch - 1
            text += " " * min(MAX_COLUMNS, round(empty) if empty >= WIDE_SPACE else 1)
        text += word[0]
        last = line.letters[word.end() - 1]
    return text


def _with_blanks(middles: list[float], texts: list[str]) -> list[str]:
    """The texts with one empty row where two rows are twice as far apart as usual, or further."""
    usual = _row_step(middles)
    spaced = texts[:1]
    for (above, below), text in zip(pairwise(middles), texts[1:], strict=False):
        if below - above > BLANK_ROW * usual:
            spaced.append("")
        spaced.append(text)
    return spaced


# Rows that begin with a number, which ends in the same column, of a gutter.
GUTTER_NUMBERED = 3

# Cells of a sign that programming typefaces draw for two letters.
LIGATURE_CELLS = 2


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
    if count < GUTTER_NUMBERED or any(run.start < edge for run in words):
        return rows
    for runs in rows:
        gutter = [run for run in runs if run.start < edge]
        for run in gutter:
            run.placed = ()
            run.is_foreign = True
        runs[: len(gutter)] = [run for run in gutter if run.read]
    return rows


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


# Share of words with as many letters as cells; with fewer the grid is not that of the letters.
MIN_FITTING = 0.6
# Of words of so many cells and more, nearly all may lack so many letters: quotation marks and commas, which the
# detector's boxes leave out.
LONG_WORD, MAX_SIGNS, NEARLY_ALL = 7, 3, 0.85
# Weights of a reading between letters of its kind (both digits, or both letters) and of any other.
IN_CONTEXT, ALONE = 3, 1
# A shape's character replaces another reading when it has this share of the votes, and so many.
CLEAR_SHARE, MIN_VOTES = 0.7, 4
# Letters whose capitals are drawn like them but higher (`p` stands lower), letters that tell the two heights, and how
# much the heights, and the lower end of `p`, differ at least.
SAME_FORM, TALL_LETTERS, LOW_LETTERS = "copsvwxz", "ABDEFHKLMNRTU2345689", "aemnru"
MIN_RISE, MIN_DESCENT = 1.15, 0.2
# Signs over which a digit has digits beside it.
IN_NUMBERS = (".", ",")
# A run of so many cells that the recogniser did not read at all is the line of a frame: a smaller share of its cells
# may be unknown, and are as the others.
MIN_UNREAD, MAX_UNKNOWN = 5, 0.2
# A shape that was never read is that of its nearest, if so like: neighbours that reach into a cell change its ink.
NEAR_SHAPE = 0.93
# Least share of the votes for a shape to spell a word that was read with too many or too few letters.
KNOWN_SHARE = 0.5
# Confidence of a row that was read by its shapes alone.
SHAPE_FIT = 0.9
# Words between whose copies shapes are read; as shape_reading.MIN_WORD and MAX_WORD.
WHOLE_WORD, PART_OF_WORD = re.compile(r"^[a-z]{4,7}$"), re.compile(r"[a-z]{4,7}")
# Share of a line in the block from which it is of the block, as blocks.CLAIM_SHARE.
INSIDE = 0.5


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
    _set_cases(grid, shapes, rows)
    plain = _plain_words(rows)
    shapes.told = read_shapes(grid, shapes, signs, plain, read)
    if " " in shapes.told.values():
        blank = numpy.isin(shapes.of_cell, [n for n, character in shapes.told.items() if character == " "])
        grid.inked[:] = inked & ~blank
        rows = rows_of_cells(grid)
    characters = _characters(grid, shapes, signs)
    texts = [[_spelled(run, number, shapes, characters) for run in runs] for number, runs in enumerate(rows)]
    lines = (_line(grid, shapes, number, runs, texts[number]) for number, runs in enumerate(rows) if runs)
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


def _set_cases(grid: CellGrid, shapes: Shapes, rows: list[list[Run]]) -> None:
    """Gives letters whose capital looks like their small form (`o`, `O`) the case of their height, and votes anew."""
    spans = [ink_span(grid.ink[first]) for first in shapes.firsts]
    read = [votes.most_common(1)[0][0] if votes else "" for votes in shapes.votes]
    low = [span for span, character in zip(spans, read, strict=True) if character and character in LOW_LETTERS]
    tall = [span.height for span, character in zip(spans, read, strict=True) if character and character in TALL_LETTERS]
    if low and tall and median(tall) >= MIN_RISE * (small := median(span.height for span in low)):
        middle, descent = (median(tall) + small) / 2, median(span.bottom for span in low) + MIN_DESCENT * small
        for number, runs in enumerate(rows):
            for run in runs:
                cells = map(ink_span, grid.ink[number, run.start : run.start + run.length])
                run.placed = [
                    _in_case(character, span.bottom < descent if character in "pP" else span.height > middle)
                    for character, span in zip(run.placed, cells, strict=False)
                ]
    shapes.forget()
    _vote(shapes, rows)


def _in_case(character: str, is_capital: bool) -> str:
    if character.lower() not in SAME_FORM or not character:
        return "o" if character == "0" and not is_capital else character
    return character.upper() if is_capital else character.lower()


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
        is_read = total and signs[number] in "-_=+."
        if signs[number] and not is_read:
            found.append((signs[number], 1.0, MIN_VOTES))
            continue
        if not total:
            nearest = max(voted, key=lambda other: shapes.likeness[number][other], default=number)
            is_near = nearest != number and shapes.likeness[number][nearest] >= NEAR_SHAPE
            found.append((shapes.votes[nearest].most_common(1)[0][0], KNOWN_SHARE, 0) if is_near else ("", 0.0, 0))
            continue
        counts = told_apart(votes, shapes, number, known, ink)
        character, count = counts.most_common(1)[0]
        found.append((character, count / counts.total(), counts.total()))
    return found


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


def _second(shapes: Shapes, row: int, column: int, character: str) -> str:
    """What the shape of a cell was read as most often beside `character`."""
    if column >= shapes.of_cell.shape[1] or shapes.of_cell[row, column] < 0:
        return ""
    votes = shapes.votes[shapes.of_cell[row, column]].most_common(2)
    return next((read for read, _ in votes if read != character), "")


def _line(grid: CellGrid, shapes: Shapes, number: int, runs: list[Run], texts: list[str]) -> Line | None:
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
    text, unsure = settle(text, [_second(shapes, number, first + n, character) for n, character in enumerate(text)])
    members = [line for line in grid.members[number] if line.text]
    left, right = grid.x_of(first) - grid.pitch / 2, grid.x_of(first + len(text)) - grid.pitch / 2
    if members:
        rect = hull([line.rect for line in members])
        letters_read = max(1, sum(len(line.text) for line in members))
        score = sum(line.score * len(line.text) for line in members) / letters_read
        fit = sum(line.fit * len(line.text) for line in members) / letters_read
        doubts = tuple(Uncertain(doubt.text, (doubt.other,), rect) for doubt in unsure)
        doubts += tuple(doubt for line in members for doubt in line.doubts if doubt.text in text.split())
        return replace(
            members[0], rect=rect, text=text, letters=tuple(letters), score=score, fit=fit, words=(), doubts=doubts
        )
    height = grid.middles[1] - grid.middles[0]
    middle = grid.middles[number]
    rect = Rect(left, middle - height / 2, right, middle + height / 2)
    return Line(rect, rect.corners, text, SHAPE_FIT, letters=tuple(letters), fit=SHAPE_FIT, is_read=True)
