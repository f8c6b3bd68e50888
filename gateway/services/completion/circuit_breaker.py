"""When an upstream is asked, asked again, or left alone for a while: breaker, retry budget, weighted order.

Figures are of Envoy's and Google SRE's practice (facts read 2026-11-21). Knows no HTTP and no wire format; time is
monotonic seconds.
"""

import random
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

_WINDOW_S = 10.0
_WINDOW_CALLS = 20
_IN_A_ROW = 5
_FIRST_REST_S = 5.0
_LONGEST_REST_S = 30.0

T = TypeVar("T")


class Breaker:
    """Opens at five faults in a row, or half of at least twenty calls in 10 s; then one probe after a rest.

    The rest doubles from 5 to 30 s while probes fail.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._recent: deque[tuple[float, bool]] = deque(maxlen=1000)
        self._in_a_row = 0
        self._open_until_s: float | None = None
        self._rest_s = _FIRST_REST_S
        self._probing_until_s = 0.0

    @property
    def wait_s(self) -> float:
        """Seconds until a call may be tried; 0 when one may be now. Does not take the probe."""
        if self._open_until_s is None:
            return 0.0
        return max(0.0, self._open_until_s - self._clock(), self._probing_until_s - self._clock())

    def take(self) -> bool:
        """May a call be made now? Half-open, the one probe is taken; it is given back after a longest rest."""
        if self._open_until_s is None:
            return True
        if self.wait_s > 0:
            return False
        self._probing_until_s = self._clock() + _LONGEST_REST_S
        return True

    def release(self) -> None:
        """The call said nothing of the upstream's health (the client left, say)."""
        self._probing_until_s = 0.0

    def succeeded(self) -> None:
        """Closes it when this was the probe; an answer to an earlier call proves nothing."""
        self._in_a_row = 0
        if self._open_until_s is not None:
            if not self._probing_until_s:
                return
            self._recent.clear()
            self._open_until_s, self._rest_s, self._probing_until_s = None, _FIRST_REST_S, 0.0
        self._recent.append((self._clock(), True))

    def failed(self) -> None:
        now_s = self._clock()
        self._in_a_row += 1
        self._recent.append((now_s, False))
        if self._open_until_s is not None:
            if self._probing_until_s:  # the probe failed
                self._rest_s = min(self._rest_s * 2, _LONGEST_REST_S)
                self._open(now_s)
            return
        while self._recent and self._recent[0][0] < now_s - _WINDOW_S:
            self._recent.popleft()
        faults = sum(not good for _, good in self._recent)
        many = len(self._recent) >= _WINDOW_CALLS and faults * 2 >= len(self._recent)
        if self._in_a_row >= _IN_A_ROW or many:
            self._open(now_s)

    def _open(self, now_s: float) -> None:
        self._open_until_s, self._probing_until_s = now_s + self._rest_s, 0.0


class RetryBudget:
    """Retries are at most a tenth of the requests, but three a second are always allowed."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, share: float = 0.1, per_second: float = 3
    ) -> None:
        self._clock = clock
        self._share = share
        self._per_second = per_second
        self._tokens = per_second
        self._filled_s = clock()

    def request(self) -> None:
        self._tokens = min(self._tokens + self._share, 10 * self._per_second)

    def take(self) -> bool:
        now_s = self._clock()
        if self._tokens < self._per_second:
            self._tokens = min(self._per_second, self._tokens + (now_s - self._filled_s) * self._per_second)
        self._filled_s = now_s
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


def weighted_order(items: Iterable[tuple[T, int]]) -> list[T]:
    """A random order in which heavier items tend to come first; weight 0 comes last."""
    keyed = [(random.random() ** (1 / weight) if weight > 0 else -1.0, item) for item, weight in items]  # noqa: S311
    return [item for _, item in sorted(keyed, key=lambda pair: pair[0], reverse=True)]


def backoff_s(attempt: int) -> float:
    """Full jitter, 100 ms doubling, at most 2 s."""
    return random.random() * min(0.1 * float(2**attempt), 2.0)  # noqa: S311
