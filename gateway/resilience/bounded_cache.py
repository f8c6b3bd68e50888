"""A cache in memory that is bounded in entries, in weight and in time.

The oldest entry goes first: the one written longest ago, or with `lru` the one written or read longest ago. Expired
entries are dropped when they are read and when they have become the oldest. Knows nothing of what it holds and copies
nothing. Not for threads.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """At most `max_entries` values that weigh at most `max_weight` together, each for `ttl_s` seconds.

    Weights are in the caller's unit, bytes for example. `on_drop` is called with the key and the value of every entry
    that leaves, whether it expired, was pushed out, replaced or removed. `clock` gives monotonic seconds.
    """

    def __init__(
        self,
        max_entries: int,
        *,
        ttl_s: float = float("inf"),
        max_weight: float = float("inf"),
        lru: bool = False,
        on_drop: Callable[[K, V], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_entries, self._max_weight = max_entries, max_weight
        self._ttl_s, self._clock = ttl_s, clock
        self._lru = lru
        self._on_drop = on_drop
        self._entries: OrderedDict[K, tuple[V, float, float]] = OrderedDict()
        self._weight = 0.0

    def __len__(self) -> int:
        """Entries held, expired ones that were not dropped yet included."""
        return len(self._entries)

    def held(self) -> list[K]:
        """Keys of the entries held, the oldest first, as of now."""
        return list(self._entries)

    @property
    def weight(self) -> float:
        """Weight of the entries held."""
        return self._weight

    def get(self, key: K) -> V | None:
        """The value of a key, or None when there is none or it has expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry[1] <= self._clock():
            self.remove(key)
            return None
        if self._lru:
            self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, *, weight: float = 0, ttl_s: float | None = None) -> None:
        """Store a value as the newest entry in place of the key's former one; `ttl_s` overrides the cache's.

        A value that is heavier than the whole cache is not stored, and pushes nothing else out.
        """
        entries = self._entries
        if key in entries:
            self.remove(key)
        if weight > self._max_weight:
            return
        now_s = self._clock()
        entries[key] = value, now_s + (self._ttl_s if ttl_s is None else ttl_s), weight
        self._weight += weight
        while entries and (
            len(entries) > self._max_entries
            or self._weight > self._max_weight
            or next(iter(entries.values()))[1] <= now_s
        ):
            self.remove(next(iter(entries)))

    def drop_oldest(self) -> None:
        """Drop the oldest entry, if there is one."""
        if self._entries:
            self.remove(next(iter(self._entries)))

    def drop_expired(self) -> None:
        """Drop the oldest entries as far as they have expired."""
        now_s = self._clock()
        while self._entries and next(iter(self._entries.values()))[1] <= now_s:
            self.drop_oldest()

    def remove(self, key: K) -> None:
        """Drop an entry, if there is one."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._weight -= entry[2]
            if self._on_drop is not None:
                self._on_drop(key, entry[0])
