"""Rate limits that several workers or machines share: the same sliding minute and the same slots as in `rate_limits`.

Each call and each slot is a member of a window (`shared_state.port`). A slot is a lease: it is renewed while the
request runs, so that the slots of a worker that dies become free. While the store is away the windows go on by
themselves (see `shared_state.fallback`). Knows no HTTP and no store.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from gateway.access.rate_limits import WINDOW_S, LimitState, over_minute, over_slots
from gateway.config.server_settings import Limits
from gateway.domain import Caller
from gateway.shared_state.port import StateDown, Windows

LEASE_S = 30.0
"""How long a slot is held without being renewed, which happens at a third of it. Chosen: at half, a machine that stands
still for 10 s loses the slots of its requests; at double, slots of a dead machine are lost for a minute."""


_NO_SLOT = nullcontext()
"""For keys without a limit: it may be entered any number of times."""


class SharedLimiter:
    """A `rate_limits.Limiter` over `windows`, which may be shared with other processes."""

    def __init__(self, windows: Windows, defaults: Limits, lease_s: float = LEASE_S) -> None:
        self._windows = windows
        self._defaults = defaults
        self._lease_s = lease_s
        self._leases: dict[str, set[str]] = {}
        self._renewing: asyncio.Task[None] | None = None

    def slot(self, caller: Caller) -> AbstractAsyncContextManager[None]:
        """One of the key's concurrent requests everywhere, until the block ends. Raises RateLimited."""
        limit = self._defaults.concurrent if caller.concurrent is None else caller.concurrent
        return self._slot(caller, limit) if limit else _NO_SLOT

    @asynccontextmanager
    async def _slot(self, caller: Caller, limit: int) -> AsyncIterator[None]:
        member = secrets.token_hex(8)
        try:
            await self._lease(caller, limit, member)
            yield
        finally:
            await self._release(caller.key_id, member)

    async def charge(self, caller: Caller) -> LimitState | None:
        """One call of the key's minute everywhere. Raises RateLimited."""
        limit = self._defaults.per_minute if caller.per_minute is None else caller.per_minute
        if not limit:
            return None
        try:
            taken = await self._windows.take(_calls(caller.key_id), limit, WINDOW_S, secrets.token_hex(8))
        except StateDown:
            return None
        if taken.wait_s:
            raise over_minute(limit, taken.wait_s)
        return LimitState(limit, taken.remaining, taken.reset_s)

    async def close(self) -> None:
        """Free the slots that are still leased."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait({self._renewing})
        for key_id, members in list(self._leases.items()):
            for member in list(members):
                await self._release(key_id, member)

    async def _lease(self, caller: Caller, limit: int, member: str) -> None:
        # Recorded before the store answers: a slot whose answer is lost must still be renewed and released.
        self._leases.setdefault(caller.key_id, set()).add(member)
        try:
            taken = await self._windows.take(_slots(caller.key_id), limit, self._lease_s, member)
        except StateDown:
            return
        if taken.wait_s:
            self._forget(caller.key_id, member)
            raise over_slots(limit)
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())

    async def _release(self, key_id: str, member: str) -> None:
        if self._forget(key_id, member):
            with contextlib.suppress(StateDown):
                await self._windows.release(_slots(key_id), (member,))

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
