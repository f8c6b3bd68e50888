"""Turns at hosts: so many requests at once to one host, so many in all, and a pause where robots.txt asks for one.

Knows no HTTP. State is kept only for hosts in use, so it cannot grow.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Host:
    slots: asyncio.Semaphore
    users: int = 0
    next_start: float = 0.0
    pacing: asyncio.Lock = field(default_factory=asyncio.Lock)


class HostSlots:
    """`per_host` requests at once to one host:port, `total` in all."""

    def __init__(self, per_host: int, total: int = 32) -> None:
        self._per_host = per_host
        self._total = asyncio.Semaphore(total)
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def hold(self, host: str, delay_s: float = 0) -> AsyncIterator[None]:
        """A turn at `host`; starts there are at least `delay_s` apart. The caller bounds the wait."""
        entry = self._hosts.setdefault(host, _Host(asyncio.Semaphore(self._per_host)))
        entry.users += 1
        try:
            async with entry.slots:
                if delay_s > 0:
                    await self._pace(entry, delay_s)
                async with self._total:
                    yield
        finally:
            entry.users -= 1
            if entry.users == 0 and entry.next_start <= asyncio.get_running_loop().time():
                self._hosts.pop(host, None)
            if len(self._hosts) > 4096:
                self._forget_idle()

    async def _pace(self, entry: _Host, delay_s: float) -> None:
        loop = asyncio.get_running_loop()
        async with entry.pacing:
            wait_s = entry.next_start - loop.time()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            entry.next_start = loop.time() + delay_s

    def _forget_idle(self) -> None:
        for host in [host for host, entry in self._hosts.items() if entry.users == 0]:
            del self._hosts[host]
