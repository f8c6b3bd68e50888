"""Builds the blocks of a page, in reading order, from its lines and regions.

The layout model's regions label and group lines. Lines outside all regions are grouped by neighbourhood, and headings
that the model missed are found by the size and weight of their letters. Blocks are built before their text is read, so
that each can be read and sent on its own. Knows neither pixels nor text.

The thresholds below are chosen; bench/ocr.py scores them all together, and no measurement of a single one is recorded.
Ratios compare with the page's running text (`Body`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from gateway.geometry.boxes import Line, PageBlock, Rect, Region, hull
from gateway.geometry.reading_order import page_order, rows_of

LABELS = {"title": "title", "table": "table", "figure": "image", "code": "code", "equation": "equation"}
WHOLE = ("table", "figure", "code", "equation")
"""Regions that are one block with all their lines, and take one place in the order."""
CLAIM_SHARE = 0.5
"""Share of a line's area that must lie in a region for the line to belong to it. Chosen: the greater part. At half,
lines of the next column join a region that is a little too wide; at double only lines wholly inside belong to one."""
MAX_FIGURE_LINES = 8
MAX_FIGURE_TEXT_SHARE = 0.25
"""A figure with so many lines, or so much of its area text, is a document taken for a picture, such as a photographed
receipt: its text must be read. Chosen: at half, diagrams with labels are broken up into text; at double, short receipts
are lost as pictures."""
WIDE_LINE_SHARE, MIN_WIDE_LINES = 0.5, 2
"""So do lines as wide as this share of the figure, if there are so many: sentences, not labels. At half, charts with
long legends are broken up into text; at double (1), the sentences of a dark photograph of a page are lost."""
MIN_TABLE_LINES = 3
"""A table region with fewer lines is dropped: two rows and two columns are at least three pieces of text."""
TITLE_RATIO = 1.22
LONE_RATIO = 1.12
BOLD_RATIO = 1.25
"""How much larger (or, BOLD_RATIO, blacker) than running text a heading's letters are. TITLE_RATIO decides without
other signs: 12 pt headings over 10 pt text are just below it. LONE_RATIO suffices with a second sign: the model's
label, or a lone line in a document. Measured sizes vary from line to line, so that half of each excess makes headings
of ordinary lines; double the excess misses headings of 12 to 14 pt over 10 pt text."""
MAX_TITLE_LINES = 3
"""Lines of one heading. Chosen: at half, headings broken over two lines lose the second; at double, a short paragraph
in large print, such as an abstract, becomes a heading."""
LEVEL_TOLERANCE = 1.18
"""Headings whose sizes differ by a smaller factor share a level. Chosen: above the variation of measured sizes, below
the step of usual typography (1.2 and more). At half the excess one level falls into several, at double levels merge."""
MAX_LEVEL = 6
"""Markdown (CommonMark) has six heading levels."""
PARAGRAPH_GAP = 0.9
"""Greatest gap between the rows of a paragraph that no region claims, in line heights. Chosen: more than the leading of
widely set text, less than a blank line. At half such text falls into lines, at double paragraphs merge."""
JOIN_OVERLAP, JOIN_GAP, JOIN_SHIFT = 0.3, 0.35, 1.2
"""Text blocks are joined when the gap between them lies in -JOIN_OVERLAP to JOIN_GAP and their left edges differ by
less than JOIN_SHIFT, all in heights of running text. Chosen: boxes of neighbouring lines overlap by their margins,
lines of one paragraph are set closer than half a height, and a first line's indent is about one. At half, paragraphs
that the model cut stay cut; at double, paragraphs set apart by a blank line, or from different columns, merge."""
PARAGRAPH_STEP = 0.35
"""A gap that exceeds the page's usual one by so many line heights ends a paragraph."""
MAX_LINE_HEIGHT_RATIO = 5
"""A line higher than so many median lines is a picture that the detector took for a letter. At half, large titles are
ignored when pictures are looked for; at double, pictures of that size stay hidden behind their false line."""
MAX_INDENT = 0.15
MAX_WORD_SPACE = 0.8
MAX_COLUMN_GAP = 1.2
"""When a row continues the one before: that one starts within MAX_INDENT of the block's width, leaves no room for the
next row's first word and a space of MAX_WORD_SPACE heights, and neither has a gap of MAX_COLUMN_GAP heights. Chosen; no
single value was measured. At half, justified and ragged text keeps its line breaks; at double, lists and columns are
run together."""
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
    placed: list[tuple[float, PageBlock]] = []
    body = body_of(lines)
    for number, region in enumerate(regions):
        members = [index for index, owner in enumerate(owners) if owner == number]
        if region.label in WHOLE:
            where = positions[len(lines) + number]
            placed.append((where, _region_block(region, [lines[i] for i in members])))
        elif members:
            where = median(positions[i] for i in members)
            blocks = _text_blocks(region, [lines[i] for i in members], body)
            placed.extend((where + 0.001 * step, block) for step, block in enumerate(blocks))
    runs = _runs(lines, owners, rows)
    is_document = 2 * sum(len(run) for run in runs if len(run) > 1) >= len(lines)
    for run in runs:
        placed.append((median(positions[i] for i in run), _free_block([lines[i] for i in run], body, is_document)))
    blocks = _joined([block for _, block in sorted(placed, key=lambda item: item[0])], body)
    _set_levels(blocks, body)
    return blocks


def body_of(lines: list[Line]) -> Body:
    """The measures of running text: medians over the lines, weighted by their width."""
    return Body(
        _weighted_median([(line_height(line), line.rect.width) for line in lines]),
        _weighted_median([(line.size, line.rect.width) for line in lines if line.size]),
        _weighted_median([(line.weight, line.rect.width) for line in lines if line.weight]),
    )


def _weighted_median(pairs: list[tuple[float, float]]) -> float:
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
    """The place in reading order of each line, and of each table and figure as a whole (their indices follow those of
    the lines); also the groups of rows of these indices."""
    whole = {number for number, region in enumerate(regions) if region.label in WHOLE}
    indices = [index for index, owner in enumerate(owners) if owner not in whole]
    rects = [lines[index].rect for index in indices]
    indices += [len(lines) + number for number in sorted(whole)]
    rects += [regions[number].rect for number in sorted(whole)]
    groups = [[[indices[local] for local in row] for row in group] for group in page_order(rects, panels)]
    ordered = (index for group in groups for row in group for index in row)
    return {index: float(place) for place, index in enumerate(ordered)}, groups


def _region_block(region: Region, members: list[Line]) -> PageBlock:
    rect = region.rect if region.label == "figure" else hull([region.rect, *(line.rect for line in members)])
    return PageBlock(LABELS[region.label], rect, members, pitch=region.pitch)


def _text_blocks(region: Region, members: list[Line], body: Body) -> list[PageBlock]:
    """The blocks of a text region: larger lines at its head are a heading that the model joined to the paragraph."""
    ordered = [members[i] for row in rows_of([line.rect for line in members], range(len(members))) for i in row]
    lead = 0
    while lead < min(len(ordered), MAX_TITLE_LINES) and size_ratio([ordered[lead]], body) >= TITLE_RATIO:
        lead += 1
    if region.label == "title" and (size_ratio(ordered, body) >= LONE_RATIO or is_bold(ordered, body)):
        lead = len(ordered)
    elif lead == 0 and len(ordered) > 1 and _is_bold_head(ordered, body):
        lead = 1
    parts = [("title", ordered[:lead]), ("text", ordered[lead:])]
    return [PageBlock(label, hull([line.rect for line in part]), part) for label, part in parts if part]


def _is_bold_head(ordered: list[Line], body: Body) -> bool:
    """Whether a bold line stands alone over lines that are not bold."""
    first, second = ordered[0], ordered[1]
    beside = abs(second.rect.center_y - first.rect.center_y) < 0.5 * first.rect.height
    return not beside and is_bold([first], body) and not is_bold(ordered[1:], body)


def _runs(lines: list[Line], owners: list[int | None], groups: list[list[list[int]]]) -> list[list[int]]:
    """Lines outside all regions, grouped into paragraphs: neighbouring rows of one column and one size."""
    usual = _usual_gap(lines, groups)
    runs: list[list[int]] = []
    for group in groups:
        last: list[int] = []
        for row in group:
            free = [index for index in row if index < len(lines) and owners[index] is None]
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
            text += " " if flows else "\n"
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
