"""Reads the text in a picture of one line: a network that gives each column's character, and what follows from it.

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
MIN_WIDTH = 48
"""In the network's pixels: narrower pictures get ground to their right."""
MAX_WIDTH = 9600
"""About 400 characters. The network compares each column with all others: twice the width is four times the memory."""


class LineReading(NamedTuple):
    """`score` is the mean chance of the characters, as their first columns give it; `centers` their middles, 0..1.

    `losses` say how badly the text explains what was seen: in each column the chances of no character, of the one
    before and of the next are added up; number n is the sum of the negative logarithms before character n and after
    the one before it, so there is one more than there are characters. Unlike the score they tell where a character or
    a space may be missing.
    """

    text: str
    score: float
    centers: tuple[float, ...]
    losses: tuple[float, ...]

    @property
    def fit(self) -> float:
        """The chances of all columns multiplied, as a mean a character: 1 where nothing else could have been read."""
        return math.exp(-sum(self.losses) / len(self.text)) if self.text else 0.0


class Recogniser:
    """Calling reads one picture. May be called by several threads at a time, each with one core."""

    def __init__(self, network: Path, dictionary: Path) -> None:
        self._cv2, self._numpy = vision()
        self._network = Network(network, 1, gives_back=False)
        characters = dictionary.read_text(encoding="utf-8").rstrip("\n").split("\n")
        self._characters = ["", *characters, " "]

    def __call__(self, picture: Any) -> LineReading:
        """`picture`: BGR, 8 bits. Time grows with the width at the network's height."""
        numpy = self._numpy
        height, width = picture.shape[:2]
        seen_width = width_seen(width, height)
        is_smaller = height > 1.5 * HEIGHT or seen_width < 0.8 * width
        # Enlarged linearly: after sharper methods both networks make a tenth to a half more errors on small print.
        method = self._cv2.INTER_AREA if is_smaller else self._cv2.INTER_LINEAR
        seen = scaled(self._cv2.resize(picture, (seen_width, HEIGHT), interpolation=method)).transpose(2, 0, 1)
        ground = numpy.zeros((1, 3, HEIGHT, max(MIN_WIDTH, seen_width)), numpy.float32)
        ground[0, :, :, :seen_width] = seen
        return decode(self._network(ground)[0], self._characters, seen_width / ground.shape[3])


def width_seen(width: int, height: int) -> int:
    """How wide the network sees a picture: in proportion, but never so wide that its memory runs away."""
    return min(MAX_WIDTH, max(1, round(HEIGHT * width / height)))


def decode(chances: Any, characters: Sequence[str], used: float) -> LineReading:
    """`chances`: (columns, classes); `used`: the share of the columns that belongs to the picture."""
    _, numpy = vision()
    best = chances.argmax(axis=1)
    begins = best != 0
    begins[1:] &= best[1:] != best[:-1]
    columns = numpy.flatnonzero(begins)
    if not len(columns):
        return LineReading("", 0.0, (), (0.0,))
    labels = best[columns]
    centers = numpy.minimum(1.0, (columns + 0.5) / (used * len(best)))
    text = "".join(characters[index] for index in labels.tolist())
    begun = numpy.cumsum(begins)
    loss = -numpy.log(numpy.clip(_explained(chances, labels, begun), 1e-9, 1.0))
    losses = numpy.bincount(begun, weights=loss, minlength=len(labels) + 1)
    return LineReading(text, float(chances[columns, labels].mean()), tuple(centers.tolist()), tuple(losses.tolist()))


def _explained(chances: Any, labels: Any, begun: Any) -> Any:
    """What each column's chances of blank and of the characters around it add up to; `begun`: characters begun."""
    _, numpy = vision()
    around = numpy.concatenate([[0], labels, [0]])
    before, following = around[begun], around[begun + 1]
    column = numpy.arange(len(chances))
    explained = chances[:, 0] + numpy.where(before == 0, 0, chances[column, before])
    return explained + numpy.where((following == 0) | (following == before), 0, chances[column, following])
