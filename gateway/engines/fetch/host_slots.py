"""How many requests run at once, to one host and to all, each key with its due; and the pause between two to a host."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from gateway.resilience.fair_queue import HALF, FairQueue

_TOTAL = 32  # requests at once to all hosts

_SPARE_PART = 4  # one request in so many is spare, at least one

_MAX_HOSTS = 4096  # idle hosts are forgotten above this number


@dataclass(slots=True)
class _Host:
    slots: FairQueue
    users: int = 0
    next_start: float = 0.0
    pacing: asyncio.Lock = field(default_factory=asyncio.Lock)


class HostSlots:
    """At most `per_host` requests at once to one host (a HOST:PORT), and `total` in all, spare ones aside.

    `share`: the part of each that is one key's due while others wait.
    """

    def __init__(self, per_host: int, total: int = _TOTAL, share: float = HALF) -> None:
        self._per_host = per_host
        self._share = share
        self._total = self._queue(total)
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def hold(self, host: str, delay_s: float = 0, owner: str = "") -> AsyncIterator[None]:
        """A slot for one request of the key `owner` to `host` until the block ends; requests there start at least
        `delay_s` seconds apart. Waits without a limit: the caller sets a timeout."""
        state = self._hosts.get(host)
        if state is None:
            state = self._hosts[host] = _Host(self._queue(self._per_host))
        state.users += 1
        try:
            async with state.slots.hold(owner):
                if delay_s > 0:
                    await self._pace(state, delay_s)
                async with self._total.hold(owner):
                    yield
        finally:
            state.users -= 1
            if state.users == 0 and state.next_start <= asyncio.get_running_loop().time():
                self._hosts.pop(host, None)
            if len(self._hosts) > _MAX_HOSTS:
                self._forget_idle()

    def _queue(self, slots: int) -> FairQueue:
        return FairQueue(slots, share=self._share, spare=max(1, slots // _SPARE_PART))

    async def _pace(self, state: _Host, delay_s: float) -> None:
        loop = asyncio.get_running_loop()
        async with state.pacing:
            wait_s = state.next_start - loop.time()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            state.next_start = loop.time() + delay_s

    def _forget_idle(self) -> None:
        for host in [host for host, state in self._hosts.items() if state.users == 0]:
            del self._hosts[host]
