"""Finds values that are split over texts which continue each other: the parts of one message.

    text 1  …the card is 4111 11        keeps its last _WINDOW_CHARS for the run
    text 2  11 1111                     short: whole
    text 3  1111, as you asked. …       keeps its first _WINDOW_CHARS; a new run begins with its last

Texts of one unit with the same `flow` are laid end to end. A model or a client joins them without a separator or with
a blank one, so both are scanned. Only what no text shows alone counts: a finding that reaches over a seam, or one
that begins behind it and needs a word before it. The mask stands where the value begins, the rest of it is removed.
Runs before the texts are scanned one by one, which would mask half a value and let the other half pass.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple

from gateway.sanitize.chunks import Joined
from gateway.sanitize.findings import Finding
from gateway.texts import TextSlot

_WINDOW_CHARS = 256
"""Characters on each side of a seam that are scanned, as many as a stream keeps for context."""
_REACH_CHARS = 64
"""How far behind a seam a value may begin that a word before the seam names: the detectors' own reach."""
_RUN_CHARS = 16_384
"""The texts of a run, scanned at once (about two milliseconds)."""

Scan = Callable[[str], list[Finding]]
Act = Callable[[Finding, str, str], str | None]
"""(finding, its value, path of its slot) -> the mask over it, empty where the text ends there, None where it stays.
Reports the finding."""


class _Part(NamedTuple):
    """The characters [start, end) of a slot's text."""

    slot: TextSlot
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.slot.text[self.start : self.end]


def mask_seams(slots: Iterable[TextSlot], scan: Scan, act: Act) -> Iterator[bool]:
    """Mask, in place, the values that are split over neighbouring slots of one flow, a run of texts at a time.

    Yields after each step whether a value was masked, so that other work may be done between two; take all of them.
    Raises what `scan` and `act` raise.
    """
    flows: dict[Hashable, list[TextSlot]] = {}
    for slot in slots:
        if slot.flow is not None:
            flows.setdefault(slot.flow, []).append(slot)
    for texts in flows.values():
        seen: set[tuple[int, str]] = set()
        for separator in ("", " "):
            for run in reversed([*_runs(texts)]):  # from the end, as a mask moves what is behind it
                for finding, parts in _split_values(run, separator, scan):
                    yield False
                    slot = parts[0].slot
                    if (id(slot), finding.entity) in seen:
                        continue  # flagged with the other separator
                    mask = act(finding, "".join([part.text for part in parts]), slot.where)
                    if mask is None:
                        seen.add((id(slot), finding.entity))
                    else:
                        _write_mask(parts, mask)
                        yield True
                yield False


def _runs(texts: list[TextSlot]) -> Iterator[list[_Part]]:
    run: list[_Part] = []
    run_chars = 0
    for slot in texts:
        size = len(slot.text)
        run_chars += min(size, _WINDOW_CHARS)
        if run_chars > _RUN_CHARS and run:
            yield run
            run, run_chars = run[-1:], 0
        if size <= 2 * _WINDOW_CHARS:
            run.append(_Part(slot, 0, size))
            continue
        yield [*run, _Part(slot, 0, _WINDOW_CHARS)]
        run = [_Part(slot, size - _WINDOW_CHARS, size)]
    yield run


def _split_values(run: list[_Part], separator: str, scan: Scan) -> Iterator[tuple[Finding, list[_Part]]]:
    """The findings that no text shows alone, last first, each with the parts of texts that it covers."""
    if len(run) < 2:
        return
    joined = Joined([part.text for part in run], separator)
    for finding in reversed(scan(joined.text)):
        touched = [*joined.touched(finding.start, finding.end)]
        first, low, _ = touched[0]
        if len(touched) == 1 and (first == 0 or low > _REACH_CHARS or _stands_alone(run[first].text, low, scan)):
            continue
        yield finding, [_Part(run[n].slot, run[n].start + low, run[n].start + high) for n, low, high in touched]


def _stands_alone(text: str, begin: int, scan: Scan) -> bool:
    return any(finding.start <= begin < finding.end for finding in scan(text))


def _write_mask(parts: list[_Part], mask: str) -> None:
    """Write the mask into the first part and remove the others; without a mask the first text ends there."""
    for number, (slot, low, high) in reversed([*enumerate(parts)]):
        text = slot.text
        behind = text[high:] if mask or number else ""
        slot.text = text[:low] + (mask if number == 0 else "") + behind
