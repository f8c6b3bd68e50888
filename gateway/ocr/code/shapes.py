"""Reads the shapes of a block of code that its lines did not tell: each between copies of a word that they did.

The detector passes over a lone brace and the recogniser guesses at one: neither has context. Between two copies of a
word of the same block the recogniser reads a sign nearly always, and several at a time: `return;return}return`. The
quick recogniser is asked first, the careful one where the answer is no clear sign. The thresholds are
chosen; bench/ocr_real.py scores them all together.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateway.ocr.code.cells import CellGrid
from gateway.ocr.extras import vision

# Likeness (cosine of their ink, best of small shifts) from which two cells have one shape.
SAME_SHAPE = 0.985
# Shifts, in pixels down and right, by which cells are compared, to both sides: letters stand on whole pixels, the
# grid does not.
SHIFTS = ((0, 1), (1, 0))
# Cells of the same ink, in so many levels, are one drawing.
LEVELS = 7
# Drawings of a block that are compared with one another, the commonest; the others, of a screen whose picture was
# compressed with loss, join the shape that they are most like. Blocks of more drawings are left as they were read.
MAX_SHAPES, MAX_DRAWINGS = 900, 12_000


@dataclass(slots=True)
class Shapes:
    """The shape of every cell (-1 for a blank one); of each shape its first cell, the votes for its character, the
    number of those given between letters of that character's kind, the kinds of letters that stand beside it, and how
    like it is to the others. `unsure`: cells that are less like their shape than SAME_SHAPE. `told`: characters of
    shapes that were read on their own (see `shape_reading`)."""

    of_cell: Any
    firsts: list[tuple[int, int]]
    votes: list[Counter[str]]
    in_context: list[Counter[str]]
    around: list[set[str]]
    likeness: Any
    unsure: Any
    told: dict[int, str] = field(default_factory=dict)

    def forget(self) -> None:
        """Takes all votes back."""
        for counts in (*self.votes, *self.in_context):
            counts.clear()
        for kinds in self.around:
            kinds.clear()


def shapes_of(grid: CellGrid) -> Shapes | None:
    """Gathers the inked cells by shape: each joins the first shape that it is like, commonest drawings first."""
    _, numpy = vision()
    places = numpy.argwhere(grid.inked)
    if not len(places):
        return None
    ink = grid.ink[places[:, 0], places[:, 1]]
    drawings: dict[bytes, int] = {}
    flat = (ink * LEVELS).round().astype(numpy.uint8).reshape(len(ink), -1)
    inverse = numpy.array([drawings.setdefault(cell.tobytes(), len(drawings)) for cell in flat])
    _, firsts, counts = numpy.unique(inverse, return_index=True, return_counts=True)
    order = numpy.argsort(-counts, kind="stable")
    if len(order) > MAX_DRAWINGS:
        return None
    order, rest = order[:MAX_SHAPES], order[MAX_SHAPES:]
    soft = _softened(ink[firsts])
    likeness = _likeness(soft[order])
    shape_of = numpy.full(len(order), -1)
    leaders: list[int] = []
    for number in range(len(order)):
        near = likeness[number, leaders] if leaders else numpy.zeros(0)
        if len(near) and near.max() >= SAME_SHAPE:
            shape_of[number] = int(near.argmax())
        else:
            shape_of[number] = len(leaders)
            leaders.append(number)
    shape_of_drawing = numpy.empty(len(counts), int)
    shape_of_drawing[order] = shape_of
    is_sure = numpy.ones(len(counts), bool)
    if len(rest):
        shape_of_drawing[rest], is_sure[rest] = _nearest(soft[rest], soft[order[leaders]])
    of_cell = numpy.full(grid.inked.shape, -1)
    of_cell[places[:, 0], places[:, 1]] = shape_of_drawing[inverse]
    unsure = numpy.zeros(grid.inked.shape, bool)
    unsure[places[:, 0], places[:, 1]] = ~is_sure[inverse]
    cells = [places[firsts[order[leader]]].tolist() for leader in leaders]
    return Shapes(
        of_cell,
        [(row, column) for row, column in cells],
        [Counter() for _ in leaders],
        [Counter() for _ in leaders],
        [set() for _ in leaders],
        likeness[leaders][:, leaders],
        unsure,
    )


def _softened(ink: Any) -> Any:
    """Cells a little blurred: without what compression with loss leaves, and letters at fractions of a pixel alike."""
    cv2, numpy = vision()
    return numpy.stack([cv2.GaussianBlur(cell, (3, 3), 0) for cell in ink])


def _nearest(ink: Any, leaders: Any) -> tuple[Any, Any]:
    """For each cell the place of the shape that it is most like, at the best of SHIFTS to both sides, and whether it is
    so like as cells of one shape are."""
    _, numpy = vision()
    whole = _unit(ink)
    best = whole @ _unit(leaders).T
    for down, right in (*SHIFTS, *((-down, -right) for down, right in SHIFTS)):
        best = numpy.maximum(best, whole @ _unit(numpy.roll(leaders, (down, right), axis=(1, 2))).T)
    return best.argmax(axis=1), best.max(axis=1) >= SAME_SHAPE


def _unit(cells: Any) -> Any:
    _, numpy = vision()
    flat = cells.reshape(len(cells), -1)
    return flat / numpy.maximum(1e-6, numpy.linalg.norm(flat, axis=1, keepdims=True))


def _likeness(ink: Any) -> Any:
    """The cosine of every pair of cells, at the best of SHIFTS."""
    _, numpy = vision()
    whole = _unit(ink)
    best = whole @ whole.T
    for shift in SHIFTS:
        moved = whole @ _unit(numpy.roll(ink, shift, axis=(1, 2))).T
        best = numpy.maximum(best, numpy.maximum(moved, moved.T))  # moved the other way, it is the other's likeness
    return best


# The kinds of letters beside which a character is likely.
PAIRS = (("0", "O"), ("1", "l"))
BESIDE = {"0": {"digit"}, "O": {"capital", "small"}, "1": {"digit"}, "l": {"small"}}
# A shape less like the known ones of a character than ALIKE is not that one in another weight, but its look-alike;
# of two it is the one that it is more like by CLEARLY. Letters of a screen have .97 and more, their look-alikes .63 to
# .87.
ALIKE, CLEARLY, SURELY = 0.94, 0.02, 0.96
# A shape is known as a character from so many readings between its kind, and so many times those of its look-alike.
MIN_KNOWN, MORE_KNOWN = 2, 4
# Letters of a screen stand at fractions of a pixel: shapes are compared enlarged, at shifts up to a pixel.
ENLARGED = 4
# Ink of a stroke; the least ink in the middle of a nought with a dot or a stroke in it, and the most of an `O`.
# Measured on fresh screens: .58 to .85 of noughts, 0 to .1 of `O`.
STRONG, FILLED, EMPTY = 0.4, 0.45, 0.22
# The shapes of each character of a pair that are surely that.
Known = dict[str, list[int]]


def known_shapes(shapes: Shapes, ink: Sequence[Any]) -> Known:
    """The shapes that were read between their own kind as one of a pair, and not as the other; and the noughts with a
    dot in them, beside which an empty ring is an `O`. `ink`: of each shape."""
    known: Known = {}
    for pair in PAIRS:
        for one, other in (pair, pair[::-1]):
            known[one] = [
                number
                for number, votes in enumerate(shapes.in_context)
                if votes[one] >= max(MIN_KNOWN, MORE_KNOWN * votes[other])
            ]
    rings = [n for n, votes in enumerate(shapes.votes) if votes and votes.most_common(1)[0][0] in "0O"]
    middles = {n: _middle(ink[n]) for n in rings}
    dotted = [n for n in rings if middles[n] >= FILLED]
    if dotted:
        empty = [n for n in rings if middles[n] <= EMPTY]
        known["0"] = [n for n in known["0"] if n not in empty and n not in dotted] + dotted
        known["O"] = [n for n in known["O"] if n not in empty and n not in dotted] + empty
    return known


def _middle(ink: Any) -> float:
    """The most ink in the middle of a ring, between its strokes."""
    _, numpy = vision()
    dark = ink >= STRONG
    rows, columns = numpy.flatnonzero(dark.any(axis=1)), numpy.flatnonzero(dark.any(axis=0))
    if not len(rows):
        return 0.0
    box = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = box.shape
    inner = box[round(height * 0.4) : max(round(height * 0.6), round(height * 0.4) + 1)]
    left, right = round(width * 0.4), max(round(width * 0.6), round(width * 0.4) + 1)
    return float(inner[:, left:right].mean(axis=0).max())


def told_apart(votes: Counter[str], shapes: Shapes, number: int, known: Known, ink: Sequence[Any]) -> Counter[str]:
    """The votes for a shape, those for both of a pair given to the one that it is, and so many that they decide where
    the shape is known."""
    told = Counter(votes)
    for pair in PAIRS:
        if any(character in told for character in pair):
            count = sum(told.pop(character, 0) for character in pair)
            likeness = {c: max((_match(ink[number], ink[n]) for n in known[c]), default=0.0) for c in pair}
            one = _one_of(pair, votes, shapes.around[number], likeness)
            told[one] += max(count, FEW_VOTES) if likeness[one] >= SURELY else count
    return told


def _one_of(pair: tuple[str, str], votes: Counter[str], around: set[str], likeness: dict[str, float]) -> str:
    """The one of a pair that a shape is by its likeness to known shapes, else by the letters beside it."""
    read = max(pair, key=lambda character: votes[character])
    other = pair[pair[0] == read]
    if all(likeness.values()) and abs(likeness[other] - likeness[read]) > CLEARLY:
        return max(pair, key=lambda character: likeness[character])
    if len(around) > 1 and around <= BESIDE[read]:
        return read  # Capitals beside it and small letters: no digit of a name's end.
    is_unlike = 0 < likeness[read] < ALIKE
    return other if is_unlike and around <= BESIDE[other] else read


def _match(one: Any, other: Any) -> float:
    """The likeness of two cells at the best of shifts of a quarter of a pixel."""
    cv2, _ = vision()
    one, other = (cv2.resize(cell, None, fx=ENLARGED, fy=ENLARGED) for cell in (one, other))
    around = cv2.copyMakeBorder(other, *[ENLARGED] * 4, cv2.BORDER_CONSTANT)
    return float(cv2.matchTemplate(around, one, cv2.TM_CCORR_NORMED).max())


# The text of a picture of one line (BGR, 8 bits), by the careful recogniser if the second argument is true.
Read = Callable[[Any, bool], str]
# A word that was read letter by letter: its row, its first column, its text.
Place = tuple[int, int, str]


class Frame(NamedTuple):
    """The word around the shapes, and the first cell of each shape."""

    word: Place
    firsts: list[tuple[int, int]]


# Letters of the word around the shapes.
MIN_WORD, MAX_WORD = 4, 7
# A sign with fewer votes, and any shape whose commonest reading has a smaller share of them, is read again.
FEW_VOTES, CLEAR = 4, 0.8
# Shapes read at a time.
GROUP = 8
# Shapes read of a block, the commonest; more are no screen's letters.
MAX_READ = 64
# Pictures of a block that each recogniser reads, the careful one at six times the work.
MAX_QUICK, MAX_CAREFUL = 14, 2
# What the quick recogniser takes for one another: the careful one decides.
AMBIGUOUS = "|Il1!'`"
# Signs so small that the careful recogniser may see nothing, where the quick one is believed; and signs that edges
# look like: they are not believed of a shape that stands only in rows where nothing was read.
QUOTES, STROKES = "'`", "_-"
# Ink of a quotation mark that counts; how far the lower half of a backtick is right of its upper half, as a share of
# the cell's width.
QUOTE_INK, LEAN = 0.3, 0.08
# Most votes of a letter that never stood among its kind, and so is read again: `\.` is read as `N`.
WEAK_VOTES = 6


def read_shapes(
    grid: CellGrid, shapes: Shapes, signs: Sequence[str], words: Sequence[Place], read: Read
) -> dict[int, str]:
    """The characters of shapes that the votes leave open, by number; a space for a shape that is no ink of a letter.

    Shapes that no reading tells are left out. `signs`: what shapes are by their strokes, these are not read; `words`:
    those that were read with as many letters as they have cells.
    """
    open_shapes = [number for number in _commonest(shapes) if not signs[number] and _is_open(shapes, number)][:MAX_READ]
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
    """The character of each shape; shapes whose words were misread are left out."""
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
