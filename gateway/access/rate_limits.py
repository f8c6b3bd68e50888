"""Rate limits: calls a minute and concurrent requests by key, wrong keys by address.

Each call and each slot is a member of a window (`shared_state.port`): in memory where one process serves alone, else
shared with the other workers and machines. A slot is a lease: it is renewed while the request runs, so that the slots
of a worker that dies become free. While the store is away the windows go on by themselves (see
`shared_state.fallback`). Every refusal says after how many seconds to try again.
"""

import asyncio
import contextlib
from typing import NamedTuple

from gateway.config.settings import Limits
from gateway.domain import Caller
from gateway.errors import RateLimited
from gateway.random_ids import random_hex
from gateway.shared_state.port import StateDown, Windows

WINDOW_S = 60.0
"""Limits are configured per minute."""

MAX_ADDRESSES = 10_000
"""Addresses that sent a wrong key within the last minute, about 1 KB each."""


class LimitState(NamedTuple):
    """A limit after a call was counted: what is left of it, and in how many seconds something comes back."""

    limit: int
    remaining: int
    reset_s: float


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
            taken = await self._windows.take(f"wrong-keys:{address}", self._limit, WINDOW_S, random_hex(8))
        except StateDown:
            return  # the wrong key is refused all the same
        if taken.wait_s:
            raise RateLimited("too many wrong keys from this address", retry_after_s=taken.wait_s)


LEASE_S = 30.0
"""Seconds after which a slot that its machine has not renewed becomes free; machines renew theirs after a third of that
time."""


class Limiter:
    """Limits of API keys. A limit of 0 means no limit; a key without limits of its own has the `defaults`."""

    def __init__(self, windows: Windows, defaults: Limits, lease_s: float = LEASE_S) -> None:
        self._windows = windows
        self._defaults = defaults
        self._lease_s = lease_s
        self._leases: dict[str, set[str]] = {}
        self._renewing: asyncio.Task[None] | None = None

    def binds(self, caller: Caller) -> bool:
        """Whether a limit binds the key; for others `take` and `charge` do nothing."""
        own, defaults = caller, self._defaults
        return bool(
            (defaults.concurrent if own.concurrent is None else own.concurrent)
            or (defaults.per_minute if own.per_minute is None else own.per_minute)
        )

    async def take(self, caller: Caller) -> str:
        """One of the key's concurrent requests everywhere, until `give` is called with what this returns: its name,
        empty where the key has no limit. Raises RateLimited."""
        limit = self._defaults.concurrent if caller.concurrent is None else caller.concurrent
        if not limit:
            return ""
        member = random_hex(8)
        try:
            await self._lease(caller, limit, member)
        except BaseException:
            await self.give(caller.key_id, member)
            raise
        return member

    async def give(self, key_id: str, member: str) -> None:
        """Give a slot back."""
        if self._forget(key_id, member):
            with contextlib.suppress(StateDown):
                await self._windows.release(_slots(key_id), (member,))

    async def charge(self, caller: Caller) -> LimitState | None:
        """One call of the key's minute everywhere. Raises RateLimited."""
        limit = self._defaults.per_minute if caller.per_minute is None else caller.per_minute
        if not limit:
            return None
        try:
            taken = await self._windows.take(_calls(caller.key_id), limit, WINDOW_S, random_hex(8))
        except StateDown:
            return None
        if taken.wait_s:
            error = RateLimited(f"this key may make {limit} calls a minute", retry_after_s=taken.wait_s)
            error.limit = limit
            raise error
        return LimitState(limit, taken.remaining, taken.reset_s)

    async def close(self) -> None:
        """Free the slots that are still leased."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait({self._renewing})
        for key_id, members in list(self._leases.items()):
            for member in list(members):
                await self.give(key_id, member)

    async def _lease(self, caller: Caller, limit: int, member: str) -> None:
        # Recorded before the store answers: a slot whose answer is lost must still be renewed and released.
        self._leases.setdefault(caller.key_id, set()).add(member)
        try:
            taken = await self._windows.take(_slots(caller.key_id), limit, self._lease_s, member)
        except StateDown:
            return
        if taken.wait_s:
            self._forget(caller.key_id, member)
            raise RateLimited(f"this key may have {limit} requests at once", retry_after_s=1)
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())

    def _forget(self, key_id: str, member: str) -> bool:
        members = self._leases.get(key_id, set())
        if member not in members:
            return False
        members.discard(member)
        if not members:
            del self._leases[key_id]
        return True

    async def _renew(self) -> None:
        """Renew the leases of running requests; ends when none runs."""
        while self._leases:
            await asyncio.sleep(self._lease_s / 3)
            for key_id, members in list(self._leases.items()):
                with contextlib.suppress(StateDown):
                    await self._renew_key(key_id, tuple(members))

    async def _renew_key(self, key_id: str, members: tuple[str, ...]) -> None:
        await self._windows.hold(_slots(key_id), dict.fromkeys(members, self._lease_s))
        ended = [member for member in members if member not in self._leases.get(key_id, ())]
        if ended:  # released while they were being renewed: the renewal has added them again
            await self._windows.release(_slots(key_id), ended)


def _calls(key_id: str) -> str:
    return f"calls:{key_id}"


def _slots(key_id: str) -> str:
    return f"slots:{key_id}"
