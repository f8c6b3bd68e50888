"""Finished responses, remembered for a while so that a later request may continue them (`previous_response_id`).

In memory, bounded in entries, bytes and age. Every response belongs to the API key that made it and does not exist for
another key. Each key has a budget: who makes room when the store is full is said in `resilience.shared_cache`. Held as
JSON: a tenth of the memory of decoded objects, its weight is exact, and whoever asks gets a copy of its own. Knows
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

MAX_HISTORY_ITEMS = 5_000
MAX_HISTORY_BYTES = 32 * 1024 * 1024
"""What one request may continue. Chosen: each item costs 30 µs to decode, translate and scan, so such a history takes
150 ms of CPU a turn, in slices; agents' conversations end at some hundred items, since models' contexts are full then.
At half long agent runs would end, at double every turn of one costs twice. Bytes: as much as a request body may have
that sends the conversation itself."""

_SHOWN_ID_CHARS = 80
"""An id in an error text is cut here: it comes from the caller and may be megabytes long."""

StoreKey = tuple[str, str]
"""Owner (id of the API key) and response id."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A finished response, and the input items of its request, those of earlier turns included; as JSON.

    `head`: the response without its output. `output`: its items, one by one. `input_items`: a list of `input_count`.
    """

    head: bytes
    output: tuple[bytes, ...]
    input_items: bytes
    input_count: int

    @property
    def size(self) -> int:
        """Bytes of all of it."""
        return len(self.head) + sum(map(len, self.output)) + len(self.input_items)

    @property
    def response(self) -> Json:
        """The response object, the caller's own."""
        return {**orjson.loads(self.head), "output": [orjson.loads(item) for item in self.output]}

    @property
    def items(self) -> list[Json]:
        """The input items, the caller's own."""
        items: list[Json] = orjson.loads(self.input_items)
        return items


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
        self._place_of_item: dict[StoreKey, tuple[StoreKey, int]] = {}
        self._ids_of_items: dict[StoreKey, list[str]] = {}

    def __len__(self) -> int:
        """Responses held."""
        return len(self._responses)

    def put(self, owner: str, response: Json, items: list[Json]) -> None:
        """Remember a response, `{id, output: [{id, …}], …}`, with its input items. One for which there is no room is
        ignored. An id may come again, from an upstream that speaks /responses itself: the new one replaces."""
        head = orjson.dumps({**response, "output": None})
        output = tuple(map(orjson.dumps, response["output"]))
        stored = StoredResponse(head, output, orjson.dumps(items), len(items))
        key = (owner, str(response["id"]))
        self._responses.remove(key)  # first: dropping it later would remove the index of items that both have
        if not self._responses.put(key, stored, weight=stored.size):
            return
        for place, item in enumerate(response["output"]):
            self._place_of_item[owner, str(item["id"])] = key, place
        self._ids_of_items[key] = [str(item["id"]) for item in response["output"]]

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

        Raises InvalidRequest (OpenAI's clients expect a 400 here) when the response is not found, or there is more
        than MAX_HISTORY_ITEMS or MAX_HISTORY_BYTES.
        """
        try:
            stored = self.get(owner, response_id)
        except NotFound:
            raise InvalidRequest(
                f"previous response '{response_id[:_SHOWN_ID_CHARS]}' not found; send the whole conversation instead",
                param="previous_response_id",
                code="previous_response_not_found",
            ) from None
        check_history(stored.input_count + len(stored.output), stored.size, "previous_response_id")
        return [*stored.items, *map(orjson.loads, stored.output)]

    def item(self, owner: str, item_id: str) -> bytes:
        """An output item, the JSON of `{id, type, …}`, by its own id. Raises NotFound."""
        found = self._place_of_item.get((owner, item_id))
        stored = self._responses.get(found[0]) if found is not None else None
        if found is None or stored is None:
            raise NotFound(f"item '{item_id[:_SHOWN_ID_CHARS]}' not found", code="item_not_found")
        return stored.output[found[1]]

    def _forget_items(self, key: StoreKey, _: StoredResponse) -> None:
        for item_id in self._ids_of_items.pop(key, ()):
            self._place_of_item.pop((key[0], item_id), None)


def check_history(items: int, size: int, param: str) -> None:
    """Raises InvalidRequest for more than MAX_HISTORY_ITEMS or MAX_HISTORY_BYTES of stored items."""
    for number, limit, unit in ((items, MAX_HISTORY_ITEMS, "items"), (size, MAX_HISTORY_BYTES, "bytes")):
        if number > limit:
            raise InvalidRequest(
                f"the stored conversation has {number} {unit}; the limit is {limit}; begin a new one with a summary",
                param=param,
            )
