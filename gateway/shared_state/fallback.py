"""Shared state that goes on while its store is away: what several share is then divided among them.

Theory of operation. The first store is asked; what it has granted is noted in the second. While the first is down the
second answers alone:

| port     | while the first is down                               | when it is back                                   |
|----------|-------------------------------------------------------|---------------------------------------------------|
| windows  | this process grants its share of the limit; its own   | its members that have not ended are told again,   |
|          | members of before the outage count                    | under the same names                              |
| counters | this machine grants its share of what was left when   | what was added meanwhile is added; everything, if |
|          | the first was last heard; of the limit if it never was| the first has lost its data (its epoch is new)    |
| the file | this process goes on in memory from what it holds     | what was added meanwhile is added                 |
| entries  | this machine's own                                    | those that it has kept meanwhile are sent         |
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from gateway.resilience.bounded_cache import BoundedCache
from gateway.shared_state.memory import MemoryCounters, MemoryWindows
from gateway.shared_state.port import Amount, Entries, Entry, ReserveResult, StateDown, Taken, Windows
from gateway.shared_state.redis_state import RedisConnection, RedisCounters, RedisWindows
from gateway.shared_state.sqlite_state import SqliteCounters

_MAX_KNOWN = 20_000
"""Counters whose totals are remembered, and windows and entries that are sent again."""
_TELL_AFTER_S = 1.0
"""A store that has just come back answers after that."""


def _share(limit: int, parts: int) -> int:
    """An even part of a limit, rounded up."""
    return -(-limit // parts)


class FallbackWindows:
    """As `port.Windows`. `share_of`: the processes that the limit is divided among while `first` is down."""

    def __init__(self, first: Windows, share_of: int, own: MemoryWindows | None = None) -> None:
        self._first = first
        self._own = own or MemoryWindows()
        self._share_of = share_of
        self._names: BoundedCache[str, None] = BoundedCache(_MAX_KNOWN, ttl_s=120.0)

    async def take(self, name: str, limit: int, hold_s: float, member: str) -> Taken:
        try:
            taken = await self._first.take(name, limit, hold_s, member)
        except StateDown:
            taken = await self._own.take(name, _share(limit, self._share_of), hold_s, member)
        else:
            if not taken.wait_s:
                await self._own.hold(name, {member: hold_s})
        if not taken.wait_s:
            self._names.put(name, None)
        return taken

    async def hold(self, name: str, members: Mapping[str, float]) -> None:
        await self._own.hold(name, members)
        self._names.put(name, None)
        await self._first.hold(name, members)

    async def release(self, name: str, members: Sequence[str]) -> None:
        await self._own.release(name, members)
        await self._first.release(name, members)

    async def catch_up(self, redis: RedisConnection) -> None:
        """A `redis_state.OnBack`: tell Redis this process's members."""
        windows = RedisWindows(redis)
        for name in self._names.held():
            if members := self._own.remaining(name):
                await windows.hold_while_checking(name, members)


class FallbackCounters:
    """As `port.Counters`: Redis, then the machine's file, then this process's memory, which goes on from what the file
    holds and is written into it when it can be.

    `machines`: how many divide what is left while Redis is down.
    """

    def __init__(self, file: SqliteCounters, redis: RedisCounters | None = None, machines: int = 1) -> None:
        self._redis, self._file, self._memory = redis, file, MemoryCounters()
        self._read: BoundedCache[str, int] = BoundedCache(_MAX_KNOWN)  # totals of the file
        self._owed: dict[tuple[str, bool], Amount] = {}  # what it has not got, by name and whether Redis has not either
        self._machines = machines
        self._known: BoundedCache[str, tuple[int, int]] = BoundedCache(_MAX_KNOWN)

    async def reserve(self, amounts: Sequence[Amount]) -> ReserveResult:
        if self._redis is None:
            return await self._reserve_here(amounts)
        try:
            reserved = await self._redis.reserve(amounts)
        except StateDown:
            return await self._reserve_here([self._divided(each) for each in amounts], unsent=True)
        for each, total, own in zip(amounts, reserved.totals, reserved.own, strict=True):
            self._known.put(each.name, (total, own))
        if reserved.refused is None:
            await self._reserve_here([each._replace(limit=None) for each in amounts])
        return reserved

    async def erase(self, prefix: str) -> int:
        """As in the port, here and in Redis; the larger number counts. Raises StateDown."""
        here = await self._file.erase(prefix) + await self._memory.erase(prefix)
        return here if self._redis is None else max(here, await self._redis.erase(prefix))

    async def _reserve_here(self, amounts: Sequence[Amount], *, unsent: bool = False) -> ReserveResult:
        try:
            if self._owed:
                await self._pay()
            reserved = await self._file.reserve(amounts, unsent=unsent)
        except StateDown:
            return await self._reserve_in_memory(amounts, unsent)
        for each, total in zip(amounts, reserved.totals, strict=True):
            self._read.put(each.name, total)
        return reserved

    async def _reserve_in_memory(self, amounts: Sequence[Amount], unsent: bool) -> ReserveResult:
        """As `reserve`, above what the file holds, or held when it was last read: a full disk can be read."""
        for each in amounts:
            if not (await self._memory.reserve([each._replace(amount=0, limit=None)])).totals[0]:
                total = self._read.get(each.name) or 0
                with contextlib.suppress(StateDown):
                    total = (await self._file.reserve([each._replace(amount=0, limit=None)])).totals[0]
                await self._memory.reserve([each._replace(amount=total, limit=None)])
        reserved = await self._memory.reserve(amounts)
        for each in amounts if reserved.refused is None else ():
            before = self._owed.get((each.name, unsent))
            if before is not None or len(self._owed) < _MAX_KNOWN:
                more = each.amount + (before.amount if before is not None else 0)
                self._owed[each.name, unsent] = each._replace(amount=more, limit=None)
        return reserved

    async def _pay(self) -> None:
        """Write into the file what was counted in memory. Raises StateDown."""
        owed, self._owed = self._owed, {}
        try:
            for kind in (True, False):
                if amounts := [each for (_, unsent), each in owed.items() if unsent == kind]:
                    await self._file.reserve(amounts, unsent=kind)
                    owed = {key: each for key, each in owed.items() if key[1] != kind}
        except StateDown:
            self._owed = owed | self._owed
            raise
        self._memory = MemoryCounters()

    def _divided(self, amount: Amount) -> Amount:
        """The amount with what this machine may have of the counter while Redis is down."""
        if amount.limit is None:
            return amount
        total, own = self._known.get(amount.name) or (0, 0)
        return amount._replace(limit=own + _share(max(0, amount.limit - total), self._machines))

    async def catch_up(self, connection: RedisConnection) -> None:
        """A `redis_state.OnBack`: tell Redis what it has missed. A file that cannot be used tells nothing."""
        if self._redis is None:
            return
        try:
            self._redis.machine = await self._file.machine()
            await self._file.note_epoch(connection.epoch)
            missed = await self._file.take_unsent()
        except StateDown:
            return
        if missed:
            try:
                await self._redis.add_while_checking(missed)
            except StateDown:
                await self._file.put_back(missed)
                raise


class FallbackEntries:
    """As `port.Entries`. What `second` has kept while `first` was down is found there, and told when that is back."""

    def __init__(self, first: Entries, second: Entries) -> None:
        self._first, self._second = first, second
        self._untold: BoundedCache[tuple[str, str], Entry] = BoundedCache(_MAX_KNOWN)
        self._telling: asyncio.Task[None] | None = None

    async def put(self, entry: Entry) -> bool:
        place = entry.owner, entry.name
        try:
            is_kept = await self._first.put(entry)
        except StateDown:
            is_kept = await self._second.put(entry)
            if is_kept:
                self._untold.put(place, replace(entry, value=b"", most=None))
            return is_kept
        if self._untold.get(place) is not None:
            await self._forget(place)
        self._tell()
        return is_kept

    async def get(self, owner: str, name: str) -> bytes | None:
        if self._untold.get((owner, name)) is not None:  # what the first has is older
            value = await self._second.get(owner, name)
            if value is not None:
                self._tell()
                return value
        return await self._first_found(lambda entries: entries.get(owner, name))

    async def get_part(self, owner: str, name: str) -> bytes | None:
        return await self._first_found(lambda entries: entries.get_part(owner, name))

    async def delete(self, owner: str, name: str) -> None:
        """As in the port. While the first is down the entry may live on there, so StateDown is raised then."""
        await self._forget((owner, name))
        await self._first.delete(owner, name)

    async def tell(self) -> None:
        """Give the first store what the second has kept for it. Raises StateDown where the first is still down."""
        for place in self._untold.held():
            entry, value = self._untold.get(place), await self._second.get(*place)
            if entry is not None and value is not None:
                await self._first.put(replace(entry, value=value))
            await self._forget(place)

    async def catch_up(self, connection: RedisConnection) -> None:
        """A `redis_state.OnBack`: tell Redis as soon as it answers."""
        self._tell(_TELL_AFTER_S)

    def _tell(self, after_s: float = 0.0) -> None:
        if self._untold.held() and (self._telling is None or self._telling.done()):
            self._telling = asyncio.create_task(self._tell_later(after_s))

    async def _tell_later(self, after_s: float) -> None:
        await asyncio.sleep(after_s)
        with contextlib.suppress(StateDown):
            await self.tell()

    async def _forget(self, place: tuple[str, str]) -> None:
        self._untold.remove(place)
        await self._second.delete(*place)

    async def count(self, owner: str) -> int:
        """As in the port; what `second` has alone counts too."""
        kept_meanwhile = await self._second.count(owner)
        try:
            return await self._first.count(owner) + kept_meanwhile
        except StateDown:
            return kept_meanwhile

    async def erase(self, owner: str) -> None:
        """As `delete`."""
        for place in self._untold.held():
            if place[0] == owner:
                self._untold.remove(place)
        await self._second.erase(owner)
        await self._first.erase(owner)

    async def _first_found(self, get: Callable[[Entries], Awaitable[bytes | None]]) -> bytes | None:
        """What one of the two has. Raises StateDown where the first is down and the second has nothing."""
        try:
            value = await get(self._first)
        except StateDown:
            value = await get(self._second)
            if value is None:
                raise
            return value
        return value if value is not None else await get(self._second)
