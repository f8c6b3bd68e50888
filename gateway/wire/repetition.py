"""Repetition loops of a generating model: found at the end of a text, cut to one copy.

Vision models that transcribe may fall into repeating a line, a cell or a letter until their context is full. Knows only
text. Two thresholds: a *suspected* loop is cut when the model was stopped by its token limit; a *certain* one always.
"""

from dataclasses import dataclass

MAX_PERIOD_CHARS = 200
SUSPECTED = (8, 600)
"""Copies and characters from which a repeating tail is suspected."""
CERTAIN = (20, 2000)


@dataclass(frozen=True, slots=True)
class Loop:
    """A text's repeating tail: `text[start:]` repeats `text[start : start + period]`, `copies` times or more."""

    start: int
    period: int
    copies: int

    def exceeds(self, threshold: tuple[int, int], text_chars: int) -> bool:
        copies, chars = threshold
        return self.copies >= copies and text_chars - self.start >= chars


def find_loop(text: str) -> Loop | None:
    """The loop a text ends in, of the shortest period; None when its last 600 characters do not repeat."""
    reach = SUSPECTED[1]
    tail = text[-reach:]
    if len(tail) < reach:
        return None
    # A period p means tail[p:] == tail[:-p]: one slice comparison each, at C speed.
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
    """Watches a stream: holds back what looks like a loop until it is known to be none.

    `feed` returns what may be shown; once `looping` is true the stream is to be ended with `length`.
    """

    def __init__(self) -> None:
        self.looping = False
        self._recent = ""
        self._held = ""

    def feed(self, piece: str) -> str:
        if self.looping:
            return ""
        self._recent = (self._recent + piece)[-(CERTAIN[1] + MAX_PERIOD_CHARS) :]
        loop = find_loop(self._recent)
        if loop is None or not loop.exceeds(SUSPECTED, len(self._recent)):
            shown, self._held = self._held + piece, ""
            return shown
        self._held += piece
        self.looping = loop.exceeds(CERTAIN, len(self._recent))
        return ""

    def finish(self, *, stopped_by_limit: bool) -> str:
        """What was held back: shown when the model ended by itself, dropped when it was stopped in its loop."""
        held, self._held = self._held, ""
        return "" if stopped_by_limit or self.looping else held
