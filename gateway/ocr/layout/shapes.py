"""Gathers the inked cells of a block of code by their shape.

Knows nothing of what the shapes are: see `glyphs`. The thresholds are chosen unless their explanation says otherwise;
bench/ocr_real.py scores them all together.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from gateway.ocr.extras import vision
from gateway.ocr.layout.cells import CellGrid

SAME_SHAPE = 0.975
"""Likeness (cosine of their ink, best of small shifts) from which two cells have one shape. At half the distance from
1, roundings of pixels part letters; at double, `c` and `e` are one in small print."""
SHIFTS = ((0, 1), (1, 0))
"""Shifts, in pixels down and right, by which cells are compared, to both sides: letters stand on whole pixels, the grid
does not."""
LEVELS = 7
"""Cells of the same ink, in so many levels, are one drawing."""
MAX_SHAPES, MAX_DRAWINGS = 900, 12_000
"""Drawings of a block that are compared with one another, the commonest; the others, of a screen whose picture was
compressed with loss, join the shape that they are most like. At half, such screens have fewer kinds of letters than
they need; at double, comparing takes four times as long. Blocks of more drawings are left as they were read."""


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
    likeness = _likeness(ink[firsts[order]])
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
        shape_of_drawing[rest], is_sure[rest] = _nearest(ink[firsts[rest]], ink[firsts[order[leaders]]])
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
