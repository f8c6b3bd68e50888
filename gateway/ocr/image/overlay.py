"""Draws an answer's boxes on its image, for people. Knows nothing of how the answer was made.

Boxes are coloured by the kind of block. A label stands where the picture is even, so that it hides no text; a box for
which there is no such place has none. Lines read with low confidence are underlaid.
"""

import io
from collections.abc import Iterator, Sequence
from typing import Any

from gateway.ocr.extras import pillow, vision
from gateway.ocr.image.decode import open_image, upright_rgb
from gateway.wire.ocr import COORDINATE_MAX, parse_blocks

COLOURS = {
    "title": "#c62828",
    "text": "#1565c0",
    "table": "#2e7d32",
    "code": "#00838f",
    "equation": "#6d4c41",
    "image": "#8e24aa",
}
OTHER_COLOUR = "#ef6c00"
UNSURE_COLOUR = (255, 196, 0)
UNSURE_SHARE = 0.35
"""How much of UNSURE_COLOUR is mixed into the line: seen at once, and the text stays readable."""
EVEN_LEVELS = 12
"""Levels, of 256, that the pixels of an even place may span: noise of a scan. At half, labels on scans are left out; at
double, they cover pale print."""
PLACES = 5
"""Places tried along each side of a box."""

Area = tuple[int, int, int, int]


def draw_boxes(data: bytes, answer: str, unsure: Sequence[Sequence[int]] = ()) -> bytes:
    """The upright image as PNG, every block of the answer outlined and labelled. `answer`: text of the grounded
    Markdown mode (wire.ocr); `unsure`: boxes of lines read with low confidence, in thousandths of the image. Raises
    InvalidRequest for an unreadable image, EngineMissing without the extra."""
    image = upright_rgb(open_image(data))
    _, numpy = vision()
    pixels = numpy.array(image)
    for box in unsure:
        left, top, right, bottom = _pixels(image.size, box)
        part = pixels[top : bottom + 1, left : right + 1]
        part[:] = (1 - UNSURE_SHARE) * part + UNSURE_SHARE * numpy.array(UNSURE_COLOUR)
    taken = pixels.astype(numpy.int16).mean(axis=2)
    image = pillow().image.fromarray(pixels)
    draw = pillow().draw.Draw(image)
    stroke = max(2, round(max(image.size) / 600))
    font = pillow().font.load_default(max(12, stroke * 7))
    for block in parse_blocks(answer):
        colour = COLOURS.get(block.label, OTHER_COLOUR)
        for box in block.boxes:
            area = _pixels(image.size, box)
            # Around the box, not on it: boxes end at the ink of their letters.
            area = (area[0] - stroke, area[1] - stroke, area[2] + stroke, area[3] + stroke)
            draw.rectangle(area, outline=colour, width=stroke)
            _label(draw, taken, area, block.label, (colour, stroke, font))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _pixels(size: tuple[int, int], box: Sequence[int]) -> Area:
    """A box in pixels, its sides in order."""
    x1, y1, x2, y2 = (round(value / COORDINATE_MAX * (size[index % 2] - 1)) for index, value in enumerate(box))
    return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


def _label(draw: Any, taken: Any, area: Area, label: str, style: tuple[str, int, Any]) -> None:
    """Writes a label at the first even place around its box, and marks the place as taken."""
    colour, stroke, font = style
    left, top, right, bottom = draw.textbbox((0, 0), label, font=font)
    width, height = round(right - left) + 6, round(bottom - top) + 6
    for x, y in _places(area, width, height, stroke):
        part = taken[max(0, y) : y + height, max(0, x) : x + width]
        if part.shape != (height, width) or part.max() - part.min() > EVEN_LEVELS:
            continue
        draw.rectangle((x, y, x + width - 1, y + height - 1), fill=colour)
        draw.text((x + 3 - left, y + 3 - top), label, font=font, fill="white")
        taken[y : y + height, x : x + width] = 0
        taken[y, x] = 255
        return


def _places(area: Area, width: int, height: int, stroke: int) -> Iterator[tuple[int, int]]:
    """Corners at which a label of this size may stand: above the box, below, beside it, then inside."""
    x1, y1, x2, y2 = area
    along = [x1 + step * max(0, x2 - x1 - width) // (PLACES - 1) for step in range(PLACES)]
    down = [y1 + step * max(0, y2 - y1 - height) // (PLACES - 1) for step in range(PLACES)]
    for y in (y1 - height - stroke, y2 + stroke + 1):
        yield from ((x, y) for x in along)
    for x in (x1 - width - stroke, x2 + stroke + 1):
        yield from ((x, y) for y in down)
    yield from ((x, y) for y in (y1 + stroke, y2 - height - stroke) for x in reversed(along))
