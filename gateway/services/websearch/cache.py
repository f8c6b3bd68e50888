"""Recent answers of remote search providers, by question; equal questions asked at the same time share one request."""

import copy
from collections.abc import Awaitable, Callable, Hashable

from gateway.domain import Json
from gateway.resilience.bounded_cache import BoundedCache
from gateway.resilience.single_flight import SingleFlight
from gateway.wire.preencoded import PackedJson

_MAX_ENTRIES = 500
_MAX_BYTES = 33_554_432
"""Chosen together: 500 answers of 64 KiB, about what ten results with their page text take. At half, a busy server
asks its paid provider again within the time to live; double lets the cache of each worker grow to 64 MiB."""


class SearchCache:
    """At most `max_entries` answers of `max_bytes` together, each for `ttl_s` seconds; the oldest go first.

    With `ttl_s` 0 nothing is remembered. Callers receive copies: they may set members of an answer anew, and unpack a
    packed one and change it.
    """

    def __init__(self, ttl_s: float, max_entries: int = _MAX_ENTRIES, max_bytes: int = _MAX_BYTES) -> None:
        self._is_enabled = ttl_s > 0
        self._answers: BoundedCache[Hashable, PackedJson] = BoundedCache(max_entries, ttl_s=ttl_s, max_weight=max_bytes)
        self._requests: SingleFlight[Hashable, Json] = SingleFlight()

    def recall(self, key: Hashable) -> Json | None:
        """A copy of the remembered answer to `key`, packed; None when there is none."""
        answer = self._answers.get(key)
        return answer.copy() if answer is not None else None

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[Json]]) -> Json:
        """The remembered answer, or the one that `ask` gives, which is then remembered. Raises what `ask` raises.

        The shared request is cancelled when its last caller leaves. Failures are not remembered.
        """
        if not self._is_enabled:
            return await ask()
        if (remembered := self.recall(key)) is not None:
            return remembered
        answer = await self._requests.run(key, lambda: self._request(key, ask))
        return answer.copy() if isinstance(answer, PackedJson) else copy.deepcopy(answer)

    async def _request(self, key: Hashable, ask: Callable[[], Awaitable[Json]]) -> Json:
        answer = await ask()
        try:
            packed = PackedJson.of(answer)
        except TypeError:  # text that is not valid Unicode: answered, but not remembered
            return answer
        self._answers.put(key, packed, weight=packed.size)
        return packed
