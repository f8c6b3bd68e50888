"""Finished responses, remembered for a while so that a later request may continue them (`previous_response_id`).

In memory, bounded in entries, bytes and age. Every response belongs to the API key that made it and does not exist for
another key. Each key has a budget: who makes room when the store is full is said in `resilience.shared_cache`. Knows
nothing of the wire format beyond `id`, `output`, and items with an `id`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from gateway.domain import Json
from gateway.errors import InvalidRequest, NotFound
from gateway.resilience.shared_cache import SharedCache

_MAX_ENTRIES = 10_000
_MAX_BYTES = 64 * 1024 * 1024
_BYTES_PER_KEY = 16 * 1024 * 1024
_TTL_S = 3600.0
"""`limits.response_store_bytes_per_key` says why a key's budget is a quarter. The rest was chosen together. Bytes bound
the memory of each worker: at half, about a hundred conversations of 256 KiB are remembered at once; double is felt on a
machine of 1 GiB. Entries bound the index of small responses (about 1 KB each beside their bytes). An hour is a pause in
a conversation; at half, a user who comes back from lunch gets `previous_response_not_found`; double only fills the
bytes sooner."""

_SHOWN_ID_CHARS = 80
"""An id in an error text is cut here: it comes from the caller and may be megabytes long."""

StoreKey = tuple[str, str]
"""Owner (id of the API key) and response id."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A finished response, and the input items of its request, those of earlier turns included."""

    response: Json
    items: list[Json]


class ResponseStore:
    """At most `max_entries` responses of `max_bytes` together, each for `ttl_s` seconds. `clock` is monotonic.

    `bytes_per_key`: the budget of a key, which it keeps whatever other keys store.
    """

    def __init__(
        self,
        bytes_per_key: int = _BYTES_PER_KEY,
        *,
        max_entries: int = _MAX_ENTRIES,
        max_bytes: int = _MAX_BYTES,
        ttl_s: float = _TTL_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._responses: SharedCache[str, StoredResponse] = SharedCache(
            max_entries,
            max_bytes,
            budget=bytes_per_key,
            ttl_s=ttl_s,
            on_drop=self._forget_items,
            clock=clock,
        )
        self._response_of_item: dict[StoreKey, StoreKey] = {}

    def __len__(self) -> int:
        """Responses held."""
        return len(self._responses)

    def put(self, owner: str, response: Json, items: list[Json]) -> None:
        """Remember a response, `{id, output: [{id, …}], …}`, with its input items. One for which there is no room is
        ignored. An id may come again, from an upstream that speaks /responses itself: the new one replaces."""
        size = len(orjson.dumps([response, items]))
        key = (owner, str(response["id"]))
        if self._responses.put(key, StoredResponse(response, items), weight=size):
            for item in response["output"]:
                self._response_of_item[owner, str(item["id"])] = key

    def get(self, owner: str, response_id: str) -> StoredResponse:
        """A remembered response. Raises NotFound when it never existed, has expired, or is another key's."""
        stored = self._responses.get((owner, response_id))
        if stored is None:
            shown = response_id[:_SHOWN_ID_CHARS]
            raise NotFound(f"response '{shown}' not found; responses expire after a while", code="response_not_found")
        return stored

    def delete(self, owner: str, response_id: str) -> None:
        """Forget a response. Raises NotFound."""
        self.get(owner, response_id)
        self._responses.remove((owner, response_id))

    def history(self, owner: str, response_id: str) -> list[Json]:
        """The input and output items of all turns up to and including a response, oldest first.

        Raises InvalidRequest (OpenAI's clients expect a 400 here) when the response is not found.
        """
        try:
            stored = self.get(owner, response_id)
        except NotFound:
            raise InvalidRequest(
                f"previous response '{response_id[:_SHOWN_ID_CHARS]}' not found; send the whole conversation instead",
                param="previous_response_id",
                code="previous_response_not_found",
            ) from None
        return [*stored.items, *stored.response["output"]]

    def item(self, owner: str, item_id: str) -> Json:
        """An output item, `{id, type, …}`, by its own id. Raises NotFound."""
        key = self._response_of_item.get((owner, item_id))
        stored = self._responses.get(key) if key is not None else None
        for item in stored.response["output"] if stored is not None else ():
            if item["id"] == item_id:
                output_item: Json = item
                return output_item
        raise NotFound(f"item '{item_id[:_SHOWN_ID_CHARS]}' not found", code="item_not_found")

    def _forget_items(self, key: StoreKey, stored: StoredResponse) -> None:
        for item in stored.response["output"]:
            self._response_of_item.pop((key[0], str(item["id"])), None)
