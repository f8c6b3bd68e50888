"""Remembers recent answers of remote search providers, and lets equal questions asked at once share one request."""

import asyncio
import copy
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable

from gateway.domain import Json
from gateway.wire.preencoded import PackedJson


class SearchCache:
    """At most `max_entries` answers of `max_bytes` together, for `ttl_s` seconds, the oldest go first; 0 keeps none.

    Answers are copies: their members may be set anew, and packed ones unpacked and changed.
    """

    def __init__(self, ttl_s: float, max_entries: int = 500, max_bytes: int = 33_554_432) -> None:
        self._ttl_s = ttl_s
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[Hashable, tuple[float, PackedJson]] = OrderedDict()
        self._asking: dict[Hashable, asyncio.Task[Json]] = {}
        self._askers: dict[Hashable, int] = {}

    def kept(self, key: Hashable) -> Json | None:
        """The answer that is remembered."""
        kept = self._kept.get(key)
        return kept[1].copy() if kept is not None and kept[0] > time.monotonic() else None

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[Json]]) -> Json:
        """The kept answer, or `ask`'s; failures are not kept. The shared request ends when its last asker is gone."""
        if self._ttl_s <= 0:
            return await ask()
        kept = self.kept(key)
        if kept is not None:
            return kept
        answer = await self._shared(key, ask)
        return answer.copy() if isinstance(answer, PackedJson) else copy.deepcopy(answer)

    async def _shared(self, key: Hashable, ask: Callable[[], Awaitable[Json]]) -> Json:
        task = self._asking.get(key)
        if task is None:
            task = asyncio.create_task(self._fill(key, ask))
            self._asking[key] = task
        self._askers[key] = self._askers.get(key, 0) + 1
        try:
            return await asyncio.shield(task)
        finally:
            self._askers[key] -= 1
            if self._askers[key] == 0:
                del self._askers[key]
                if self._asking.get(key) is task:
                    del self._asking[key]
                if not task.done():
                    task.cancel()

    async def _fill(self, key: Hashable, ask: Callable[[], Awaitable[Json]]) -> Json:
        answer = await ask()
        try:
            packed = PackedJson.of(answer)
        except TypeError:  # text that is no Unicode: given once, not kept
            return answer
        self._keep(key, packed)
        return packed

    def _keep(self, key: Hashable, packed: PackedJson) -> None:
        old = self._kept.pop(key, None)
        self._bytes += packed.size - (old[1].size if old else 0)
        self._kept[key] = (time.monotonic() + self._ttl_s, packed)
        while len(self._kept) > self._max_entries or self._bytes > self._max_bytes:
            _, (_, dropped) = self._kept.popitem(last=False)
            self._bytes -= dropped.size
