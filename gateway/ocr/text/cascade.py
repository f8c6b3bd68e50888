"""Reads a line with the quick recogniser, and what that one is not sure of with the careful one.

Doubt is mostly about a word or two: only these are read again, cut out at the spaces around them, where the rest of the
line is beyond doubt. Knows nothing of networks and pages.
"""

from collections.abc import Callable, Iterator
from typing import Any

from gateway.ocr.extras import vision
from gateway.ocr.text.recogniser import LineReading

DOUBTFUL_LOSS = 0.02
"""More than this between two characters is doubt, in a line whose fit is not sure."""
PLAIN_LOSS = 0.2
"""More than this is doubt in any line: on worn and on clear prints it halves the errors, for 4 % of the time."""
MOST_AGAIN = 0.6
"""Where more of the line than this would be read again, all of it is: words help to read each other."""

Span = tuple[int, int]
"""Characters [first, last) of a reading."""


class Cascade:
    """Calling reads one picture, BGR. `sure_fit` is the fit from which the quick reading stands."""

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
            return careful if careful.fit >= reading.fit else reading
        for span in reversed(doubtful):  # from the end, so that the places of the others stay
            reading = self._again(picture, reading, span)
        return reading

    def _again(self, picture: Any, reading: LineReading, span: Span) -> LineReading:
        """The reading with the span read carefully, where that fits better."""
        first, last = span
        width = picture.shape[1]
        left = _gap(picture, reading, first - 1) if first else 0
        right = _gap(picture, reading, last) if last < len(reading.text) else width
        careful = stripped(self._careful(picture[:, left:right]))
        if careful.fit < _part(reading, span).fit:
            return reading
        centers = ((left + center * (right - left)) / width for center in careful.centers)
        return LineReading(
            reading.text[:first] + careful.text + reading.text[last:],
            (reading.score * (len(reading.text) - last + first) + careful.score * len(careful.text))
            / (len(reading.text) - last + first + len(careful.text)),
            (*reading.centers[:first], *centers, *reading.centers[last:]),
            (*reading.losses[:first], *careful.losses, *reading.losses[last + 1 :]),
        )


def doubtful_spans(reading: LineReading, most_loss: float) -> Iterator[Span]:
    """The words with a place of more loss, in order and apart: each from one space without doubt to the next."""
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
    """Without the spaces at its ends."""
    first = len(reading.text) - len(reading.text.lstrip())
    return _part(reading, (first, max(first, len(reading.text.rstrip()))))


def _part(reading: LineReading, span: Span) -> LineReading:
    first, last = span
    return LineReading(
        reading.text[first:last], reading.score, reading.centers[first:last], reading.losses[first : last + 1]
    )


def _gap(picture: Any, reading: LineReading, space: int) -> int:
    """The column at which to cut in the space: the middle of the emptiest stretch between its neighbours."""
    _, numpy = vision()
    width: int = picture.shape[1]
    before, after = (int(reading.centers[space + step] * width) for step in (-1, 1))
    if after - before < 3:
        return int(reading.centers[space] * width)
    contrast = numpy.ptp(picture[:, before:after].max(axis=2), axis=0)
    empty = contrast <= contrast.min() + 16
    edges = numpy.flatnonzero(numpy.diff(numpy.concatenate([[False], empty, [False]])))
    starts, ends = edges[::2], edges[1::2]
    widest = int((ends - starts).argmax())
    return before + int(starts[widest] + ends[widest]) // 2
