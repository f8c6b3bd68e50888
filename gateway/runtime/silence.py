"""How long nothing was heard from a process that should send a line every so often, and whose fault that is.

Two things are no silence of its own: this process did not run, so that it could not hear (`Silence`), and the other one
wanted to run, but no processor was free (`cpu_wait_s`).
"""

import time
from collections.abc import Callable
from pathlib import Path


class Silence:
    """For how long nothing was heard, in time in which this process could have heard it.

    Call `tick` regularly, about every `interval_s`. A tick that comes late (this process was stopped, or the machine
    slept or swapped) counts as one interval: what was sent meanwhile has not been read yet.
    """

    def __init__(self, interval_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest_tick_s, self._clock = 2 * interval_s, clock
        self._ticked_at = clock()
        self.seconds = 0.0

    def tick(self) -> None:
        """Count the time since the last tick."""
        now = self._clock()
        self.seconds += min(now - self._ticked_at, self._longest_tick_s)
        self._ticked_at = now

    def heard(self) -> None:
        """Something was heard just now."""
        self.seconds = 0.0


def cpu_wait_s(pid: int) -> float:
    """For how long, in its life, the first thread of a process was ready to run while no processor was free.

    0 where the kernel does not tell (`/proc/PID/schedstat`, proc(5); read 2026-11-22), or the process has ended.
    """
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
