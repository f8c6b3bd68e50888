"""How soon a process that died is started again, and when the first start is given up.

The first deaths are answered at once, so that one crash costs next to nothing; a process that keeps dying is started
with growing pauses, so that it does not use up the machine and the log. Deaths are counted within a window of running
time. Pauses are not running time: otherwise a long pause would empty the window, and the quick starts would begin anew.

| after a death                            | pause before the next start                       |
|------------------------------------------|---------------------------------------------------|
| up to 4 in the last 60 s of running time | `first_pause_s`                                   |
| the 5th, 6th, … in the last 60 s         | 0.5, 1, 2, 5, 10, 30 s, at most `longest_pause_s` |
| a process that ran 60 s before it died   | as after a first death                            |

Its user starts and watches the process. Processes that share one policy are counted together.
"""

import time
from collections import deque
from collections.abc import Callable

WINDOW_S = 60.0
"""Running time in which deaths are counted."""
FREE_DEATHS = 4
"""Deaths within the window that cost no more than the first pause."""
PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses after the deaths beyond these, one after the other."""


class RestartPolicy:
    """One per process, or per group of equal processes. Times are seconds, `clock` is monotonic."""

    def __init__(
        self,
        first_pause_s: float = 0.0,
        longest_pause_s: float = PAUSES_S[-1],
        give_up_after: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first_pause_s = first_pause_s
        self._longest_pause_s = longest_pause_s
        self._give_up_after = give_up_after
        self._clock = clock
        self._ran_s = 0.0
        self._deaths: deque[float] = deque(maxlen=FREE_DEATHS + len(PAUSES_S))
        self._may_start_at = float("-inf")
        self._was_ready = False

    @property
    def wait_s(self) -> float:
        """Seconds until the next start may be made; 0 when it may be made now."""
        return max(0.0, self._may_start_at - self._clock())

    @property
    def has_given_up(self) -> bool:
        """Whether the process died `give_up_after` times without ever being ready (0: never)."""
        return 0 < self._give_up_after <= len(self._deaths) and not self._was_ready

    def record_ready(self) -> None:
        """The process has become ready: from now on it is not given up."""
        self._was_ready = True

    def record_death(self, ran_s: float) -> float:
        """A process died after it had run for `ran_s`. Returns the pause in seconds before the next start."""
        self._ran_s += ran_s
        while self._deaths and self._deaths[0] <= self._ran_s - WINDOW_S:
            self._deaths.popleft()
        self._deaths.append(self._ran_s)
        excess = len(self._deaths) - FREE_DEATHS
        pause_s = PAUSES_S[excess - 1] if excess > 0 else self._first_pause_s
        pause_s = min(pause_s, self._longest_pause_s)
        self._may_start_at = self._clock() + pause_s
        return pause_s
