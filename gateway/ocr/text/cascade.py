"""Reads a line with the quick recogniser, and the doubtful words again with the careful one.

Doubt mostly concerns a word or two: where the rest of the line is sure, only these are cut out, at the spaces around
them, and read again. Knows nothing of networks and pages. "Loss" is defined at LineReading.
"""

from collections.abc import Callable, Iterator
from typing import Any

from gateway.ocr.extras import vision
from gateway.ocr.text.recogniser import LineReading

DOUBTFUL_LOSS = 0.02
"""A greater loss between two characters is doubt, in a line whose fit is below `sure_fit`. Chosen: twice the mean loss
of a line at SURE_FIT 0.99 (0.01 a character). At half, sure words are read again, at six times the work; at double,
single misread letters stay."""
PLAIN_LOSS = 0.2
"""A greater loss is doubt in any line. Measured on worn and on clear prints: reading these words again halves the
errors, for 4 % of the time."""
MOST_AGAIN = 0.6
"""If more of the line than this share is doubtful, all of it is read again: words help to read each other. Chosen: at
half, most lines in doubt are read whole, at more work; at double (above 1), words are always cut out one by one."""
EMPTY_CONTRAST = 16
"""Levels above the least contrast of a column that still count as empty: noise of a scan. At half, noise shifts the
cut; at double, pale strokes are cut through."""

Span = tuple[int, int]
"""Characters [first, last) of a reading."""


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
            return careful if careful.fit >= reading.fit else reading
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
        reading.text[first:last], reading.score, reading.centers[first:last], reading.losses[first : last + 1]
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
