"""Scanning texts of any length piece by piece, with the same findings as in one go.

A long text is cut where a stream would be; so no single step holds the interpreter for long, and the cost of a step
does not grow with the text.
"""

from collections.abc import Callable

from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View
from gateway.sanitize.hold import MAX_HELD, hold_from

PIECE_CHARS = 65_536
_CONTEXT = 256


def scan_long(scan: Callable[[str], list[Finding]], text: str) -> list[Finding]:
    """`scan` over the whole text, however long it is."""
    if len(text) <= 2 * PIECE_CHARS:
        return scan(text)
    found: list[Finding] = []
    at = 0
    while at < len(text):
        low, high = max(0, at - _CONTEXT), min(len(text), at + PIECE_CHARS)
        spans = [Finding(each.start + low, each.end + low, each.entity) for each in scan(text[low:high])]
        cut = high if high == len(text) else _cut(text, at, high)
        for span in spans:
            if at < span.start < cut < span.end:
                cut = span.start
        found += [
            Finding(max(each.start, at), each.end, each.entity) for each in spans if at < each.end and each.start < cut
        ]
        at = max(cut, found[-1].end if found else 0)
    return found


def _cut(text: str, at: int, high: int) -> int:
    """Where what may continue behind `high` begins; `high` itself when that is all there is."""
    low = max(at, high - 2 * MAX_HELD)
    view = View(text[low:high])
    place = hold_from(view.folded, 0)
    cut = low + (view.origin(place, place + 1)[0] if place < len(view.folded) else high - low)
    return cut if cut > max(at, high - MAX_HELD) else high
