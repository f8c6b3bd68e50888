"""Shared state of one process, in memory. The naive form of the other implementations, and what they fall back to."""

import time
from collections.abc import Callable, Mapping, Sequence

from gateway.resilience.bounded_cache import BoundedCache, SharedCache
from gateway.shared_state.port import Amount, Entry, ReserveResult, Taken

_MAX_NAMES = 100_000
"""Windows and counters remembered."""

_LONGEST_HOLD_S = 3600.0
"""A window that nobody has touched for so long is forgotten."""


class MemoryWindows:
    """As `port.Windows`. `clock` gives monotonic seconds. The members of a window are held equally long, so that those
    added or renewed first end first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, max_names: int = _MAX_NAMES) -> None:
        self._clock = clock
        self._windows: BoundedCache[str, dict[str, float]] = BoundedCache(max_names, ttl_s=_LONGEST_HOLD_S, clock=clock)

    async def take(self, name: str, limit: int, hold_s: float, member: str) -> Taken:
        members, now_s = self._live(name), self._clock()
        first_s = max(next(iter(members.values()), now_s + hold_s) - now_s, 0.001)
        if len(members) >= limit:
            return Taken(first_s, 0, first_s)
        self._add(name, members, {member: now_s + hold_s})
        return Taken(0.0, limit - len(members), first_s)

    async def hold(self, name: str, members: Mapping[str, float]) -> None:
        now_s = self._clock()
        self._add(name, self._live(name), {member: now_s + left_s for member, left_s in members.items()})

    async def release(self, name: str, members: Sequence[str]) -> None:
        held = self._live(name)
        for member in members:
            held.pop(member, None)
        self._windows.put(name, held) if held else self._windows.remove(name)

    def remaining(self, name: str) -> dict[str, float]:
        """The members of a window, with the seconds that each has left."""
        now_s = self._clock()
        return {member: end_s - now_s for member, end_s in self._live(name).items()}

    def _add(self, name: str, members: dict[str, float], ends: Mapping[str, float]) -> None:
        for member, end_s in ends.items():
            members.pop(member, None)  # a renewed one goes to the end
            members[member] = end_s
        self._windows.put(name, members)

    def _live(self, name: str) -> dict[str, float]:
        """The members that have not ended."""
        members, now_s = self._windows.get(name) or {}, self._clock()
        while members and members[first := next(iter(members))] <= now_s:
            del members[first]
        return members


class MemoryCounters:
    """As `port.Counters`. `now` gives unix seconds."""

    def __init__(self, now: Callable[[], float] = time.time, max_names: int = _MAX_NAMES) -> None:
        self._now = now
        self._totals: BoundedCache[str, int] = BoundedCache(max_names, clock=now)

    async def reserve(self, amounts: Sequence[Amount]) -> ReserveResult:
        before = tuple(self._totals.get(each.name) or 0 for each in amounts)
        for index, (total, each) in enumerate(zip(before, amounts, strict=True)):
            if is_too_much(total, each):
                return ReserveResult(index, before, before)
        for total, each in zip(before, amounts, strict=True):
            if each.amount:
                self._totals.put(each.name, total + each.amount, ttl_s=each.ends_at - self._now())
        after = tuple(total + each.amount for total, each in zip(before, amounts, strict=True))
        return ReserveResult(None, after, after)

    async def erase(self, prefix: str) -> int:
        names = [name for name in self._totals.held() if name.startswith(prefix)]
        for name in names:
            self._totals.remove(name)
        return len(names)


def is_too_much(total: int, amount: Amount) -> bool:
    """Whether a counter may not take the amount."""
    return amount.limit is not None and amount.amount > 0 and total + amount.amount > amount.limit


class MemoryEntries:
    """As `port.Entries`: at most `max_bytes` together; `bytes_per_owner` is what an owner keeps whatever others store
    (`bounded_cache.SharedCache` says who makes room)."""

    def __init__(
        self,
        max_bytes: int,
        bytes_per_owner: int,
        *,
        max_entries: int = 10_000,
        ttl_s: float = 3600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._entries: SharedCache[str, Entry] = SharedCache(
            max_entries, max_bytes, budget=bytes_per_owner, ttl_s=ttl_s, on_drop=self._forget_parts, clock=clock
        )
        self._entry_of_part: dict[tuple[str, str], str] = {}

    def __len__(self) -> int:
        """Entries held."""
        return len(self._entries)

    async def put(self, entry: Entry) -> bool:
        if entry.most is not None and await self.count(entry.owner) >= entry.most:
            return False
        self._entries.remove((entry.owner, entry.name))
        if not self._entries.put((entry.owner, entry.name), entry, weight=len(entry.value), ttl_s=entry.ttl_s):
            return False
        self._entry_of_part |= {(entry.owner, part): entry.name for part in entry.parts}
        return True

    async def get(self, owner: str, name: str) -> bytes | None:
        entry = self._entries.get((owner, name))
        return entry.value if entry is not None else None

    async def get_part(self, owner: str, name: str) -> bytes | None:
        holder = self._entry_of_part.get((owner, name))
        entry = self._entries.get((owner, holder)) if holder is not None else None
        if entry is None or name not in entry.parts:
            return None
        start, end = entry.parts[name]
        return entry.value[start:end]

    async def delete(self, owner: str, name: str) -> None:
        self._entries.remove((owner, name))

    async def count(self, owner: str) -> int:
        return sum(self._entries.get(key) is not None for key in self._entries.held(owner))

    async def erase(self, owner: str) -> None:
        for key in self._entries.held(owner):
            self._entries.remove(key)

    def _forget_parts(self, key: tuple[str, str], entry: Entry) -> None:
        for part in entry.parts:
            if self._entry_of_part.get((key[0], part)) == key[1]:
                del self._entry_of_part[key[0], part]
