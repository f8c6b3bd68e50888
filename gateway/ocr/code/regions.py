"""Code and terminals: finds the lines whose letters stand at one pitch. `code_text` writes them.

A monospaced typeface shows in the ink of a line before it is read (`image.ink`): its letters repeat at one distance,
the same in every line of a block. Works on measured lines; knows no pixels. The thresholds are chosen unless their
explanation says otherwise; bench/ocr_real.py scores them all together.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from math import inf, log
from statistics import median

from gateway.geometry.blocks import weighted_median
from gateway.geometry.boxes import Line, Rect, Region, hull
from gateway.geometry.reading_order import rows_of

# A short line beside the sure ones belongs to them only when its middle is as near to one of their rows, in
# distances of rows, and its letters differ by a smaller factor.
ON_ROW, ALIKE = 0.2, 1.35
# Lines whose middles differ by less, in line heights, stand on one row; a line whose middle is within NEXT_ROW
# distances of rows of the block is on its next row.
SAME_ROW, NEXT_ROW = 0.6, 0.9
# The least distances of rows, up to this factor, are of neighbours. Rows so many distances apart still tell the
# distance of rows; beyond, one row more or less makes no difference.
ONE_STEP, FEW_STEPS = 1.3, 3
# The least distance of two rows must occur in this share of all distances: a row cut by the picture's edge is nearer
# than others. Where none does, the least of all counts.
LEAST_SHARE = 0.25
# Short lines up to so many letters left of the sure ones belong to the block: braces, and numbers of lines (at most
# MAX_GUTTER letters wide).
MAX_LEFT, MAX_GUTTER = 9.0, 6.0
# A line narrower than so many heights has too few letters for a rhythm: its place decides.
SHORT = 6.0
# A listing has names left of its sure lines on this share of their rows.
COLUMN_SHARE = 0.8
# A row above or below joins when it is on the block's grid, nearer than so many distances of rows, and all its
# pieces have this rhythm at the block's pitch; on four drawn editors short pieces of code had .15 and more, those of
# status bars .05 to .2.
NEAR_ROW, NEAR_RHYTHM = 1.5, 0.14
FAR_ROW, FAR_RHYTHM = 2.5, 0.2
# A piece narrower than so many heights has too few letters to be judged by its rhythm.
MIN_TELLING = 2.0
# How clearly the ink of a line repeats at a pitch in pixels, 0..1.
Rhythm = Callable[[Line, float], float]


def extent_of(run: list[Line], fitting: list[Line], lines: list[Line], pitch: float, rhythm: Rhythm) -> Rect:
    """The box of a block. `run`: its sure lines; `fitting`: all that have a rhythm at its `pitch`; `lines`: those of
    the page."""
    rect = _whole(run, fitting, pitch)
    step = row_step(run)
    for _ in range(len(lines)):
        row = _next_row(rect, run, lines, step)
        if not row or not _joins(row, rect, run, step, lambda line: rhythm(line, pitch)):
            other = _next_row(rect, run, lines, -step)
            if not other or not _joins(other, rect, run, -step, lambda line: rhythm(line, pitch)):
                return rect
            row = other
        rect = hull([rect, *(line.rect for line in row)])
    return rect


def _next_row(rect: Rect, run: list[Line], lines: list[Line], step: float) -> list[Line]:
    """The nearest row below the box, above it for a negative step, of the lines in reach of its sides."""
    left = rect.x1 - MAX_LEFT * median(line.size for line in run)
    end = rect.y2 if step > 0 else rect.y1
    way = 1 if step > 0 else -1
    beyond = [line for line in lines if line.rect.x2 > left and way * (line.rect.center_y - end) > 0]
    beyond = [line for line in beyond if way * (line.rect.center_y - end) < FAR_ROW * abs(step)]
    if not beyond:
        return []
    middle = min((line.rect.center_y for line in beyond), key=lambda y: abs(y - end))
    return [line for line in beyond if abs(line.rect.center_y - middle) < abs(step) / 2]


def _joins(row: list[Line], rect: Rect, run: list[Line], step: float, rhythm: Callable[[Line], float]) -> bool:
    """Whether a row beyond the box is the block's next one, or the one after a blank one."""
    inside = [line for line in row if rect.x1 - abs(step) < line.rect.x1 < rect.x2]
    if not inside or not all(_fits(line, run, abs(step)) for line in row):
        return False
    end = rect.y2 - abs(step) / 2 if step > 0 else rect.y1 + abs(step) / 2
    away = abs(inside[0].rect.center_y - end) / abs(step)
    least = NEAR_RHYTHM if away < NEAR_ROW else FAR_RHYTHM
    telling = [line for line in row if line.rect.width >= MIN_TELLING * line.rect.height]
    return bool(telling or away < NEAR_ROW) and all(rhythm(line) >= least for line in telling)


def _whole(run: list[Line], lines: list[Line], pitch: float) -> Rect:
    """The box of the block: of its sure lines, and of the short ones beside, above and below them that fit."""
    rect = hull([line.rect for line in run])
    step = row_step(run)
    short = [line.rect for line in lines if not is_wide(line) and _fits(line, run, step)]
    for _ in range(len(short)):
        reach = Rect(rect.x1 - MAX_LEFT * pitch, rect.y1 - NEXT_ROW * step, float("inf"), rect.y2 + NEXT_ROW * step)
        taken = [
            other
            for other in short
            if _is_in(other, reach) and (other.x2 > rect.x1 or other.width <= MAX_GUTTER * pitch)
        ]
        # The reach to the left is not repeated: a gutter is the last thing there.
        grown = hull([rect, *(Rect(max(other.x1, rect.x1), *other[1:]) for other in taken if other.x2 > rect.x1)])
        if grown == rect:
            return hull([rect, *taken])
        rect = grown
    return rect


def _is_in(rect: Rect, reach: Rect) -> bool:
    return reach.x1 < rect.center_x and reach.y1 < rect.center_y < reach.y2


def _fits(line: Line, run: list[Line], step: float) -> bool:
    """Whether a short line has letters of the run's size and stands on a row of its distance."""
    size = median(member.size for member in run)
    if line.size and not ALIKE**-2 < line.size / size < ALIKE**2:
        return False
    near = min(run, key=lambda member: abs(member.rect.center_y - line.rect.center_y))
    away = abs(line.rect.center_y - near.rect.center_y) / step
    return abs(away - round(away)) <= ON_ROW


def row_step(run: list[Line]) -> float:
    """The distance of neighbouring rows: near the least, as rows between may be short or blank."""
    height = median(line.rect.height for line in run)
    middles = sorted(line.rect.center_y for line in run)
    steps = [below - above for above, below in pairwise(middles) if below - above > SAME_ROW * height]
    if not steps:
        return height
    near = ([step for step in steps if least <= step <= ONE_STEP * least] for least in sorted(steps))
    least = median(next((alike for alike in near if len(alike) >= LEAST_SHARE * len(steps)), [min(steps)]))
    counted = [(step, round(step / least)) for step in steps if round(step / least) <= FEW_STEPS]
    return sum(step for step, _ in counted) / sum(count for _, count in counted)


def is_wide(line: Line) -> bool:
    return line.rect.width >= SHORT * line.rect.height


# Numbers end at one x within so many letters.
SAME_END = 0.5
# Numbers of a column, and the share of the rows between the first and the last that have one, and of the code's
# rows.
MIN_NUMBERS, MIN_FILLED = 5, 0.6
# Numbers stand on the rows of the code within so many distances of rows, as cells.OFF_ROW.
NUMBER_ON_ROW = 0.25
# Rows without a number between two of a column.
MAX_GAP = 3
# Share of a column's height beside a block that makes it that block's.
SIDE_BY_SIDE = 0.5


def number_column(run: Sequence[Line], lines: Sequence[Line], pitch: float) -> list[Line]:
    """The numbers beside a run of code, from top to bottom, those above and below the run too; empty without any."""
    left = median(line.rect.x1 for line in run)
    short = [line for line in lines if line.rect.x2 < left and line.rect.width <= MAX_GUTTER * pitch]
    best = _most_at_one_end(short, SAME_END * pitch)
    if len(best) < MIN_NUMBERS:
        return []
    step, middles = row_step(best), [line.rect.center_y for line in run]
    best = _chain(sorted(best, key=lambda line: line.rect.center_y), middles, step)
    if len(best) < MIN_NUMBERS:
        return []
    rows = round((best[-1].rect.center_y - best[0].rect.center_y) / step) + 1
    beside = sum(
        distance <= NUMBER_ON_ROW * step for distance in _distances([line.rect.center_y for line in best], middles)
    )
    edge = min(line.rect.x1 for line in best)
    names = sorted(line.rect.center_y for line in lines if line.rect.x2 <= edge and not is_wide(line))
    named = (
        sum(away <= ON_ROW * step for away in _distances(names, [line.rect.center_y for line in best])) if names else 0
    )
    is_listing = named >= COLUMN_SHARE * len(best)  # sizes behind names
    return best if min(len(best) / rows, beside / len(middles)) >= MIN_FILLED and not is_listing else []


def _most_at_one_end(lines: list[Line], reach: float) -> list[Line]:
    """The most lines that end within `reach` of one of them; of equally many those of the first one. Equal to comparing
    each line with each, in n log n."""
    ends = sorted(line.rect.x2 for line in lines)

    def count(line: Line) -> int:
        return bisect_right(ends, line.rect.x2 + reach) - bisect_left(ends, line.rect.x2 - reach)

    best = max(lines, key=count, default=None)
    return [line for line in lines if best is not None and abs(line.rect.x2 - best.rect.x2) <= reach]


def _distances(places: list[float], values: list[float]) -> Iterator[float]:
    """How far each value is from the nearest of the places, which are sorted."""
    for value in values:
        at = bisect_left(places, value)
        yield min(abs(place - value) for place in places[max(0, at - 1) : at + 1])


def _off_grid(away: float, step: float) -> float:
    phase = (away / step) % 1
    return min(phase, 1 - phase)


def _chain(numbers: list[Line], middles: list[float], step: float) -> list[Line]:
    """The numbers on one grid of rows, no more than MAX_GAP rows between neighbours: of all such chains the one most
    beside the run."""
    chains: list[list[Line]] = [numbers[:1]]
    for line in numbers[1:]:
        away = line.rect.center_y - chains[-1][-1].rect.center_y
        if away > (MAX_GAP + 0.5) * step:
            chains.append([line])
        elif away >= step / 2 and _off_grid(away, step) <= NUMBER_ON_ROW:
            chains[-1].append(line)

    middles = sorted(middles)

    def beside(chain: list[Line]) -> int:
        return max(0, bisect_right(middles, chain[-1].rect.y2) - bisect_left(middles, chain[0].rect.y1))

    return max(chains, key=beside)


def are_parted(one: Sequence[Line], other: Sequence[Line], columns: Sequence[Rect]) -> bool:
    """Whether there is a column of numbers between two runs: they are two panes."""
    left, right = sorted((hull([line.rect for line in run]) for run in (one, other)), key=lambda rect: rect.x1)
    return any(left.x1 < column.x1 and column.x2 <= right.x1 and _is_beside(column, right) for column in columns)


def pane_of(run: Sequence[Line], lines: Sequence[Line], columns: Sequence[Rect]) -> tuple[list[Line], Rect | None]:
    """The lines of a run's pane, from its own column of numbers to the next one, and its own column."""
    box = hull([line.rect for line in run])
    middle = median(line.rect.x1 for line in run)
    beside = [column for column in columns if _is_beside(column, box)]
    own = max((column for column in beside if column.x2 < middle), key=lambda column: column.x1, default=None)
    right = min((column.x1 for column in beside if column.x1 > middle), default=float("inf"))
    left = own.x1 if own is not None else float("-inf")
    inside = [line for line in lines if line.rect.x2 > left and line.rect.center_x < right]
    return inside, own


def rows_beside(column: Rect, lines: Sequence[Line], box: Rect) -> Rect:
    """The box of a block grown over the rows that have a number, and cut off left of the numbers."""
    rows = [line.rect for line in lines if column.y1 < line.rect.center_y < column.y2]
    inside = [rect for rect in rows if column.x1 - 1 <= rect.x1 < box.x2]
    grown = hull([box, column, *inside])
    return grown._replace(x1=column.x1)


def _is_beside(column: Rect, box: Rect) -> bool:
    shared = min(column.y2, box.y2) - max(column.y1, box.y1)
    return shared > SIDE_BY_SIDE * min(column.height, box.height)


# Least rhythm of a line of code. On the two dozen screens of code of ocr-real the quarter of lines with the least
# have .26 to .34, proportional lines .12 to .24 in the middle: few pages, and the ranges nearly meet.
MIN_RHYTHM = 0.21
# Least rhythm of a line at the pitch of the lines around it, where chance has one pitch to hit; see MIN_RHYTHM.
KNOWN_RHYTHM = 0.16
# A line at least so many heights wide, too short for a pitch of its own, is of a block from this rhythm at the
# block's pitch: between the long lines of data there may be a dozen short ones. Measured on fresh screens of code:
# .36 to .6, and .05 to .2 of status bars.
SHORT_WIDTH, SHORT_RHYTHM = 3.0, 0.3
# Median rhythm of a block of code; see MIN_RHYTHM.
SURE_RHYTHM = 0.26
# Pitches of one block differ by less, as a share: the spectrum's width for some thirty letters.
SAME_PITCH = 0.03
# Letters and rows of sure lines that make a block of code; FEW_ROWS are enough with a clearer rhythm, and MANY_ROWS
# of one pitch, which are NEARLY_ALL of the wide lines there, are no chance with a weaker one: figures of a table are
# all equally wide too, the words beside them are not.
MIN_LETTERS = 40
MIN_ROWS, FEW_ROWS, FEW_ROWS_RHYTHM = 3, 2, 0.3
MANY_ROWS, MANY_ROWS_RHYTHM, NEARLY_ALL = 8, 0.22, 0.8
# As NEARLY_ALL, of lines beside a column of numbers, however few.
NUMBERED_SHARE = 0.6
# Pitch of monospaced letters, in heights of small letters. Measured: 1.01 to 1.19 in nine typefaces, and .72 to .82
# of capitals with underscores, whose height is taken for that of small letters; running text, at the pitch that
# chance gives it, 1.4 to 2.5.
MIN_WIDTH, MAX_WIDTH = 0.7, 1.4
# A run of lines beside another belongs to it when this share of its lines stand on the other's rows, within BESIDE
# heights: chance gives two of five.
BESIDE, BESIDE_SHARE = 0.2, 0.8
# A line so far from the rows of its NEAR_LINES nearest, in distances of rows, is not of the block.
OFF_ROWS, NEAR_LINES = 0.25, 3
# Greatest distance of a block's lines, in line heights: some blank lines.
MAX_ROWS_APART = 5.0
# Parts of a pixel in which ink is counted. finer than a rhythm is measured.
INK_UNITS = 1 << 20
# Share of a short line's area inside the block; the greater part.
INSIDE = 0.5


def code_regions(lines: list[Line], rhythm: Rhythm) -> list[Region]:
    """The blocks of code, each with the pitch of its letters in pixels. `lines`: measured, unread."""
    free = [line for line in lines if line.rhythm >= MIN_RHYTHM]
    found: list[Region] = []
    while free:
        pitch = _commonest(free)
        alike = [line for line in free if _same(line.pitch, pitch)]
        free = [line for line in free if not _same(line.pitch, pitch)]
        if not _is_code(alike, pitch, alike, bool(number_column(alike, lines, pitch))):
            continue
        clear = [(line, 1.0 if _same_line(line, pitch) else rhythm(line, pitch)) for line in lines]
        fitting = [line for line, at_pitch in clear if at_pitch >= KNOWN_RHYTHM]
        telling = [line for line, at_pitch in clear if at_pitch >= _least_rhythm(line)]
        runs = _runs(telling, lines)
        numbers = (number_column(run, lines, pitch) for run in runs)
        columns = [hull([line.rect for line in column]) for column in numbers if column]
        for run in _on_one_grid(runs, columns):
            run = _on_rows(run)
            sure = [line for line in run if _same_line(line, pitch)]
            inside, column = pane_of(run, lines, columns)
            if not _is_code(sure, pitch, inside, column is not None) or _is_column(run, fitting, inside):
                continue
            there = {id(line) for line in inside}
            rect = extent_of(run, [line for line in fitting if id(line) in there], inside, pitch, rhythm)
            rect = rect if column is None else rows_beside(column, inside, rect)
            found.append(Region("code", rect, 1.0, pitch))
    return _apart(found)


def without_frames(panels: list[Rect], lines: list[Line]) -> list[Rect]:
    """The panels without those that are frames drawn with signs: the lines inside and those right above or below stand
    on one grid of rows, at one pitch. `lines`: measured, unread."""
    loose = [line for line in lines if not any(line.rect.share_in(panel) > INSIDE for panel in panels)]
    kept = []
    for panel in panels:
        inside = [line for line in lines if line.rect.share_in(panel) > INSIDE]
        beside = [line for line in loose if _is_next_to(line.rect, panel)]
        inside, beside = ([line for line in part if line.pitch] for part in (inside, beside))
        above = [line for line in beside if line.rect.center_y < panel.center_y]
        below = [line for line in beside if line.rect.center_y >= panel.center_y]
        if not inside or not any(side and _is_one_grid(inside, side) for side in (above, below)):
            kept.append(panel)
    return kept


def _is_next_to(rect: Rect, panel: Rect) -> bool:
    near = min(abs(rect.center_y - panel.y1), abs(rect.center_y - panel.y2)) < MAX_ROWS_APART * rect.height
    return near and rect.x1 < panel.x2 and rect.x2 > panel.x1


def _is_one_grid(inside: list[Line], beside: list[Line]) -> bool:
    pitch = median(line.pitch for line in inside)
    for part in (inside, beside):
        alike = [line for line in part if line.rhythm >= KNOWN_RHYTHM and _same(line.pitch, pitch)]
        if len(alike) <= INSIDE * len(part):
            return False
    step = row_step([*inside, *beside])
    middle = inside[0].rect.center_y
    phases = [((line.rect.center_y - middle) / step) % 1 for line in beside]
    return median(min(phase, 1 - phase) for phase in phases) <= OFF_ROWS


def _least_rhythm(line: Line) -> float:
    """The rhythm at a known pitch from which a line, by its width, is of the block at that pitch."""
    if is_wide(line):
        return KNOWN_RHYTHM
    return SHORT_RHYTHM if line.rect.width >= SHORT_WIDTH * line.rect.height else inf


def _same_line(line: Line, pitch: float) -> bool:
    return line.rhythm >= MIN_RHYTHM and _same(line.pitch, pitch)


def _same(one: float, other: float) -> bool:
    return abs(log(one / other)) < SAME_PITCH


def _commonest(lines: list[Line]) -> float:
    """The pitch with the most ink in rhythm within SAME_PITCH of it.

    Equal to comparing each line with each, in n log n; ink in whole numbers has the same sum in any order."""
    alike = sorted(lines, key=lambda line: line.pitch)
    pitches = [log(line.pitch) for line in alike]
    inks = [0, *accumulate(round(line.rect.width * line.rhythm * INK_UNITS) for line in alike)]

    def support(line: Line) -> int:
        pitch = log(line.pitch)
        return inks[bisect_left(pitches, pitch + SAME_PITCH)] - inks[bisect_right(pitches, pitch - SAME_PITCH)]

    middle = max(lines, key=support).pitch
    return _weighted([(line.pitch, line.rect.width) for line in lines if _same(line.pitch, middle)])


def _weighted(pairs: list[tuple[float, float]]) -> float:
    return sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs)


def _runs(alike: list[Line], lines: list[Line]) -> list[list[Line]]:
    """The lines of one pitch in blocks: a wide line of another kind, or much room, ends one."""
    members = {id(line) for line in alike}
    foreign = [line.rect for line in lines if id(line) not in members and is_wide(line)]
    runs: list[list[Line]] = []
    for line in sorted(alike, key=lambda line: line.rect.center_y):
        run = next((run for run in reversed(runs) if _continues(run, line, foreign)), None)
        if run is None:
            runs.append([line])
        else:
            run.append(line)
    return runs


def _on_one_grid(runs: list[list[Line]], columns: list[Rect]) -> list[list[Line]]:
    """The runs, those joined whose rows are at the same heights: the columns of a listing are one block, the lines of a
    side bar and of the page beside it are not, nor panes with `columns` of numbers of their own."""
    joined: list[list[Line]] = []
    for run in sorted(runs, key=len, reverse=True):
        beside = (other for other in joined if _shares_rows(run, other) and not are_parted(run, other, columns))
        block = next(beside, None)
        if block is None:
            joined.append(list(run))
        else:
            block.extend(run)
    return joined


def _shares_rows(run: list[Line], block: list[Line]) -> bool:
    height = median(line.rect.height for line in block)
    middles = [line.rect.center_y for line in block]
    near = sum(any(abs(line.rect.center_y - middle) < BESIDE * height for middle in middles) for line in run)
    return near > BESIDE_SHARE * len(run)


def _on_rows(run: list[Line]) -> list[Line]:
    """The run without lines at its ends that are not at its distance of rows: a title bar above, a status bar below."""
    step = row_step(run)
    kept = sorted(run, key=lambda line: line.rect.center_y)
    for end in (0, -1):
        while len(kept) > MIN_ROWS:
            y = kept[end].rect.center_y
            near = sorted(abs(line.rect.center_y - y) for line in kept if line is not kept[end])[:NEAR_LINES]
            phases = [(away / step) % 1 for away in near]
            if median(min(phase, 1 - phase) for phase in phases) <= OFF_ROWS:
                break
            kept.pop(end)
    return kept


def _continues(run: list[Line], line: Line, foreign: list[Rect]) -> bool:
    above, block = run[-1].rect, hull([member.rect for member in run])
    if line.rect.y1 - above.y2 > MAX_ROWS_APART * line.rect.height:
        return False
    if line.rect.x1 > block.x2 or line.rect.x2 < block.x1:
        return False
    across = block.union(line.rect)
    between = Rect(across.x1, above.center_y, across.x2, line.rect.center_y)
    return not any(
        rect.center_y > between.y1 and rect.center_y < between.y2 and rect.x1 < between.x2 and rect.x2 > between.x1
        for rect in foreign
    )


def _is_column(run: list[Line], fitting: list[Line], lines: list[Line]) -> bool:
    """Whether most lines of a run have a wide line of another kind beside them: figures in a table."""
    kin = {id(line) for line in fitting}
    others = [line.rect for line in lines if id(line) not in kin and is_wide(line)]
    beside = sum(any(abs(o.center_y - line.rect.center_y) < BESIDE * line.rect.height for o in others) for line in run)
    return beside > INSIDE * len(run)


def _share_of_block(run: list[Line], lines: list[Line]) -> float:
    """The share of the wide lines in the box around a run that are of the run."""
    box = hull([line.rect for line in run])
    inside = [line for line in lines if is_wide(line) and line.rect.share_in(box) > INSIDE]
    return len(run) / max(1, len(inside))


def _is_code(run: list[Line], pitch: float, lines: list[Line], is_numbered: bool) -> bool:
    """Whether so many lines of one pitch are no chance. `lines`: those around; `is_numbered`: they have line
    numbers."""
    if not run:
        return False
    letters = sum(line.rect.width for line in run) / pitch
    rows = len(rows_of([line.rect for line in run], range(len(run))))
    rhythm = median(line.rhythm for line in run)
    width = weighted_median([(pitch / (line.size or pitch), line.rect.width) for line in run])
    share = _share_of_block(run, lines)
    is_whole = share >= (NUMBERED_SHARE if is_numbered else NEARLY_ALL) and (is_numbered or rows >= MANY_ROWS)
    least = FEW_ROWS_RHYTHM if rows < MIN_ROWS else MANY_ROWS_RHYTHM if is_whole else SURE_RHYTHM
    return rows >= FEW_ROWS and rhythm >= least and letters >= MIN_LETTERS and MIN_WIDTH <= width <= MAX_WIDTH


def _apart(found: list[Region]) -> list[Region]:
    """The regions, those joined that lie in one another, or one right below another of its pitch."""
    kept: list[Region] = []
    for region in sorted(found, key=lambda region: -region.rect.area):
        near = [n for n, other in enumerate(kept) if _is_one(other, region)]
        if near:
            other = kept[near[0]]
            kept[near[0]] = replace(other, rect=other.rect.union(region.rect))
        elif not any(region.rect.share_in(other.rect) > INSIDE for other in kept):
            kept.append(region)
    return kept


def _is_one(one: Region, other: Region) -> bool:
    """Whether two regions of one pitch touch, one below the other, or overlap."""
    if _same(one.pitch, other.pitch) and one.rect.overlap(other.rect) > 0:
        return True
    across = min(one.rect.x2, other.rect.x2) - max(one.rect.x1, other.rect.x1)
    gap = max(one.rect.y1, other.rect.y1) - min(one.rect.y2, other.rect.y2)
    return _same(one.pitch, other.pitch) and across > INSIDE * min(one.rect.width, other.rect.width) and gap <= 0
