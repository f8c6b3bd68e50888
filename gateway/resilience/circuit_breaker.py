"""A circuit breaker: after too many failures, nobody calls the failing service for a while.

Theory of operation. Three states, all in one event loop:

| state     | `take` answers                    | leaves it when                                                    |
|-----------|-----------------------------------|-------------------------------------------------------------------|
| closed    | True                              | a rule of `BreakerPolicy` trips: open for `first_rest_s`          |
| open      | False                             | the rest is over: half-open                                       |
| half-open | True once (the probe), then False | probe succeeded: closed; probe failed: open, the rest is doubled; |
|           |                                   | probe released, or no outcome for `probe_limit_s`: half-open anew |

A caller for whom `take` answered True reports exactly one outcome: `succeeded`, `failed`, or `release` when the call
said nothing about the service's health. Time is monotonic seconds.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

_MAX_REMEMBERED = 1000
"""Outcomes remembered."""


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """When a breaker opens and how long it rests. A rule whose number is 0 is off.

    It opens at `failures_in_a_row`; at `failures_in_window` within `window_s`, whatever succeeded between them; or when
    at least `share_min_calls` calls ended within `window_s` and half of them failed. The rest doubles from
    `first_rest_s` to `longest_rest_s` while probes fail. A probe without an outcome is given up after `probe_limit_s`.

    `late_outcomes_count`: calls begun before the breaker opened count while it is open, as the probe does. False where
    each call reports its own outcome; True where an outcome may be reported after its call was released.
    """

    window_s: float
    first_rest_s: float
    longest_rest_s: float
    probe_limit_s: float
    failures_in_a_row: int = 0
    failures_in_window: int = 0
    share_min_calls: int = 0
    late_outcomes_count: bool = False


class CircuitBreaker:
    """One per service; the module docstring has the states."""

    def __init__(self, policy: BreakerPolicy, clock: Callable[[], float] = time.monotonic) -> None:
        self._policy = policy
        self._clock = clock
        self._outcomes: deque[tuple[float, bool]] = deque(maxlen=_MAX_REMEMBERED)
        self._failures_in_a_row = 0
        self._last_failure_s = float("-inf")
        self._open_until_s: float | None = None
        self._rest_s = policy.first_rest_s
        self._probe_until_s = 0.0

    @property
    def is_open(self) -> bool:
        """Whether it is open or half-open."""
        return self._open_until_s is not None

    @property
    def wait_s(self) -> float:
        """Seconds until `take` may answer True; 0 when it would now."""
        if self._open_until_s is None:
            return 0.0
        return max(0.0, self._open_until_s - self._clock(), self._probe_until_s - self._clock())

    def has_failed_within(self, seconds: float) -> bool:
        """Whether a call failed in the last `seconds`, also when the breaker has closed since."""
        return self._clock() - self._last_failure_s < seconds

    def take(self) -> bool:
        """Whether a call may be made now. When half-open, this hands out the probe."""
        if self._open_until_s is None:
            return True
        if self.wait_s > 0:
            return False
        self._probe_until_s = self._clock() + self._policy.probe_limit_s
        return True

    def release(self) -> None:
        """The call ended without an outcome (its client left, for example): another call may be the probe."""
        self._probe_until_s = 0.0

    def succeeded(self) -> None:
        """The call succeeded. Closes an open breaker if this was the probe (any call with `late_outcomes_count`)."""
        self._failures_in_a_row = 0
        if self._open_until_s is not None:
            if not self._probe_until_s and not self._policy.late_outcomes_count:
                return
            self._outcomes.clear()
            self._open_until_s, self._rest_s, self._probe_until_s = None, self._policy.first_rest_s, 0.0
        self._outcomes.append((self._clock(), True))

    def failed(self) -> None:
        """The call failed by the service's fault. Opens the breaker when a rule trips or this was the probe."""
        now_s = self._last_failure_s = self._clock()
        self._failures_in_a_row += 1
        self._outcomes.append((now_s, False))
        if self._open_until_s is None:
            if self._is_tripped(now_s):
                self._open(now_s)
        elif self._probe_until_s or self._policy.late_outcomes_count:
            self._rest_s = min(self._rest_s * 2, self._policy.longest_rest_s)
            self._open(now_s)

    def _is_tripped(self, now_s: float) -> bool:
        policy = self._policy
        while self._outcomes and self._outcomes[0][0] < now_s - policy.window_s:
            self._outcomes.popleft()
        calls = len(self._outcomes)
        failures = sum(not success for _, success in self._outcomes)
        return (
            0 < policy.failures_in_a_row <= self._failures_in_a_row
            or 0 < policy.failures_in_window <= failures
            or (0 < policy.share_min_calls <= calls and failures * 2 >= calls)
        )

    def _open(self, now_s: float) -> None:
        self._open_until_s, self._probe_until_s = now_s + self._rest_s, 0.0
