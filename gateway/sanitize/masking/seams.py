"""Finds values that are split over texts which continue each other: parts of a message, messages of one answer.

Theory of operation. Texts of one unit with the same `flow` are laid end to end. A model or a client joins them without
a separator or with a blank one, so both are scanned. Only what no text shows alone counts: a finding that reaches over
a seam, or one that begins behind it and needs a word before it. The mask stands where the value begins, the rest of it
is removed. Runs before the texts are scanned one by one, which would mask half a value and let the other half pass.

    text 1  …the card is 4111 11        keeps its last WINDOW_CHARS for the run
    text 2  11 1111                     short: whole
    text 3  1111, as you asked. …       keeps its first WINDOW_CHARS; a new run begins with its last

Cost: one scan more of short texts, of two windows of long ones; texts without a flow cost nothing.
"""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from gateway.sanitize.text.findings import Finding, mask_of
from gateway.texts import TextSlot

WINDOW_CHARS = 256
"""Characters on each side of a seam that are scanned, as many as a stream keeps for context (`stream_channel`). At half
long keys end outside; at double each long part costs twice."""
_REACH_CHARS = 64
"""How far behind a seam a value may begin that a word before the seam names: the detectors' own reach."""
_RUN_CHARS = 16_384
"""Chosen: the texts of a run, scanned at once (about two milliseconds). At half long lists of parts take twice
as many scans; at double a run keeps others waiting for longer."""
_STEP_SLOTS = 4_096
"""Chosen: slots that are sorted by flow in one step (about a millisecond). At half twice as many steps, at double a
step keeps others waiting for twice as long."""
_SEPARATORS = ("", " ")

Scan = Callable[[str], list[Finding]]
Act = Callable[[Finding, str], str]
"""(finding, path of its slot) -> the action on it. Reports the finding."""


_Place: TypeAlias = tuple[int, int, int]
"""(index in the run, start, end): characters of a slot's text."""


class _Segment(NamedTuple):
    """The characters [start, end) of a slot's text."""

    slot: TextSlot
    start: int
    end: int


def mask_seams(slots: Iterable[TextSlot], scan: Scan, act: Act) -> Iterator[bool]:
    """Mask, in place, the values that are split over neighbouring slots of one flow, a run of texts at a time.

    Yields after each scan and each other step whether a value was masked, so that other work may be done between two;
    take all of them.
    Raises what `scan` and `act` raise.
    """
    flows: dict[Hashable, list[TextSlot]] = {}
    for number, slot in enumerate(slots, 1):
        if slot.flow is not None:
            flows.setdefault(slot.flow, []).append(slot)
        if not number % _STEP_SLOTS:
            yield False
    for texts in flows.values():
        if len(texts) > 1:
            yield from _mask_flow(texts, scan, act)


def _mask_flow(texts: list[TextSlot], scan: Scan, act: Act) -> Iterator[bool]:
    counted: set[tuple[int, str]] = set()
    for separator in _SEPARATORS:
        runs = []
        for run in _runs(texts):
            runs.append(run)
            yield False
        for run in reversed(runs):  # from the end, as a mask moves what is behind it
            if len(run) < 2:
                continue
            for found in _split_values(run, separator, scan):
                yield False
                if found is None:
                    continue
                finding, places = found
                slot = run[places[0][0]].slot
                if (id(slot), finding.entity) in counted:
                    continue  # flagged with the other separator
                action = act(finding, slot.where)
                if action in ("redact", "block"):
                    _mask(run, places, "" if action == "block" else mask_of(finding.entity))
                    yield True
                else:
                    counted.add((id(slot), finding.entity))


def _runs(texts: list[TextSlot]) -> Iterator[list[_Segment]]:
    run: list[_Segment] = []
    run_chars = 0
    for slot in texts:
        size = len(slot.text)
        run_chars += min(size, WINDOW_CHARS)
        if run_chars > _RUN_CHARS and run:
            yield run
            run, run_chars = run[-1:], 0
        if size <= 2 * WINDOW_CHARS:
            run.append(_Segment(slot, 0, size))
            continue
        yield [*run, _Segment(slot, 0, WINDOW_CHARS)]
        run = [_Segment(slot, size - WINDOW_CHARS, size)]
    yield run


def _split_values(run: list[_Segment], separator: str, scan: Scan) -> Iterator[tuple[Finding, list[_Place]] | None]:
    """The findings that no text shows alone, last first, each with its places; None after a scan without one."""
    pieces = [segment.slot.text[segment.start : segment.end] for segment in run]
    starts = [0, *accumulate(len(piece) + len(separator) for piece in pieces)]
    findings = scan(separator.join(pieces))
    yield None
    for finding in reversed(findings):
        first = bisect_right(starts, finding.start) - 1
        last = bisect_right(starts, finding.end - 1) - 1
        begin = finding.start - starts[first]
        if first == last and (first == 0 or begin > _REACH_CHARS or _stands_alone(pieces[first], begin, scan)):
            yield None
            continue
        places = []
        for index in range(first, last + 1):
            low = max(finding.start - starts[index], 0)
            high = min(finding.end - starts[index], len(pieces[index]))
            places.append((index, run[index].start + min(low, high), run[index].start + high))
        yield finding, places


def _stands_alone(piece: str, begin: int, scan: Scan) -> bool:
    return any(finding.start <= begin < finding.end for finding in scan(piece))


def _mask(run: list[_Segment], places: list[_Place], mask: str) -> None:
    """Write the mask into the first place and remove the others; without a mask the first text ends there."""
    for number, (index, low, high) in reversed(list(enumerate(places))):
        slot = run[index].slot
        text = slot.text
        slot.text = text[:low] + (mask + text[high:] if number == 0 and mask else "" if number == 0 else text[high:])
