"""Conversations: named lists of items that a request continues, and that its input and output are added to.

Each is one entry of the shared store, `{id, created_at, metadata, items}` as JSON, of the key that made it; for another
key it does not exist. Changes of one conversation follow each other: a change takes its lock, which ends by itself if
the process that has it dies. Source: OpenAI API reference (Conversations), read 2026-11-27.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

import orjson

from gateway.config.settings import ConversationLimits
from gateway.domain import Caller, Json
from gateway.errors import InvalidRequest, NotFound, RateLimited, StateUnavailable
from gateway.services.responses.listing import with_ids
from gateway.services.responses.store import available, owner_of
from gateway.shared_state.port import Entries, Entry, StateDown, Windows
from gateway.wire.responses.object import new_id

MOST_BYTES = (256 * 1024 * 1024, 64 * 1024 * 1024)
"""Most bytes of the conversations of one machine, and of one key."""
TTL_S = 30 * 86_400.0
"""Seconds that a conversation is kept after its last change."""

_LOCK_S = 30.0
_RENEW_S = 10.0
CHANGE_WAIT_S = 2.0
"""How long a change of the items waits for another one; a turn, which lasts longer, does not wait."""
_LOCK_POLL_S = 0.05
_RETRY_S = 5.0
_SHOWN_ID_CHARS = 80
_SEALED = "gateway:sealed"
"""The member of the stored metadata with the map: version 0.4 opens no conversation with a member of its own, and must
be able to after a rollback."""
_MAX_PAIRS, _MAX_KEY_CHARS, _MAX_VALUE_CHARS = 16, 64, 512


@dataclass(slots=True)
class Conversation:
    """`items` are in the order in which they were added; each has an id. `sealed`: what the placeholders in them stand
    for (`masking_maps`), empty where they have none."""

    id: str
    created_at: int
    metadata: Json
    items: list[Json]
    sealed: str = ""

    def shown(self) -> Json:
        """`{id, object: "conversation", created_at, metadata}`."""
        return {"id": self.id, "object": "conversation", "created_at": self.created_at, "metadata": self.metadata}


class Conversations:
    """The conversations of all keys. Every method raises StateUnavailable while the store is away, and NotFound for a
    conversation that is not there, has expired, or is another key's."""

    def __init__(
        self, entries: Entries, locks: Windows, limits: ConversationLimits, now: Callable[[], float] = time.time
    ) -> None:
        self._entries = entries
        self._locks = locks
        self._limits = limits
        self._now = now

    async def create(self, owner: str, items: Sequence[Json], metadata: Json | None, sealed: str = "") -> Conversation:
        """A new conversation. Raises InvalidRequest, and RateLimited where the key has `per_key` already."""
        made = Conversation(new_id("conv"), int(self._now()), checked_metadata(metadata), with_ids(items), sealed)
        await self._put(owner, made, most=self._limits.per_key)
        return made

    async def owner_of(self, caller: Caller, conversation_id: str) -> str:
        """Under whose id a conversation of a caller is, or would be."""
        with available("conversations"):
            return await owner_of(self._entries, caller, conversation_id)

    async def get(self, owner: str, conversation_id: str) -> Conversation:
        """A conversation as it is now."""
        with available("conversations"):
            value = await self._entries.get(owner, conversation_id)
        if value is None:
            raise NotFound(
                f"conversation '{conversation_id[:_SHOWN_ID_CHARS]}' not found", code="conversation_not_found"
            )
        fields = orjson.loads(value)
        return Conversation(**fields, sealed=fields["metadata"].pop(_SEALED, ""))

    async def update(self, owner: str, conversation_id: str, metadata: Json | None, sealed: str = "") -> Conversation:
        """Replace the metadata, for a caller who has the lock, and the map of all placeholders. Raises
        InvalidRequest."""
        checked = checked_metadata(metadata)
        conversation = await self.get(owner, conversation_id)
        conversation.metadata, conversation.sealed = checked, sealed or conversation.sealed
        await self._put(owner, conversation)
        return conversation

    async def delete(self, owner: str, conversation_id: str) -> None:
        """Forget a conversation with its items."""
        await self.get(owner, conversation_id)
        with available("conversations"):
            await self._entries.delete(owner, conversation_id)

    async def remove(self, owner: str, conversation_id: str, item_id: str) -> Conversation:
        """Remove an item. Raises NotFound for one that is not there."""
        async with self.changing(owner, conversation_id) as conversation:
            item = item_of(conversation, item_id)
            conversation.items = [each for each in conversation.items if each is not item]
        return conversation

    @contextlib.asynccontextmanager
    async def changing(self, owner: str, conversation_id: str) -> AsyncIterator[Conversation]:
        """The conversation, which is written when the block ends without an error. Raises InvalidRequest
        (`conversation_locked`) where another change does not end within CHANGE_WAIT_S."""
        lock = await self.lock(owner, conversation_id, wait_s=CHANGE_WAIT_S)
        try:
            conversation = await self.get(owner, conversation_id)
            yield conversation
            await self._put(owner, conversation)
        finally:
            await lock.release()

    async def lock(self, owner: str, conversation_id: str, wait_s: float = 0.0) -> "Lock":
        """Take a conversation, which nobody else changes until the lock is released, or its process has been dead for
        _LOCK_S. Raises InvalidRequest (`conversation_locked`)."""
        lock = Lock(self._locks, owner, conversation_id)
        with available("conversations"):
            await lock.take(wait_s)
        return lock

    async def append(self, owner: str, conversation_id: str, items: Sequence[Json], sealed: str = "") -> list[Json]:
        """Add items at the end, for a caller who has the lock, and the map of all placeholders. Returns the items with
        their ids. Raises InvalidRequest where the conversation is full."""
        added = with_ids(items)
        conversation = await self.get(owner, conversation_id)
        conversation.items += added
        conversation.sealed = sealed or conversation.sealed
        await self._put(owner, conversation)
        return added

    async def touch(self, owner: str, conversation: Conversation) -> None:
        """Write a conversation as it is, before a turn that is to be added to it: a store that cannot be written says
        so while no model has been asked."""
        await self._put(owner, conversation)

    async def _put(self, owner: str, conversation: Conversation, most: int | None = None) -> None:
        limits, count = self._limits, len(conversation.items)
        fields = {name: getattr(conversation, name) for name in ("id", "created_at", "metadata", "items")}
        if conversation.sealed:
            fields["metadata"] = {**conversation.metadata, _SEALED: conversation.sealed}
        value = orjson.dumps(fields)
        for number, limit, unit in ((count, limits.items, "items"), (len(value), limits.max_bytes, "bytes")):
            if number > limit:
                raise InvalidRequest(
                    f"the conversation would have {number} {unit}; the limit is {limit}; begin a new one",
                    param="conversation",
                    code="conversation_full",
                )
        with available("conversations"):
            is_kept = await self._entries.put(Entry(owner, conversation.id, value, TTL_S, most=most))
            count = 0 if is_kept else await self._entries.count(owner)
        if most is not None and count >= most:
            raise RateLimited(f"this key has {count} conversations, and may have no more; delete some")
        if not is_kept:
            raise StateUnavailable("there is no room for more conversations; delete some", retry_after_s=_RETRY_S)


class Lock:
    """One taker of a conversation."""

    def __init__(self, locks: Windows, owner: str, conversation_id: str) -> None:
        self._locks, self._name, self.owner = locks, f"conversation:{owner}:{conversation_id}", owner
        self._member = secrets.token_hex(8)
        self.conversation_id = conversation_id
        self._renewing: asyncio.Task[None] | None = None

    async def take(self, wait_s: float) -> None:
        """Take it, or wait for it; it is renewed until `release`. Raises InvalidRequest (`conversation_locked`),
        StateDown."""
        end_s = time.monotonic() + wait_s
        while (await self._locks.take(self._name, 1, _LOCK_S, self._member)).wait_s:
            if time.monotonic() >= end_s:
                raise InvalidRequest(
                    "conversation: another response is being added to it; wait for that to end",
                    param="conversation",
                    code="conversation_locked",
                )
            await asyncio.sleep(_LOCK_POLL_S)
        self._renewing = asyncio.create_task(self._renew())

    async def release(self) -> None:
        """Give it back; any further call does nothing."""
        renewing, self._renewing = self._renewing, None
        if renewing is not None:
            renewing.cancel()
            with contextlib.suppress(StateDown):  # it ends by itself
                await self._locks.release(self._name, [self._member])

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(_RENEW_S)
            with contextlib.suppress(StateDown):
                await self._locks.hold(self._name, {self._member: _LOCK_S})


def item_of(conversation: Conversation, item_id: str) -> Json:
    """The item with this id. Raises NotFound."""
    for item in conversation.items:
        if item["id"] == item_id:
            return item
    raise NotFound(f"item '{item_id[:_SHOWN_ID_CHARS]}' not found in this conversation", code="item_not_found")


def checked_metadata(metadata: Json | None) -> Json:
    """The metadata, `{}` for none. Raises InvalidRequest for more than 16 pairs, keys of 64 or values of 512
    characters."""
    pairs = metadata or {}
    is_wrong = len(pairs) > _MAX_PAIRS or any(
        len(key) > _MAX_KEY_CHARS or key == _SEALED or not isinstance(value, str) or len(value) > _MAX_VALUE_CHARS
        for key, value in pairs.items()
    )
    if is_wrong:
        raise InvalidRequest(
            f"metadata: at most {_MAX_PAIRS} texts of {_MAX_VALUE_CHARS} characters, under keys of {_MAX_KEY_CHARS}",
            param="metadata",
        )
    return pairs
