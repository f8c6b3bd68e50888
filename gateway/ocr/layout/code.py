"""Code and terminals: finds the lines whose letters stand at one pitch. `code_text` writes them.

A monospaced typeface shows in the ink of a line before it is read (`pitch.py`): its letters repeat at one distance,
the same in every line of a block. Works on measured lines; knows no pixels. The thresholds are chosen unless their
explanation says otherwise; bench/ocr_real.py scores them all together.
"""

from dataclasses import replace
from itertools import accumulate
from math import inf, log
from statistics import median

from gateway.geometry.boxes import Line, Rect, Region, hull
from gateway.geometry.reading_order import rows_of
from gateway.ocr.layout.code_extent import Rhythm, extent_of, is_wide, row_step
from gateway.ocr.layout.number_columns import are_parted, number_column, pane_of, rows_beside

MIN_RHYTHM = 0.21
"""Least rhythm of a line of code. On the two dozen screens of code of ocr-real the quarter of lines with the least have
.26 to .34, proportional lines .12 to .24 in the middle: few pages, and the ranges nearly meet. At half, running text is
code; at double, no line is."""
KNOWN_RHYTHM = 0.16
"""Least rhythm of a line at the pitch of the lines around it, where chance has one pitch to hit; see MIN_RHYTHM."""
SHORT_WIDTH, SHORT_RHYTHM = 3.0, 0.3
"""A line at least so many heights wide, too short for a pitch of its own, is of a block from this rhythm at the block's
pitch: between the long lines of data there may be a dozen short ones. Measured on fresh screens of code: .36 to .6, and
.05 to .2 of status bars. At half the rhythm, words beside code join it; at double, blocks part at their short lines."""
SURE_RHYTHM = 0.26
"""Median rhythm of a block of code; see MIN_RHYTHM."""
SAME_PITCH = 0.03
"""Pitches of one block differ by less, as a share: the spectrum's width for some thirty letters. At half, short lines
are missed; at double, chance peaks of running text agree."""
MIN_LETTERS = 40
MIN_ROWS, FEW_ROWS, FEW_ROWS_RHYTHM = 3, 2, 0.3
MANY_ROWS, MANY_ROWS_RHYTHM, NEARLY_ALL = 8, 0.22, 0.8
"""Letters and rows of sure lines that make a block of code; FEW_ROWS are enough with a clearer rhythm, and MANY_ROWS of
one pitch, which are NEARLY_ALL of the wide lines there, are no chance with a weaker one: figures of a table are all
equally wide too, the words beside them are not. At half, a name
in a sentence does; at double, short examples are read as text."""
NUMBERED_SHARE = 0.6
"""As NEARLY_ALL, of lines beside a column of numbers, however few. At half, tables with numbered rows are code; at
double (above 1), short code with marks under its words is text."""
MIN_WIDTH, MAX_WIDTH = 0.7, 1.4
"""Pitch of monospaced letters, in heights of small letters. Measured: 1.01 to 1.19 in nine typefaces, and .72 to .82 of
capitals with underscores, whose height is taken for that of small letters; running text, at the pitch that chance gives
it, 1.4 to 2.5. Bounds beyond these measure nothing."""
BESIDE, BESIDE_SHARE = 0.2, 0.8
"""A run of lines beside another belongs to it when this share of its lines stand on the other's rows, within BESIDE
heights: chance gives two of five. At half the first, jitter parts columns; at half the second, chance joins them."""
OFF_ROWS, NEAR_LINES = 0.25, 3
"""A line so far from the rows of its NEAR_LINES nearest, in distances of rows, is not of the block. At half, jitter
costs the block its first line; at double, no line is too far."""
MAX_ROWS_APART = 5.0
"""Greatest distance of a block's lines, in line heights: some blank lines. At half, functions two lines apart part; at
double, code joins the next example."""
INK_UNITS = 1 << 20
"""Parts of a pixel in which ink is counted. Chosen: finer than a rhythm is measured."""
INSIDE = 0.5
"""Share of a short line's area inside the block; the greater part."""


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
    kept = []
    for panel in panels:
        inside = [line for line in lines if line.rect.share_in(panel) > INSIDE]
        beside = [line for line in lines if line not in inside and _is_next_to(line.rect, panel)]
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
    inks = [0, *accumulate(round(line.rect.width * line.rhythm * INK_UNITS) for line in alike)]
    support: dict[float, int] = {}
    first = behind = 0
    for line in alike:
        while not _same(alike[first].pitch, line.pitch):
            first += 1
        while behind < len(alike) and _same(alike[behind].pitch, line.pitch):
            behind += 1
        support[line.pitch] = inks[behind] - inks[first]
    middle = max(lines, key=lambda line: support[line.pitch]).pitch
    return _weighted([(line.pitch, line.rect.width) for line in lines if _same(line.pitch, middle)])


def _weighted(pairs: list[tuple[float, float]]) -> float:
    return sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs)


def _median(pairs: list[tuple[float, float]]) -> float:
    """The value up to which the pairs have half of all weight."""
    half, so_far = sum(weight for _, weight in pairs) / 2, 0.0
    for value, weight in sorted(pairs):
        so_far += weight
        if so_far >= half:
            return value
    return 0.0


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
        beside = (other for other in joined if _is_beside(run, other) and not are_parted(run, other, columns))
        block = next(beside, None)
        if block is None:
            joined.append(list(run))
        else:
            block.extend(run)
    return joined


def _is_beside(run: list[Line], block: list[Line]) -> bool:
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
    width = _median([(pitch / (line.size or pitch), line.rect.width) for line in run])
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
