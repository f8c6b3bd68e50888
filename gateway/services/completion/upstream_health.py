"""Whether an upstream may be called for a caller: two circuit breakers, and how much one caller's faults count in them.

Callers are ids of keys; "" is the gateway itself. Two kinds of fault are distinguished, because a poisoned prompt that
makes a sound upstream answer 500 must not shut it for everybody:

| fault                          | who counts                             | while its breaker is open          |
|--------------------------------|----------------------------------------|------------------------------------|
| no answer: refused,            | all callers; one of them at most       | nobody calls the upstream          |
| unreachable, timed out         | MOST_OF_ONE times in the window,       |                                    |
|                                | unless nobody else calls               |                                    |
| a bad answer: 5xx, cut,        | all callers; one of them at most       | calls go to other upstreams; with  |
| not in the API's form          | MOST_OF_ONE times in the window        | nowhere else to go they are made   |
|                                | the caller alone, without a bound      | the same, for this caller alone    |

So one caller alone never opens the breaker of bad answers for others, and a model's last upstream is closed off only
when it never answers: a refusal would help nobody there. A bad answer is an answer: it ends a row of silent calls.

A caller for whom `take` was called reports exactly one outcome. Knows no HTTP. Time is monotonic seconds.
"""

import time
from collections import deque
from collections.abc import Callable

from gateway.resilience.bounded_cache import BoundedCache
from gateway.resilience.circuit_breaker import CircuitBreaker
from gateway.services.completion.retries import UPSTREAM_BREAKER, upstream_breaker

MOST_OF_ONE = 4
"""Faults of one caller that count within the breaker's window. Chosen: one less than the row that opens it, so that it
takes a second caller. At half, an outage is noticed after the faults of three callers; double would let one caller
alone open the breaker."""

_MAX_CALLERS = 1000
_CALLER_TTL_S = 120.0
"""Callers whose own breakers are remembered, and for how long after the breaker was made. Chosen: four of the longest
rests. At half or double only the memory changes (1 KB each): a forgotten caller makes five more bad calls."""


_MAX_COUNTED = 1000
"""Faults remembered with their callers. Chosen: as many as the breaker remembers; at half or double, only beyond 50
faults a second a caller may count more often than MOST_OF_ONE times."""


class UpstreamHealth:
    """One per upstream; the module docstring has the rules."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._silence = _WeighedBreaker(clock, counts_only_caller=True)
        self._bad_answers = _WeighedBreaker(clock, counts_only_caller=False)
        self._own: BoundedCache[str, CircuitBreaker] = BoundedCache(_MAX_CALLERS, ttl_s=_CALLER_TTL_S, clock=clock)

    @property
    def is_open(self) -> bool:
        """Whether one of the breakers that hold for all callers is open or half-open."""
        return self._silence.breaker.is_open or self._bad_answers.breaker.is_open

    def wait_s(self, caller: str, *, is_last: bool = False) -> float:
        """Seconds until `take` may answer True; 0 when it would now. `is_last`: there is no other upstream to call."""
        wait_s = self._silence.breaker.wait_s
        if is_last:
            return wait_s
        own = self._own.get(caller)
        return max(wait_s, self._bad_answers.breaker.wait_s, own.wait_s if own is not None else 0.0)

    def take(self, caller: str, *, is_last: bool = False) -> bool:
        """Whether a call may be made now. Hands out the probe of each breaker that is half-open."""
        if not (self._own or self.is_open):
            return True  # nearly always: every breaker is closed
        if self.wait_s(caller, is_last=is_last) > 0:
            return False
        self._silence.breaker.take()
        if not is_last:
            self._bad_answers.breaker.take()
            if (own := self._own.get(caller)) is not None:
                own.take()
        return True

    def release(self, caller: str) -> None:
        """The call ended without an outcome (its client left, for example)."""
        self._silence.breaker.release()
        self._bad_answers.breaker.release()
        if (own := self._own.get(caller)) is not None:
            own.release()

    def succeeded(self, caller: str) -> None:
        """The upstream answered as it should."""
        self._silence.succeeded(caller)
        self._bad_answers.succeeded(caller)
        if (own := self._own.get(caller)) is not None:
            own.succeeded()

    def was_silent(self, caller: str) -> None:
        """The upstream did not answer: refused, unreachable, timed out."""
        self._bad_answers.breaker.release()
        if (own := self._own.get(caller)) is not None:
            own.release()
        self._silence.failed(caller)

    def answered_badly(self, caller: str) -> None:
        """The upstream answered with a fault of its own."""
        self._silence.succeeded(caller)
        self._bad_answers.failed(caller)
        own = self._own.get(caller)
        if own is None:
            own = upstream_breaker(self._clock)
            self._own.put(caller, own)
        own.failed()


class _WeighedBreaker:
    """A breaker in which one caller's faults count at most MOST_OF_ONE times within the window.

    `counts_only_caller`: those of a caller who is alone in the window all count.
    """

    def __init__(self, clock: Callable[[], float], *, counts_only_caller: bool) -> None:
        self.breaker = upstream_breaker(clock)
        self._clock = clock
        self._counts_only_caller = counts_only_caller
        self._counted: deque[tuple[float, str]] = deque(maxlen=_MAX_COUNTED)
        self._last_two: dict[str, float] = {}

    def succeeded(self, caller: str) -> None:
        if self._counts_only_caller:
            self._note(caller)
        self.breaker.succeeded()

    def failed(self, caller: str) -> None:
        now_s = self._note(caller)
        while self._counted and self._counted[0][0] < now_s - UPSTREAM_BREAKER.window_s:
            self._counted.popleft()
        is_alone = self._counts_only_caller and not self._others_since(caller, now_s - UPSTREAM_BREAKER.window_s)
        counts = self.breaker.is_open or is_alone  # an open breaker asks for the outcome of its probe
        if not counts and sum(each == caller for _, each in self._counted) >= MOST_OF_ONE:
            return
        self._counted.append((now_s, caller))
        self.breaker.failed()

    def _note(self, caller: str) -> float:
        """Remember when the last two callers had an outcome: enough to tell whether there is another one."""
        now_s = self._clock()
        self._last_two.pop(caller, None)
        if len(self._last_two) > 1:
            del self._last_two[next(iter(self._last_two))]
        self._last_two[caller] = now_s
        return now_s

    def _others_since(self, caller: str, since_s: float) -> bool:
        return any(at_s >= since_s for other, at_s in self._last_two.items() if other != caller)
