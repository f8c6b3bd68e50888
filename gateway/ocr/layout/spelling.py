"""Puts the characters that were read of a word of code into its cells, where the two differ in number.

The recogniser leaves letters out, mostly at a line's ends and beside quotation marks, and reads one twice; the cells
are sure of the number of letters, but not every shape is known. Naive form: of all ways to put the characters that
were read into the cells in order, leaving out some of both, the one that contradicts the shapes least. Knows no pixels.
The costs are chosen; bench/ocr_real.py scores them together.
"""

from collections.abc import Sequence
from itertools import accumulate
from unicodedata import east_asian_width

UNKNOWN, UNLIKE, NOT_READ, NOTHING, NO_CELL = 0.3, 0.8, 0.7, 0.8, 0.9
"""Costs of a character in a cell of unknown shape, in one of another character, of a known cell that was not read, of
an unknown one that was not, and of a character without a cell. A character left out and one too many cost more than
one that is unlike, so that words are not pushed along; a character moves into an unknown cell only if its own shape is
not known."""
LEFT, UP, BOTH = "left", "up", "both"
MAX_COST = 0.35
"""Greatest cost a cell; above, reading and cells are not of one word. At half, short words with a sign left out are not
spelled; at double, chance fits."""
ZERO_LIKE = "\u65e5\u66f0\u0398\u03b8"
"""What a nought with a dot or a stroke in it is read as in a line of code."""
ASCII_LIKE = {"\u223c": "~", "\u02dc": "~", "\uff5e": "~", "\u2223": "|", "\u2013": "-", "\u2212": "-", "\u02c6": "^"}
"""Signs outside ASCII that code does not hold and NFKC does not fold, by what they look like in a cell."""


def is_wide(character: str) -> bool:
    """Whether a character takes two cells, so that no single cell can hold it."""
    return east_asian_width(character) in "WF"


def as_code(text: str) -> str:
    """What was read, with the signs that stand in one cell as code has them."""
    return "".join("0" if c in ZERO_LIKE else ASCII_LIKE.get(c, c) for c in text)


def placed(read: str, known: Sequence[str]) -> tuple[str, ...]:
    """The character of each cell, empty where none was read; nothing where reading and cells do not go together.
    `known`: the character of each cell's shape, empty where it is not known."""
    if not read:
        return ()
    columns = len(known)
    skipped = [NOT_READ if character else NOTHING for character in known]
    best = [0.0, *accumulate(skipped)]
    steps = [[""] + [LEFT] * columns]
    for character in read:
        line, moves = [best[0] + NO_CELL], [UP]
        for column, cell in enumerate(known):
            fit = 0.0 if cell == character else UNLIKE if cell else UNKNOWN
            cost, move = min(
                (best[column] + fit, BOTH), (line[column] + skipped[column], LEFT), (best[column + 1] + NO_CELL, UP)
            )
            line.append(cost)
            moves.append(move)
        best = line
        steps.append(moves)
    return _walked(read, steps, columns) if best[columns] <= MAX_COST * columns else ()


def _walked(read: str, steps: list[list[str]], columns: int) -> tuple[str, ...]:
    """The characters along the cheapest way, from its end."""
    row, column = len(read), columns
    cells = [""] * columns
    while column:
        move = steps[row][column]
        column -= move != UP
        row -= move != LEFT
        if move == BOTH:
            cells[column] = read[row]
    return tuple(cells)
