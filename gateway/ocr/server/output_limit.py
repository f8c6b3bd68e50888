"""Limits an answer of the embedded engine by `max_tokens` and `stop`, and counts tokens.

The engine writes text, not tokens: CHARS_PER_TOKEN characters or fewer count as one token. Such usage is an estimate
and marked as one. Knows nothing of HTTP.
"""

from dataclasses import dataclass

CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 256
"""Four characters a token is the usual rule for English; 256 tokens are DeepSeek-OCR's for an image at its base size.
Chosen for estimates alone: at half or double, usage and the length that `max_tokens` allows change by that factor."""


def count_tokens(text: str) -> int:
    """The estimated number of tokens, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


@dataclass(slots=True)
class OutputLimit:
    """Cuts a stream of pieces at `max_tokens` or before the first stop string.

    `finish_reason` becomes `length` or `stop`; `text_chars` counts the characters given out.
    """

    max_tokens: int | None = None
    stops: tuple[str, ...] = ()
    finish_reason: str | None = None
    text_chars: int = 0
    _pending: str = ""

    def feed(self, piece: str) -> str:
        """The text that is safe to send now: an end that may begin a stop string waits. Empty once `finish_reason` is
        set."""
        if self.finish_reason is not None:
            return ""
        text = self._pending + piece
        ends = [at for at in (text.find(stop) for stop in self.stops) if at >= 0]
        if ends:
            self._pending, text = "", text[: min(ends)]
            self.finish_reason = "stop"
        else:
            waiting = self._possible_stop(text)
            self._pending, text = text[len(text) - waiting :], text[: len(text) - waiting]
        return self._bounded(text)

    def finish(self) -> str:
        """The rest of the text; sets the finish reason. Call it after the last piece."""
        if self.finish_reason is not None:
            return ""
        text = self._bounded(self._pending)
        self._pending = ""
        if self.finish_reason is None:
            self.finish_reason = "stop"
        return text

    def _bounded(self, text: str) -> str:
        if self.max_tokens is not None:
            room = self.max_tokens * CHARS_PER_TOKEN - self.text_chars
            if len(text) > room:
                text, self.finish_reason = text[:room], "length"
        self.text_chars += len(text)
        return text

    def _possible_stop(self, text: str) -> int:
        """Length of the longest end of the text that is the beginning of a stop string."""
        longest = max((len(stop) - 1 for stop in self.stops), default=0)
        for length in range(min(longest, len(text)), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self.stops):
                return length
        return 0
