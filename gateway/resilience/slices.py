"""Work that is done on the event loop in slices, between which others get their turn.

A thread would not do for work in Python: it holds Python's lock for a millisecond at a time while the loop waits for it
at each of its turns, and longer inside of one call. A step must be short; it cannot be interrupted.
"""

import asyncio
import time
from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]
"""Work in steps, which returns its result at the end."""
_SLICE_S = 0.002
"""How long one slice takes steps."""


def all_steps(steps: Steps[T]) -> T:
    """The result, at once: where nobody waits, as in a process of its own."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


async def in_slices(steps: Steps[T]) -> T:
    """The result; other tasks run between the slices."""
    while True:
        end_s = time.perf_counter() + _SLICE_S
        while time.perf_counter() < end_s:
            try:
                next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
        await asyncio.sleep(0)
