"""Draws an answer's boxes on its image, for people. Knows nothing of how the answer was made."""

import io
from typing import Any

from gateway.ocr.extras import pillow
from gateway.ocr.image.decode import open_image, upright_rgb
from gateway.wire.ocr import COORDINATE_MAX, parse_blocks

COLOURS = {"title": "#c62828", "text": "#1565c0", "table": "#2e7d32", "image": "#8e24aa"}
OTHER_COLOUR = "#ef6c00"


def draw_boxes(data: bytes, answer: str) -> bytes:
    """The upright image as PNG, every block of the answer outlined and labelled. `answer`: text of the grounded
    Markdown mode (wire.ocr). Raises InvalidRequest for an unreadable image, EngineMissing without the extra."""
    image = upright_rgb(open_image(data))
    draw = pillow().draw.Draw(image)
    stroke = max(2, round(max(image.size) / 600))
    font = pillow().font.load_default(max(12, stroke * 7))
    for block in parse_blocks(answer):
        colour = COLOURS.get(block.label, OTHER_COLOUR)
        for box in block.boxes:
            _draw_one(draw, image.size, box, block.label, (colour, stroke, font))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _draw_one(draw: Any, size: tuple[int, int], box: tuple[int, ...], label: str, style: tuple[str, int, Any]) -> None:
    colour, stroke, font = style
    x1, y1, x2, y2 = (value / COORDINATE_MAX * size[index % 2] for index, value in enumerate(box))
    draw.rectangle((min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)), outline=colour, width=stroke)
    left, top, right, bottom = draw.textbbox((x1, y1), label, font=font, anchor="lb")
    shift = max(0, -top)
    draw.rectangle((left - 2, top + shift - 2, right + 2, bottom + shift + 2), fill=colour)
    draw.text((x1, y1 + shift), label, font=font, anchor="lb", fill="white")
