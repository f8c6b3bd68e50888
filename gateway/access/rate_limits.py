"""How often and how much at once: per key, per address for wrong keys. In memory, for one process.

Time is monotonic and handed in. Memory is bounded: a key that has been quiet for a minute is forgotten. A refusal says
when to come back. `Limiter` is the seam for limits that several machines share (`access.shared`).
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from gateway.config.settings import Limits
from gateway.domain import Caller
from gateway.errors import RateLimited

_WINDOW_S = 60.0


class Limiter(Protocol):
    def slot(self, caller: Caller) -> AbstractAsyncContextManager[None]:
        """One of the key's concurrent requests, until the block ends. Raises RateLimited."""
        ...

    async def charge(self, caller: Caller) -> None:
        """One call of the key's minute. Raises RateLimited."""
        ...


class LocalLimiter:
    """A sliding window of one minute, and a count of what runs, by key.

    `share_of` is the number of processes that serve; each keeps an even part of a limit (rounded up). A key whose
    connections fall unevenly is refused early rather than let through.
    """

    def __init__(self, defaults: Limits, clock: Callable[[], float] = time.monotonic, share_of: int = 1) -> None:
        self._defaults = defaults
        self._share_of = share_of
        self._clock = clock
        self.running: dict[str, int] = {}
        self._calls = _Windows(_WINDOW_S, most_keys=100_000)

    def slot(self, caller: Caller) -> "_Slot":
        return _Slot(self, caller)

    def enter(self, caller: Caller) -> None:
        """One more runs; `leave` must follow. Raises RateLimited."""
        most = self._defaults.concurrent if caller.concurrent is None else caller.concurrent
        running = self.running.get(caller.key_id, 0)
        if most and running >= self._part(most):
            raise RateLimited(f"this key may have {most} requests at once", retry_after_s=1)
        self.running[caller.key_id] = running + 1

    def leave(self, caller: Caller) -> None:
        left = self.running[caller.key_id] - 1
        if left:
            self.running[caller.key_id] = left
        else:
            del self.running[caller.key_id]

    async def charge(self, caller: Caller) -> None:
        most = self._defaults.per_minute if caller.per_minute is None else caller.per_minute
        if not most:
            return
        wait_s = self._calls.take(caller.key_id, self._part(most), self._clock())
        if wait_s:
            raise RateLimited(f"this key may make {most} calls a minute", retry_after_s=wait_s)

    def _part(self, most: int) -> int:
        return -(-most // self._share_of)


class _Slot:
    """What `LocalLimiter.slot` gives: every request goes through it, and a generator would cost three times as much."""

    __slots__ = ("_caller", "_limiter")

    def __init__(self, limiter: LocalLimiter, caller: Caller) -> None:
        self._limiter = limiter
        self._caller = caller

    async def __aenter__(self) -> None:
        self._limiter.enter(self._caller)

    async def __aexit__(self, *error: object) -> None:
        self._limiter.leave(self._caller)


class BadKeyLimiter:
    """Wrong keys by address. It slows down guessing and the log of it; valid keys never meet it: 256 random bits cannot
    be guessed, and many callers may share an address with one whose key is wrong."""

    def __init__(self, most_per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most_per_minute
        self._clock = clock
        self._windows = _Windows(_WINDOW_S, most_keys=10_000)

    def __len__(self) -> int:
        """Addresses remembered."""
        return len(self._windows)

    def record(self, address: str) -> None:
        """One wrong key. Raises RateLimited when there were too many within a minute."""
        wait_s = self._windows.take(address, self._most, self._clock()) if self._most else 0.0
        if wait_s:
            raise RateLimited("too many wrong keys from this address", retry_after_s=wait_s)


class _Windows:
    """Times of the latest calls by key, at most as many as the key may make; the longest quiet go first."""

    def __init__(self, window_s: float, most_keys: int) -> None:
        self._window_s = window_s
        self._most_keys = most_keys
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._times)

    def wait(self, key: str, most: int, now: float) -> float:
        """Seconds until the key may make a call; 0 = now."""
        times = self._times.get(key)
        if times is None:
            return 0.0
        while times and times[0] <= now - self._window_s:
            times.popleft()
        return times[0] + self._window_s - now if len(times) >= most else 0.0

    def take(self, key: str, most: int, now: float) -> float:
        """Make a call if the key may; else the seconds to wait."""
        wait_s = self.wait(key, most, now)
        if not wait_s:
            self._times.setdefault(key, deque()).append(now)
            self._times.move_to_end(key)
            self._forget(now)
        return wait_s

    def _forget(self, now: float) -> None:
        while self._times:
            key = next(iter(self._times))
            times = self._times[key]
            if len(self._times) <= self._most_keys and times and times[-1] > now - self._window_s:
                return
            del self._times[key]
