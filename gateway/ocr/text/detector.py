"""Finds the lines of text in an image: a network gives each pixel's probability of text, and boxes are put around it.

Knows nothing of pages, scales or reading. Source of the network and of its settings: PP-OCRv6 small and the DB method
of PaddleOCR (Apache-2.0), read 2026-11-21: a text's kernel is grown by area x ratio / perimeter to cover the text.
"""

import math
from functools import cache
from pathlib import Path
from typing import Any

from gateway.ocr.extras import vision
from gateway.ocr.onnx import Network, planes

STEP = 32
"""The network takes sides that are multiples of this."""
TEXT_PROBABILITY = 0.3
MIN_BOX_PROBABILITY = 0.5
GROWTH = 1.6
MIN_KERNEL_PX = 3
MIN_BOX_PX = 5
MAX_BOXES = 1000
"""Settings of DB as PaddleOCR ships them: a pixel is text from TEXT_PROBABILITY, a kernel is a line when its mean
probability is MIN_BOX_PROBABILITY, and GROWTH is the ratio by which kernels are grown. At half, lines grow together and
shadows become text; at double, thin and pale text is lost. Kernels and boxes below the two sizes hold no readable
letter. MAX_BOXES bounds the time of one page; a dense page has a few hundred lines."""

Quad = tuple[tuple[float, float], ...]


class TextDetector:
    """Calling it gives the corners of every line of text: top left, top right, bottom right, bottom left.

    Raises EngineMissing without the extra, at construction. Belongs to one thread.
    """

    def __init__(self, path: Path, threads: int) -> None:
        self._cv2, self._numpy = vision()
        self._network = Network(path, threads)

    def __call__(self, pixels: Any) -> list[Quad]:
        """The lines' corners in pixels of `pixels`: BGR, 8 bits, at least 16 on each side."""
        numpy = self._numpy
        height, width = pixels.shape[:2]
        size = (max(1, round(width / STEP)) * STEP, max(1, round(height / STEP)) * STEP)
        resized = self._cv2.resize(pixels, size)
        probabilities = self._network(scaled(resized))[0, 0]
        mask = (probabilities > TEXT_PROBABILITY).astype(numpy.uint8)
        mask = self._cv2.dilate(mask, numpy.ones((2, 2), numpy.uint8))
        outlines, _ = self._cv2.findContours(mask, self._cv2.RETR_LIST, self._cv2.CHAIN_APPROX_SIMPLE)
        found = (self._box(probabilities, outline) for outline in outlines[:MAX_BOXES])
        back = width / size[0], height / size[1]
        return [ordered([(x * back[0], y * back[1]) for x, y in box]) for box in found if box is not None]

    def _box(self, probabilities: Any, outline: Any) -> Any:
        """The corners of the grown box around one kernel; None when it is too small or too improbable."""
        center, (width, height), angle = self._cv2.minAreaRect(outline)
        if min(width, height) < MIN_KERNEL_PX:
            return None
        if (
            self._mean_probability(probabilities, self._cv2.boxPoints((center, (width, height), angle)))
            < MIN_BOX_PROBABILITY
        ):
            return None
        growth = 2 * GROWTH * width * height / (2 * (width + height))
        if min(width, height) + growth < MIN_BOX_PX:
            return None
        return self._cv2.boxPoints((center, (width + growth, height + growth), angle)).tolist()

    def _mean_probability(self, probabilities: Any, corners: Any) -> float:
        numpy = self._numpy
        height, width = probabilities.shape
        left, top = (max(0, math.floor(v)) for v in corners.min(axis=0).tolist())
        right, bottom = (math.ceil(v) for v in corners.max(axis=0).tolist())
        part = probabilities[top : min(height, bottom + 1), left : min(width, right + 1)]
        mask = numpy.zeros(part.shape, numpy.uint8)
        self._cv2.fillPoly(mask, [(corners - numpy.float32([left, top])).astype(numpy.int32)], 1)
        return float(self._cv2.mean(part, mask)[0])


def scaled(pixels: Any) -> Any:
    """The input of the PP-OCR networks: 8-bit values as floats from -1 to 1, by channels (1, 3, height, width)."""
    return planes(pixels, _table())


@cache
def _table() -> Any:
    _, numpy = vision()
    values = numpy.arange(256, dtype=numpy.float32) * numpy.float32(2 / 255) - numpy.float32(1)
    return numpy.stack([values] * 3)


def ordered(corners: list[tuple[float, float]]) -> Quad:
    """The four corners clockwise from the top left: the two leftmost by height, then the two rightmost."""
    by_x = sorted(corners)
    top_left, bottom_left = sorted(by_x[:2], key=lambda corner: corner[1])
    top_right, bottom_right = sorted(by_x[2:], key=lambda corner: corner[1])
    return top_left, top_right, bottom_right, bottom_left
