"""Bounds on CPU time that hold on a slow and on a busy machine."""

import functools
from collections.abc import Callable

from bench.growth import once_s

REFERENCE_S = 0.02
"""CPU seconds of `_reference` on the machine on which the bounds were chosen (2026-11, Python 3.11)."""
_TRIES = 5
"""Chosen: a neighbour that disturbs four runs leaves the fifth. What is really slow fails all five."""


def takes_less(limit_s: float, call: Callable[[], object]) -> bool:
    """Whether `call` takes less than `limit_s` seconds of CPU time on the machine on which the bounds were chosen.

    One run of five that does is enough. Each is taken without collections of garbage, and beside a fixed piece of work
    that says how much slower this machine is at that moment; a faster one does not make the bound stricter.
    """
    return any(once_s(lambda _: call(), None) < limit_s * slowness() for _ in range(_TRIES))


def slowness() -> float:
    """How many times slower this machine is at this moment than the one on which bounds were chosen; at least 1."""
    return max(1.0, once_s(_reference, 300_000) / REFERENCE_S)


def _reference(steps: int) -> int:
    return functools.reduce(lambda total, step: total ^ step, range(steps), 0)
