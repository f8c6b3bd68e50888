"""Scans a text of any length chunk by chunk. Naive form: `scan(text)` in one call, which finds the same.

Chunks bound the time that one step keeps the interpreter (about 10 ms), the memory of its folded copies, and how much
work budget one dense part can spend. A chunk ends where a stream's holdback would begin, so that no value is split.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View
from gateway.sanitize.holdback import MAX_HOLDBACK_CHARS, REST_OF_KEY, REST_OF_VALUE, holdback_start

CHUNK_CHARS = 32_768
"""A whole chunk may spend about 10 ms (one budget unit of 0.3 µs a character)."""
_LEFT_CONTEXT_CHARS, _RIGHT_CONTEXT_CHARS = 256, 96
"""Characters beside a chunk that are scanned with it. Left: more than the reach of any word that names a number (64).
Right: the extension or word behind a telephone number."""
_TAIL_CHARS = 512
"""Characters at a chunk's end that are searched for the cut first; only if it is not among them, 16 KB are. As a
chain is at most 96 long, it lies nearly always in them."""

_KEY = "-----BEGIN"
"""How a private key begins."""


def scan_chunked(scan: Callable[[str], list[Finding]], text: str) -> list[Finding]:
    """What `scan` finds in the whole text, in order, in the text's offsets."""
    if len(text) <= CHUNK_CHARS + _LEFT_CONTEXT_CHARS:
        return scan(text)
    return [finding for findings in scan_chunks(scan, text) for finding in findings]


def scan_chunks(scan: Callable[[str], list[Finding]], text: str, prefix: str = "") -> Iterator[list[Finding]]:
    """As `scan_chunked`, chunk by chunk: the findings of a text made of values take many times its memory. `prefix` is
    scanned before the first chunk; of findings in it, there is what lies in the text."""
    chunk_start = 0
    while chunk_start < len(text):
        chunk_end = _chunk_end(text, chunk_start)
        findings: list[Finding] = []
        low, high = max(0, chunk_start - _LEFT_CONTEXT_CHARS), min(chunk_end + _RIGHT_CONTEXT_CHARS, len(text))
        before = "" if chunk_start else prefix
        for start, end, entity, certain in shifted(scan(before + text[low:high]), len(before)):
            start, end = max(start + low, chunk_start), end + low
            if chunk_start < end and start < chunk_end:
                end = end if end < high else _end_of_value(text, start, end)
                findings.append(Finding(start, end, entity, certain))
        chunk_start = max(chunk_end, findings[-1].end if findings else 0)
        yield findings


def shifted(findings: list[Finding], prefix_chars: int) -> list[Finding]:
    """Findings of a text with a prefix, in the offsets of the text: those in the prefix alone are left out."""
    if not prefix_chars:
        return findings
    return [
        Finding(max(start - prefix_chars, 0), end - prefix_chars, entity, certain)
        for start, end, entity, certain in findings
        if end > prefix_chars
    ]


def _end_of_value(text: str, start: int, scanned_end: int) -> int:
    """Where the value at `start` ends when it goes on beyond what was scanned."""
    pattern = REST_OF_KEY if text[start : start + len(_KEY)] == _KEY else REST_OF_VALUE
    end = scanned_end
    while end < len(text):
        rest = pattern.match(text[end : end + CHUNK_CHARS])
        end += rest.end() if rest else 0
        if rest is None or rest.end() < CHUNK_CHARS:
            break
    return end


def _chunk_end(text: str, start: int) -> int:
    """Where the chunk that begins at `start` ends: before a value that may continue, unless that is too long."""
    high = start + CHUNK_CHARS
    if high >= len(text):
        return len(text)
    least = max(start, high - MAX_HOLDBACK_CHARS)
    cut = least if _KEY in text[start:high] else _holdback_start(text, high - _TAIL_CHARS, high)
    if cut <= high - _TAIL_CHARS:
        cut = _holdback_start(text, max(start, high - 2 * MAX_HOLDBACK_CHARS), high)
    return cut if cut > least else high


def _holdback_start(text: str, low: int, high: int) -> int:
    view = View(text[low:high])
    index = holdback_start(view.folded, 0)
    return low + view.origin(index, index + 1)[0] if index < len(view.folded) else high


class Joined:
    """Texts laid end to end with a separator between, which are scanned at once, and the way back to each of them."""

    def __init__(self, texts: Sequence[str], separator: str) -> None:
        self.text = separator.join(texts)
        self._sizes = [len(text) for text in texts]
        self._starts = [0, *accumulate(size + len(separator) for size in self._sizes)]

    def touched(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """(index of a text, start, end) for each part of a text that [start, end) of the joined text covers."""
        first = bisect_right(self._starts, start) - 1
        for index in range(first, min(bisect_left(self._starts, end), len(self._sizes))):
            shift = self._starts[index]
            low, high = max(start - shift, 0), min(end - shift, self._sizes[index])
            if low < high:
                yield index, low, high
