"""Reads the text in a picture of one line: a network gives each column's character; decoding makes text of them.

Knows nothing of pages and of where the line came from.

Source of the networks: PP-OCRv6 (Apache-2.0), trained with CTC: a column's class 0 is no character, the last one a
space, those between stand in the dictionary's order; a character spans columns, and is repeated only after a gap.
Read 2026-11-21.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gateway.ocr.extras import vision
from gateway.ocr.onnx import Network
from gateway.ocr.text.detector import scaled

HEIGHT = 48
"""The network's input height in pixels, as trained."""
MIN_WIDTH = 48
"""In the network's pixels: narrower pictures get ground to their right. Chosen: a square. At half, single letters fill
the whole input, which training never showed; at double, they take more time."""
MAX_WIDTH = 9600
"""About 400 characters. The network compares each column with all others: twice the width is four times the memory. At
half, lines of more than 200 characters are squeezed and misread."""
REDUCED_HEIGHTS, REDUCED_WIDTH = 1.5, 0.8
"""A picture that is so much higher than HEIGHT, or gets so much narrower, is reduced by averaging areas, which keeps
thin strokes; others are resized linearly. Near the bounds the two differ little."""
MIN_PROBABILITY = 1e-9
"""Below it the logarithm would outweigh all other columns of a line."""


class LineReading(NamedTuple):
    """A reading: `score` is the mean probability of the characters in their first columns; `centers` their middles,
    0..1.

    `losses` measure how badly the text explains the picture. In each column the probabilities of no character, of the
    character before and of the next one are added. Loss n is the sum of the negative logarithms of these between
    character n - 1 and character n; there is one more than there are characters. Unlike the score, losses show where a
    character or a space may be missing.
    """

    text: str
    score: float
    centers: tuple[float, ...]
    losses: tuple[float, ...]

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
    return LineReading(
        text, float(probabilities[columns, labels].mean()), tuple(centers.tolist()), tuple(losses.tolist())
    )


def _explained_by(probabilities: Any, labels: Any, begun: Any) -> Any:
    """For each column the summed probabilities of blank and of the characters around it; `begun`: characters begun."""
    _, numpy = vision()
    around = numpy.concatenate([[0], labels, [0]])
    before, following = around[begun], around[begun + 1]
    column = numpy.arange(len(probabilities))
    explained = probabilities[:, 0] + numpy.where(before == 0, 0, probabilities[column, before])
    return explained + numpy.where((following == 0) | (following == before), 0, probabilities[column, following])
