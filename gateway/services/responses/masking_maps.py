"""The maps of stored responses whose texts hold placeholders: which value each stands for, sealed for the key.

    maps.keep(key_id, "resp_7f…", {"EMAIL_1": "jane@posthaus.org"})
    maps.load(key_id, "resp_7f…")  ->  {"EMAIL_1": "jane@posthaus.org"}

A map lies beside its response, in the same store and for the same time; nobody without the installation's secret can
read it (`access.sealing`).
"""

from collections.abc import Callable, Mapping

import orjson

from gateway.access.sealing import Sealer
from gateway.services.responses.compaction import ITEM_TYPES, carried_values
from gateway.shared_state.port import Entries, Entry, StateDown

_PURPOSE = "masking map"


class MaskingMaps:
    """`sealer` gives the installation's sealer, or raises EngineMissing; `ttl_s`: that of responses."""

    def __init__(self, entries: Entries, sealer: Callable[[], Sealer], ttl_s: float) -> None:
        self._entries, self._sealer, self._ttl_s = entries, sealer, ttl_s

    def require(self) -> None:
        """Raises EngineMissing, naming the extra, where nothing can be sealed."""
        self._sealer()

    async def keep(self, owner: str, response_id: str, values: Mapping[str, str]) -> None:
        """Seal a response's map. Raises EngineMissing; a store that is away is as for the response itself."""
        token = self._sealer().seal(orjson.dumps(values), purpose=_PURPOSE, owner=owner)
        try:
            await self._entries.put(Entry(owner, _name(response_id), token.encode(), self._ttl_s))
        except StateDown:
            return

    async def load(self, owner: str, response_id: str) -> dict[str, str]:
        """The map of a response; empty where it has none. Raises SealRefused where it cannot be opened."""
        try:
            token = await self._entries.get(owner, _name(response_id))
        except StateDown:
            return {}
        if token is None:
            return {}
        values: dict[str, str] = orjson.loads(self._sealer().open(token.decode(), purpose=_PURPOSE, owner=owner))
        return values

    def carried(self, owner: str, items: object) -> dict[str, str]:
        """The map that the newest compaction item of a request's input carries. `owner`: the identity of its key."""
        listed = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        if not any(item.get("type") in ITEM_TYPES for item in listed):
            return {}
        return carried_values(listed, self._sealer(), owner)

    async def forget(self, owner: str, response_id: str) -> None:
        """Delete a response's map."""
        try:
            await self._entries.delete(owner, _name(response_id))
        except StateDown:
            return


def _name(response_id: str) -> str:
    return f"masking:{response_id}"
