"""Memory that a pattern of Python's `re` takes for each character of a text.

A greedy group that is repeated without bound remembers a place for each repetition, some 120 bytes: a text of 1 MB
takes 120 MB, however short the time. A possessive group (`(?:…)*+`) remembers nothing. Which of the two a pattern is
cannot be told by its form alone, as what stands inside counts too; so it is measured.
"""

import ctypes
from collections import deque
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]  # the standard library's own parser of patterns
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from bench.pattern_finder import AnyPattern
from bench.pattern_strings import beginnings, below, units

MOST_BYTES_PER_CHAR = 24.0
"""Chosen: a fifth of what one remembered place takes, and above the noise of the allocator at SIZE."""
SIZE = 100_000
"""Characters of a text: at half the noise is as large as the bound, at double a run takes twice as long."""
_CLASSES, _UNITS, _STARTS = 4, 16, 1
ONE_CHAR = (op.IN, op.LITERAL, op.NOT_LITERAL, op.ANY, op.CATEGORY)


def repeats_groups(pattern: AnyPattern) -> bool:
    """Whether the pattern repeats something other than one character without bound."""
    todo: list[Any] = [_parser.parse(pattern.pattern, pattern.flags)]
    while todo:
        for code, value in todo.pop():
            is_endless = code in (op.MAX_REPEAT, op.MIN_REPEAT) and value[1] is op.MAXREPEAT
            if is_endless and (len(value[2]) != 1 or value[2][0][0] not in ONE_CHAR):
                return True
            todo += below(code, value)
    return False


def bytes_per_char(pattern: AnyPattern) -> tuple[float, str]:
    """The most memory for a character over the strings that are derived from the pattern, and the string's unit."""
    worst = (0.0, "")
    for start in dict.fromkeys(("", *beginnings(pattern)[-_STARTS:])):
        for unit in units(pattern, _CLASSES)[:_UNITS]:
            text: str | bytes = start + unit * (SIZE // len(unit))
            if isinstance(pattern.pattern, bytes):
                text = str(text).encode("latin-1", "replace")
            taken = min(_taken(pattern, text) for _ in range(2))  # the first search also pays what stays
            worst = max(worst, (taken * 1024 / SIZE, start + unit))
    return worst


def _taken(pattern: AnyPattern, text: str | bytes) -> int:
    """KiB at most while all matches are sought. Memory that lies free already would hide it."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again (proc(5))
    before = _kib("VmRSS")
    deque(pattern.finditer(text), 0)  # type: ignore[arg-type]
    return _kib("VmHWM") - before


def _kib(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))
