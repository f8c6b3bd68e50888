"""The keys that a running server accepts, by digest. Knows neither where they are kept nor HTTP."""

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from gateway import logs
from gateway.domain import Caller
from gateway.errors import Unauthenticated

_LEEWAY_S = 60
"""A key is accepted for so long after its expiry. Chosen: clocks of two machines may differ by that much. At half or
double, keys live half a minute shorter or a minute longer than written."""

_MAX_KEY_CHARS = 256
"""Longer keys are refused unhashed. Ours have 55 characters; the rest is room for keys of a later format."""

_MAX_LOGGED = 50
"""Ids in one log line; an import may bring thousands."""


class Keys(Protocol):
    """The keys of a running server: `api_keys.KeyStore` (a file) or `redis_keys.RedisKeyStore`."""

    def lookup(self, presented: str) -> Caller:
        """The caller that a key belongs to. Raises Unauthenticated, with the same message for every reason, and
        StateUnavailable while nobody can tell."""
        ...

    async def refresh(self) -> bool:
        """Look for new keys after a `lookup` that failed. Returns whether there are any."""
        ...

    def is_live(self, key_id: str) -> bool:
        """Whether there is a key with this id, expired or not."""
        ...

    def names(self) -> Mapping[str, str]:
        """The name of each key by its id, expired or not."""
        ...

    def problem(self) -> str:
        """What is wrong with the keys, for the operator; empty while they are good."""
        ...


class KeyTable:
    """Callers and expiry times (unix seconds, None: never) by the digest of their key. `now` gives unix time."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._by_digest: dict[bytes, tuple[bytes, Caller, int | None]] = {}
        self._by_id: dict[str, Caller] = {}
        self.ids: frozenset[str] = frozenset()
        """The ids of all keys, expired or not."""

    def __len__(self) -> int:
        """Keys held."""
        return len(self._by_digest)

    def caller_of(self, key_id: str) -> Caller | None:
        """The caller of the key with this id, expired or not; None where there is none."""
        return self._by_id.get(key_id)

    def names(self) -> Mapping[str, str]:
        """The name of each key by its id."""
        return {caller.key_id: caller.name for _, caller, _ in self._by_digest.values()}

    def lookup(self, presented: str) -> Caller:
        """The caller that a key belongs to. Raises Unauthenticated, with the same message for every reason."""
        if len(presented) <= _MAX_KEY_CHARS:
            key_digest = hashlib.sha256(presented.encode("utf-8", "surrogateescape")).digest()
            entry = self._by_digest.get(key_digest)
            if entry is not None and hmac.compare_digest(key_digest, entry[0]):
                _, caller, expires = entry
                if expires is None or self._now() < expires + _LEEWAY_S:
                    return caller
        raise Unauthenticated("this API key is not valid; ask the operator for one")

    def replace(self, entries: Iterable[tuple[bytes, Caller, int | None]]) -> None:
        """Hold these keys and no others. Ids that came and went are logged, except when there were none before."""
        before = self.ids
        self._by_digest = {entry[0]: entry for entry in entries}
        self._by_id = {caller.key_id: caller for _, caller, _ in self._by_digest.values()}
        self.ids = frozenset(self._by_id)
        if before and before != self.ids:
            added, removed = sorted(self.ids - before), sorted(before - self.ids)
            logs.event("keys_changed", added=added[:_MAX_LOGGED], removed=removed[:_MAX_LOGGED])
