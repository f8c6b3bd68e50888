"""A circuit breaker: after several failures in a short time nobody waits for the failing thing for a while."""

import time
from collections import deque
from collections.abc import Callable


class Breaker:
    """Opens after `failures` within `window_s`; after `open_s` one call at a time tries again."""

    def __init__(
        self,
        failures: int = 5,
        window_s: float = 30,
        open_s: float = 15,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit, self._window_s, self._open_s, self._clock = failures, window_s, open_s, clock
        self._failed_at: deque[float] = deque(maxlen=failures)
        self._opened_at: float | None = None
        self._trying = False

    @property
    def is_open(self) -> bool:
        return self._opened_at is not None

    @property
    def has_failed_lately(self) -> bool:
        return bool(self._failed_at) and self._clock() - self._failed_at[-1] < 2 * self._window_s

    def may_call(self) -> bool:
        """True when a call should be made; its outcome must be told."""
        if self._opened_at is None:
            return True
        if self._trying or self._clock() - self._opened_at < self._open_s:
            return False
        self._trying = True
        return True

    def succeeded(self) -> None:
        self._opened_at, self._trying = None, False

    def abandoned(self) -> None:
        """The call was given up before it had an outcome."""
        self._trying = False

    def failed(self) -> None:
        now = self._clock()
        self._failed_at.append(now)
        if self._opened_at is not None or (
            len(self._failed_at) == self._limit and now - self._failed_at[0] <= self._window_s
        ):
            self._opened_at = now
        self._trying = False
