"""Caches in memory that are bounded in entries, in weight and in time.

The oldest entry goes first: the one written longest ago, or with `lru` the one written or read longest ago. Expired
entries are dropped when they are read and when they have become the oldest. Not for threads.

`SharedCache` is shared by several owners, each with a budget that the others cannot take from it. While there is no
room for a new entry, expired entries are dropped, and then the oldest entry of

| the first of these that applies                                                  | owner                       |
|----------------------------------------------------------------------------------|-----------------------------|
| owners are above the budget (the new entry counts for the one that stores it)    | the one furthest above it   |
| the owner that stores has entries                                                | that owner                  |
| the new entry is within the budget                                               | the one with the most weight|
| none                                                                             | none: it is not stored      |

So an owner that is alone fills the whole cache, one that floods it loses its own entries, and entries within a budget
are dropped for another owner only to let it in at all, where the budgets of all are more than the cache. Each owner has
a `BoundedCache`; all of them are looked at for every new entry, so owners must be few (keys of the API are).
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from functools import partial
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


class SharedCache(Generic[K, V]):
    """Values by (owner, name), of at most `max_weight` together, each for `ttl_s` seconds.

    `budget`: the weight that an owner keeps. An entry weighs no less than `max_weight / max_entries`, so there are at
    most `max_entries`. `on_drop` is called with the key and the value of every entry that leaves. `clock` gives
    monotonic seconds. Used as a `BoundedCache` is.
    """

    def __init__(
        self,
        max_entries: int,
        max_weight: float,
        *,
        budget: float,
        ttl_s: float,
        on_drop: Callable[[tuple[str, K], V], None] = lambda key, value: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_weight, self._least_weight, self._budget = max_weight, max_weight / max_entries, budget
        self._new = partial(
            BoundedCache[tuple[str, K], V],
            max_entries,
            ttl_s=ttl_s,
            max_weight=max_weight,
            on_drop=on_drop,
            clock=clock,
        )
        self._owners: dict[str, BoundedCache[tuple[str, K], V]] = {}

    def __len__(self) -> int:
        """Entries held, expired ones that were not dropped yet included."""
        return sum(map(len, self._owners.values()))

    def get(self, key: tuple[str, K]) -> V | None:
        """The value of a key, or None when there is none or it has expired."""
        cache = self._owners.get(key[0])
        return cache.get(key) if cache is not None else None

    def has(self, owner: str) -> bool:
        """Whether an owner has an entry, expired or not."""
        return owner in self._owners

    def held(self, owner: str) -> list[tuple[str, K]]:
        """The keys of an owner's entries."""
        return self._owners[owner].held() if owner in self._owners else []

    def put(self, key: tuple[str, K], value: V, *, weight: float, ttl_s: float | None = None) -> bool:
        """Store a value as its owner's newest entry in place of the key's former one, if there is room. Returns whether
        there was. `ttl_s`: None for the cache's own."""
        owner, weight = key[0], max(weight, self._least_weight)
        self.remove(key)
        if weight > self._max_weight or not self._make_room(owner, weight):
            return False
        if owner not in self._owners:
            self._owners[owner] = self._new()
        self._owners[owner].put(key, value, weight=weight, ttl_s=ttl_s)
        return True

    def remove(self, key: tuple[str, K]) -> None:
        """Drop an entry, if there is one."""
        if key[0] in self._owners:
            self._owners[key[0]].remove(key)

    def _make_room(self, storing: str, weight: float) -> bool:
        """Drop entries as the module's table says until `weight` more fits. Returns whether it does."""
        if self._weight() + weight <= self._max_weight:
            return True
        for cache in self._owners.values():
            cache.drop_expired()
        while self._weight() + weight > self._max_weight:
            self._owners = {owner: cache for owner, cache in self._owners.items() if len(cache)}
            weights = {owner: cache.weight for owner, cache in self._owners.items()}
            victim = whose_entries_leave(weights, storing, weight, self._budget)
            if victim is None:
                return False
            self._owners[victim].drop_oldest()
        return True

    def _weight(self) -> float:
        return sum(cache.weight for cache in self._owners.values())


def whose_entries_leave(weights: Mapping[str, float], storing: str, weight: float, budget: float) -> str | None:
    """The owner that the module's table names, of the weight of each owner's entries; None: nothing is dropped."""
    above = {owner: held + (weight if owner == storing else 0) - budget for owner, held in weights.items()}
    heaviest = max(above, key=above.__getitem__, default=None)
    if heaviest is None or above[heaviest] > 0:
        return heaviest
    if storing in above:
        return storing
    return heaviest if weight <= budget else None
