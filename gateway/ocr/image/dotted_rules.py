"""Makes level edges as long as the rules that they are pieces of: dotted and dashed ones, which a JPEG breaks.

Naive form: from both ends of an edge, go on while most columns of pixels hold a step at its height. Knows no text. The
thresholds are chosen; bench/ocr_real.py and bench/ocr_tables.py score them all together.
"""

from typing import Any

from gateway.ocr.extras import vision
from gateway.ocr.image.panels import EDGE_STEP, Edge

HALF_HEIGHT_PX = 2
"""Rows above and below an edge's middle in which a dot may stand: a JPEG moves them by one or two."""
WINDOW_PX, MIN_DENSITY = 17, 0.5
"""A rule goes on where so many columns of a window hold a step. Two windows of blank end it. At half the window, pale
dotted rules stay in pieces; at double, cards side by side have one edge."""
BESIDE_PX, MAX_BESIDE = (5, 8), 0.4
"""Rows so far above and below may differ from their ground, by half of the edge's step and more (a JPEG echoes it
lower), in at most MAX_BESIDE times as many columns: a row of text, or texture, is no rule. At half, rules close to text
stay in pieces; at double, base lines of text are rules."""
SAME_PX = 2


def whole_rules(gray: Any, edges: list[Edge]) -> list[Edge]:
    """The edges, pieces of one rule as one. `gray`: the page, 8 bits; `edges`: `panels.level_edges` of it."""
    cv2, numpy = vision()
    if not edges:
        return []
    step = numpy.zeros(gray.shape, numpy.uint8)
    step[1:-1] = cv2.absdiff(gray[2:], gray[:-2])
    whole: list[Edge] = []
    for edge in edges:
        if any(_covers(other, edge) for other in whole):
            continue
        longer = _extended(gray, step, edge)
        whole = [other for other in whole if not _covers(longer, other)]
        whole.append(longer)
    return whole


def _covers(one: Edge, other: Edge) -> bool:
    is_longer = one.start - SAME_PX <= other.start and one.end + SAME_PX >= other.end and one != other
    return is_longer and abs(one.at - other.at) <= SAME_PX and one.end - one.start > other.end - other.start


def _extended(gray: Any, step: Any, edge: Edge) -> Edge:
    """The edge with what goes on at its ends; the edge itself where that is text or texture."""
    _, numpy = vision()
    at = int(edge.at)
    steps = step[max(0, at - HALF_HEIGHT_PX) : at + HALF_HEIGHT_PX + 1].max(axis=0)
    near = steps >= EDGE_STEP
    window = numpy.ones(WINDOW_PX) / WINDOW_PX
    dense = numpy.convolve(near, window, "same") >= MIN_DENSITY
    start, end = int(edge.start), int(edge.end)
    if not dense[start:end].all():
        return edge
    blanks = numpy.flatnonzero(~dense)
    before, after = blanks[blanks < start], blanks[blanks >= end]
    first = int(before[-1]) + 1 if len(before) else 0
    last = int(after[0]) if len(after) else len(dense)
    held = numpy.flatnonzero(near[first:last]) + first
    first, last = min(start, int(held[0])), max(end, int(held[-1]) + 1)
    if last - first <= end - start + SAME_PX:
        return edge
    low, high = BESIDE_PX
    clear = float(numpy.median(steps[start:end])) / 2
    share = MAX_BESIDE * float(near[first:last].mean())
    for rows in (gray[max(0, at - high) : max(0, at - low + 1)], gray[at + low : at + high + 1]):
        part = rows[:, first:last].astype(numpy.int16)
        if part.size and float((numpy.abs(part - numpy.median(part)).max(axis=0) > clear).mean()) > share:
            return edge
    return Edge(edge.at, first, last)
