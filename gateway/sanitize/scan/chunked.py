"""Scanning texts of any length piece by piece, with the same findings as in one go.

A long text is cut where a stream would be; so no single step holds the interpreter for long, and neither what a step
costs nor what it may spend grows with the text.
"""

from collections.abc import Callable

from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.holdback import MAX_HELD, REST_OF_KEY, REST_OF_VALUE, hold_from

PIECE_CHARS = 32_768
_BEFORE, _BEHIND = 256, 96
"""Characters beside a piece that are looked at with it."""
_TAIL = 512
"""Where what must stay together begins is nearly always seen from here."""


def scan_long(scan: Callable[[str], list[Finding]], text: str) -> list[Finding]:
    """`scan` over the whole text, however long it is."""
    if len(text) <= PIECE_CHARS + _BEFORE:
        return scan(text)
    found: list[Finding] = []
    at = 0
    while at < len(text):
        cut = _cut(text, at)
        low, high = max(0, at - _BEFORE), min(cut + _BEHIND, len(text))
        for start, end, entity in scan(text[low:high]):
            start, end = max(start + low, at), end + low
            if at < end and start < cut:
                found.append(Finding(start, end if end < high else _end_of_value(text, start, end), entity))
        at = max(cut, found[-1].end if found else 0)
    return found


def _end_of_value(text: str, start: int, seen: int) -> int:
    """Where a value ends that goes on beyond what has been looked at."""
    rest = (REST_OF_KEY if text.startswith("-----BEGIN", start) else REST_OF_VALUE).match(text, seen)
    return rest.end() if rest else seen


def _cut(text: str, at: int) -> int:
    """Where the piece that begins at `at` ends: before what may continue beyond it, if that is not too long."""
    high = at + PIECE_CHARS
    if high >= len(text):
        return len(text)
    least = max(at, high - MAX_HELD)
    place = least if text.find("-----BEGIN", at, high) >= 0 else _held_from(text, high - _TAIL, high)
    if place <= high - _TAIL:
        place = _held_from(text, max(at, high - 2 * MAX_HELD), high)
    return place if place > least else high


def _held_from(text: str, low: int, high: int) -> int:
    view = View(text[low:high])
    place = hold_from(view.folded, 0)
    return low + view.origin(place, place + 1)[0] if place < len(view.folded) else high
