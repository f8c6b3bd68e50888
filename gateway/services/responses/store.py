"""Finished responses, remembered for a while so that a later request may continue them (`previous_response_id`).

In a store of entries (`shared_state.port`): memory, the state directory or Redis, there as plain text. Every response
belongs to the API key that made it and does not exist for another key. The store bounds what a key and all of them
may hold. Only `id`, `output`, and the `id` of items are read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass

import orjson

from gateway.domain import Caller, EventStream, Json
from gateway.errors import InvalidRequest, NotFound, StateUnavailable
from gateway.shared_state.port import Entries, Entry, StateDown

MAX_STORED_BYTES = 64 * 1024 * 1024
"""Most bytes of all responses of one machine; a key has a quarter (`limits.response_store_bytes_per_key`)."""

MAX_HISTORY_ITEMS = 5_000
MAX_HISTORY_BYTES = 32 * 1024 * 1024
"""What one request may continue. Each item costs 30 µs to decode, translate and scan, so such a history takes 150 ms of
CPU a turn, in slices; agents' conversations end at some hundred items, since models' contexts are full then. Bytes: as
much as a request body may have that sends the conversation itself."""

_SHOWN_ID_CHARS = 80
"""An id in an error text is cut here: it comes from the caller and may be megabytes long."""

_SEALED_PART = ":sealed"
"""Behind an item's id: the name of the part with the map of its placeholders."""
_RETRY_S = 5.0
"""When to ask again while the store is away: as long as Redis is left alone after a failure."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A finished response, and the input items of its request, those of earlier turns included. The caller's own.
    `sealed`: what their placeholders stand for (`masking_maps`), empty where they have none."""

    response: Json
    items: list[Json]
    sealed: str = ""

    @property
    def history(self) -> list[Json]:
        """The input and output items of all turns up to and including it, oldest first."""
        return [*self.items, *self.response["output"]]


@contextmanager
def available(what: str) -> Iterator[None]:
    """Say it to the caller where the store of `what` is away. Raises StateUnavailable."""
    try:
        yield
    except StateDown:
        text = f"{what} cannot be reached for the moment; try again"
        raise StateUnavailable(text, retry_after_s=_RETRY_S) from None


async def owner_of(entries: Entries, caller: Caller, name: str) -> str:
    """Whose an entry is for a caller: of all keys that were rotated to it, by the first of them; by the key alone where
    version 0.4 has stored it. Raises StateDown."""
    if caller.identity != caller.key_id and await entries.get(caller.identity, name) is None:
        return caller.key_id if await entries.get(caller.key_id, name) is not None else caller.identity
    return caller.identity


class ResponseStore:
    """Responses in `entries`, each for `ttl_s` seconds. Every method but `put` raises StateUnavailable while the store
    is away."""

    def __init__(self, entries: Entries, ttl_s: float = 3600.0) -> None:
        self._entries = entries
        self.ttl_s = ttl_s

    async def put(self, owner: str, response: Json, items: list[Json], sealed: str = "") -> int:
        """Remember a response, `{id, output: [{id, …}], …}`, with its input items and its sealed map. One for which
        there is no room is ignored. An id may come again, from an upstream that speaks /responses itself: the new one
        replaces. Returns its bytes."""
        value, parts = _encoded(response, items, sealed)
        await self.keep_map_for_0_4(owner, str(response["id"]), sealed)
        with suppress(StateDown):  # the answer itself is not lost
            await self._entries.put(Entry(owner, str(response["id"]), value, self.ttl_s, parts))
        return len(value)

    async def owner_of(self, caller: Caller, response_id: str) -> str:
        """Under whose id a response of a caller is stored, or would be."""
        with available("stored responses"):
            return await owner_of(self._entries, caller, response_id)

    async def get(self, owner: str, response_id: str) -> StoredResponse:
        """A remembered response. Raises NotFound when it never existed, has expired, or is another key's."""
        return _decoded((await self._value(owner, response_id))[1])

    async def delete(self, owner: str, response_id: str) -> None:
        """Forget a response. Raises NotFound."""
        await self._value(owner, response_id)
        with available("stored responses"):
            await self._entries.delete(owner, response_id)
            await self._entries.delete(owner, _map_of_0_4(response_id))

    async def history(self, owner: str, response_id: str) -> StoredResponse:
        """A response that is gone on from. Raises InvalidRequest (OpenAI's clients expect a 400 here) when it is not
        found, or there is more than MAX_HISTORY_ITEMS or MAX_HISTORY_BYTES."""
        try:
            count, value = await self._value(owner, response_id)
        except NotFound:
            raise InvalidRequest(
                f"previous response '{response_id[:_SHOWN_ID_CHARS]}' not found; send the whole conversation instead",
                param="previous_response_id",
                code="previous_response_not_found",
            ) from None
        check_history(count, len(value), "previous_response_id")
        return _decoded(value)

    async def keep_map_for_0_4(self, owner: str, name: str, sealed: str) -> None:
        """Keep the map of a response or conversation where version 0.4 looks for it: without one it would give its
        placeholders to other values after a rollback. Goes with the version after this one."""
        if sealed:
            with suppress(StateDown):
                await self._entries.put(Entry(owner, _map_of_0_4(name), sealed.encode(), self.ttl_s))

    async def map_of_0_4(self, caller: Caller, name: str) -> str:
        """The sealed map of a response or conversation that version 0.4 has stored; empty for none."""
        with available("stored responses"):
            owner = await owner_of(self._entries, caller, _map_of_0_4(name))
            token = await self._entries.get(owner, _map_of_0_4(name))
        return token.decode() if token is not None else ""

    async def item(self, caller: Caller, item_id: str) -> tuple[bytes, str]:
        """An output item, the JSON of `{id, type, …}`, by its own id, and the sealed map of its response. Raises
        NotFound."""
        item = sealed = None
        for owner in dict.fromkeys((caller.identity, caller.key_id)) if not item_id.endswith(_SEALED_PART) else ():
            with available("stored responses"):
                item = item or await self._entries.get_part(owner, item_id)
                sealed = sealed or await self._entries.get_part(owner, item_id + _SEALED_PART)
        if item is None:
            text = f"item '{item_id[:_SHOWN_ID_CHARS]}' is in no stored answer; send the item itself, with its content"
            raise NotFound(text, code="item_not_found")
        return item, (sealed or b"").decode()

    async def _value(self, owner: str, response_id: str) -> tuple[int, bytes]:
        """How many items a response has with those before it, and its JSON. Raises NotFound, StateUnavailable."""
        value = None
        with available("stored responses"):
            if ":" not in response_id:  # the names of other entries
                value = await self._entries.get(owner, response_id)
        if value is None:
            shown = response_id[:_SHOWN_ID_CHARS]
            raise NotFound(f"response '{shown}' not found; responses expire after a while", code="response_not_found")
        count, _, document = value.partition(b"\n")
        return int(count), document


Keeper = Callable[[Json], Awaitable[object]]
"""Keeps a finished response somewhere."""


class Storing:
    """Gives the response of one request to its keepers: the events of its end wait until all have it.

    `put` may be called where nothing can be awaited, in the middle of a stream.
    """

    def __init__(self, keepers: Sequence[Keeper]) -> None:
        self._keepers = list(keepers)
        self._waiting: list[Json] = []

    def keep(self, keeper: Keeper) -> None:
        """Give the response to one keeper more."""
        self._keepers.append(keeper)

    def put(self, response: Json) -> None:
        """Keep a response at the next `finish`."""
        self._waiting.append(response)

    async def finish(self) -> None:
        """Give everything that was put to the keepers: to all of them, also when the client leaves meanwhile."""
        if self._waiting and self._keepers:
            await asyncio.shield(self._keep())

    async def _keep(self) -> None:
        while self._waiting:
            response = self._waiting.pop(0)
            for keeper in self._keepers:
                await keeper(response)

    async def stored(self, events: EventStream) -> EventStream:
        """The events, each batch after what was put before it is stored."""
        async with aclosing(events) as batches:
            async for batch in batches:
                await self.finish()
                yield batch


def _encoded(response: Json, items: list[Json], sealed: str) -> tuple[bytes, dict[str, tuple[int, int]]]:
    """The number of items, a line feed, `{output, response, items, sealed?}` as JSON; and the places of each output
    item and of its sealed map."""
    parts = [f'{len(items) + len(response["output"])}\n{{"output":['.encode()]
    size, places = len(parts[0]), dict[str, tuple[int, int]]()
    for number, item in enumerate(response["output"]):
        encoded, start = orjson.dumps(item), size + (1 if number else 0)
        size = start + len(encoded)
        places[str(item["id"])] = (start, size)
        parts += [b",", encoded] if number else [encoded]
    rest, listed = orjson.dumps({**response, "output": None}), orjson.dumps(items)
    parts += [b'],"response":', rest, b',"items":', listed]
    if sealed:
        parts += [b',"sealed":"', sealed.encode()]
        end = sum(map(len, parts))
        places |= {f"{item_id}{_SEALED_PART}": (end - len(sealed), end) for item_id in list(places)}
        parts.append(b'"')
    return b"".join((*parts, b"}")), places


def _decoded(value: bytes) -> StoredResponse:
    document = orjson.loads(value)
    response = {**document["response"], "output": document["output"]}
    return StoredResponse(response, document["items"], document.get("sealed", ""))


def _map_of_0_4(name: str) -> str:
    return f"masking:{name}"


def check_history(items: int, size: int, param: str) -> None:
    """Raises InvalidRequest for more than MAX_HISTORY_ITEMS or MAX_HISTORY_BYTES of stored items."""
    for number, limit, unit in ((items, MAX_HISTORY_ITEMS, "items"), (size, MAX_HISTORY_BYTES, "bytes")):
        if number > limit:
            raise InvalidRequest(
                f"the stored conversation has {number} {unit}; the limit is {limit}; begin a new one with a summary",
                param=param,
            )
