"""The cells of a block of code: where its rows and columns are, and the ink of each cell.

Letters of one pitch stand in a grid. Its columns follow from the ink of the whole block, its rows from the middles of
its lines. bench/ocr_real.py scores the thresholds together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import pi
from statistics import median
from typing import Any, NamedTuple

from gateway.geometry.boxes import Line, Rect, hull
from gateway.geometry.reading_order import rows_of
from gateway.ocr.extras import vision

# The ground of a cell: so many of its pixels, in per cent, are darker.
GROUND_PERCENTILE = 80
# A cell is blank when its darkest pixel differs from its ground by less than this share of what the letters do, and
# by less than so many levels of 256.
BLANK_SHARE, BLANK_STEP = 0.22, 24
# A piece of another ground is less dark than this share of the row's letters, level or upright, and level over so many
# cells.
EDGE_SHARE, UPRIGHT_SHARE, LEVEL_CELLS = 0.6, 0.4, 3
# Share of a cell's width in which a letter must have ink: neighbours reach over the side.
MIDDLE_SHARE = 0.7
# A part of a cell's ink, of so much of its darkest, that goes on beyond a side and reaches no further in than this
# share of the cell's width is a neighbour's: an underscore's end, the top of a slanted letter.
PART_SHARE, REACH_SHARE = 0.3, 0.3


def darkness(part: Any) -> Any:
    """How much darker than its row's ground each pixel is."""
    _, numpy = vision()
    return numpy.clip(numpy.percentile(part, GROUND_PERCENTILE, axis=1, keepdims=True) - part, 0, None)


def _is_edge(ink: Any, darkest: Any, inked: Any) -> Any:
    """Which cells hold no letter but a piece of another ground: a level stroke over several cells, or an upright one at
    a row's start, less dark than a share of what the row's letters are; of all rows' where it has none."""
    cv2, numpy = vision()
    dark = ink > darkest[:, :, None, None] / 2
    level = (inked & dark.all(axis=3).any(axis=2)).astype(numpy.uint8)
    level = cv2.morphologyEx(level, cv2.MORPH_OPEN, numpy.ones((1, LEVEL_CELLS), numpy.uint8)) > 0
    upright = inked & dark.all(axis=2).any(axis=2)
    upright &= numpy.cumsum(inked & ~upright, axis=1) == 0  # where a row begins, as a selection does
    spans = (inked & level) | upright
    letters = numpy.where(inked & ~spans, darkest, numpy.nan)
    if numpy.isnan(letters).all():
        return numpy.zeros_like(inked)
    usual = numpy.nanmedian(letters)
    has_letters = ~numpy.isnan(letters).all(axis=1)
    of_row = numpy.full(len(letters), usual)
    of_row[has_letters] = numpy.nanmedian(letters[has_letters], axis=1)
    return spans & (darkest < numpy.where(upright, UPRIGHT_SHARE, EDGE_SHARE) * of_row[:, None])


def _clear_neighbours(ink: Any) -> None:
    """Takes away what reaches into a cell from the one beside it."""
    cv2, numpy = vision()
    rows, columns, height, width = ink.shape
    strong = ink > numpy.maximum(BLANK_STEP / 2, PART_SHARE * ink.max(axis=(2, 3), keepdims=True))
    # All cells in one picture, apart by a pixel.
    tiles = numpy.zeros((rows, height + 1, columns, width + 1), numpy.uint8)
    tiles[:, :height, :, :width] = strong.transpose(0, 2, 1, 3)
    picture = tiles.reshape(rows * (height + 1), columns * (width + 1))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(picture, connectivity=8)
    sides = labels.reshape(tiles.shape)[:, :, :, [0, width - 1]]
    beside = cv2.dilate(tiles[:, :, :, [width - 1, 0]].reshape(len(picture), -1), numpy.ones((3, 1), numpy.uint8))
    beside = beside.reshape(sides.shape) > 0
    is_continued = numpy.zeros(len(stats), bool)
    is_continued[sides[:, :, 1:, 0][beside[:, :, :-1, 0]]] = True
    is_continued[sides[:, :, :-1, 1][beside[:, :, 1:, 1]]] = True
    is_foreign = is_continued & (stats[:, cv2.CC_STAT_WIDTH] <= max(1, REACH_SHARE * width))
    is_foreign[0] = False
    if is_foreign.any():
        foreign = is_foreign[labels].astype(numpy.uint8)
        soft = cv2.dilate(foreign, numpy.ones((3, 3), numpy.uint8)) & ~(picture & ~foreign)
        gone = soft.reshape(tiles.shape)[:, :height, :, :width].transpose(0, 2, 1, 3)
        ink *= gone == 0


def ink_of(cells: Any) -> tuple[Any, Any]:
    """The ink of each cell, 1 where it is darkest, and which cells have any."""
    _, numpy = vision()
    ground = numpy.percentile(cells, GROUND_PERCENTILE, axis=(2, 3), keepdims=True)
    ink = numpy.clip(ground - cells, 0, None)
    _clear_neighbours(ink)
    width = ink.shape[3]
    margin = round((1 - MIDDLE_SHARE) / 2 * width)
    darkest = ink[:, :, :, margin : width - margin].max(axis=(2, 3))
    inked = darkest >= BLANK_STEP
    if inked.any():
        inked &= darkest >= BLANK_SHARE * numpy.median(darkest[inked])
    inked &= ~_is_edge(ink, darkest, inked)
    return ink / numpy.maximum(1.0, darkest)[:, :, None, None].clip(1.0), inked


# Ink, of the darkest, that counts.
DARK = 0.4
# Rows of pixels at a cell's upper and lower end, and columns at its sides, in one of which a line that reaches there
# has ink: heights of rows are rounded, dashes nearly reach the sides.
END_PX, SIDE_PX = 2, 1
# Greatest width of an upright stroke, and height of a level one, as shares of the cell.
SLIM, LOW = 0.34, 0.2
# Least height of a bar and of `!`, width of a dash, and greatest height of `=`, as shares of the cell.
MIN_BAR, MIN_MARK, MIN_DASH, MAX_EQUAL = 0.66, 0.45, 0.35, 0.4
# A stroke so many widths of the cell high is a bar too, however far apart the rows are. Measured on fresh screens of
# JetBrains Mono: 1.5 and more; letters are 1.3 high.
BAR_WIDTHS = 1.45
# Least share of ink in the box around a dash: two slanted strokes side by side fill half of theirs.
DASH_FILL = 0.7
# Least height of a slash, as a share of the cell's; least width, and how far its stroke leans, as shares of the
# cell's width; and how much of a row of pixels it fills at most.
MIN_SLASH, MIN_SLANT, MIN_LEAN, LEAN_STROKE = 0.4, 0.5, 0.45, 0.5
# Least share of `!` above its gap: of a colon it is half and less, of an `i` a quarter.
UPPER = 0.55
# Where the middle of a dash lies, and below what height that of an underscore, as shares of the cell's height.
MIDDLE, BOTTOM = (0.25, 0.75), 0.75
# A level stroke so many widths of the cell below its middle is an underscore too, however far apart the rows are: it
# is .6 to .7 below, a dash .1 to .2.
LOW_WIDTHS = 0.45
# Where the middle of a full stop lies, as a share of the cell's height.
DOT = (0.6, 0.85)
# A frame's stroke runs over this share of the cell at least, half of it for a corner, near its middle.
FULL_ARM, CENTRE = 0.45, (0.3, 0.7)
# Bars of FULL_BAR of the row's distance are a frame's, where there is one. So many level strokes in a row show that
# a block has frames; without, an upright one is a bar.
FRAME_RUN, FULL_BAR = 3, 0.9
# The signs of light frames by the sides that their lines reach: up, down, left, right (Unicode 2500 to 253C).
ARMS = {
    "ud": "│",
    "lr": "─",
    "dr": "┌",
    "dl": "┐",
    "ur": "└",
    "ul": "┘",
    "udr": "├",
    "udl": "┤",
    "dlr": "┬",
    "ulr": "┴",
    "udlr": "┼",
}


def signs_of(ink: Any, of_cell: Any) -> list[str]:
    """The sign of each shape (`sign_of`). `ink`: of the shapes; `of_cell`: rows x columns, the shape of each cell.
    Signs of frames are given only where there is a frame."""
    _, numpy = vision()
    signs = [sign_of(cell) for cell in ink]
    level = numpy.isin(of_cell, [number for number, sign in enumerate(signs) if sign == "─"])
    runs = level[:, FRAME_RUN - 1 :].copy()
    for step in range(1, FRAME_RUN):
        runs &= level[:, FRAME_RUN - 1 - step : level.shape[1] - step]
    if runs.any():
        full = [_rise(cell) >= FULL_BAR for cell in ink]
        return ["│" if sign == "|" and is_full else sign for sign, is_full in zip(signs, full, strict=True)]
    return ["|" if sign == "│" else "" if sign in ARMS.values() else sign for sign in signs]


def _rise(cell: Any) -> float:
    """The height of a cell's ink, as a share of the cell's."""
    _, numpy = vision()
    rows = numpy.flatnonzero((cell >= DARK).any(axis=1))
    return float(rows[-1] - rows[0] + 1) / len(cell) if len(rows) else 0.0


class Span(NamedTuple):
    """The height of a cell's ink and its lower end, in pixels."""

    height: int
    bottom: int


def ink_span(cell: Any) -> Span:
    """See `Span`. `cell`: height x width, 0 to 1."""
    _, numpy = vision()
    inked = numpy.flatnonzero(cell.max(axis=1) >= DARK)
    return Span(int(inked[-1] - inked[0]) + 1, int(inked[-1]) + 1) if len(inked) else Span(0, 0)


def sign_of(ink: Any) -> str:
    """The bar, dash or frame's sign that a cell holds; empty for anything else. `ink`: height x width, 0 to 1."""
    _, numpy = vision()
    dark = ink >= DARK
    rows, columns = numpy.flatnonzero(dark.any(axis=1)), numpy.flatnonzero(dark.any(axis=0))
    if not len(rows):
        return ""
    height, width = dark.shape
    tall, wide = (rows[-1] - rows[0] + 1) / height, (columns[-1] - columns[0] + 1) / width
    arms = _arms(dark)
    if arms in ARMS and _is_frame(dark, arms):
        return ARMS[arms]
    middle = (rows[0] + rows[-1] + 1) / 2 / height
    full = dark[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    slash = _slash(dark) if tall >= MIN_SLASH and wide >= MIN_SLANT else ""
    if slash:
        return slash
    if wide <= SLIM and tall >= MIN_MARK and _is_straight(dark):
        gaps = numpy.flatnonzero(~full.any(axis=1))
        if not len(gaps):
            return "|" if tall >= MIN_BAR or tall * height >= BAR_WIDTHS * width else ""
        return "!" if gaps[0] >= UPPER * len(full) and gaps[-1] - gaps[0] + 1 == len(gaps) else ""
    if wide >= MIN_DASH and full.any(axis=0).all():
        if not full.any(axis=1).all():
            return "=" if tall <= MAX_EQUAL and MIDDLE[0] < middle < MIDDLE[1] else ""
        if tall <= LOW and full.mean() >= DASH_FILL:
            is_low = middle >= BOTTOM or (middle - 0.5) * height >= LOW_WIDTHS * width
            return "_" if is_low else "-" if middle > MIDDLE[0] else ""
    if tall <= LOW and wide <= SLIM + LOW and full.all() and DOT[0] < middle < DOT[1]:
        return "."
    return "+" if _is_plus(full, tall, wide) else ""


def _arms(dark: Any) -> str:
    """The sides that the ink reaches near their middle."""
    height, width = dark.shape
    across, down = slice(width // 4, width - width // 4), slice(height // 5, height - height // 5)
    sides = {
        "u": dark[:END_PX, across],
        "d": dark[-END_PX:, across],
        "l": dark[down, :SIDE_PX],
        "r": dark[down, -SIDE_PX:],
    }
    return "".join(name for name, part in sides.items() if part.any())


def _is_frame(dark: Any, arms: str) -> bool:
    """Whether the ink is an upright and a level stroke through the cell's middle, or the one of them that has arms."""
    height, width = dark.shape
    level, upright = (
        _stroke(dark, width, "l" in arms or "r" in arms),
        _stroke(dark.T, height, "u" in arms or "d" in arms),
    )
    if level is None or upright is None:
        return False
    rest = dark.copy()
    rest[level, :] = False
    rest[:, upright] = False
    return not rest.any()


def _stroke(dark: Any, length: int, is_wanted: bool) -> slice | None:
    """The rows of a level stroke through the middle; an empty slice where none is wanted, None where there is none."""
    _, numpy = vision()
    if not is_wanted:
        return slice(0, 0)
    full = numpy.flatnonzero(dark.sum(axis=1) >= FULL_ARM * length)
    size = len(dark)
    if not len(full) or full[-1] - full[0] + 1 > max(2, LOW * size):
        return None
    middle = (full[0] + full[-1] + 1) / 2 / size
    return slice(int(full[0]), int(full[-1]) + 1) if CENTRE[0] <= middle <= CENTRE[1] else None


def _is_straight(dark: Any) -> bool:
    """Whether every inked row has its ink at the same place."""
    _, numpy = vision()
    columns = numpy.arange(dark.shape[1])
    inked = dark[dark.any(axis=1)]
    middles = (inked * columns).sum(axis=1) / inked.sum(axis=1)
    return float(numpy.ptp(middles)) <= 1.0


def _slash(dark: Any) -> str:
    """A slash, as a cell holds one stroke that leans evenly over its width; or empty."""
    _, numpy = vision()
    inked = dark[dark.any(axis=1)]
    if (inked.sum(axis=1) > LEAN_STROKE * dark.shape[1]).any():
        return ""
    columns = numpy.arange(dark.shape[1])
    middles = (inked * columns).sum(axis=1) / inked.sum(axis=1)
    slope, start = numpy.polyfit(numpy.arange(len(middles)), middles, 1)
    off = numpy.abs(middles - start - slope * numpy.arange(len(middles))).max()
    if off > 1.0 or abs(slope) * (len(middles) - 1) < MIN_LEAN * dark.shape[1]:
        return ""
    return "/" if slope < 0 else "\\"


def _is_plus(full: Any, tall: float, wide: float) -> bool:
    """Whether a level and an upright stroke cross in the middle, and there is nothing else."""
    height, width = full.shape
    if min(height, width) < 5 or tall > 0.7 or wide < MIN_DASH:
        return False
    row, column = full.sum(axis=1) >= 0.9 * width, full.sum(axis=0) >= 0.9 * height
    rest = full & ~row[:, None] & ~column[None, :]
    middle_row, middle_column = height // 2, width // 2
    crosses = row[middle_row - 1 : middle_row + 2].any() and column[middle_column - 1 : middle_column + 2].any()
    return bool(crosses and row.sum() <= 0.4 * height and column.sum() <= 0.45 * width and not rest.any())


# The pitch is sought in this share around the measured one, which is that of single lines, in so many steps: 100
# columns must end within half a letter.
PITCH_RANGE, PITCH_STEPS = 0.012, 49
# Rows and columns of a block; larger ones are a mistake of the pitch and stay as they were read.
MAX_ROWS, MAX_COLUMNS = 200, 400
# This share of the rows must lie within MAX_OFF_GRID distances of a grid of rows, else the block has none and is
# read line by line; a row further than OFF_ROW off stays as it was read.
MAX_OFF_GRID, ON_GRID_SHARE, OFF_ROW = 0.18, 0.85, 0.35
# Pixels on both sides of a panel's edge that may be its stroke.
STROKE_PX = 2
# Rows whose middle is so near, in distances of rows, to that of a line of no row share its ink.
FOREIGN = 0.8
# A row's cells lie so much, of its distance, below its line's box, which misses underscores.
LOWER = 0.03
# Rows are moved by at most this share of their distance.
MAX_DOWN = 0.25
# Share of the rows' distance that a row's letters reach up and down from its middle.
ROW_REACH = 0.4
# A row's base line is where most of its letters end: cells of so much ink, as high as this share of the rows'
# distance, so many at least. A row that many pixels off is moved where this share of the rows is off: on a screen,
# where rows stand at one distance, only a row of signs is.
BASE_INK, LETTER_SHARE, MIN_BASE_LETTERS, MIN_OFF_PX, UNEVEN_SHARE = 0.3, 0.25, 4, 2, 0.15
# Letters of room around a block in which signs may be that the detector passed over.
MARGIN = 2.0
# Narrower cells show no letter.
MIN_CELL_PX = 4


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
    ys = numpy.rint(numpy.array(middles) - height / 2 + LOWER * step).astype(int)[:, None] + numpy.arange(height)
    xs = numpy.rint(origin + pitch * numpy.arange(count)).astype(int)[:, None] + numpy.arange(width)
    ink, inked = ink_of(_cut(gray, ys, xs))
    off = _off_base(ink, inked, step)
    if off.any():
        ink, inked = ink_of(_cut(gray, ys + off[:, None], xs))
    beyond = max(0, int((box.x1 - MARGIN * pitch - origin) // pitch))
    inked[[bool(row) for row in members], :beyond] = False
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
        left, right = max(0, int(panel.x1) - STROKE_PX), min(width, int(panel.x2) + STROKE_PX + 1)
        top, bottom = max(0, int(panel.y1) - STROKE_PX), min(height, int(panel.y2) + STROKE_PX + 1)
        for side, inner in ((panel.y1, 1), (panel.y2, -1)):
            source = min(height - 1, max(0, int(side) + inner * (STROKE_PX + 2)))
            gray[max(0, int(side) - STROKE_PX) : int(side) + STROKE_PX + 1, left:right] = gray[source, left:right]
        for side, inner in ((panel.x1, 1), (panel.x2, -1)):
            source = min(width - 1, max(0, int(side) + inner * (STROKE_PX + 2)))
            columns = gray[top:bottom, source : source + 1]
            gray[top:bottom, max(0, int(side) - STROKE_PX) : int(side) + STROKE_PX + 1] = columns
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
