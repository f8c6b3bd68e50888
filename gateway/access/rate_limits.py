"""Rate limits: calls a minute and concurrent requests by key, wrong keys by address.

Two implementations of `Limiter`: `LocalLimiter` for a gateway of one process, in memory and without waiting;
`shared_limits.SharedLimiter` for several workers or machines. Every refusal says after how many seconds to try again.
Knows no HTTP.
"""

import secrets
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from gateway.config.server_settings import Limits
from gateway.domain import Caller
from gateway.errors import RateLimited
from gateway.resilience.bounded_cache import BoundedCache
from gateway.shared_state.port import StateDown, Windows

WINDOW_S = 60.0
"""Limits are configured per minute."""

_MAX_KEYS = 100_000
"""Keys that called within the last minute, about 1 KB each. Chosen: more keys than any key file holds. At half it would
still not be reached; double would only allow 200 MB instead of 100."""

MAX_ADDRESSES = 10_000
"""Addresses that sent a wrong key within the last minute, about 1 KB each. Chosen: an attacker who has more addresses
is forgotten early and may guess faster. At half, 5,000 addresses are enough for that; at double, wrong keys may hold
20 MB instead of 10."""


class LimitState(NamedTuple):
    """A limit after a call was counted: what is left of it, and in how many seconds something comes back."""

    limit: int
    remaining: int
    reset_s: float


class Limiter(Protocol):
    """Limits of API keys. A limit of 0 means no limit; a key without limits of its own has the configured defaults."""

    def slot(self, caller: Caller) -> AbstractAsyncContextManager[None]:
        """One of the key's concurrent requests, until the block ends. Entering raises RateLimited."""
        ...

    async def charge(self, caller: Caller) -> LimitState | None:
        """Count one call of the key's minute; None without a limit. Raises RateLimited; then nothing is counted."""
        ...


def over_minute(limit: int, wait_s: float) -> RateLimited:
    """The refusal of a call beyond a key's minute."""
    error = RateLimited(f"this key may make {limit} calls a minute", retry_after_s=wait_s)
    error.limit = limit
    return error


def over_slots(limit: int) -> RateLimited:
    """The refusal of a request beyond a key's requests at once."""
    return RateLimited(f"this key may have {limit} requests at once", retry_after_s=1)


class LocalLimiter:
    """A `Limiter` for a gateway of one process: a sliding window of one minute and a count of running requests, by key.

    `clock` gives monotonic seconds. A key that has made no call for a minute is forgotten.
    """

    def __init__(self, defaults: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._defaults = defaults
        self._clock = clock
        self.running: dict[str, int] = {}
        """Running requests by key id; keys without any are absent."""
        self._times: BoundedCache[str, deque[float]] = BoundedCache(_MAX_KEYS, ttl_s=WINDOW_S, clock=clock)

    def slot(self, caller: Caller) -> "_Slot":
        """As in `Limiter`."""
        return _Slot(self, caller)

    def enter(self, caller: Caller) -> None:
        """Count a running request; `leave` must follow. Raises RateLimited; then nothing is counted."""
        limit = self._defaults.concurrent if caller.concurrent is None else caller.concurrent
        running = self.running.get(caller.key_id, 0)
        if limit and running >= limit:
            raise over_slots(limit)
        self.running[caller.key_id] = running + 1

    def leave(self, caller: Caller) -> None:
        """The request that `enter` counted has ended."""
        remaining = self.running[caller.key_id] - 1
        if remaining:
            self.running[caller.key_id] = remaining
        else:
            del self.running[caller.key_id]

    async def charge(self, caller: Caller) -> LimitState | None:
        """As in `Limiter`."""
        limit = self._defaults.per_minute if caller.per_minute is None else caller.per_minute
        if not limit:
            return None
        times, now_s = self._times.get(caller.key_id), self._clock()
        if times is None:
            times = deque()
        while times and times[0] <= now_s - WINDOW_S:
            times.popleft()
        if len(times) >= limit:
            raise over_minute(limit, times[0] + WINDOW_S - now_s)
        times.append(now_s)
        self._times.put(caller.key_id, times)
        return LimitState(limit, limit - len(times), times[0] + WINDOW_S - now_s)


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

    def __init__(self, limit: int, windows: Windows) -> None:
        self._limit = limit
        self._windows = windows

    async def record(self, address: str) -> None:
        """Count one wrong key. Raises RateLimited when there were too many within a minute."""
        if not self._limit:
            return
        try:
            taken = await self._windows.take(f"wrong-keys:{address}", self._limit, WINDOW_S, secrets.token_hex(8))
        except StateDown:
            return  # the wrong key is refused all the same
        if taken.wait_s:
            raise RateLimited("too many wrong keys from this address", retry_after_s=taken.wait_s)
