"""Finds the regions that the layout model misses: code, tables, and pictures by their pixels.

`complete` joins all sources. Where two overlap, the first of these wins: connected rules, aligned columns, pictures,
the model. Knows nothing of what the lines say. The thresholds are chosen; bench/ocr.py and bench/ocr_tables.py
score them all together, and no measurement of a single one is recorded. Lengths are in line heights unless their
explanation says otherwise.
"""

from dataclasses import dataclass
from typing import Any

from gateway.geometry.aligned_tables import aligned_tables
from gateway.geometry.boxes import Line, Rect, Region
from gateway.geometry.panel_order import panel_of
from gateway.geometry.reading_order import texts_beside
from gateway.ocr.extras import vision
from gateway.ocr.layout.code import code_regions
from gateway.ocr.layout.code_extent import Rhythm

INSIDE_SHARE, IN_PICTURE_SHARE, TOUCH_SHARE = 0.5, 0.6, 0.3
"""A rectangle lies in another with the greater part of its area; a region gives way to a picture only with somewhat
more, as its lines may be read; a picture that shares TOUCH_SHARE of the smaller area with a known figure or table is
that figure. At half, neighbours swallow one another; at double, regions are reported twice."""
MOSTLY, PARTLY = 0.85, 0.15
"""A region lies in a panel, or a panel in it, with MOSTLY of its area: boxes have margins. It reaches over a panel's
side when at least PARTLY of it is inside. At half the first, regions over several cards stay; at double the second, a
strip of one."""
PICTURE_SIDE_PX = 500
"""Pages are reduced to about this side to look for pictures: enough for their outlines, in little time. At half, small
logos vanish; at double the closing of 5 pixels no longer bridges a photograph's gaps."""
MIN_PICTURE_SHARE = 0.012
"""Least area of a picture, as a share of the page: a logo of about a ninth of each side. At half, seals and smudges are
pictures; at double, logos are not."""
MIN_PICTURE_FILL = 0.6
"""Least filled share of a picture's box: a frame or a net of rules is not solid. At half, frames are pictures; at
double (above 1) there are none."""
MAX_PICTURE_TEXT = 0.25
"""Share of a picture's area that lines may cover; see `blocks.MAX_FIGURE_TEXT_SHARE`."""
BACKGROUND_STEP = 28
"""Greatest difference from the ground, in 8-bit levels of one channel, that is still ground: shadows and the noise of a
scan. At half, shaded paper is a picture; at double, pale photographs are not."""
SLOPE_SAMPLE, SLOPE_ROUNDS, MIN_SLOPE_GAIN = 20_000, 4, 0.02
"""Pixels by which a slope of colours is fitted, how often without those far off it, and the share of the page by which
it must explain more than one colour does: an even ground is explained as well by one colour. At double the last, pale
slopes beside large pictures are pictures too."""
MIN_PAGE_SIDE = 64
"""Pixels; a smaller image has no room for a picture beside text."""

MIN_FLAT = 0.97
"""Share of an area's pixels that are within BACKGROUND_STEP of one colour in a bar, such as a letter's coloured head.
At half, photographs of the sky are bars; above, bars with a small sign are pictures."""
OUTLINE_STEP, MIN_OUTLINE = 20, 0.3
"""A picture's outline is an edge, of so many levels in five reduced pixels, over this share of its length; that of the
darker part of a gradient is where text meets it. At half, gradients are pictures; at double, vignettes are lost."""


@dataclass(frozen=True, slots=True)
class View:
    """A page's pictures (`picture_areas`), its panels, and the rhythm of a line at a pitch."""

    pictures: list[Rect]
    panels: list[Rect]
    rhythm: Rhythm


def find_regions(ruled: list[Rect], lines: list[Line], view: View) -> list[Region]:
    """The code, tables and pictures of a page, none mostly inside another and none across the side of a panel.

    `ruled`: boxes around connected rules; `lines`: the detector's, unread.
    """
    parts = _by_panel(lines, view.panels)
    beside = [[part[i] for i in text] for part in parts for text in texts_beside([line.rect for line in part])]
    code = [region for part in beside for region in code_regions(part, view.rhythm)]
    blocks = [region.rect for region in code]
    ruled = [rect for rect in ruled if not _spans_panels(rect, view.panels) and not _meets(rect, blocks)]
    taken = [*blocks, *ruled]
    aligned = [
        rect for part in parts for rect in aligned_tables([line for line in part if not _inside(line.rect, taken)])
    ]
    tables = [Region("table", rect, 1.0) for rect in ruled] + [Region("table", rect, 0.9) for rect in aligned]
    held = [table.rect for table in tables]
    pictures = [
        rect
        for rect in view.pictures
        if not _touches(rect, held) and not _meets(rect, blocks) and not _holds_panel(rect, view.panels)
    ]
    tables = [region for region in tables if not _inside(region.rect, pictures, IN_PICTURE_SHARE)]
    return [*code, *tables, *(Region("figure", rect, 0.8) for rect in pictures)]


def _by_panel(lines: list[Line], panels: list[Rect]) -> list[list[Line]]:
    """The lines of each panel, and those outside all: what they form does not reach over a panel's side."""
    parts: dict[int, list[Line]] = {}
    for line in lines:
        parts.setdefault(panel_of(line.rect, panels), []).append(line)
    return list(parts.values())


def _spans_panels(rect: Rect, panels: list[Rect]) -> bool:
    """Whether a rectangle covers or cuts several panels, or reaches over the side of one."""
    inner = [panel for panel in panels if panel.share_in(rect) > MOSTLY]
    cut = (
        rect.overlap(panel) > PARTLY * rect.area and rect.share_in(panel) < MOSTLY and panel.share_in(rect) < MOSTLY
        for panel in panels
    )
    split = sum(PARTLY < panel.share_in(rect) < MOSTLY for panel in panels)
    return len(inner) > 1 or split > 1 or any(cut)


def _holds_panel(rect: Rect, panels: list[Rect]) -> bool:
    return any(panel.share_in(rect) > INSIDE_SHARE for panel in panels)


def _meets(rect: Rect, blocks: list[Rect]) -> bool:
    """Whether a rectangle is mostly in a block of code, or a block in it."""
    return any(rect.overlap(block) > INSIDE_SHARE * min(rect.area, block.area) for block in blocks)


def _inside(rect: Rect, others: list[Rect], share: float = INSIDE_SHARE) -> bool:
    return any(rect.share_in(other) > share for other in others)


def _touches(rect: Rect, others: list[Rect]) -> bool:
    return any(rect.overlap(other) > TOUCH_SHARE * min(rect.area, other.area) for other in others)


def picture_areas(pixels: Any, lines: list[Line]) -> list[Rect]:
    """Boxes of solid areas that differ from the page's ground and hold hardly any text. `pixels`: BGR, 8 bits."""
    cv2, numpy = vision()
    height, width = pixels.shape[:2]
    if min(height, width) < MIN_PAGE_SIDE:
        return []
    factor = max(1, round(max(height, width) / PICTURE_SIDE_PX))
    small = cv2.resize(pixels, (max(1, width // factor), max(1, height // factor)), interpolation=cv2.INTER_AREA)
    ink = (numpy.abs(small - _ground(small)).max(axis=2) > BACKGROUND_STEP).astype(numpy.uint8)
    for line in lines:
        left, top, right, bottom = (round(value / factor) for value in line.rect)
        ink[max(0, top) : bottom + 1, max(0, left) : right + 1] = 0
    ink = cv2.morphologyEx(ink, cv2.MORPH_CLOSE, numpy.ones((5, 5), numpy.uint8))
    ink = cv2.morphologyEx(ink, cv2.MORPH_OPEN, numpy.ones((9, 9), numpy.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    found = []
    for number, (left, top, part_width, part_height, area) in enumerate(stats[1:count].tolist(), 1):
        if area < MIN_PICTURE_SHARE * ink.size or area < MIN_PICTURE_FILL * part_width * part_height:
            continue
        rect = Rect(left * factor, top * factor, (left + part_width) * factor, (top + part_height) * factor)
        at_rim = left == 0 or top == 0 or left + part_width == small.shape[1] or top + part_height == small.shape[0]
        holds_text = any(line.rect.share_in(rect) > INSIDE_SHARE for line in lines)
        mask = (labels == number).astype(numpy.uint8)
        # Without the rim, whose reduced pixels are a mixture of two grounds.
        if (at_rim or holds_text) and _is_flat(small[cv2.erode(mask, numpy.ones((3, 3), numpy.uint8)) > 0]):
            continue
        if _is_slope(mask, small):
            continue
        if sum(line.rect.overlap(rect) for line in lines) < MAX_PICTURE_TEXT * rect.area:
            found.append(rect)
    return found


def _ground(pixels: Any) -> Any:
    """The page's ground: its commonest colour, or a slope of colours from one side to the other where more of the page
    is near that. An array to subtract from the pixels."""
    _, numpy = vision()
    height, width = pixels.shape[:2]
    level = numpy.median(pixels.reshape(-1, 3), axis=0)
    sample = slice(None, None, max(1, height * width // SLOPE_SAMPLE))
    ys, xs = numpy.divmod(numpy.arange(height * width)[sample], width)
    known = numpy.stack([numpy.ones(len(xs)), xs / width, ys / height], axis=1)
    colours = pixels.reshape(-1, 3)[sample].astype(numpy.float64)
    near_level = float((numpy.abs(colours - level).max(axis=1) <= BACKGROUND_STEP).mean())
    if near_level >= 1 - MIN_SLOPE_GAIN:
        return level  # no slope can explain so much more
    keep = numpy.ones(len(known), bool)
    for _ in range(SLOPE_ROUNDS):
        slope = numpy.linalg.lstsq(known[keep], colours[keep], rcond=None)[0]
        off = numpy.abs(colours - known @ slope).max(axis=1)
        keep = off <= max(1.0, 1.5 * float(numpy.median(off[keep])))
    near_slope = float((off <= BACKGROUND_STEP).mean())
    if near_slope <= near_level + MIN_SLOPE_GAIN:
        return level
    across, down = numpy.arange(width)[None, :, None] / width, numpy.arange(height)[:, None, None] / height
    return slope[0] + across * slope[1] + down * slope[2]


def _is_flat(colours: Any) -> bool:
    """Whether pixels (n, 3) are of one colour: at the rim, or with text, they are a bar or a ground."""
    _, numpy = vision()
    off = numpy.abs(colours.astype(numpy.int16) - numpy.median(colours, axis=0)).max(axis=1)
    return float((off <= BACKGROUND_STEP).mean()) >= MIN_FLAT


def _is_slope(area: Any, pixels: Any) -> bool:
    """Whether an area (a mask) fades into what is around it, as the darker end of a gradient does: its outline is
    hardly anywhere an edge of the pixels."""
    cv2, numpy = vision()
    kernel = numpy.ones((3, 3), numpy.uint8)
    steps = cv2.morphologyEx(pixels, cv2.MORPH_GRADIENT, numpy.ones((5, 5), numpy.uint8)).max(axis=2)
    outline = cv2.morphologyEx(area, cv2.MORPH_GRADIENT, kernel) > 0
    outline[[0, -1], :] = outline[:, [0, -1]] = False
    return bool(outline.any()) and float((steps[outline] > OUTLINE_STEP).mean()) < MIN_OUTLINE
