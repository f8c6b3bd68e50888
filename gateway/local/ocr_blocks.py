"""From lines and regions to the blocks of a page, in reading order.

The layout model's regions label and gather lines; what it missed is gathered by neighbourhood, and headings it missed
are told by their height. Blocks are built before their text is read, so that they can be read and shown one by one.
"""

from statistics import median

from gateway.local.layout import reading_order, rows_of
from gateway.local.ocr_regions import plausible
from gateway.local.ocr_types import Line, PageBlock, Rect, Region, hull

LABELS = {"title": "title", "table": "table", "figure": "image"}
CLAIM_SHARE = 0.5
MAX_FIGURE_LINES = 8
MAX_FIGURE_TEXT_SHARE = 0.25
TITLE_HEIGHT_RATIO = 1.22
LONE_HEIGHT_RATIO = 1.08
MAX_TITLE_LINES = 3
LEVEL_TOLERANCE = 1.18
MAX_LEVEL = 6


def build_blocks(lines: list[Line], regions: list[Region]) -> list[PageBlock]:
    """Blocks in reading order: label, rectangle, unread lines; titles with their level."""
    regions = _credible(regions, lines)
    owners = [_owner(line, regions) for line in lines]
    positions, rows = _positions(lines, owners, regions)
    placed: list[tuple[float, PageBlock]] = []
    body = body_height(lines)
    for number, region in enumerate(regions):
        members = [index for index, owner in enumerate(owners) if owner == number]
        if region.label in ("table", "figure"):
            where = positions[len(lines) + number]
            placed.append((where, _region_block(region, [lines[i] for i in members])))
        elif members:
            where = median(positions[i] for i in members)
            blocks = _text_blocks(region, [lines[i] for i in members], body)
            placed.extend((where + 0.001 * step, block) for step, block in enumerate(blocks))
    claimed = [lines[index].rect.width for index, owner in enumerate(owners) if owner is not None]
    is_document = len(claimed) >= 0.5 * len(lines)
    for run in _runs(lines, owners, rows):
        placed.append((median(positions[i] for i in run), _free_block([lines[i] for i in run], body, is_document)))
    blocks = _joined([block for _, block in sorted(placed, key=lambda item: item[0])], body)
    _set_levels(blocks, body)
    return blocks


def body_height(lines: list[Line]) -> float:
    """The height of running text: the median of the line heights, weighted by width."""
    total = sum(line.rect.width for line in lines)
    passed = 0.0
    for line in sorted(lines, key=line_height):
        passed += line.rect.width
        if passed >= total / 2:
            return line_height(line)
    return 0.0


def line_height(line: Line) -> float:
    """A line's height across its reading direction."""
    return min(line.rect.width, line.rect.height)


def _credible(regions: list[Region], lines: list[Line]) -> list[Region]:
    """Without figures full of text (a whole receipt looks like one) and tables with hardly any."""
    kept = []
    for region in regions:
        inside = [line for line in plausible(lines) if line.rect.share_in(region.rect) >= CLAIM_SHARE]
        text_share = sum(line.rect.area for line in inside) / max(1.0, region.rect.area)
        if region.label == "figure" and (len(inside) >= MAX_FIGURE_LINES or text_share > MAX_FIGURE_TEXT_SHARE):
            continue
        if region.label == "table" and len(inside) < 3:
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
    lines: list[Line], owners: list[int | None], regions: list[Region]
) -> tuple[dict[int, float], list[list[list[int]]]]:
    """Where each line, and each table and figure as a whole (index after the lines), comes in reading order.

    Also the groups of rows of those indices.
    """
    whole = {number for number, region in enumerate(regions) if region.label in ("table", "figure")}
    indices = [index for index, owner in enumerate(owners) if owner not in whole]
    rects = [lines[index].rect for index in indices]
    indices += [len(lines) + number for number in sorted(whole)]
    rects += [regions[number].rect for number in sorted(whole)]
    groups = [[[indices[local] for local in row] for row in group] for group in reading_order(rects)]
    ordered = (index for group in groups for row in group for index in row)
    return {index: float(place) for place, index in enumerate(ordered)}, groups


def _region_block(region: Region, members: list[Line]) -> PageBlock:
    rect = hull([region.rect, *(line.rect for line in members)]) if region.label == "table" else region.rect
    return PageBlock(LABELS[region.label], rect, members)


def _text_blocks(region: Region, members: list[Line], body: float) -> list[PageBlock]:
    """A text region's block; a taller first line is a heading the model took in with the paragraph."""
    ordered = [members[i] for row in rows_of([line.rect for line in members], range(len(members))) for i in row]
    if region.label == "title":
        return [PageBlock("title", hull([line.rect for line in ordered]), ordered)]
    lead = 0
    while lead < len(ordered) - 1 and lead < 2 and line_height(ordered[lead]) >= TITLE_HEIGHT_RATIO * body:
        lead += 1
    parts = [("title", ordered[:lead]), ("text", ordered[lead:])]
    return [PageBlock(label, hull([line.rect for line in part]), part) for label, part in parts if part]


def _runs(lines: list[Line], owners: list[int | None], groups: list[list[list[int]]]) -> list[list[int]]:
    """Lines no region claims, gathered into paragraphs: rows of one column, of one height, closely set."""
    runs: list[list[int]] = []
    for group in groups:
        last: list[int] = []
        for row in group:
            free = [index for index in row if index < len(lines) and owners[index] is None]
            if last and free and _continues([lines[i] for i in last], [lines[i] for i in free]):
                runs[-1].extend(free)
            elif free:
                runs.append(free)
            last = free
    return runs


def _continues(above: list[Line], below: list[Line]) -> bool:
    """Whether a row belongs to the same paragraph as the row above it."""
    upper, lower = hull([line.rect for line in above]), hull([line.rect for line in below])
    heights = [median(line_height(line) for line in row) for row in (above, below)]
    if min(heights) * TITLE_HEIGHT_RATIO < max(heights):
        return False
    overlaps = min(upper.x2, lower.x2) > max(upper.x1, lower.x1)
    return overlaps and lower.y1 - upper.y2 < 0.9 * max(heights)


def _free_block(members: list[Line], body: float, is_document: bool) -> PageBlock:
    """A block of lines the model left out. In a document such a line, alone and a little taller, is a heading."""
    ratio = median(line_height(line) for line in members) / max(1.0, body)
    alone = is_document and len(members) == 1 and ratio >= LONE_HEIGHT_RATIO
    is_title = alone or (ratio >= TITLE_HEIGHT_RATIO and len(members) <= MAX_TITLE_LINES)
    return PageBlock("title" if is_title else "text", hull([line.rect for line in members]), members)


def _joined(blocks: list[PageBlock], body: float) -> list[PageBlock]:
    """Text blocks that follow one another as closely as lines do, from one left edge, are one paragraph."""
    joined: list[PageBlock] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.label == block.label == "text"
            and -0.3 * body < block.rect.y1 - last.rect.y2 < 0.45 * body
            and abs(block.rect.x1 - last.rect.x1) < 1.2 * body
        ):
            last.lines.extend(block.lines)
            last.rect = last.rect.union(block.rect)
        else:
            joined.append(block)
    return joined


def _set_levels(blocks: list[PageBlock], body: float) -> None:
    """Titles of one height share a level; the tallest is 1, or 2 when it hardly exceeds running text."""
    titles = [block for block in blocks if block.label == "title"]
    height, level = 0.0, 0
    for block in sorted(titles, key=lambda block: -_title_height(block)):
        own = _title_height(block)
        if level == 0:
            level = 1 if own >= TITLE_HEIGHT_RATIO * body else 2
            height = own
        elif own * LEVEL_TOLERANCE < height:
            level, height = min(MAX_LEVEL, level + 1), own
        block.level = level


def _title_height(block: PageBlock) -> float:
    return median(line_height(line) for line in block.lines)


def block_rows(block: PageBlock) -> list[list[Line]]:
    """A block's lines in rows."""
    rects: list[Rect] = [line.rect for line in block.lines]
    return [[block.lines[i] for i in row] for row in rows_of(rects, range(len(rects)))]
