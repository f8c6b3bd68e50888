"""Pairs of signs that programming typefaces draw as one: `<-`, `=>`, `&&`.

The halves of such a drawing are no signs, so their shapes say nothing, and they come in no other place. The recogniser
reads the whole, between copies of a word. Letters and figures of one pitch do not touch: a pair that does, and is read
as figures, is `&&`, of such drawings the only one with rings. Works on cells and shapes.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from gateway.ocr.layout.cells import CellGrid
from gateway.ocr.layout.code_text import LIGATURES
from gateway.ocr.layout.runs import LIGATURE_CELLS, Run
from gateway.ocr.layout.shape_reading import GROUP, Place, Read, picture, surest_word
from gateway.ocr.layout.shapes import Shapes

DARK = 0.4
"""Ink, of the darkest, that counts; as frames.DARK."""
RINGS = "&&"


def read_ligatures(
    grid: CellGrid, rows: Sequence[Sequence[Run]], shapes: Shapes, words: Sequence[Place], read: Read
) -> dict[int, str]:
    """The signs of the shapes of pairs drawn as one, by number; the commonest GROUP pairs at most are asked for."""
    counts = Counter(shapes.of_cell[shapes.of_cell >= 0].tolist())
    places: dict[tuple[int, int], list[tuple[int, Run]]] = {}
    for number, runs in enumerate(rows):
        for run in runs:
            if run.length == LIGATURE_CELLS and not run.is_foreign and not _is_plain(run.read):
                one, other = shapes.of_cell[number, run.start : run.start + LIGATURE_CELLS].tolist()
                places.setdefault((one, other), []).append((number, run))
    alone = {pair: there for pair, there in places.items() if all(counts[shape] == len(there) for shape in pair)}
    pairs = sorted(alone, key=lambda pair: -len(alone[pair]))[:GROUP]
    word = surest_word(shapes, words) if pairs else None
    if word is None:
        return {}
    row, start, letters = word
    around = list(grid.ink[row, start : start + len(letters)])
    cells = list(around)
    halves = []
    for pair in pairs:
        number, run = alone[pair][0]
        halves.append(list(grid.ink[number, run.start : run.start + LIGATURE_CELLS]))
        cells += [*halves[-1], *around]
    answers = read(picture(cells), False).split(letters)[1:-1]
    if len(answers) != len(pairs):
        return {}
    found: dict[int, str] = {}
    for pair, half, answer in zip(pairs, halves, answers, strict=True):
        signs = LIGATURES.get(answer.strip(), "")
        if not signs and _touch(*half) and (alone[pair][0][1].read + answer).strip("&") and _has_ring(answer):
            signs = RINGS
        found.update(zip(pair, signs, strict=False))
    return found


def _is_plain(text: str) -> bool:
    """Whether a run was read as two signs, or two letters: no figures."""
    return len(text) == LIGATURE_CELLS and (text.isalpha() or not any(map(str.isalnum, text))) and text.isascii()


def _has_ring(answer: str) -> bool:
    return any(character.isdigit() or character == "&" for character in answer)


def _touch(one: Any, other: Any) -> bool:
    """Whether the ink of two cells meets at the side that they share, within a pixel up or down."""
    left, right = one[:, -1] >= DARK, other[:, 0] >= DARK
    reach = right.copy()
    reach[1:] |= right[:-1]
    reach[:-1] |= right[1:]
    return bool((left & reach).any())
