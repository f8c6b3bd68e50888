"""Which value each placeholder in stored texts stands for: a map, sealed for the key and stored in their own entry.

    maps.sealed({"EMAIL_1": "jane@posthaus.org"}, owner)  ->  "gws1_…"
    maps.opened("gws1_…", owner)                           ->  {"EMAIL_1": "jane@posthaus.org"}

So a map is written with its text, lives as long, and goes with it. Nobody without the installation's secret can read it
(`access.sealing`). Its owner is the identity of the key, which rotation keeps.
"""

from collections.abc import Callable, Mapping

import orjson

from gateway.access.sealing import MAX_SEALED_BYTES, Sealer, SealRefused
from gateway.calls.call import Call
from gateway.domain import Caller, Json
from gateway.errors import InvalidRequest
from gateway.services.responses.compaction import ITEM_TYPES, carried_values
from gateway.services.responses.store import ResponseStore

_PURPOSE = "masking map"
_MOST_BYTES = MAX_SEALED_BYTES - (1 << 20)
"""Of a map, as JSON: a compaction item holds a summary and the latest calls beside it."""


class MaskingMaps:
    """`sealer` gives the installation's sealer, or raises EngineMissing. `store` has the maps of version 0.4."""

    def __init__(self, sealer: Callable[[], Sealer], store: ResponseStore) -> None:
        self._sealer = sealer
        self._store = store

    def require(self, values: Mapping[str, str]) -> None:
        """Raises EngineMissing, naming the extra, where nothing can be sealed, InvalidRequest for too many values. Call
        it before a model is asked."""
        if values:
            self._sealer()
            if len(orjson.dumps(values)) > _MOST_BYTES:
                text = f"input: {len(values):,} masked values are too many to be stored; send less, or store: false"
                raise InvalidRequest(text, param="input", code="too_many_masked_values")

    def sealed(self, values: Mapping[str, str], owner: Caller) -> str:
        """The token of a map; empty for an empty one. Raises as `require`."""
        if not values:
            return ""
        return self._sealer().seal(orjson.dumps(values), purpose=_PURPOSE, owner=owner.identity)

    def opened(self, token: str | None, owner: Caller) -> dict[str, str]:
        """The map of a token; empty for none. Raises SealRefused where it cannot be opened."""
        if not token:
            return {}
        try:
            data = self._sealer().open(token, purpose=_PURPOSE, owner=owner.identity)
        except SealRefused:
            if owner.identity == owner.key_id:
                raise
            data = self._sealer().open(token, purpose=_PURPOSE, owner=owner.key_id)  # as 0.4 has sealed it
        values: dict[str, str] = orjson.loads(data)
        return values

    async def keep_for_0_4(self, owner: Caller, name: str, sealed: str) -> None:
        """See `ResponseStore.keep_map_for_0_4`."""
        await self._store.keep_map_for_0_4(owner.identity, name, sealed)

    async def values_of(self, call: Call, name: str, sealed: str) -> dict[str, str]:
        """What the placeholders of a stored response or conversation stand for; nothing where the call is not masked,
        and where the map cannot be opened any more: its names are then as typed, and the caller is told."""
        if call.masking is None:
            return {}
        try:
            return self.opened(sealed or await self._store.map_of_0_4(call.caller, name), call.caller)
        except SealRefused:
            call.stats.warnings.append(f"{name}: what its placeholders stand for cannot be read any more")
            return {}

    async def show(self, call: Call, name: str, sealed: str, own: Json) -> None:
        """Let the answer to a call, which is a stored text, be shown with its values. `own`: see `Masking.know`."""
        if call.masking is not None:
            call.masking.know(await self.values_of(call, name, sealed), own)

    def carried(self, owner: Caller, items: object) -> dict[str, str]:
        """The map that the newest compaction item of a list carries."""
        listed = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        if not any(item.get("type") in ITEM_TYPES for item in listed):
            return {}
        return carried_values(listed, self._sealer(), owner.identity)
