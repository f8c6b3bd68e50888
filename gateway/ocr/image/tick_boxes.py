"""Tick boxes and radio buttons before lines of text: where they are, and whether they are ticked."""

from statistics import median
from typing import Any

from gateway.geometry.boxes import Line, Rect, Word
from gateway.ocr.extras import vision
from gateway.ocr.image.table_marks import MARK_BELOW, MARK_WINDOW

# Sides of a tick box in line heights, and how square it is. A capital letter is narrower, a bullet smaller.
MIN_TICK, MAX_TICK, SQUARE = 0.4, 1.1, 0.12
# Share of its box that an outline encloses: a square nearly all, a circle pi / 4.
FILLED_SQUARE, FILLED_CIRCLE, CIRCLE_OFF = 0.88, 0.785, 0.05
TICK_GAP = 0.2  # least room around it, in line heights: a space; the letters of a word are closer
TICK_REACH = 1.6  # greatest distance from its label, in line heights
TICKED_INK = 0.12  # share of ink inside from which a box is ticked
MIN_TICKS = 2  # of one size: a lone ring may be a letter


def tick_boxes(gray: Any, lines: list[Line]) -> list[tuple[Rect, bool]]:
    """The tick boxes and radio buttons before lines of text, each with whether it is ticked. `gray`: dark ink."""
    cv2, numpy = vision()
    level = [line.rect for line in lines if line.rect.width > line.rect.height]
    if not level:
        return []
    height = median(rect.height for rect in level)
    window = max(MARK_WINDOW, 2 * int(height) + 1)
    dark = cv2.adaptiveThreshold(gray, 1, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, window, MARK_BELOW)
    outlines, _ = cv2.findContours(dark, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    found: list[tuple[Rect, bool]] = []
    for outline in outlines:
        left, top, width, tall = cv2.boundingRect(outline)
        if not MIN_TICK * height <= min(width, tall) or not max(width, tall) <= MAX_TICK * height:
            continue
        if abs(width - tall) > SQUARE * tall:
            continue
        filled = (cv2.contourArea(outline) + cv2.arcLength(outline, True) / 2) / (width * tall)
        if filled < FILLED_SQUARE and abs(filled - FILLED_CIRCLE) > CIRCLE_OFF:
            continue
        rect = Rect(left, top, left + width, top + tall)
        if not _is_before_label(rect, level, height) or _has_neighbour(dark, rect, TICK_GAP * height):
            continue
        inset = max(2, round(width * 0.22))
        inside = dark[top + inset : top + tall - inset, left + inset : left + width - inset]
        solid = gray[top + inset : top + tall - inset, left + inset : left + width - inset]
        paper = numpy.median(gray)
        is_ticked = float(inside.mean()) > TICKED_INK or float((paper - solid).mean()) > MARK_BELOW
        found.append((rect, is_ticked))
    return found if len(found) >= MIN_TICKS else []


def _is_before_label(rect: Rect, lines: list[Rect], height: float) -> bool:
    """Whether a line begins right of a box on its level, or holds the box at its left end."""
    return any(
        line.y1 < rect.center_y < line.y2
        and line.x2 > rect.x2 + height
        and rect.x1 - height < line.x1 < rect.x2 + TICK_REACH * height
        for line in lines
    )


def _has_neighbour(dark: Any, rect: Rect, gap: float) -> bool:
    """Whether there is ink left or right of a box within a gap."""
    top, bottom, reach = int(rect.y1), int(rect.y2), max(1, round(gap))
    left = dark[top:bottom, max(0, int(rect.x1) - reach) : int(rect.x1)]
    right = dark[top:bottom, int(rect.x2) : int(rect.x2) + reach]
    return bool(left.any() or right.any())


def without_ticks(pixels: Any, ticks: list[tuple[Rect, bool]], lines: list[Line]) -> tuple[Any, list[Line]]:
    """The page with its tick boxes painted over, and its lines with a read one, `[x]` or `[ ]`, for each box."""
    pixels, kept = pixels.copy(), list[Line]()
    for rect, _ in ticks:
        left, top, right, bottom = (int(value) for value in (rect.x1 - 2, rect.y1 - 2, rect.x2 + 2, rect.y2 + 2))
        pixels[max(0, top) : bottom + 1, max(0, left) : right + 1] = pixels[max(0, top - 1), max(0, left - 1)]
    for line in lines:
        if any(line.rect.share_in(rect) > 1 / 2 for rect, _ in ticks):
            continue
        before = [rect for rect, _ in ticks if rect.overlap(line.rect) > 0 and rect.center_x < line.rect.center_x]
        rect = line.rect._replace(x1=max([line.rect.x1, *(rect.x2 + 1 for rect in before)]))
        kept.append(Line(rect, rect.corners) if before else line)
    for rect, is_ticked in ticks:
        text = "[x]" if is_ticked else "[ ]"
        kept.append(Line(rect, rect.corners, text, 1.0, (Word(text, rect),), fit=1.0, is_read=True))
    return pixels, sorted(kept, key=lambda line: (line.rect.y1, line.rect.x1))
