"""Finds a model's repetition loop at the end of a text and cuts it to one copy.

Vision models that transcribe sometimes repeat a line, a cell or a letter until their context is full. Knows only
text. Two thresholds: a suspected loop is cut when the model was stopped by its token limit; a certain loop is always
cut.
"""

from dataclasses import dataclass

MAX_PERIOD_CHARS = 200
"""Most characters of a repeated piece that is looked for, about a long table row."""
SUSPECTED = (8, 600)
"""Copies, and characters, from which a repeating tail is suspected; forms repeat a cell or line a few times."""
CERTAIN = (20, 2000)
"""Copies, and characters, from which a repeating tail ends the answer while the model still writes."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A text's repeating tail: `text[start:]` is `copies` whole copies of `text[start : start + period]` and a part."""

    start: int
    period: int
    copies: int

    def exceeds(self, threshold: tuple[int, int], text_chars: int) -> bool:
        """Whether the loop has the threshold's copies and characters, in a text of `text_chars` characters."""
        copies, chars = threshold
        return self.copies >= copies and text_chars - self.start >= chars


def find_loop(text: str) -> Loop | None:
    """The loop a text ends in, of the shortest period; None when its last 600 characters do not repeat."""
    reach = SUSPECTED[1]
    tail = text[-reach:]
    if len(tail) < reach:
        return None
    # Equals all(tail[i] == tail[i + p] for each i); one comparison of slices is at C speed.
    period = next((p for p in range(1, MAX_PERIOD_CHARS + 1) if tail.startswith(tail[p:])), 0)
    if period == 0:
        return None
    start = len(text) - reach
    while start > 0 and text[start - 1] == text[start - 1 + period]:
        start -= 1
    return Loop(start, period, (len(text) - start) // period)


def cut_loop(text: str, *, stopped_by_limit: bool) -> tuple[str, bool]:
    """The text with its repeating tail cut to one copy, and whether anything was cut."""
    loop = find_loop(text)
    if loop is None or not loop.exceeds(SUSPECTED if stopped_by_limit else CERTAIN, len(text)):
        return text, False
    return text[: loop.start + loop.period].rstrip(), True


class LoopGuard:
    """Watches the pieces of one streamed text and holds back a suspected loop until it ends or is certain.

    Call `feed` for each piece and `finish` once at the end. `looping` is true once the loop is certain: `feed` then
    returns nothing more, and the caller ends the stream with the finish reason `length`.
    """

    def __init__(self) -> None:
        self.looping = False
        self._recent = ""
        self._pending = ""

    def feed(self, piece: str) -> str:
        """The text that may be sent now: empty while a loop is suspected."""
        if self.looping:
            return ""
        self._recent = (self._recent + piece)[-(CERTAIN[1] + MAX_PERIOD_CHARS) :]
        loop = find_loop(self._recent)
        if loop is None or not loop.exceeds(SUSPECTED, len(self._recent)):
            released, self._pending = self._pending + piece, ""
            return released
        self._pending += piece
        self.looping = loop.exceeds(CERTAIN, len(self._recent))
        return ""

    def finish(self, *, stopped_by_limit: bool) -> str:
        """The text held back; empty when the model was stopped inside a loop, by its limit or by `looping`."""
        pending, self._pending = self._pending, ""
        return "" if stopped_by_limit or self.looping else pending
