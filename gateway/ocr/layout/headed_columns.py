"""Columns under large headings in one row, as slides have them: each is read as a whole, like a card without a frame.

A row of pieces in large letters, with lines in smaller ones below each: figures with what they count, and maybe a
caption above, names with a paragraph. The heads of a table are not larger than its cells. Works on measured, unread
lines; knows no pixels. The thresholds are chosen; bench/ocr_real.py scores them all together. Lengths are in heights of
the heading.
"""

from collections.abc import Sequence
from itertools import pairwise

from gateway.geometry.boxes import Line, Rect, hull
from gateway.geometry.reading_order import rows_of

LARGER = 1.22
"""A heading's letters are larger than those below by this factor, as blocks.TITLE_RATIO."""
MAX_GAP = 1.0
"""Greatest gap below a heading, and, in their own heights, between the lines of its column. At half, columns set apart
from their heading are read across; at double, the next paragraph joins."""
SAME_EDGE = 0.5
"""A line belongs to the heading whose left edge, or middle, is no further from its own. At half, jitter of boxes parts
columns; at double, ragged text belongs to any."""
MIN_COLUMNS = 2
MAX_PAGE_LINES = 120
"""A page with more lines is no slide; the search compares every row with all lines below."""


def headed_columns(lines: Sequence[Line]) -> list[Rect]:
    """The boxes of columns side by side, each with its heading."""
    if len(lines) > MAX_PAGE_LINES:
        return []
    rects = [line.rect for line in lines]
    found: list[Rect] = []
    for row in rows_of(rects, range(len(rects))):
        heads = [lines[i] for i in row]
        if len(heads) < MIN_COLUMNS or any(head.rect.share_in(box) > 0 for head in heads for box in found):
            continue
        around = hull([head.rect for head in heads])
        columns = _columns(heads, [line for line in lines if line.rect.center_y > around.y2])
        found += _with_captions(columns, heads, [line.rect for line in lines if line.rect.center_y < around.y1])
    return found


def _with_captions(columns: list[Rect], heads: list[Line], above: list[Rect]) -> list[Rect]:
    """The columns, each with the line right above its heading where every one has one in smaller letters."""
    captions = []
    for head in heads if columns else ():
        near = [rect for rect in above if _is_under(rect, head.rect) and head.rect.y1 - rect.y2 < MAX_GAP * rect.height]
        captions += [rect for rect in near if rect.height * LARGER <= head.rect.height][:1]
    if not captions or len(set(captions)) < len(columns):
        return columns
    return [column.union(caption) for column, caption in zip(columns, captions, strict=True)]


def _columns(heads: list[Line], below: list[Line]) -> list[Rect]:
    """The columns under the headings of one row; none where a heading has nothing below, or a line belongs to none."""
    boxes = [head.rect for head in heads]
    members: list[list[Line]] = [[] for _ in heads]
    for line in sorted(below, key=lambda line: line.rect.y1):
        near = [
            number
            for number, head in enumerate(heads)
            if _is_under(line.rect, head.rect)
            and line.rect.y1 - boxes[number].y2 <= MAX_GAP * (line if members[number] else head).rect.height
        ]
        if len(near) == 1:
            (number,) = near
            boxes[number] = boxes[number].union(line.rect)
            members[number].append(line)
    if not all(members) or not all(_is_larger(head, part) for head, part in zip(heads, members, strict=True)):
        return []
    inside = [line.rect for part in members for line in part] + [head.rect for head in heads]
    cut = any(line.rect.overlap(box) > 0 and line.rect not in inside for line in below for box in boxes)
    apart = all(one.x2 <= other.x1 for one, other in pairwise(boxes))
    return boxes if apart and not cut else []


def _is_under(rect: Rect, head: Rect) -> bool:
    left, middle = abs(rect.x1 - head.x1), abs(rect.center_x - head.center_x)
    # Sums, set to the right, belong to the names on their rows.
    is_sum = abs(rect.x2 - head.x2) < min(left, middle)
    return min(left, middle) <= SAME_EDGE * head.height and not is_sum


def _is_larger(head: Line, part: list[Line]) -> bool:
    """Whether the heading is larger than every line below it, by the letters where these were measured."""
    if head.size and all(line.size for line in part):
        by_letters = head.size >= LARGER * max(line.size for line in part)
        return by_letters and head.rect.height > max(line.rect.height for line in part)
    return head.rect.height >= LARGER * max(line.rect.height for line in part)
