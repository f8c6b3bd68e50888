"""Whether a function's time grows in step with its input.

Naive form: take the least of five times at 1,000, 2,000 and 4,000, and demand that each doubling costs less than three
times. As nearly every input is harmless, `grows` first takes one time at the smallest and at the largest size, and
only measures with care what looks superlinear there. Times are CPU seconds of the calling thread.
"""

import gc
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

SIZES = (1_000, 2_000, 4_000)
"""From issue 16: at half, fixed costs hide a quadratic; at double, the tests take twice as long."""
FLOOR_S = 50e-6
"""From issue 16: times below are noise. At half, honest functions fail by chance; at double, small quadratics pass."""
MOST_GROWTH = 3.0
"""From issue 16, for each doubling: between linear (2) and quadratic (4)."""
_RUNS = 5
_LARGER, _MUCH_LARGER, _LONG_S = 2, 16, 1.0
"""How much larger the inputs of the second look are: so much that a quadratic would take a second, within these bounds.
Measured: between .1 and 30 ms a tree outgrows the caches of a core, and the time grows 2.5 to 6 times a doubling on the
way; beyond, 2 times. At half of 16 that way is not over; at double of the second, tests of sound code take longer."""


class Growth(NamedTuple):
    """Times in seconds at each size; `worst`: the largest growth of a doubling above the floor."""

    times_s: tuple[float, ...]
    worst: float


def once_s(call: Callable[[Any], object], value: Any) -> float:
    """CPU seconds of one call, without collections of garbage: what these take depends on all else in the process, and
    a larger input meets more of them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        started = time.thread_time()
        call(value)
        return time.thread_time() - started
    finally:
        if was_on:
            gc.enable()


def least_s(call: Callable[[Any], object], make: Callable[[int], Any], size: int) -> float:
    """Least CPU seconds of five calls, or of fewer when one takes longer than a tenth of a second. Each call gets an
    input of its own: a second call on a tree that the first has changed may find nothing left to do."""
    best = once_s(call, make(size))
    for _ in range(_RUNS - 1 if best < 0.1 else 1):
        best = min(best, once_s(call, make(size)))
    return best


def looks_linear(call: Callable[[Any], object], make: Callable[[int], Any], sizes: tuple[int, ...] = SIZES) -> bool:
    """A quick look, right for nearly all inputs: below the floor at the largest size, or in step with the smallest."""
    largest = make(sizes[-1])
    longest_s = once_s(call, largest)
    if longest_s < FLOOR_S:
        return True
    smallest_s = max(once_s(call, make(sizes[0])), FLOOR_S / len(sizes))
    return longest_s < smallest_s * sizes[-1] / sizes[0] * 1.4


def growth(call: Callable[[Any], object], make: Callable[[int], Any], sizes: tuple[int, ...] = SIZES) -> Growth:
    """The careful measurement."""
    times = tuple(least_s(call, make, size) for size in sizes)
    doublings = [after / max(before, FLOOR_S) for before, after in pairwise(times)]
    return Growth(times, max(doublings))


def grows(call: Callable[[Any], object], make: Callable[[int], Any], sizes: tuple[int, ...] = SIZES) -> Growth | None:
    """The growth of a call that is superlinear in the size of its input, else None.

    What grows is measured again with larger inputs: where a buffer outgrows a cache or an allocator's limit, the time
    jumps once; a quadratic grows as fast again.
    """
    if looks_linear(call, make, sizes):
        return None
    for _ in range(2):  # another process may have taken the caches in between
        found = growth(call, make, sizes)
        if found.worst < MOST_GROWTH:
            return None
    times = max(_LARGER, min(_MUCH_LARGER, int((_LONG_S / found.times_s[-1]) ** 0.5)))
    again = growth(call, make, tuple(times * size for size in sizes[-2:]))
    return found if again.worst >= MOST_GROWTH else None
