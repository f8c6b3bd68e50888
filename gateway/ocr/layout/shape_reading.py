"""Reads the shapes of a block of code that its lines did not tell: each between copies of a word that they did.

The detector passes over a lone brace and the recogniser guesses at one: neither has context. Between two copies of a
word of the same block the recogniser reads a sign nearly always, and several at a time: `return;return}return`. The
quick recogniser is asked first, the careful one where the answer is no clear sign. Knows no page. The thresholds are
chosen; bench/ocr_real.py scores them all together.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gateway.ocr.extras import vision
from gateway.ocr.layout.cells import CellGrid
from gateway.ocr.layout.shapes import Shapes

Read = Callable[[Any, bool], str]
"""The text of a picture of one line (BGR, 8 bits), by the careful recogniser if the second argument is true."""
Place = tuple[int, int, str]
"""A word that was read letter by letter: its row, its first column, its text."""


class Frame(NamedTuple):
    """The word around the shapes, and the first cell of each shape."""

    word: Place
    firsts: list[tuple[int, int]]


MIN_WORD, MAX_WORD = 4, 7
"""Letters of the word around the shapes. At half, it is no context; at double, most of the work is reading it."""
FEW_VOTES, CLEAR = 4, 0.8
"""A sign with fewer votes, and any shape whose commonest reading has a smaller share of them, is read again. At half,
signs stay as a guess; at double, all signs of a block are read again."""
GROUP = 8
"""Shapes read at a time. At half, more words are read for them; at double, a misread word spoils more."""
MAX_SHAPES = 64
"""Shapes read of a block, the commonest; more are no screen's letters."""
MAX_QUICK, MAX_CAREFUL = 14, 2
"""Pictures of a block that each recogniser reads, the careful one at six times the work. At half, a page of many signs
keeps some as guesses; at double, pages of code take a tenth longer."""
AMBIGUOUS = "|Il1!'`"
"""What the quick recogniser takes for one another: the careful one decides."""
QUOTES, STROKES = "'`", "_-"
"""Signs so small that the careful recogniser may see nothing, where the quick one is believed; and signs that edges
look like: they are not believed of a shape that stands only in rows where nothing was read."""
QUOTE_INK, LEAN = 0.3, 0.08
"""Ink of a quotation mark that counts; how far the lower half of a backtick is right of its upper half, as a share of
the cell's width. At half, apostrophes that curl are backticks; at double, steep backticks are none."""
WEAK_VOTES = 6
"""Most votes of a letter that never stood among its kind, and so is read again: `\\.` is read as `N`."""


def read_shapes(
    grid: CellGrid, shapes: Shapes, signs: Sequence[str], words: Sequence[Place], read: Read
) -> dict[int, str]:
    """The characters of shapes that the votes leave open, by number; a space for a shape that is no ink of a letter.

    Shapes that no reading tells are left out. `signs`: what shapes are by their strokes, these are not read; `words`:
    those that were read with as many letters as they have cells.
    """
    open_shapes = [number for number in _commonest(shapes) if not signs[number] and _is_open(shapes, number)][
        :MAX_SHAPES
    ]
    word = surest_word(shapes, words)
    if word is None:
        return {}
    frame = Frame(word, shapes.firsts)
    asked = _ask(grid, frame, open_shapes, read, False)
    unclear = [number for number in open_shapes if not _is_clear(asked.get(number), shapes.votes[number])]
    careful = _ask(grid, frame, unclear, read, True)
    edges = _only_in(shapes, [row for row, lines in enumerate(grid.members) if not lines])
    found: dict[int, str] = {}
    for number in open_shapes:
        first, second = asked.get(number), careful.get(number)
        answer = first if number not in careful or (first and first in QUOTES) else second
        is_news = not shapes.votes[number] or answer not in shapes.votes[number]
        if (
            answer
            and number in careful
            and first != second
            and (answer.isalnum() or (shapes.votes[number] and is_news))
        ):
            answer = None
        if first == answer == "" and not shapes.votes[number] and _reaches_in(grid.ink[shapes.firsts[number]]):
            answer = " "
        if answer and answer in QUOTES:
            answer = _quote(grid.ink[shapes.firsts[number]])
        if answer and _is_believed(answer, shapes, number) and not (answer in STROKES and number in edges):
            found[number] = answer
    for number, votes in enumerate(shapes.votes):
        quote = _quote(grid.ink[shapes.firsts[number]]) if votes and votes.most_common(1)[0][0] in QUOTES else ""
        if quote:
            found.setdefault(number, quote)
    return found


def _commonest(shapes: Shapes) -> list[int]:
    _, numpy = vision()
    counts = numpy.bincount(shapes.of_cell[shapes.of_cell >= 0], minlength=len(shapes.firsts))
    return [int(number) for number in numpy.argsort(-counts, kind="stable")]


def _only_in(shapes: Shapes, rows: list[int]) -> set[int]:
    """The shapes that stand in no other rows."""
    _, numpy = vision()
    return set(range(len(shapes.firsts))) - set(numpy.delete(shapes.of_cell, rows, axis=0).ravel().tolist())


def _is_open(shapes: Shapes, number: int) -> bool:
    """Whether a shape was not read, or in several ways, or is a sign that was hardly read."""
    votes = shapes.votes[number]
    if not votes:
        return True
    character, count = votes.most_common(1)[0]
    if count < CLEAR * votes.total():
        return any(not other.isalnum() or not other.isascii() for other in votes)
    is_letter = character.isalnum() and character.isascii()
    least = (0 if shapes.in_context[number].total() else WEAK_VOTES + 1) if is_letter else FEW_VOTES
    return votes.total() < least


def _is_clear(answer: str | None, votes: Counter[str]) -> bool:
    """Whether the quick recogniser's answer is enough: a sign, or what the votes say."""
    if not answer or len(answer) > 1 or not answer.isascii():
        return False
    if votes and votes.most_common(1)[0][0] == answer:
        return True
    return answer not in AMBIGUOUS and _is_sign(answer) and (not votes or answer in votes)


def _is_sign(answer: str) -> bool:
    return len(answer) == 1 and answer.isascii() and not answer.isalnum()


def _is_believed(answer: str, shapes: Shapes, number: int) -> bool:
    """Whether an answer may stand against the votes: a sign may, a letter or a blank where there are none."""
    return (_is_sign(answer) and answer != " ") or (len(answer) == 1 and answer.isascii() and not shapes.votes[number])


def _reaches_in(ink: Any) -> bool:
    """Whether the ink touches a side of the cell: a letter's neighbour or a stroke does, a sign stands clear."""
    dark = ink >= QUOTE_INK
    return bool(dark[:, 0].any() or dark[:, -1].any() or dark[0].any() or dark[-1].any())


def _quote(ink: Any) -> str:
    """The quotation mark that a cell holds: one that leans to the right downwards is a backtick; none where the ink
    reaches in from a neighbour."""
    _, numpy = vision()
    dark, shade = ink >= QUOTE_INK, numpy.where(ink >= QUOTE_INK / 2, ink, 0)
    columns, rows = numpy.flatnonzero(dark.any(axis=0)), numpy.flatnonzero(dark.any(axis=1))
    if not len(columns) or columns[0] == 0 or columns[-1] == dark.shape[1] - 1:
        return ""
    # Without what compression with loss left on the ground, with the soft ends of small marks.
    rows = [row for row in range(max(0, rows[0] - 1), min(len(dark), rows[-1] + 2)) if shade[row].any()]
    middles = numpy.array([float(numpy.average(numpy.arange(dark.shape[1]), weights=shade[row])) for row in rows])
    if not dark[:, columns[0] : columns[-1] + 1].any(axis=0).all():
        return ""
    half = len(rows) // 2
    leans = half > 0 and middles[-half:].mean() - middles[:half].mean() > LEAN * dark.shape[1]
    return "`" if leans else "'"


def surest_word(shapes: Shapes, words: Sequence[Place]) -> Place | None:
    """The word whose letters have the clearest votes."""

    def sureness(word: Place) -> float:
        row, start, text = word
        votes = [shapes.votes[shape] for shape in shapes.of_cell[row, start : start + len(text)]]
        shares = (counts[letter] / max(FEW_VOTES, counts.total()) for counts, letter in zip(votes, text, strict=True))
        return float(min(shares))

    fitting = [
        word for word in words if MIN_WORD <= len(word[2]) <= MAX_WORD and word[2].isalpha() and word[2].islower()
    ]
    return max(fitting, key=sureness, default=None)


def _ask(grid: CellGrid, frame: Frame, numbers: list[int], read: Read, careful: bool) -> dict[int, str]:
    """What stands in the place of each shape; shapes whose words were misread are left out."""
    found: dict[int, str] = {}
    waiting = [numbers[first : first + GROUP] for first in range(0, len(numbers), GROUP)]
    for _ in range(MAX_CAREFUL if careful else MAX_QUICK):
        if not waiting:
            break
        part = waiting.pop(0)
        pieces = _pieces(grid, frame, part, read, careful)
        if pieces is not None:
            found.update(zip(part, pieces, strict=True))
        elif len(part) > 1:
            half = len(part) // 2
            waiting += [part[:half], part[half:]]
    return found


def _pieces(grid: CellGrid, frame: Frame, numbers: list[int], read: Read, careful: bool) -> list[str] | None:
    row, start, letters = frame.word
    around = list(grid.ink[row, start : start + len(letters)])
    cells = list(around)
    for number in numbers:
        cells += [grid.ink[frame.firsts[number]], *around]
    pieces = read(picture(cells), careful).split(letters)
    if len(pieces) != len(numbers) + 2 or pieces[0].strip() or pieces[-1].strip():
        return None
    return [piece.strip() for piece in pieces[1:-1]]


def picture(cells: list[Any]) -> Any:
    """The cells side by side, dark on white, with half a cell of white at both ends."""
    cv2, numpy = vision()
    gray = (255 * (1 - numpy.hstack(cells))).clip(0, 255).astype(numpy.uint8)
    margin = cells[0].shape[1] // 2
    gray = cv2.copyMakeBorder(gray, 0, 0, margin, margin, cv2.BORDER_CONSTANT, value=255)
    return cv2.cvtColor(gray, cv2.COLOR_GRAY2BGR)
