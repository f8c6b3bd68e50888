"""Responses kept for a while, so that a later request may go on from them.

In memory, bounded in entries, bytes and age; the oldest go first. Every entry belongs to the key that made it: to
another key it does not exist. Knows nothing of the wire beyond `id`, `output` and items with an `id`.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from gateway.domain import Json
from gateway.errors import InvalidRequest, NotFound

Place = tuple[str, str]
"""Owner (key id) and response id."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A finished response, the items it was asked with (earlier turns included), its size, and when it goes."""

    response: Json
    items: list[Json]
    size: int
    ends_at: float


class ResponseStore:
    def __init__(
        self,
        max_entries: int = 10_000,
        max_bytes: int = 64 * 1024 * 1024,
        ttl_s: float = 3600,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._ttl_s, self._clock = ttl_s, clock
        self._stored: OrderedDict[Place, Stored] = OrderedDict()
        self._items: dict[Place, Place] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._stored)

    def put(self, owner: str, response: Json, items: list[Json]) -> None:
        """Keep a response. One larger than the whole store is not kept."""
        size = len(orjson.dumps([response, items]))
        if size > self._max_bytes:
            return
        place = (owner, str(response["id"]))
        if place in self._stored:  # an upstream that speaks /responses itself may use an id again
            self._drop(place)
        self._stored[place] = Stored(response, items, size, self._clock() + self._ttl_s)
        self._bytes += size
        for item in response["output"]:
            self._items[owner, str(item["id"])] = place
        while self._stored and (
            len(self._stored) > self._max_entries
            or self._bytes > self._max_bytes
            or next(iter(self._stored.values())).ends_at <= self._clock()
        ):
            self._drop(next(iter(self._stored)))

    def get(self, owner: str, response_id: str) -> Stored:
        """Raises NotFound: never kept, kept no longer, or another key's."""
        stored = self._stored.get((owner, response_id))
        if stored is None or stored.ends_at <= self._clock():
            raise NotFound(f"Response with id '{response_id[:80]}' not found.", code="response_not_found")
        return stored

    def delete(self, owner: str, response_id: str) -> None:
        """Raises NotFound."""
        self.get(owner, response_id)
        self._drop((owner, response_id))

    def history(self, owner: str, response_id: str) -> list[Json]:
        """The items of the turns up to and including a response. Raises InvalidRequest, as OpenAI's clients expect."""
        try:
            stored = self.get(owner, response_id)
        except NotFound:
            raise InvalidRequest(
                f"Previous response with id '{response_id[:80]}' not found.",
                param="previous_response_id",
                code="previous_response_not_found",
            ) from None
        return [*stored.items, *stored.response["output"]]

    def item(self, owner: str, item_id: str) -> Json:
        """An output item by its own id. Raises NotFound."""
        stored = self._stored.get(self._items.get((owner, item_id), ("", "")))
        if stored is not None and stored.ends_at > self._clock():
            for item in stored.response["output"]:
                if item["id"] == item_id:
                    found: Json = item
                    return found
        raise NotFound(f"Item with id '{item_id[:80]}' not found.", code="item_not_found")

    def _drop(self, place: Place) -> None:
        stored = self._stored.pop(place)
        self._bytes -= stored.size
        for item in stored.response["output"]:
            self._items.pop((place[0], str(item["id"])), None)
