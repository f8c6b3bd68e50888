"""Signs that the line detector passes over, known by their shape in a cell: bars, dashes, and the lines of frames.

Knows nothing of letters. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

from typing import Any

from gateway.ocr.extras import vision

DARK = 0.4
"""Ink, of the darkest, that counts."""
END_PX, SIDE_PX = 2, 1
"""Rows of pixels at a cell's upper and lower end, and columns at its sides, in one of which a line that reaches there
has ink: heights of rows are rounded, dashes nearly reach the sides."""
SLIM, LOW = 0.34, 0.2
"""Greatest width of an upright stroke, and height of a level one, as shares of the cell."""
MIN_BAR, MIN_MARK, MIN_DASH, MAX_EQUAL = 0.66, 0.45, 0.35, 0.4
"""Least height of a bar and of `!`, width of a dash, and greatest height of `=`, as shares of the cell."""
BAR_WIDTHS = 1.45
"""A stroke so many widths of the cell high is a bar too, however far apart the rows are. Measured on fresh screens of
JetBrains Mono: 1.5 and more; letters are 1.3 high. At half, `l` without feet is a bar; at double, none is."""
DASH_FILL = 0.7
"""Least share of ink in the box around a dash: two slanted strokes side by side fill half of theirs."""
MIN_SLASH, MIN_SLANT, MIN_LEAN, LEAN_STROKE = 0.4, 0.5, 0.45, 0.5
"""Least height of a slash, as a share of the cell's; least width, and how far its stroke leans, as shares of the cell's
width; and how much of a row of pixels it fills at most. At half, a slanted `l` is a slash; at double, slashes of narrow
typefaces are none."""
UPPER = 0.55
"""Least share of `!` above its gap: of a colon it is half and less, of an `i` a quarter."""
MIDDLE, BOTTOM = (0.25, 0.75), 0.75
"""Where the middle of a dash lies, and below what height that of an underscore, as shares of the cell's height."""
LOW_WIDTHS = 0.45
"""A level stroke so many widths of the cell below its middle is an underscore too, however far apart the rows are: it
is .6 to .7 below, a dash .1 to .2. At half, dashes are underscores; at double, those of wide rows are dashes."""
DOT = (0.6, 0.85)
"""Where the middle of a full stop lies, as a share of the cell's height."""
FULL_ARM, CENTRE = 0.45, (0.3, 0.7)
"""A frame's stroke runs over this share of the cell at least, half of it for a corner, near its middle."""
FRAME_RUN, FULL_BAR = 3, 0.9
"""Bars of FULL_BAR of the row's distance are a frame's, where there is one. So many level strokes in a row show that a
block has frames; without, an upright one is a bar."""
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
"""The signs of light frames by the sides that their lines reach: up, down, left, right (Unicode 2500 to 253C)."""


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
