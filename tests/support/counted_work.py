"""Work and memory counted instead of timed: the same on every machine, whatever runs beside it."""

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any


def calls_of(work: Callable[[], object]) -> int:
    """How many functions, of Python and of C, are called while `work` runs."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def growth(work: Callable[[Any], object], make: Callable[[int], Any], size: int) -> float:
    """How many times as many calls twice as much input takes: 2 is in step with it, 4 is a quadratic."""
    small, large = make(size), make(2 * size)
    work(small)  # what is made once is made
    return calls_of(lambda: work(large)) / calls_of(lambda: work(small))


def peak_bytes(work: Callable[[], object]) -> int:
    """The most memory that `work` has at once, of what Python gives out."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
