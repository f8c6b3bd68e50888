"""The ink of a block of code: how dark its page is against the ground, whatever its colours, and which cells of its
grid hold letters. Knows nothing of where the grid is: see `cells`. The thresholds are chosen; bench/ocr_real.py scores
them all together.
"""

from typing import Any

from gateway.ocr.extras import vision

GROUND_PERCENTILE = 80
"""The ground of a cell: so many of its pixels, in per cent, are darker. At half, bold letters are ground."""
BLANK_SHARE, BLANK_STEP = 0.22, 24
"""A cell is blank when its darkest pixel differs from its ground by less than this share of what the letters do, and by
less than so many levels of 256. At half, guides of indentation are letters; at double, pale comments are blank."""
MIN_ROW_LETTERS = 5
"""Letters of a row that tell how dark its letters are. At half, a smear does; at double, short comments do not."""
BOXED_SHARE = 0.6
"""Share of dark pixels from which a cell is a light letter on a dark ground of its own: bold letters fill a half. At
half, bold letters are grounds; at double (above 1), there are no boxes."""
EDGE_SHARE, UPRIGHT_SHARE, LEVEL_CELLS = 0.6, 0.4, 3
"""At half, the edges of bright selections are signs; at double (above 1), underscores and bars are edges."""
EDGE_CELLS, EDGE_PX, EDGE_STEP = 5, 2, 6
"""So many cells in a row, so many pixels, and levels of 256. At half the first, underscores are edges; at double, the
selection of a word is ink."""
MIDDLE_SHARE = 0.7
"""Share of a cell's width in which a letter must have ink: neighbours reach over the side."""
PART_SHARE, REACH_SHARE = 0.3, 0.3
"""A part of a cell's ink, of so much of its darkest, that goes on beyond a side and reaches no further in than this
share of the cell's width is a neighbour's: an underscore's end, the top of a slanted letter. At half, slanted capitals
reach further; at double, the dots and strokes of letters in parts go."""


def darkness(part: Any) -> Any:
    """How much darker than its row's ground each pixel is."""
    _, numpy = vision()
    return numpy.clip(numpy.percentile(part, GROUND_PERCENTILE, axis=1, keepdims=True) - part, 0, None)


def _clear_edges(ink: Any) -> None:
    """Takes away what covers the upper or lower ends of EDGE_CELLS cells beside one another: where a selection begins
    above or below a row, its ground reaches into the row's cells."""
    cv2, numpy = vision()
    kernel = numpy.ones((1, EDGE_CELLS), numpy.uint8)
    for end in (slice(0, 1), slice(-1, None)):
        covered = (ink[:, :, end].min(axis=(2, 3)) > EDGE_STEP).astype(numpy.uint8)
        covered = cv2.morphologyEx(covered, cv2.MORPH_OPEN, kernel) > 0
        if covered.any():
            band = slice(0, EDGE_PX) if end.start == 0 else slice(-EDGE_PX, None)
            ink[:, :, band] *= ~covered[:, :, None, None]


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


def _usual(darkest: Any, inked: Any) -> Any:
    """How dark the letters of each row are: as those of the block, or less where the row is paler, as comments are."""
    _, numpy = vision()
    if not inked.any():
        return numpy.zeros(len(inked))
    usual = numpy.full(len(inked), numpy.median(darkest[inked]))
    letters = numpy.where(inked & (darkest >= BLANK_SHARE * usual[0]), darkest, numpy.nan)
    rows = (~numpy.isnan(letters)).sum(axis=1) >= MIN_ROW_LETTERS
    if rows.any():
        usual[rows] = numpy.minimum(usual[rows], numpy.nanmedian(letters[rows], axis=1))
    return usual


def ink_of(cells: Any) -> tuple[Any, Any]:
    """The ink of each cell, 1 where it is darkest, and which cells have any."""
    _, numpy = vision()
    ground = numpy.percentile(cells, GROUND_PERCENTILE, axis=(2, 3), keepdims=True)
    ink = numpy.clip(ground - cells, 0, None)
    # A letter on a ground of its own, which is darker than that around: the cursor's, or of a bracket's pair.
    boxed = (ink > ink.max(axis=(2, 3), keepdims=True) / 2).mean(axis=(2, 3)) > BOXED_SHARE
    if boxed.any():
        own = cells[boxed]
        inside = numpy.clip(own - numpy.median(own, axis=(1, 2), keepdims=True), 0, None)
        light = inside > inside.max(axis=(1, 2), keepdims=True) / 2
        inside *= ~(light.all(axis=1, keepdims=True) | light.all(axis=2, keepdims=True))  # beside the box
        ink[boxed] = inside
    _clear_edges(ink)
    _clear_neighbours(ink)
    width = ink.shape[3]
    margin = round((1 - MIDDLE_SHARE) / 2 * width)
    darkest = ink[:, :, :, margin : width - margin].max(axis=(2, 3))
    inked = darkest >= BLANK_STEP
    inked &= darkest >= BLANK_SHARE * _usual(darkest, inked)[:, None]
    inked &= ~_is_edge(ink, darkest, inked)
    return ink / numpy.maximum(1.0, darkest)[:, :, None, None].clip(1.0), inked
