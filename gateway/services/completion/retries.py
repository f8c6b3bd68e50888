"""When an upstream may be called again: the figures of its circuit breaker, the retry budget, the order of upstreams.

Figures follow the practice of Envoy (outlier detection, retry budgets) and Google SRE ("Addressing Cascading
Failures"), read 2026-11-21. Knows no HTTP and no wire format. Time is monotonic seconds.
"""

import random
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from gateway.resilience.circuit_breaker import BreakerPolicy, CircuitBreaker

UPSTREAM_BREAKER = BreakerPolicy(
    failures_in_a_row=5,
    share_min_calls=20,
    window_s=10.0,
    first_rest_s=5.0,
    longest_rest_s=30.0,
    probe_limit_s=30.0,
)
"""Five consecutive failures are Envoy's default for ejecting a host (`consecutive_5xx`), and 30 s its base ejection
time. The other figures are chosen. At half of the share rule (10 calls, 5 s), a short burst of timeouts closes off an
upstream that serves half of its calls; at double, a busy server waits 20 s before it stops calling one that fails half
of them. At half the first rest, callers of a restarting upstream see twice as many failed probes; at double, they are
refused for 10 s after a hiccup."""

_RETRY_SHARE = 0.1
_RETRIES_PER_S = 3.0
"""Google SRE: retries of a client stay below a tenth of its requests, so that an overloaded upstream receives at most
1.1 times its load (double: 1.2 times). Envoy: `min_retry_concurrency` 3, here a rate, so that a quiet gateway may
retry at all."""

_MAX_SAVED_S = 10
"""Seconds of `_RETRIES_PER_S` that a busy time may save up (30 retries). Chosen: at half, a failure after a busy time
leaves its last callers without a retry; at double, 60 retries come at once when an upstream breaks down."""

_FIRST_BACKOFF_S = 0.1
_MAX_BACKOFF_S = 2.0
"""Chosen: the caller waits while this runs, and an attempt is repeated at most once. At half, a retry often meets the
same restart; at double, callers notice the pause before the error does them any good."""

T = TypeVar("T")


def upstream_breaker(clock: Callable[[], float] = time.monotonic) -> CircuitBreaker:
    """A closed breaker for one upstream."""
    return CircuitBreaker(UPSTREAM_BREAKER, clock)


class RetryBudget:
    """A token bucket for one upstream: `share` of a token for each request, and `per_second` tokens a second.

    Time fills the bucket up to `per_second` tokens, requests up to `_MAX_SAVED_S` times as many. A retry costs one.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        share: float = _RETRY_SHARE,
        per_second: float = _RETRIES_PER_S,
    ) -> None:
        self._clock = clock
        self._share = share
        self._per_second = per_second
        self._tokens = per_second
        self._filled_s = clock()

    def request(self) -> None:
        """Count a request, retries included."""
        self._tokens = min(self._tokens + self._share, _MAX_SAVED_S * self._per_second)

    def take(self) -> bool:
        """Whether a retry may be made now; if so, it is paid for."""
        now_s = self._clock()
        if self._tokens < self._per_second:
            self._tokens = min(self._per_second, self._tokens + (now_s - self._filled_s) * self._per_second)
        self._filled_s = now_s
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


def weighted_order(items: Iterable[tuple[T, int]]) -> list[T]:
    """The items of (item, weight) in a random order; the share of first places is proportional to weight, 0 comes last.

    Equals drawing without replacement, each time with probability weight / sum of the weights left (Efraimidis and
    Spirakis 2006: sort by random ** (1 / weight)).
    """
    keyed = [(random.random() ** (1 / weight) if weight > 0 else -1.0, item) for item, weight in items]  # noqa: S311
    return [item for _, item in sorted(keyed, key=lambda pair: pair[0], reverse=True)]


def backoff_s(attempt: int) -> float:
    """Seconds to wait before attempt `attempt` + 1: between 0 and 0.1 s doubled `attempt` times (full jitter)."""
    return random.random() * min(_FIRST_BACKOFF_S * float(2**attempt), _MAX_BACKOFF_S)  # noqa: S311
