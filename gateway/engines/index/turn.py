"""One turn of the index's writer: some steps of a longer work. Knows no work and no queue."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

Steps: TypeAlias = Callable[[sqlite3.Connection], Iterator[None]]
"""Work of the writer in steps of a millisecond or two, between which it may do other work."""
_TURN_S = 0.002
"""How long one turn of the writer takes steps. Chosen: with the last step about 4 ms (8 ms were a small call's whole
time before); at half, long pages change threads twice as often, at double everybody else waits twice as long."""


def take_turn(steps: Iterator[None]) -> bool:
    """Takes steps for about _TURN_S; whether any are left."""
    end_s = time.perf_counter() + _TURN_S
    while time.perf_counter() < end_s:
        try:
            next(steps)
        except StopIteration:
            return False
    return True
