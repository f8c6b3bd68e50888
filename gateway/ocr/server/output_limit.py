"""What bounds an answer of the embedded engine: `max_tokens`, `stop`, and how tokens are counted.

The engine writes text, not tokens: a token is counted as up to four characters, an image as IMAGE_TOKENS. Such usage
is an estimate and marked as one.
"""

from dataclasses import dataclass

CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 256


def count_tokens(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)


@dataclass(slots=True)
class OutputLimit:
    """Cuts a stream of pieces at `max_tokens` (`length`) or before the first stop string (`stop`)."""

    max_tokens: int | None = None
    stops: tuple[str, ...] = ()
    finish_reason: str | None = None
    text_chars: int = 0
    _held: str = ""

    def feed(self, piece: str) -> str:
        """What may be shown now. After `finish_reason` is set nothing more is."""
        if self.finish_reason is not None:
            return ""
        text = self._held + piece
        ends = [at for at in (text.find(stop) for stop in self.stops) if at >= 0]
        if ends:
            self._held, text = "", text[: min(ends)]
            self.finish_reason = "stop"
        else:
            keep = self._possible_stop(text)
            self._held, text = text[len(text) - keep :], text[: len(text) - keep]
        return self._bounded(text)

    def finish(self) -> str:
        """What was held back; sets the finish reason."""
        if self.finish_reason is not None:
            return ""
        text = self._bounded(self._held)
        self._held = ""
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
        """Length of the longest end of the text that a stop string begins with."""
        longest = max((len(stop) - 1 for stop in self.stops), default=0)
        for length in range(min(longest, len(text)), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self.stops):
                return length
        return 0
