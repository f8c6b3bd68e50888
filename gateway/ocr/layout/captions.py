"""Joins pictures and their captions on pages that have text beside them: each pair is read as a whole, like a card.

Pure geometry on boxes; knows neither pixels nor text. The thresholds are chosen; bench/ocr_real.py scores them all
together. Lengths are in heights of the caption's lines.
"""

from collections.abc import Sequence

from gateway.geometry.boxes import Rect

MIN_PICTURE = 4.0
"""Least side of a picture. At half, fields and buttons are pictures; at double, small portraits are not."""
MAX_GAP, MAX_LEADING = 1.5, 0.8
"""Greatest gap between a picture and its caption, and between the caption's lines. At half, captions set apart are
read with the text beside; at double, text below is a caption."""
MAX_LINES = 3
"""Lines of a caption; more are a paragraph."""
SLACK = 1.0
"""How far a caption may reach beyond the sides of its picture."""


def captioned(pictures: Sequence[Rect], lines: Sequence[Rect]) -> list[Rect]:
    """The boxes of pictures with a caption below and text beside them, each with its caption. `lines`: of text."""
    found: list[Rect] = []
    for picture in pictures:
        if any(picture.overlap(other) > 0 for other in found):
            continue
        caption = _caption(picture, lines)
        if caption is None or not _has_text_beside(picture, lines):
            continue
        whole = picture.union(caption)
        if not any(0.1 < line.share_in(whole) < 0.9 for line in lines):
            found.append(whole)
    return found


def _caption(picture: Rect, lines: Sequence[Rect]) -> Rect | None:
    """The box of the lines right below a picture and no wider; None where there are none, or too many for a caption."""
    box, count = picture, 0
    for line in sorted(lines, key=lambda line: line.y1):
        height = line.height
        if line.center_y <= picture.y2 or min(picture.width, picture.height) < MIN_PICTURE * height:
            continue
        if min(line.x2, picture.x2) <= max(line.x1, picture.x1):
            continue
        if line.y1 - box.y2 > (MAX_LEADING if count else MAX_GAP) * height:
            break
        if line.x1 < picture.x1 - SLACK * height or line.x2 > picture.x2 + SLACK * height:
            return None
        box, count = (line if count == 0 else box.union(line)), count + 1
    return box if 0 < count <= MAX_LINES else None


def _has_text_beside(picture: Rect, lines: Sequence[Rect]) -> bool:
    return any(
        picture.y1 < line.center_y < picture.y2 and (line.x1 >= picture.x2 or line.x2 <= picture.x1) for line in lines
    )
