"""The cells of a block of code: where its rows and columns are, and the ink of each cell.

Letters of one pitch stand in a grid. Its columns follow from the ink of the whole block, its rows from the middles of
its lines. Knows nothing of what the letters are: see `glyphs`. The thresholds are chosen; bench/ocr_real.py scores them
all together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import pi
from statistics import median
from typing import Any

from gateway.geometry.boxes import Line, Rect, hull
from gateway.geometry.reading_order import rows_of
from gateway.ocr.extras import vision
from gateway.ocr.layout.cell_ink import BLANK_SHARE, darkness, ink_of

PITCH_RANGE, PITCH_STEPS = 0.012, 49
"""The pitch is sought in this share around the measured one, which is that of single lines, in so many steps: 100
columns must end within half a letter. At half, boxes of tilted pages miss it; at double, a neighbouring peak wins."""
MAX_ROWS, MAX_COLUMNS = 200, 400
"""Rows and columns of a block; larger ones are a mistake of the pitch and stay as they were read."""
MAX_OFF_GRID, ON_GRID_SHARE, OFF_ROW = 0.18, 0.85, 0.35
"""This share of the rows must lie within MAX_OFF_GRID distances of a grid of rows, else the block has none and is read
line by line; a row further than OFF_ROW off stays as it was read. At half, rounding of pixels hides grids; at double,
chance does not."""
SIDE_PX = 2
"""Pixels on both sides of a panel's edge that may be its stroke."""
FOREIGN = 0.8
"""Rows whose middle is so near, in distances of rows, to that of a line of no row share its ink."""
MAX_DOWN = 0.25
"""Rows are moved by at most this share of their distance."""
JITTER_ROUNDS, JITTER_GAIN = 2, 0.02
"""Rounds in which rows are moved by a pixel towards the usual one, and how much likelier that must make them. At half
the gain, rows of few letters follow chance; at double, rows of small print stay where they are."""
ROW_REACH = 0.4
"""Share of the rows' distance that a row's letters reach up and down from its middle."""
BASE_INK, LETTER_SHARE, MIN_BASE_LETTERS, MIN_OFF_PX, UNEVEN_SHARE = 0.3, 0.25, 4, 2, 0.15
"""A row's base line is where most of its letters end: cells of so much ink, as high as this share of the rows'
distance, so many at least. A row that many pixels off is moved where this share of the rows is off: on a screen, where
rows stand at one distance, only a row of signs is. At half the share, such rows are moved; at double, those of receipts
are not (two of three receipts of ocr-real have a third of their rows off, its terminals one in forty)."""
MARGIN = 2.0
"""Letters of room around a block in which signs may be that the detector passed over."""
MIN_CELL_PX = 4
"""Narrower cells show no letter."""


@dataclass(frozen=True, slots=True)
class CellGrid:
    """A block's grid. `left`, `pitch`: of its columns; `middles`: heights of its rows; `ink`: rows x columns x height x
    width, 0 to 1; `inked`: rows x columns; `members`: the lines of each row; `others`: lines on no row."""

    left: float
    pitch: float
    middles: tuple[float, ...]
    ink: Any
    inked: Any
    members: tuple[tuple[Line, ...], ...]
    others: tuple[Line, ...]

    def x_of(self, column: int) -> float:
        return self.left + (column + 0.5) * self.pitch

    def leave_out_beyond(self, panel: Rect) -> None:
        """Counts the cells of rows that reach over the upper or lower side of a panel as blank: the step between two
        grounds is no ink."""
        half = ROW_REACH * (self.middles[1] - self.middles[0])
        for number, middle in enumerate(self.middles):
            if not self.members[number] and (middle - half < panel.y1 or middle + half > panel.y2):
                self.inked[number] = False


def cell_grid(gray: Any, lines: list[Line], pitch: float, foreign: Sequence[Rect] = ()) -> CellGrid | None:
    """The grid of read lines of one pitch; None where rows or columns are not regular. `gray`: the page, dark ink;
    `foreign`: boxes of other lines, whose ink is not the block's."""
    _, numpy = vision()
    if pitch < MIN_CELL_PX or not lines:
        return None
    rects = [line.rect for line in lines]
    rows = [[lines[i] for i in row] for row in rows_of(rects, range(len(rects)))]
    grid = _row_grid(rows)
    if grid is None:
        return None
    step, middles, members, others = grid
    box = hull([line.rect for row in members for line in row])
    top, bottom = max(0, int(min(middles) - step)), min(gray.shape[0], int(max(middles) + step) + 1)
    first, last = max(0, int(box.x1 - MARGIN * pitch)), min(gray.shape[1], int(box.x2 + MARGIN * pitch))
    part = gray[top:bottom, first:last]
    if part.size == 0 or len(middles) > MAX_ROWS:
        return None
    dark = darkness(part)
    pitch, phase = _columns(dark, pitch)
    origin = first + phase
    count = int((last - origin) // pitch)
    if not 0 < count <= MAX_COLUMNS:
        return None
    height, width = max(MIN_CELL_PX, round(step)), max(MIN_CELL_PX, round(pitch))
    sides = numpy.array(middles) - height / 2
    has_lines = numpy.array([bool(row) for row in members])
    # Above the first line there may be the bar of a title.
    sides = numpy.rint(sides + _down(dark, sides[has_lines][1:] - top, step)).astype(int)
    # The strokes of a frame stand on the grid.
    moves = _jitter(dark, sides - top, height) * has_lines
    ys = (sides + moves)[:, None] + numpy.arange(height)
    xs = numpy.rint(origin + pitch * numpy.arange(count)).astype(int)[:, None] + numpy.arange(width)
    ink, inked = ink_of(_cut(gray, ys, xs))
    off = _off_base(ink, inked, step)
    if off.any():
        ink, inked = ink_of(_cut(gray, ys + off[:, None], xs))
    beyond = max(0, int((box.x1 - MARGIN * pitch - origin) // pitch))
    inked[has_lines, :beyond] = False
    for rect in (*foreign, *(line.rect for line in others)):
        near = numpy.abs(numpy.array(middles) - rect.center_y) < FOREIGN * step
        first, last = int((rect.x1 - origin) // pitch), int((rect.x2 - origin) // pitch) + 1
        inked[near, max(0, first) : max(0, last)] = False
    return CellGrid(origin, pitch, tuple(middles), ink, inked, members, others)


Rows = tuple[tuple[Line, ...], ...]


def without_sides(gray: Any, panels: Sequence[Rect], box: Rect) -> Any:
    """The page with the sides of the panels around a block painted over: they are no signs."""
    around = [panel for panel in panels if box.overlap(panel) > 0]
    if not around:
        return gray
    gray = gray.copy()
    height, width = gray.shape
    for panel in around:
        left, right = max(0, int(panel.x1) - SIDE_PX), min(width, int(panel.x2) + SIDE_PX + 1)
        top, bottom = max(0, int(panel.y1) - SIDE_PX), min(height, int(panel.y2) + SIDE_PX + 1)
        for side, inner in ((panel.y1, 1), (panel.y2, -1)):
            source = min(height - 1, max(0, int(side) + inner * (SIDE_PX + 2)))
            gray[max(0, int(side) - SIDE_PX) : int(side) + SIDE_PX + 1, left:right] = gray[source, left:right]
        for side, inner in ((panel.x1, 1), (panel.x2, -1)):
            source = min(width - 1, max(0, int(side) + inner * (SIDE_PX + 2)))
            columns = gray[top:bottom, source : source + 1]
            gray[top:bottom, max(0, int(side) - SIDE_PX) : int(side) + SIDE_PX + 1] = columns
    return gray


def _row_grid(rows: list[list[Line]]) -> tuple[float, list[float], Rows, tuple[Line, ...]] | None:
    """The distance of rows, the middles of all rows from one above the first to one below the last, the lines of each,
    and the lines of none; None where the rows are not regular."""
    _, numpy = vision()
    middles = [median(line.rect.center_y for line in row) for row in rows]
    if len(middles) < 2:
        return None
    steps = sorted(below - above for above, below in pairwise(middles))
    step = steps[len(steps) // 3]
    if step < MIN_CELL_PX:
        return None
    # A row whose pieces' boxes differ comes in two: they get one number.
    numbers = [0]
    for above, below in pairwise(middles):
        numbers.append(numbers[-1] + round((below - above) / step))
    if numbers[-1] < 1:
        return None
    slope, _ = numpy.polyfit(numbers, middles, 1)
    starts = numpy.array(middles) - slope * numpy.array(numbers)
    start = numpy.median(starts)
    off = numpy.abs(starts - start)
    if float((off <= MAX_OFF_GRID * slope).mean()) < ON_GRID_SHARE:
        return None
    by_number: dict[int, list[Line]] = {}
    others: list[Line] = []
    for number, row, away in zip(numbers, rows, off.tolist(), strict=True):
        (by_number.setdefault(number, []) if away <= OFF_ROW * slope else others).extend(row)
    span = range(-1, numbers[-1] + 2)
    return (
        float(slope),
        [float(start + slope * number) for number in span],
        tuple(tuple(by_number.get(number, ())) for number in span),
        tuple(others),
    )


def exact_columns(part: Any, pitch: float) -> tuple[float, float]:
    """The exact pitch of a part of a page, and the x in it of the first column's left side."""
    return _columns(darkness(part), pitch)


def _columns(dark: Any, pitch: float) -> tuple[float, float]:
    """The exact pitch, and the x of the first column's left side, from the spectrum of the block's ink."""
    _, numpy = vision()
    profile = (dark > BLANK_SHARE * dark.max()).sum(axis=0).astype(numpy.float64)
    profile -= profile.mean()
    pitches = pitch * numpy.linspace(1 - PITCH_RANGE, 1 + PITCH_RANGE, PITCH_STEPS)
    turns = numpy.exp(2j * numpy.pi * (numpy.arange(len(profile)) + 0.5)[None] / pitches[:, None]) @ profile
    best = int(numpy.abs(turns).argmax())
    exact = float(pitches[best])
    middle = float(numpy.angle(turns[best])) / (2 * pi) * exact
    return exact, (middle - exact / 2) % exact


def _down(dark: Any, sides: Any, step: float) -> int:
    """How far down to move the rows' upper sides, so that the least ink is cut: boxes of lines miss underscores."""
    _, numpy = vision()
    dark = dark.sum(axis=1)
    reach = int(MAX_DOWN * step)
    moves = sorted(range(-reach, reach + 1), key=abs)
    # The pixels on both sides too, as rows are moved by a pixel afterwards.
    near = numpy.array([[-1], [0], [1]])
    cut = [dark[(numpy.rint(sides + move).astype(int) + near).clip(0, len(dark) - 1)].sum() for move in moves]
    return moves[int(numpy.argmin(cut))]


def _jitter(dark: Any, sides: Any, height: int) -> Any:
    """How far down each row's letters stand from where the grid has them, -1 to 1 pixels: lines of a screen stand on
    whole pixels, its rows need not. The best of the three by the likeness of the row's ink to that of all rows."""
    _, numpy = vision()
    dark = dark.sum(axis=1)
    at = sides[:, None, None] + numpy.array([-1, 0, 1])[:, None] + numpy.arange(height)
    ink = dark[at.clip(0, len(dark) - 1)]
    ink = ink / numpy.maximum(1e-6, numpy.linalg.norm(ink, axis=2, keepdims=True))
    moves = numpy.zeros(len(sides), int)
    for _ in range(JITTER_ROUNDS):
        usual = ink[numpy.arange(len(sides)), moves + 1].mean(axis=0)
        likeness = ink @ usual
        likeness[:, 1] += JITTER_GAIN
        moves = likeness.argmax(axis=1) - 1
    return moves


def _cut(gray: Any, ys: Any, xs: Any) -> Any:
    """The cells of a page, rows x columns x height x width, from the pixels of each row and column."""
    _, numpy = vision()
    ys, xs = ys.clip(0, gray.shape[0] - 1), xs.clip(0, gray.shape[1] - 1)
    return gray[ys[:, None, :, None], xs[None, :, None, :]].astype(numpy.float32)


def _off_base(ink: Any, inked: Any, step: float) -> Any:
    """The distance of each row's base line below its place on the grid, in pixels: rows of a receipt are not at one
    distance, and a letter of a low row is not one that goes below the line."""
    _, numpy = vision()
    strong = ink > BASE_INK
    height = ink.shape[2]
    tops = strong.any(axis=3).argmax(axis=2)
    bottoms = height - strong[:, :, ::-1].any(axis=3).argmax(axis=2)
    letters = inked & (bottoms - tops >= LETTER_SHARE * step) & (tops > 0) & (bottoms < height)
    rows = numpy.flatnonzero(letters.sum(axis=1) >= MIN_BASE_LETTERS)
    off = numpy.zeros(len(ink), int)
    if len(rows) > 1:
        bases = numpy.array([numpy.median(bottoms[row][letters[row]]) for row in rows])
        reach = int(MAX_DOWN * step)
        away = numpy.rint(bases - numpy.median(bases)).astype(int).clip(-reach, reach)
        is_off = numpy.abs(away) >= MIN_OFF_PX
        if is_off.mean() >= UNEVEN_SHARE:
            off[rows] = numpy.where(is_off, away, 0)
    return off
