"""Results of searches, remembered by question.

Equal questions asked at the same time share one request; where several processes share a store of entries
(`shared_state.port`), a question that one of them has asked is answered from there by the others.
"""

import contextlib
import copy
import hashlib
import time
from collections.abc import Awaitable, Callable, Hashable

import orjson

from gateway.domain import Json
from gateway.resilience.bounded_cache import BoundedCache
from gateway.resilience.single_flight import SingleFlight
from gateway.shared_state.port import Entries, Entry, StateDown
from gateway.wire.preencoded import PackedJson

_MAX_ENTRIES = 500
MAX_CACHE_BYTES = 33_554_432
"""500 answers of 64 KiB, about what ten results with their page text take."""

EVERYBODY = "all"
"""Owner of the shared entries: answers that depend on a key are never remembered."""


class SearchCache:
    """At most `max_entries` answers of `max_bytes` together, each for `ttl_s` seconds; the oldest go first.

    With `ttl_s` 0 nothing is remembered. Callers receive copies: they may set members of an answer anew, and unpack a
    packed one and change it.
    """

    def __init__(self, ttl_s: float, max_entries: int = _MAX_ENTRIES, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self._is_enabled = ttl_s > 0
        self._ttl_s = ttl_s
        self.shared: Entries | None = None
        """Where other processes find the answers; None where one process serves alone."""
        self._answers: BoundedCache[Hashable, PackedJson] = BoundedCache(max_entries, ttl_s=ttl_s, max_weight=max_bytes)
        self._requests: SingleFlight[Hashable, Json] = SingleFlight()

    def recall(self, key: Hashable) -> Json | None:
        """A copy of the answer to `key` that this process remembers, packed; None when there is none."""
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
        answer, left_s = await self._recall_shared(key)
        if answer is not None:
            packed = PackedJson.of(answer)
            self._answers.put(key, packed, weight=packed.size, ttl_s=left_s)
            return packed
        answer = await ask()
        try:
            packed = PackedJson.of(answer)
        except TypeError:  # text that is not valid Unicode: answered, but not remembered
            return answer
        self._answers.put(key, packed, weight=packed.size)
        await self._store_shared(key, packed)
        return packed

    async def _recall_shared(self, key: Hashable) -> tuple[Json | None, float]:
        """The answer that another process has stored, or None, and the seconds that it has left."""
        if self.shared is None:
            return None, 0.0
        try:
            value = await self.shared.get(EVERYBODY, _name(key))
        except StateDown:
            return None, 0.0
        if value is None:
            return None, 0.0
        stored = orjson.loads(value)
        left_s = min(stored["ends_at"] - time.time(), self._ttl_s)  # another machine's clock may be ahead
        return (stored["answer"], left_s) if left_s > 0 else (None, 0.0)

    async def _store_shared(self, key: Hashable, packed: PackedJson) -> None:
        if self.shared is not None:
            value = orjson.dumps({"ends_at": time.time() + self._ttl_s, "answer": packed})
            with contextlib.suppress(StateDown):
                await self.shared.put(Entry(EVERYBODY, _name(key), value, self._ttl_s))


def _name(key: Hashable) -> str:
    """A question's name in the shared store: providers and fields as `repr` shows them."""
    return hashlib.sha256(repr(key).encode("utf-8", "surrogatepass")).hexdigest()
