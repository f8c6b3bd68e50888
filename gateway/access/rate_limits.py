"""Rate limits of one process, in memory: calls a minute and concurrent requests by key, wrong keys by address.

Time is monotonic seconds, read from a clock that is passed in. Memory is bounded: a key that has made no call for a
minute is forgotten. Every refusal says after how many seconds to try again. Knows no HTTP. Limits that several machines
share are in `redis_limits`; both implement `Limiter`.
"""

import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from gateway.config.server_settings import Limits
from gateway.domain import Caller
from gateway.errors import RateLimited
from gateway.resilience.bounded_cache import BoundedCache

WINDOW_S = 60.0
"""Limits are configured per minute."""

_MAX_KEYS = 100_000
"""Keys that called within the last minute, about 1 KB each. Chosen: more keys than any key file holds. At half it would
still not be reached; double would only allow 200 MB instead of 100."""

_MAX_ADDRESSES = 10_000
"""Addresses that sent a wrong key within the last minute, about 1 KB each. Chosen: an attacker who has more addresses
is forgotten early and may guess faster. At half, 5,000 addresses are enough for that; at double, wrong keys may hold
20 MB instead of 10."""


class Limiter(Protocol):
    """Limits of API keys. A limit of 0 means no limit; a key without limits of its own has the configured defaults."""

    def slot(self, caller: Caller) -> AbstractAsyncContextManager[None]:
        """One of the key's concurrent requests, until the block ends. Entering raises RateLimited."""
        ...

    async def charge(self, caller: Caller) -> None:
        """Count one call of the key's minute. Raises RateLimited; then nothing is counted."""
        ...


class LocalLimiter:
    """A `Limiter` for this process: a sliding window of one minute and a count of running requests, by key.

    `share_of` is the number of processes that serve; each enforces an even share of every limit, rounded up. Thus the
    limit holds for all together, and a key whose connections fall unevenly is refused early.
    """

    def __init__(self, defaults: Limits, clock: Callable[[], float] = time.monotonic, share_of: int = 1) -> None:
        self._defaults = defaults
        self._share_of = share_of
        self._clock = clock
        self.running: dict[str, int] = {}
        """Running requests by key id; keys without any are absent."""
        self._calls = _SlidingWindows(_MAX_KEYS, clock)

    def slot(self, caller: Caller) -> "_Slot":
        """As in `Limiter`."""
        return _Slot(self, caller)

    def enter(self, caller: Caller) -> None:
        """Count a running request; `leave` must follow. Raises RateLimited; then nothing is counted."""
        limit = self._defaults.concurrent if caller.concurrent is None else caller.concurrent
        running = self.running.get(caller.key_id, 0)
        if limit and running >= self._share(limit):
            raise RateLimited(f"this key may have {limit} requests at once", retry_after_s=1)
        self.running[caller.key_id] = running + 1

    def leave(self, caller: Caller) -> None:
        """The request that `enter` counted has ended."""
        remaining = self.running[caller.key_id] - 1
        if remaining:
            self.running[caller.key_id] = remaining
        else:
            del self.running[caller.key_id]

    async def charge(self, caller: Caller) -> None:
        """As in `Limiter`."""
        limit = self._defaults.per_minute if caller.per_minute is None else caller.per_minute
        if not limit:
            return
        wait_s = self._calls.take(caller.key_id, self._share(limit), self._clock())
        if wait_s:
            raise RateLimited(f"this key may make {limit} calls a minute", retry_after_s=wait_s)

    def _share(self, limit: int) -> int:
        return -(-limit // self._share_of)


class _Slot:
    """The context manager of `LocalLimiter.slot`. A class, because every request passes it: a generator would cost
    three times as much."""

    __slots__ = ("_caller", "_limiter")

    def __init__(self, limiter: LocalLimiter, caller: Caller) -> None:
        self._limiter = limiter
        self._caller = caller

    async def __aenter__(self) -> None:
        self._limiter.enter(self._caller)

    async def __aexit__(self, *error: object) -> None:
        self._limiter.leave(self._caller)


class BadKeyLimiter:
    """Limits wrong keys by client address, so that guessing and its log stay slow. Valid keys are never refused here:
    many callers may share an address with one whose key is wrong, and 256 random bits cannot be guessed anyway.

    `limit` is wrong keys a minute and address; 0 means no limit.
    """

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._windows = _SlidingWindows(_MAX_ADDRESSES, clock)

    def __len__(self) -> int:
        """Addresses remembered."""
        return len(self._windows)

    def record(self, address: str) -> None:
        """Count one wrong key. Raises RateLimited when there were too many within a minute."""
        wait_s = self._windows.take(address, self._limit, self._clock()) if self._limit else 0.0
        if wait_s:
            raise RateLimited("too many wrong keys from this address", retry_after_s=wait_s)


class _SlidingWindows:
    """Times of the calls within the last WINDOW_S, by key; at most as many for a key as its limit."""

    def __init__(self, max_keys: int, clock: Callable[[], float]) -> None:
        self._times: BoundedCache[str, deque[float]] = BoundedCache(max_keys, ttl_s=WINDOW_S, clock=clock)

    def __len__(self) -> int:
        return len(self._times)

    def take(self, key: str, limit: int, now_s: float) -> float:
        """Record a call and return 0, or return the seconds until a call may be made."""
        times = self._times.get(key)
        if times is None:
            times = deque()
        while times and times[0] <= now_s - WINDOW_S:
            times.popleft()
        if len(times) >= limit:
            return times[0] + WINDOW_S - now_s
        times.append(now_s)
        self._times.put(key, times)
        return 0.0
