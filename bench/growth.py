"""Whether a function's time grows in step with its input.

Naive form: take the least of five times at 1,000, 2,000 and 4,000, and demand that each doubling costs less than three
times. As nearly every input is harmless, `grows` first takes one time at the smallest and at the largest size, and
only measures with care what looks superlinear there. Times are CPU seconds of the calling thread.

The sizes are measured in turns: a busy neighbour on the same core makes every time up to three times as long for as
long as it runs, and must not meet one size alone.
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
_LEAST_RUNS, _MOST_RUNS, _MOST_S = 2, 7, 2.0
"""Chosen: how often each size is measured, and how many seconds all runs may take beyond the least. At half of seven
a neighbour may disturb all runs; at double nothing more is forgiven, and what is quadratic takes twice as long to
find."""
_LARGER, _MUCH_LARGER, _LONG_S = 2, 16, 1.0
"""How much larger the inputs of the second look are: so much that a quadratic would take a second, within these bounds.
Measured: between .1 and 30 ms a tree outgrows the caches of a core, and the time grows 2.5 to 6 times a doubling on the
way; beyond, 2 times. At half of 16 that way is not over; at double of the second, tests of sound code take longer.
Nor is it over, at less than 16 times, for a pattern with a bounded repetition: below the bound, `a{1,2048}` finds one
match in all of 2,000 letters; from there on it fails at each place, and a first doubling costs a hundred times."""


class Growth(NamedTuple):
    """Times in seconds at each size; `worst`: the largest growth of a doubling above the floor."""

    times_s: tuple[float, ...]
    worst: float


class Look(NamedTuple):
    """Seconds at the largest size, and whether that is below the floor or in step with the smallest."""

    longest_s: float
    linear: bool


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


def quick_look(call: Callable[[Any], object], make: Callable[[int], Any], sizes: tuple[int, ...] = SIZES) -> Look:
    """One time at the largest and at the smallest size, right for nearly all inputs."""
    largest = make(sizes[-1])
    longest_s = once_s(call, largest)
    if longest_s < FLOOR_S:
        return Look(longest_s, True)
    smallest_s = max(once_s(call, make(sizes[0])), FLOOR_S / len(sizes))
    return Look(longest_s, longest_s < smallest_s * sizes[-1] / sizes[0] * 1.4)


def growth(call: Callable[[Any], object], make: Callable[[int], Any], sizes: tuple[int, ...] = SIZES) -> Growth:
    """The careful measurement: several times at each size, taken in turns, until each doubling costs less than
    MOST_GROWTH or there were enough. Each call gets an input of its own: a second call on a tree that the first has
    changed may find nothing left to do.

    A doubling is judged by the least times and by the sums of all, whichever is lower. Under load the least time alone
    misleads: a short call now and then meets a moment without neighbours, a long one never.
    """
    runs: list[tuple[float, ...]] = []
    while True:
        runs.append(tuple(once_s(call, make(size)) for size in sizes))
        least, sums = [tuple(map(pick, zip(*runs, strict=True))) for pick in (min, sum)]
        worst = min(_worst(least, FLOOR_S), _worst(sums, FLOOR_S * len(runs)))
        is_enough = len(runs) >= _MOST_RUNS or sum(sums) > _MOST_S
        if len(runs) >= _LEAST_RUNS and (worst < MOST_GROWTH or is_enough):
            return Growth(least, worst)


def _worst(times_s: tuple[float, ...], floor_s: float) -> float:
    return max(after / max(before, floor_s) for before, after in pairwise(times_s))


def grows(call: Callable[[Any], object], make: Callable[[int], Any], sizes: tuple[int, ...] = SIZES) -> Growth | None:
    """The growth of a call that is superlinear in the size of its input, else None."""
    return None if quick_look(call, make, sizes).linear else careful_look(call, make, sizes)


def careful_look(
    call: Callable[[Any], object], make: Callable[[int], Any], sizes: tuple[int, ...] = SIZES
) -> Growth | None:
    """The same of a call that did not look linear.

    What grows is measured again with larger inputs, and once more with inputs of twice their size: where a buffer
    outgrows a cache or an allocator's limit, or a text the bound of a repetition, the time jumps; a quadratic grows as
    fast at every later doubling.
    """
    found = growth(call, make, sizes)
    if found.worst < MOST_GROWTH:
        return None
    times = max(_LARGER, min(_MUCH_LARGER, int((_LONG_S / found.times_s[-1]) ** 0.5)))
    for larger in (times, 2 * times):
        if growth(call, make, tuple(larger * size for size in sizes[-2:])).worst < MOST_GROWTH:
            return None
    return found
