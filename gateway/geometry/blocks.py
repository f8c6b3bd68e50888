"""Builds the blocks of a page, in reading order, from its lines and regions.

A region (table, figure, code, a bold heading of a PDF) is one block with all its lines. Other lines are grouped by
neighbourhood, and headings among them are found by the size and weight of their letters. Blocks are built before their
text is read, so that each can be read and sent on its own. Ratios compare with the page's running text (`Body`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from gateway.geometry.boxes import Line, PageBlock, Rect, Region, hull
from gateway.geometry.reading_order import page_order, rows_of

# Share of a line's area that must lie in a region for the line to belong to it.
CLAIM_SHARE = 0.5
# A figure with so many lines, or so much of its area text, or so many lines as wide as this share of it, is a document
# taken for a picture, such as a photographed receipt: its text is read.
MAX_FIGURE_LINES, MAX_FIGURE_TEXT_SHARE = 8, 0.25
WIDE_LINE_SHARE, MIN_WIDE_LINES = 0.5, 2
# A table has at least two rows and two columns.
MIN_TABLE_LINES = 3
# How much larger (or, BOLD_RATIO, blacker) than running text a heading's letters are. TITLE_RATIO decides without
# other signs; LONE_RATIO is enough for a lone line in a document.
TITLE_RATIO, LONE_RATIO, BOLD_RATIO = 1.22, 1.12, 1.25
MAX_TITLE_LINES = 3
# Headings whose sizes differ by a smaller factor share a level; the step of usual typography is 1.2 and more.
LEVEL_TOLERANCE = 1.18
MAX_LEVEL = 6  # CommonMark
# Greatest gap between the rows of a paragraph, in line heights, and how far it may exceed the page's usual gap.
PARAGRAPH_GAP, PARAGRAPH_STEP = 0.9, 0.35
# Text blocks are joined when the gap between them lies in -JOIN_OVERLAP to JOIN_GAP and their left edges differ by
# less than JOIN_SHIFT, all in heights of running text.
JOIN_OVERLAP, JOIN_GAP, JOIN_SHIFT = 0.3, 0.35, 1.2
# A line higher than so many median lines is a picture that the detector took for a letter.
MAX_LINE_HEIGHT_RATIO = 5
# A row continues the one before if that one starts within MAX_INDENT of the block's width, leaves no room for the
# next row's first word and a space of MAX_WORD_SPACE heights, and neither has a gap of MAX_COLUMN_GAP heights.
MAX_INDENT, MAX_WORD_SPACE, MAX_COLUMN_GAP = 0.15, 0.8, 1.2
# A letter of Chinese or Japanese, or a sign of theirs, before another: such texts have no spaces.
SPACELESS = re.compile("[\u3000-\u30ff\u3400-\u9fff\uff00-\uff65]{2}")
BULLET = re.compile(r"^(?:\[[ x]\]|[•·●▪◦‣\-–*]|\d{1,3}[.)]|[a-zA-Z][.)])\s*\S")


@dataclass(frozen=True, slots=True)
class Body:
    """Measures of a page's running text: height of its lines and of its small letters in pixels, blackness from 0 to 1.
    Each is 0 where no line has it."""

    height: float
    size: float
    weight: float


def build_blocks(lines: list[Line], regions: list[Region], panels: Sequence[Rect] = ()) -> list[PageBlock]:
    """The blocks in reading order, each with its label, rectangle and lines, titles with their level.

    The lines need not have been read, but should have been measured (size and weight), else headings are missed.
    """
    regions = _credible(regions, lines)
    owners = [_owner(line, regions) for line in lines]
    positions, rows = _positions(lines, owners, regions, panels)
    body = body_of(lines)
    placed: list[tuple[float, PageBlock]] = []
    for number, region in enumerate(regions):
        members = [line for line, owner in zip(lines, owners, strict=True) if owner == number]
        if members or region.label == "figure":  # the lines of the others may belong to a region above them
            placed.append((positions[len(lines) + number], _region_block(region, members)))
    runs = _runs(lines, rows)
    is_document = 2 * sum(len(run) for run in runs if len(run) > 1) >= len(lines)
    for run in runs:
        placed.append((median(positions[i] for i in run), _free_block([lines[i] for i in run], body, is_document)))
    blocks = _joined([block for _, block in sorted(placed, key=lambda item: item[0])], body)
    _set_levels(blocks, body)
    return blocks


def body_of(lines: list[Line]) -> Body:
    """The measures of running text: medians over the lines, weighted by their width."""
    return Body(
        weighted_median([(line_height(line), line.rect.width) for line in lines]),
        weighted_median([(line.size, line.rect.width) for line in lines if line.size]),
        weighted_median([(line.weight, line.rect.width) for line in lines if line.weight]),
    )


def weighted_median(pairs: list[tuple[float, float]]) -> float:
    """The value up to which `(value, weight)` pairs have half of all weight; 0 for none."""
    half = sum(weight for _, weight in pairs) / 2
    passed = 0.0
    for value, weight in sorted(pairs):
        passed += weight
        if passed >= half:
            return value
    return 0.0


def line_height(line: Line) -> float:
    """A line's extent across its reading direction, in pixels."""
    return min(line.rect.width, line.rect.height)


def size_ratio(members: list[Line], body: Body) -> float:
    """The size of the letters divided by that of running text; by line heights where no size was measured."""
    sized = [line.size for line in members if line.size]
    if sized and body.size:
        return median(sized) / body.size
    return median(line_height(line) for line in members) / max(1.0, body.height)


def is_bold(members: list[Line], body: Body) -> bool:
    """Whether the lines are clearly blacker than running text; False where no weight was measured."""
    weights = [line.weight for line in members if line.weight]
    return bool(weights) and body.weight > 0 and median(weights) >= BOLD_RATIO * body.weight


def _credible(regions: list[Region], lines: list[Line]) -> list[Region]:
    """The regions without figures full of text (a whole receipt looks like one) and tables with hardly any."""
    kept = []
    for region in regions:
        inside = [line for line in plausible(lines) if line.rect.share_in(region.rect) >= CLAIM_SHARE]
        text_share = sum(line.rect.area for line in inside) / max(1.0, region.rect.area)
        wide = sum(line.rect.width >= WIDE_LINE_SHARE * region.rect.width for line in inside)
        is_full = len(inside) >= MAX_FIGURE_LINES or text_share > MAX_FIGURE_TEXT_SHARE
        if region.label == "figure" and (is_full or wide >= MIN_WIDE_LINES):
            continue
        if region.label == "table" and len(inside) < MIN_TABLE_LINES:
            continue
        kept.append(region)
    return kept


def _owner(line: Line, regions: list[Region]) -> int | None:
    best, share = None, CLAIM_SHARE
    for number, region in enumerate(regions):
        covered = line.rect.share_in(region.rect)
        if covered > share:
            best, share = number, covered
    return best


def _positions(
    lines: list[Line], owners: list[int | None], regions: list[Region], panels: Sequence[Rect]
) -> tuple[dict[int, float], list[list[list[int]]]]:
    """The place in reading order of each free line, and of each region (their indices follow those of the lines); also
    the groups of rows of these indices."""
    free = [index for index, owner in enumerate(owners) if owner is None]
    indices = [*free, *range(len(lines), len(lines) + len(regions))]
    rects = [lines[index].rect for index in free] + [region.rect for region in regions]
    groups = [[[indices[local] for local in row] for row in group] for group in page_order(rects, panels)]
    ordered = (index for group in groups for row in group for index in row)
    return {index: float(place) for place, index in enumerate(ordered)}, groups


def _region_block(region: Region, members: list[Line]) -> PageBlock:
    if region.label == "figure":
        return PageBlock("image", region.rect, members)
    return PageBlock(region.label, hull([region.rect, *(line.rect for line in members)]), members, pitch=region.pitch)


def _runs(lines: list[Line], groups: list[list[list[int]]]) -> list[list[int]]:
    """Lines outside all regions, grouped into paragraphs: neighbouring rows of one column and one size."""
    usual = _usual_gap(lines, groups)
    runs: list[list[int]] = []
    for group in groups:
        last: list[int] = []
        for row in group:
            free = [index for index in row if index < len(lines)]
            if last and free and _continues([lines[i] for i in last], [lines[i] for i in free], usual):
                runs[-1].extend(free)
            elif free:
                runs.append(free)
            last = free
    return runs


def _usual_gap(lines: list[Line], groups: list[list[list[int]]]) -> float:
    """The usual gap between rows that may be of one paragraph, in line heights."""
    gaps = []
    for group in groups:
        rows = [[lines[i] for i in row if i < len(lines)] for row in group]
        for above, below in pairwise(row for row in rows if row):
            upper, lower = hull([line.rect for line in above]), hull([line.rect for line in below])
            gap = (lower.y1 - upper.y2) / max(1.0, median(line_height(line) for line in below))
            if gap < PARAGRAPH_GAP:
                gaps.append(gap)
    return median(gaps) if gaps else 0.0


def _continues(above: list[Line], below: list[Line], usual: float) -> bool:
    """Whether a row belongs to the same paragraph as the row above it. `usual`: the usual gap of rows."""
    upper, lower = hull([line.rect for line in above]), hull([line.rect for line in below])
    heights = [median(line_height(line) for line in row) for row in (above, below)]
    sizes = [median(line.size or line_height(line) / 2 for line in row) for row in (above, below)]
    if min(sizes) * TITLE_RATIO < max(sizes) and min(heights) * LONE_RATIO < max(heights):
        return False
    overlaps = min(upper.x2, lower.x2) > max(upper.x1, lower.x1)
    return overlaps and lower.y1 - upper.y2 < min(PARAGRAPH_GAP, max(0.0, usual) + PARAGRAPH_STEP) * max(heights)


def _free_block(members: list[Line], body: Body, is_document: bool) -> PageBlock:
    """A block of lines outside all regions. In a document a lone line, a little larger or bold, is a heading."""
    ratio = size_ratio(members, body)
    alone = is_document and len(members) == 1 and (ratio >= LONE_RATIO or is_bold(members, body))
    is_title = alone or (ratio >= TITLE_RATIO and len(members) <= MAX_TITLE_LINES)
    return PageBlock("title" if is_title else "text", hull([line.rect for line in members]), members)


def _joined(blocks: list[PageBlock], body: Body) -> list[PageBlock]:
    """Joins text blocks that follow one another as closely as lines do, from one left edge."""
    joined: list[PageBlock] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.label == block.label == "text"
            and -JOIN_OVERLAP * body.height < block.rect.y1 - last.rect.y2 < JOIN_GAP * body.height
            and abs(block.rect.x1 - last.rect.x1) < JOIN_SHIFT * body.height
        ):
            last.lines.extend(block.lines)
            last.rect = last.rect.union(block.rect)
        else:
            joined.append(block)
    return joined


def _set_levels(blocks: list[PageBlock], body: Body) -> None:
    """Sets the levels of titles: equal sizes share one; the largest is 1, or 2 when hardly larger than running text."""
    ratios = [(size_ratio(block.lines, body), block) for block in blocks if block.label == "title"]
    largest, level = 0.0, 0
    for ratio, block in sorted(ratios, key=lambda item: -item[0]):
        if level == 0:
            level, largest = (1 if ratio >= TITLE_RATIO else 2), ratio
        elif ratio * LEVEL_TOLERANCE < largest:
            level, largest = min(MAX_LEVEL, level + 1), ratio
        block.level = level


def block_rows(block: PageBlock) -> list[list[Line]]:
    """A block's lines in rows from the top, each row from the left."""
    rects: list[Rect] = [line.rect for line in block.lines]
    return [[block.lines[i] for i in row] for row in rows_of(rects, range(len(rects)))]


def plausible(lines: list[Line]) -> list[Line]:
    """The lines without those far higher than usual: the detector takes some pictures for a giant letter."""
    usual = median([line.rect.height for line in lines] or [0.0])
    return [line for line in lines if line.rect.height <= MAX_LINE_HEIGHT_RATIO * usual]


def paragraph(block: PageBlock) -> str:
    """The rows joined to running text; the break before a bullet, after a short row and between columns stays."""
    text = ""
    previous: list[Line] = []
    for row in block_rows(block):
        row = [line for line in row if line.text]
        if not row:
            continue
        piece = " ".join(line.text for line in row)
        if text:
            flows = _runs_on(previous, row, block) and not BULLET.match(piece)
            text += "\n" if not flows else "" if SPACELESS.match(text[-1] + piece[0]) else " "
        text += piece
        previous = row
    return text


def _runs_on(row: list[Line], following: list[Line], block: PageBlock) -> bool:
    """Whether a row was broken only because the next row's first word had no room left on it."""
    if not _is_unbroken(row) or not _is_unbroken(following):
        return False
    if row[0].rect.x1 - block.rect.x1 > MAX_INDENT * block.rect.width:
        return False
    first = following[0].words[0].rect.width if following[0].words else following[0].rect.width
    return block.rect.x2 - row[-1].rect.x2 < first + MAX_WORD_SPACE * row[-1].rect.height


def _is_unbroken(row: list[Line]) -> bool:
    """Whether no gap in a row is as wide as one between columns."""
    return all(right.rect.x1 - left.rect.x2 < MAX_COLUMN_GAP * left.rect.height for left, right in pairwise(row))
