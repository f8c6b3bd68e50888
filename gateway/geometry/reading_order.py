"""Reading order: columns before rows, rows before words.

A page is cut at a gutter: an x that hardly any line crosses and that has real columns on both sides. The lines that do
cross it (headings, wide figures) cut the page into bands, which are read one after the other, each column by column.
An area without a gutter is read in rows. Narrow pieces beside text (the prices of a receipt) are no columns: they stay
on their row.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from statistics import median

from gateway.geometry.boxes import Rect, hull

Row = list[int]

# Share of an area's lines that may cross a gutter: titles, captions, footers and wide figures of a short page of two
# columns. On the twelve papers of ocr-real: at 0.12 four are read across their columns, at 0.35 none, and nothing
# else differs.
MAX_CROSSING_SHARE = 0.35
# The same between texts that only chance put side by side, where nothing is set across both.
FEW_CROSSING_SHARE = 0.08
# A column has so many lines, whose median width is this share of the area's and so many line heights. up to four
# columns, of more than about two words a line.
MIN_COLUMN_LINES = 4
MIN_COLUMN_WIDTH_SHARE = 0.2
MIN_COLUMN_HEIGHTS = 7
# Rows that share this much of a member's height belong to one band. boxes of closely set lines overlap by less.
MIN_BESIDE = 0.3
# How far a line's middle may lie from its row's, in the lower of the heights. less than half, so that a line lies on
# one row only.
MAX_OFF_ROW = 0.45
# Share of the narrower width by which members of a row may lie above one another: boxes have margins.
MAX_STACKED = 0.4
# A line crosses an x only when it reaches further than this share of its width, at most this many heights, beyond
# it: boxes have margins, and ragged lines reach into a gutter.
CROSSING_SLACK, CROSSING_SLACK_HEIGHTS = 0.1, 0.5
# A column too narrow for the measures above is one too when it has so many lines, so many heights wide, and its rows
# are its own: no more than MAX_ALIGNED of them have one beside them whose middle differs by less than SAME_ROW
# heights, ROW_SHARE of the distance of those rows, and MIN_REACH_PX. Rows of a form or table are aligned nearly all;
# of two columns of text a fourth is by chance.
MIN_NARROW_LINES, MIN_NARROW_HEIGHTS = 5, 3
MAX_ALIGNED, SAME_ROW, ROW_SHARE, MIN_REACH_PX = 0.55, 0.2, 0.15, 1.5
# A column so narrow, as a share of the width, whose lines are lower by this factor than those beside it, is an
# aside: contents, notes. Boxes of lines vary by some hundredths; side bars of contents are set a tenth smaller and
# have larger headings. at 1 for the second, every side bar of a dashboard is one.
MAX_ASIDE_SHARE, ASIDE_SIZE = 0.35, 0.95
# It is so much narrower than the lines beside it, or the widest column: columns of a spread, cards of one width, and
# addresses in a row are none, though the boxes of one's lines be lower.
ASIDE_WIDTH = 0.6
# A column of so many lines is running text when FILLED_SHARE of them are at least FILLED times as wide as nearly the
# widest, and so many heights.
MIN_FILLED_LINES, FILLED_SHARE, FILLED, MIN_FILLED_HEIGHTS = 8, 0.8, 0.6, 9
# Narrower columns, of so many heights, are running text where all are filled and one is at least so wide as another:
# six of a newspaper on A4. The columns of a table differ more.
MIN_EVEN_HEIGHTS, EVEN = 4.5, 0.8
# Pieces of one row, in heights apart, that are one line with wide spaces: justified text in a narrow column.
JUSTIFIED_GAP = 2.5
# Columns of a few lines: greatest gap between their lines, least gap between their boxes (which have margins), and how
# far a first line may be indented, in line heights.
PROSE_LEADING, MIN_GUTTER_HEIGHTS, INDENT = 0.9, -0.1, 2
# A title across the foot of several columns is so many times as wide as their lines.
FOOT_WIDTH = 1.2
# Two short blocks side by side are this far apart, in line heights and as a share of the width; the lines of one begin
# within so many heights of each other.
APART_HEIGHTS, APART_SHARE, SAME_LEFT = 8, 0.22, 0.4
# Bounds the recursion of columns within columns; printed pages have two or three levels. Beyond it rows are read.
MAX_DEPTH = 8


def reading_order(rects: Sequence[Rect]) -> list[list[Row]]:
    """Groups (a column of a band) of rows of indices, in reading order. Every index appears once."""
    groups = (rows_of(rects, group) for group in _groups(rects, list(range(len(rects))), 0) if group)
    return [part for rows in groups for part in _blocks_apart(rects, rows)]


def texts_beside(rects: Sequence[Rect]) -> list[list[int]]:
    """The indices in texts that stand side by side, parted only between columns whose rows are their own, or which
    their lines fill: columns of a listing stay together."""

    def split(members: list[int], depth: int) -> list[list[int]]:
        gutter = _gutter(rects, members, FEW_CROSSING_SHARE) if depth < MAX_DEPTH else None
        if gutter is None:
            return [members]
        left = [i for i in members if rects[i].center_x < gutter]
        right = [i for i in members if rects[i].center_x >= gutter]
        sides = [[rects[i] for i in side] for side in (left, right)]
        if aligned_share(*sides) > MAX_ALIGNED and not all(map(_is_filled, sides)):
            return [members]
        return split(left, depth + 1) + split(right, depth + 1)

    return split(list(range(len(rects))), 0)


def _is_filled(rects: Sequence[Rect], least_heights: float = MIN_FILLED_HEIGHTS) -> bool:
    """Whether nearly all lines of a column reach over its width, as those of running text do and cells do not."""
    narrow, height = _width_at(rects, 1 - FILLED_SHARE), median(rect.height for rect in rects)
    least = max(FILLED * _width_at(rects, FILLED_SHARE), least_heights * height)
    return len(rects) >= MIN_FILLED_LINES and narrow >= least


def _width_at(rects: Sequence[Rect], share: float) -> float:
    """The width below which a share of rectangles is."""
    return sorted(rect.width for rect in rects)[int(share * (len(rects) - 1))]


def are_even_columns(columns: Sequence[Sequence[Rect]]) -> bool:
    """Whether columns are all filled with lines of one width, as a newspaper's are."""
    widths = [_width_at(column, FILLED_SHARE) for column in columns]
    return min(widths) >= EVEN * max(widths) and all(_is_filled(column, MIN_EVEN_HEIGHTS) for column in columns)


def is_aside(rects: Sequence[Rect], others: Sequence[Rect], extent: Rect | None = None) -> bool:
    """Whether a column holds contents or notes beside the text of the others: it is narrow, its letters are smaller.
    `extent`: of the column, where it is more than that of its text."""
    if min(len(rects), len(others)) < MIN_COLUMN_LINES:
        return False
    widths = sorted(rect.width for rect in others)
    usual_width, own = widths[len(widths) * 3 // 4], hull(list(rects))
    if (
        usual_width < MIN_FILLED_HEIGHTS * median(rect.height for rect in others)
        or own.width > ASIDE_WIDTH * usual_width
    ):
        return False  # no running text, or columns of it that are as wide
    column, rest = extent or own, hull(list(others))
    height, usual = (median(rect.height for rect in part) for part in (rects, others))
    return column.width <= MAX_ASIDE_SHARE * column.union(rest).width and height < ASIDE_SIZE * usual


def _blocks_apart(rects: Sequence[Rect], rows: list[Row]) -> list[list[Row]]:
    """The rows, parted where short blocks lie side by side: columns of a few lines of prose, or two blocks far apart,
    such as the addresses at the head of a letter. The left block's rows come first."""
    parts: list[list[Row]] = [[]]
    start = 0
    while start < len(rows):
        end, cuts = _prose_end(rects, rows, start)
        if end == start:
            end, cut = _apart_end(rects, rows, start)
            cuts = [cut]
        if end == start:
            parts[-1].append(rows[start])
            start += 1
            continue
        for number in range(len(cuts) + 1):
            column = [[i for i in row if bisect_left(cuts, rects[i].center_x) == number] for row in rows[start:end]]
            parts.append([row for row in column if row])
        parts.append([])
        start = end
    return [part for part in parts if part]


def _prose_end(rects: Sequence[Rect], rows: list[Row], start: int) -> tuple[int, list[float]]:
    """The end of the run of rows from `start` that are columns of prose, and the x between these; `start` for none."""
    members = [rects[i] for i in rows[start]]
    found = start, list[float]()
    for end in range(start + 1, len(rows)):
        row = [rects[i] for i in rows[end]]
        if hull(row).y1 - hull(members).y2 > PROSE_LEADING * row[0].height:
            break
        members += row
        cuts = _cuts(members)
        columns = [[rect for rect in members if bisect_left(cuts, rect.center_x) == n] for n in range(len(cuts) + 1)]
        if not cuts:
            break
        if all(columns) and all(map(_is_prose, columns)):
            found = end + 1, cuts
    return found


def _cuts(rects: list[Rect]) -> list[float]:
    """The middles of the upright stretches without ink that part rectangles, with no piece across."""
    least = MIN_GUTTER_HEIGHTS * median(rect.height for rect in rects)
    cuts, reach = list[float](), min(rect.x2 for rect in rects)
    for rect in sorted(rects):
        if rect.x1 - reach >= least:
            cuts.append((reach + rect.x1) / 2)
        reach = max(reach, rect.x2)
    return cuts


def _is_prose(column: list[Rect]) -> bool:
    """Whether a column is two lines and more of running text: all but the last line fill it."""
    lines = [hull([column[i] for i in row]) for row in rows_of(column, range(len(column)))]
    widest = max(line.width for line in lines)
    height = median(line.height for line in lines)
    is_full = all(line.width >= FILLED * widest for line in lines[:-1])
    return len(lines) > 1 and is_full and widest >= MIN_FILLED_HEIGHTS * height and _spread(lines, "x1") <= INDENT


def _apart_end(rects: Sequence[Rect], rows: list[Row], start: int) -> tuple[int, float]:
    """The end of the longest run of rows from `start` that are two blocks apart, and an x between them; `start` for
    none."""
    width = hull([rects[i] for row in rows for i in row]).width
    members: list[Rect] = []
    found = start, 0.0
    for end in range(start, len(rows)):
        row = [rects[i] for i in rows[end]]
        if len(row) > 2 or (members and row[0].y1 - hull(members).y2 > row[0].height):
            break
        members = sorted([*members, *row])
        reach = [max(rect.x2 for rect in members[: n + 1]) for n in range(len(members))]
        gap, at = max(((members[n + 1].x1 - reach[n], n + 1) for n in range(len(members) - 1)), default=(0.0, 0))
        is_apart = gap >= max(APART_HEIGHTS * min(rect.height for rect in members), APART_SHARE * width)
        if not is_apart and len(members) > 1:
            break
        if is_apart and _are_blocks(members[:at], members[at:]):
            found = end + 1, reach[at - 1] + gap / 2
    return found


def _are_blocks(left: list[Rect], right: list[Rect]) -> bool:
    """Whether two groups of lines are blocks of text, not names and their values: the lines of each begin at one edge,
    and one is ragged at the right; or one is a single larger line, such as a firm's name beside its address."""
    fewer, more = sorted((left, right), key=len)
    if len(fewer) == 1:
        is_even = min(_spread(more, "x1"), _spread(more, "x2")) <= SAME_LEFT
        return len(more) > 1 and is_even and fewer[0].height > max(rect.height for rect in more)
    if max(_spread(left, "x1"), _spread(right, "x1")) > SAME_LEFT:
        return False
    return max(_spread(left, "x2"), _spread(right, "x2")) > 1 and _spread(right, "x2") > SAME_LEFT


def _spread(rects: list[Rect], side: str) -> float:
    """How far apart the left (x1) or right (x2) sides of lines are, in line heights."""
    sides = [getattr(rect, side) for rect in rects]
    return float((max(sides) - min(sides)) / median(rect.height for rect in rects))


def rows_of(rects: Sequence[Rect], members: Sequence[int]) -> list[Row]:
    """The members in rows of one height: rows from top to bottom, each from left to right."""
    rows: list[Row] = []
    for index in sorted(members, key=lambda index: (rects[index].center_y, rects[index].x1)):
        row = next((row for row in reversed(rows[-3:]) if _on_row(rects, row, index)), None)
        if row is None:
            rows.append([index])
        else:
            row.append(index)
    for row in rows:
        row.sort(key=lambda index: rects[index].x1)
    return rows


def bands_of(rects: Sequence[Rect], rows: Sequence[Row]) -> list[Row]:
    """Joins rows that lie partly beside one another: the lines of a tall cell, and a piece at its middle."""
    bands: list[Row] = []
    extents: list[Rect] = []
    for row in rows:
        extent = hull([rects[index] for index in row])
        shared = min(extent.y2, extents[-1].y2) - max(extent.y1, extents[-1].y1) if bands else 0.0
        usual = median(rects[index].height for index in row)
        if bands and shared > MIN_BESIDE * usual and not _is_above(rects, bands[-1], row):
            bands[-1] = sorted([*bands[-1], *row], key=lambda index: rects[index].x1)
            extents[-1] = extents[-1].union(extent)
        else:
            bands.append(row)
            extents.append(extent)
    return bands


def _is_above(rects: Sequence[Rect], above: Row, below: Row) -> bool:
    """Whether more than one member of `below` has a member of `above` over it: two full rows, set closely."""
    pairs = sum(any(min(rects[a].x2, rects[b].x2) - max(rects[a].x1, rects[b].x1) > 0 for a in above) for b in below)
    return pairs > 1


def _on_row(rects: Sequence[Rect], row: Row, index: int) -> bool:
    """Whether a rectangle lies beside the row's members: on their height, and not above or below any of them."""
    rect = rects[index]
    heights = [rects[other].height for other in row]
    middle = sum(rects[other].center_y for other in row) / len(row)
    if abs(rect.center_y - middle) > MAX_OFF_ROW * min(rect.height, max(heights)):
        return False
    return all(
        min(rect.x2, rects[other].x2) - max(rect.x1, rects[other].x1)
        <= MAX_STACKED * min(rect.width, rects[other].width)
        for other in row
    )


def _groups(rects: Sequence[Rect], members: list[int], depth: int) -> list[list[int]]:
    gutter = _gutter(rects, members) if depth < MAX_DEPTH else None
    if gutter is None:
        return [members]
    crossing = sorted((i for i in members if _crosses(rects[i], gutter)), key=lambda i: rects[i].center_y)
    rest = [i for i in members if not _crosses(rects[i], gutter)]
    groups: list[list[int]] = []
    for wide in [*crossing, None]:
        above = rest if wide is None else [i for i in rest if rects[i].center_y < rects[wide].center_y]
        rest = [] if wide is None else [i for i in rest if rects[i].center_y >= rects[wide].center_y]
        left = [i for i in above if rects[i].center_x < gutter]
        right = [i for i in above if rects[i].center_x >= gutter]
        columns = [column for column in (left, right) if column]
        if len(columns) == 2:
            sides = [rects[i] for i in left], [rects[i] for i in right]
            if is_aside(*sides) or hull(sides[1]).y2 <= hull(sides[0]).y1:
                columns.reverse()
        heads = _heads_below(rects, columns, is_alone=wide is None)
        for column in columns:
            groups.extend(_groups(rects, [i for i in column if i not in heads], depth + 1))
        if heads:
            groups.append(heads)
        if wide is not None:
            groups.append([wide])
    return _joined_crossings(groups, set(crossing))


def _heads_below(rects: Sequence[Rect], columns: list[list[int]], *, is_alone: bool) -> list[int]:
    """The index of a heading below two columns that was sorted into one of them; empty for none.

    It is the last line of its column, lies below the other column, and has a gap above it. With `is_alone`, no line
    that crosses both columns follows it; then it must also be much wider than its column's other lines."""
    if len(columns) < 2:
        return []
    for column, other in (columns, columns[::-1]):
        ordered = sorted(column, key=lambda i: rects[i].y1)
        last, end = rects[ordered[-1]], hull([rects[i] for i in other]).y2
        above = hull([rects[i] for i in ordered[:-1]]).y2 if len(ordered) > 1 else last.y2
        widest = max((rects[i].width for i in ordered[:-1]), default=last.width) if is_alone else 0.0
        if last.y1 >= end and last.y1 - above > PROSE_LEADING * last.height and last.width > FOOT_WIDTH * widest:
            return ordered[-1:]
    return []


def _joined_crossings(groups: list[list[int]], crossing: set[int]) -> list[list[int]]:
    """Crossing lines that follow one another directly are one group: their rows are ordered together."""
    joined: list[list[int]] = []
    for group in groups:
        if joined and set(group) <= crossing and set(joined[-1]) <= crossing:
            joined[-1] = joined[-1] + group
        else:
            joined.append(group)
    return joined


def _crosses(rect: Rect, x: float) -> bool:
    slack = min(CROSSING_SLACK * rect.width, rect.height * CROSSING_SLACK_HEIGHTS)
    return rect.x1 + slack < x < rect.x2 - slack


def _gutter(rects: Sequence[Rect], members: list[int], most_crossing: float = MAX_CROSSING_SHARE) -> float | None:
    """The x of the best gutter among the members, None when they are one column. `most_crossing`: share of them that
    may cross it."""
    if len(members) < 2 * MIN_COLUMN_LINES:
        return None
    extent = hull([rects[i] for i in members])
    edges = sorted({round(rects[i].x1) for i in members})
    best: tuple[int, float, float] | None = None
    for edge in edges:
        x = edge - 1.0
        crossing = sum(_crosses(rects[i], x) for i in members)
        if crossing > most_crossing * len(members):
            continue
        left = [rects[i] for i in members if not _crosses(rects[i], x) and rects[i].center_x < x]
        right = [rects[i] for i in members if not _crosses(rects[i], x) and rects[i].center_x >= x]
        if not (_is_column(left, right, extent) and _is_column(right, left, extent)):
            continue
        gap = min(rect.x1 for rect in right) - max(rect.x2 for rect in left)
        score = (crossing, -gap, x)
        if best is None or score < best:
            best = score
    return None if best is None else best[2]


def _is_column(rects: list[Rect], beside: list[Rect], extent: Rect) -> bool:
    """Whether there are enough lines, long for the area and for their own height, or with rows of their own; a form's
    labels are not."""
    if len(rects) < MIN_COLUMN_LINES:
        return False
    height = median(rect.height for rect in rects)
    least = max(MIN_COLUMN_WIDTH_SHARE * extent.width, MIN_COLUMN_HEIGHTS * height)
    width = median(rect.width for rect in rects)
    if width < least:
        width = median(rect.width for rect in _unbroken(rects))
    if width >= least or _is_filled(rects, MIN_COLUMN_HEIGHTS) or (beside and are_even_columns((rects, beside))):
        return True
    is_wide = len(rects) >= MIN_NARROW_LINES and width >= MIN_NARROW_HEIGHTS * height
    return is_wide and aligned_share(rects, beside) <= MAX_ALIGNED


def aligned_share(rects: Sequence[Rect], beside: Sequence[Rect]) -> float:
    """The share of the rectangles of the side with fewer that have one of the other at their middle's height."""
    fewer, more = sorted((rects, beside), key=len)
    middles = sorted(rect.center_y for rect in more)
    least = SAME_ROW * median(rect.height for rect in more) if more else 0.0
    steps = [below - above for above, below in pairwise(middles) if below - above > least]
    step = median(steps) if steps else float("inf")

    def is_near(rect: Rect) -> bool:
        reach = min(SAME_ROW * rect.height, max(ROW_SHARE * step, MIN_REACH_PX))
        place = bisect_left(middles, rect.center_y)
        return any(abs(rect.center_y - middle) < reach for middle in middles[max(0, place - 1) : place + 1])

    return sum(map(is_near, fewer)) / len(fewer) if fewer else 0.0


def _unbroken(rects: list[Rect]) -> list[Rect]:
    """The lines of a column, with the pieces of justified rows joined."""
    whole: list[Rect] = []
    for row in rows_of(rects, range(len(rects))):
        for index in row:
            rect = rects[index]
            is_same = whole and index != row[0] and rect.x1 - whole[-1].x2 < JUSTIFIED_GAP * rect.height
            if is_same:
                whole[-1] = whole[-1].union(rect)
            else:
                whole.append(rect)
    return whole


# Share of a piece that must lie in a panel for it to belong there: the greater part.
INSIDE = 0.5
# Panels that overlap by less, as a share of the smaller one's side, are still one above or beside the other.
SLACK = 0.02
# So many pieces outside panels, and so many for each panel, make columns of text with boxes in them; with fewer, the
# panels make the columns.
MIN_LOOSE, LOOSE_A_PANEL = 8, 3
# An aside of panels is at the left or right, and the widest column takes so much of the width.
MAIN_WIDTH = 0.5


@dataclass(slots=True)
class Panel:
    """A panel with what lies directly in it: pieces by their indices, and panels."""

    rect: Rect
    pieces: list[int] = field(default_factory=list)
    panels: list["Panel"] = field(default_factory=list)

    def everything(self) -> list[int]:
        return [*self.pieces, *(index for panel in self.panels for index in panel.everything())]


Item = int | Panel


def page_order(rects: Sequence[Rect], panels: Sequence[Rect]) -> list[list[Row]]:
    """Groups of rows of indices, in reading order, as `reading_order` gives them; `panels`: of the page, maybe
    nested."""
    if not panels:
        return reading_order(rects)
    root = _tree(rects, panels)
    return _ordered(rects, [*root.pieces, *root.panels])


def panel_of(rect: Rect, panels: Sequence[Rect]) -> int:
    """The number of the smallest panel that holds the greater part of a rectangle; -1 for none."""
    holding = [number for number, panel in enumerate(panels) if rect.share_in(panel) > INSIDE]
    return min(holding, key=lambda number: panels[number].area, default=-1)


def _tree(rects: Sequence[Rect], panels: Sequence[Rect]) -> Panel:
    """The page as a panel of panels."""
    nodes = [Panel(rect) for rect in panels]
    root = Panel(hull([*rects, *panels]))
    for number, node in enumerate(nodes):
        larger = [n for n, rect in enumerate(panels) if rect.area > node.rect.area]
        owner = panel_of(node.rect, [panels[n] for n in larger])
        (nodes[larger[owner]] if owner >= 0 else root).panels.append(nodes[number])
    for index, rect in enumerate(rects):
        owner = panel_of(rect, panels)
        (nodes[owner] if owner >= 0 else root).pieces.append(index)
    return root


def _ordered(rects: Sequence[Rect], items: list[Item]) -> list[list[Row]]:
    inner = [item for item in items if isinstance(item, Panel)]
    if not inner:
        return _rows(rects, items)
    bands = _parted([panel.rect for panel in inner], upright=False)
    loose = len(items) - len(inner)
    if not _is_row_of_panels(rects, items, bands) and loose >= max(MIN_LOOSE, LOOSE_A_PANEL * len(inner)):
        extents = [_rect(rects, item) for item in items]
        parts = [part for part in _groups(extents, list(range(len(items))), 0) if part]
        if len(parts) > 1:
            return [group for part in parts for group in _ordered(rects, [items[number] for number in part])]
    if len(bands) > 1:
        return _by_bands(rects, items, bands)
    columns = _parted([panel.rect for panel in inner], upright=True)
    band = bands[0]
    beside = [item for item in items if isinstance(item, Panel) or band.y1 <= rects[item].center_y <= band.y2]
    if len(beside) < len(items):
        return _by_bands(rects, items, bands)
    if len(columns) > 1 or len(inner) < len(items):
        return _by_columns(rects, items, columns)
    panel = min(inner, key=lambda panel: (panel.rect.y1, panel.rect.x1))
    rest: list[Item] = [item for item in inner if item is not panel]
    return _ordered(rects, [*panel.pieces, *panel.panels]) + (_ordered(rects, rest) if rest else [])


def _is_row_of_panels(rects: Sequence[Rect], items: list[Item], bands: list[Rect]) -> bool:
    """Whether a band has panels side by side and nothing else: then it parts the page, not its columns."""
    for band in bands:
        inside = [item for item in items if band.y1 <= _rect(rects, item).center_y <= band.y2]
        if len(inside) > 1 and all(isinstance(item, Panel) for item in inside):
            return len(_parted([_rect(rects, item) for item in inside], upright=True)) > 1
    return False


def _rows(rects: Sequence[Rect], items: list[Item]) -> list[list[Row]]:
    """Groups of rows of pieces, where there is no panel among the items."""
    pieces = [item for item in items if not isinstance(item, Panel)]
    groups = reading_order([rects[index] for index in pieces])
    return [[[pieces[local] for local in row] for row in group] for group in groups]


def _by_bands(rects: Sequence[Rect], items: list[Item], bands: list[Rect]) -> list[list[Row]]:
    """What lies above each band, then the band itself; at last what lies below them all."""
    groups: list[list[Row]] = []
    rest = items
    for band in bands:
        above: list[Item] = [i for i in rest if not isinstance(i, Panel) and rects[i].center_y < band.y1]
        inside = [i for i in rest if i not in above and _rect(rects, i).center_y <= band.y2]
        rest = [i for i in rest if i not in above and i not in inside]
        groups += _rows(rects, above) + _ordered(rects, inside)
    return groups + _rows(rects, rest)


def _by_columns(rects: Sequence[Rect], items: list[Item], columns: list[Rect]) -> list[list[Row]]:
    """The columns of panels and, between them, of pieces beside them; an aside comes after the others."""
    parts: list[list[Item]] = [[] for _ in range(2 * len(columns) + 1)]
    for item in items:
        middle = _rect(rects, item).center_x
        before = sum(middle > column.x2 for column in columns)
        is_in = before < len(columns) and middle >= columns[before].x1
        parts[2 * before + is_in].append(item)
    parts = [part for part in parts if part]
    if len(parts) == 1:
        (panel,) = (item for item in items if isinstance(item, Panel))
        return _ordered(rects, [*panel.pieces, *panel.panels, *(i for i in items if i is not panel)])
    flat = [[rects[i] for item in part for i in _pieces(item)] for part in parts]
    extents = [hull([_rect(rects, item) for item in part]) for part in parts]
    widest = max(extent.width for extent in extents)
    asides = [
        number
        for number, part in enumerate(flat)
        if number in (0, len(parts) - 1)
        and widest >= MAIN_WIDTH * hull(extents).width
        and extents[number].width <= ASIDE_WIDTH * widest
        and is_aside(part, [rect for other in flat if other is not part for rect in other], extents[number])
    ]
    ordered = [part for number, part in enumerate(parts) if number not in asides]
    ordered += [parts[number] for number in asides]
    return [group for part in ordered for group in _ordered(rects, _unpacked(part))]


def _unpacked(items: list[Item]) -> list[Item]:
    """What is in a panel that is alone, else the items."""
    if len(items) == 1 and isinstance(items[0], Panel):
        return [*items[0].pieces, *items[0].panels]
    return items


def _pieces(item: Item) -> list[int]:
    return item.everything() if isinstance(item, Panel) else [item]


def _rect(rects: Sequence[Rect], item: Item) -> Rect:
    return item.rect if isinstance(item, Panel) else rects[item]


def _parted(rects: list[Rect], *, upright: bool) -> list[Rect]:
    """Rectangles that lie beside one another (upright columns) or above (level bands), each around some of `rects`."""
    first, last = (0, 2) if upright else (1, 3)
    parts: list[Rect] = []
    for rect in sorted(rects, key=lambda rect: rect[first]):
        slack = SLACK * min(rect[last] - rect[first], parts[-1][last] - parts[-1][first]) if parts else 0.0
        if parts and rect[first] < parts[-1][last] - slack:
            parts[-1] = parts[-1].union(rect)
        else:
            parts.append(rect)
    return parts


def order_of_boxes(rects: Sequence[Rect], members: list[int] | None = None, depth: int = 0) -> list[int]:
    """The indices of boxes of text in reading order, such as those of a slide: parted again and again at the widest
    gaps, into columns or into rows, where these are as wide; what no gap parts goes from the top."""
    members = list(range(len(rects))) if members is None else members
    inside = [rects[index] for index in members]
    columns, rows = (_parted(inside, upright=upright) for upright in (True, False))
    gaps = (_widest_gap(columns, "x1", "x2"), _widest_gap(rows, "y1", "y2"))
    parts = columns if gaps[0] > gaps[1] else rows
    if len(parts) < 2 or depth == MAX_DEPTH:
        return sorted(members, key=lambda index: (rects[index].y1, rects[index].x1))
    ends = [part.x2 if parts is columns else part.y2 for part in parts]
    groups: list[list[int]] = [[] for _ in parts]
    for index in members:
        groups[bisect_left(ends, rects[index].center_x if parts is columns else rects[index].center_y)].append(index)
    return [index for group in groups for index in order_of_boxes(rects, group, depth + 1)]


def _widest_gap(parts: list[Rect], first: str, last: str) -> float:
    """The widest gap between parts in their order; less than any where there is one part alone."""
    return max((getattr(below, first) - getattr(above, last) for above, below in pairwise(parts)), default=-inf)
