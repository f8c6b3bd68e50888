"""`/v1/conversations` and their items. Source: OpenAI API reference (Conversations), read 2026-11-27."""

from dataclasses import dataclass

from aiohttp import web

from gateway import schemas
from gateway.calls.call import Call
from gateway.calls.masking import Stored
from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.services.responses.compaction import Compactor
from gateway.services.responses.conversations import CHANGE_WAIT_S, Conversation, Conversations, Lock, item_of
from gateway.services.responses.listing import as_list, page_of
from gateway.services.responses.masking_maps import MaskingMaps
from gateway.web.handlers.model_routes import by_schema
from gateway.web.replies import JsonReply
from gateway.web.state import CALL
from gateway.wire.responses.message_builder import KNOWN_ITEMS

_SHOWN_CHARS = 80
"""Most characters of a type in an error text."""


class ConversationsHandler:
    """The endpoints' `check` and handlers. All raise NotFound for a conversation that is not the key's own."""

    def __init__(self, conversations: Conversations, compactor: Compactor, maps: MaskingMaps) -> None:
        self._conversations = conversations
        self._maps = maps
        self._compactor = compactor
        self.check = by_schema(schemas.load_with_items("conversation"))

    async def create(self, request: web.Request) -> web.StreamResponse:
        """`{items?, metadata?}` -> the conversation."""
        call = request[CALL]
        items = self._items(call)
        sealed = self._maps.sealed(call.values, call.caller)
        made = await self._conversations.create(call.caller.identity, items, call.body.get("metadata"), sealed)
        await self._maps.keep_for_0_4(call.caller, made.id, sealed)
        return JsonReply(made.shown())

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        """The conversation without its items."""
        return await self._shown(request[CALL], await self._conversations.get(*await self._place(request)))

    async def update(self, request: web.Request) -> web.StreamResponse:
        """`{metadata}` -> the conversation with this metadata."""
        call, (owner, conversation_id) = request[CALL], await self._place(request)
        if "metadata" not in call.body:
            raise InvalidRequest("metadata: is required", param="metadata")
        kept = await self._conversations.get(owner, conversation_id)
        sealed = self._maps.sealed(call.values_in([kept.items, call.body["metadata"]]), call.caller)
        changed = await self._conversations.update(owner, conversation_id, call.body["metadata"], sealed)
        await self._maps.keep_for_0_4(call.caller, conversation_id, sealed)
        return JsonReply(changed.shown())

    async def delete(self, request: web.Request) -> web.StreamResponse:
        """`{id, object: "conversation.deleted", deleted: true}`."""
        owner, conversation_id = await self._place(request)
        await self._conversations.delete(owner, conversation_id)
        return JsonReply({"id": conversation_id, "object": "conversation.deleted", "deleted": True})

    async def items(self, request: web.Request) -> web.StreamResponse:
        """A page of the items, newest first unless `order=asc`."""
        conversation = await self._conversations.get(*await self._place(request))
        await self._show(request[CALL], conversation)
        return JsonReply(page_of(conversation.items, request.query))

    async def reads(self, call: Call) -> "_Held":
        """The conversation that items are added to, or whose metadata changes, which is held meanwhile."""
        conversation_id = call.path["conversation_id"]
        owner = await self._conversations.owner_of(call.caller, conversation_id)
        lock = await self._conversations.lock(owner, conversation_id, CHANGE_WAIT_S)
        try:
            found = await self._conversations.get(owner, conversation_id)
            values = await self._maps.values_of(call, conversation_id, found.sealed)
            return _Held([Stored(found.items, values, is_read=False, where="conversation")], lock)
        except BaseException:
            await lock.release()
            raise

    async def add(self, request: web.Request) -> web.StreamResponse:
        """`{items}` -> the list of the items that were added, with their ids."""
        call, (owner, conversation_id) = request[CALL], await self._place(request)
        items = self._items(call)
        if not items:
            raise InvalidRequest("items: must hold an item", param="items")
        sealed = self._maps.sealed(call.values, call.caller)
        added = await self._conversations.append(owner, conversation_id, items, sealed)
        await self._maps.keep_for_0_4(call.caller, conversation_id, sealed)
        return JsonReply(as_list(added))

    async def item(self, request: web.Request) -> web.StreamResponse:
        """One item."""
        conversation = await self._conversations.get(*await self._place(request))
        await self._show(request[CALL], conversation)
        return JsonReply(item_of(conversation, request.match_info["item_id"]))

    async def remove(self, request: web.Request) -> web.StreamResponse:
        """Remove an item -> the conversation."""
        changed = await self._conversations.remove(*await self._place(request), request.match_info["item_id"])
        return await self._shown(request[CALL], changed)

    async def _shown(self, call: Call, conversation: Conversation) -> web.StreamResponse:
        """The conversation, its metadata with their values."""
        await self._show(call, conversation)
        return JsonReply(conversation.shown())

    async def _show(self, call: Call, conversation: Conversation) -> None:
        await self._maps.show(call, conversation.id, conversation.sealed, {"input": conversation.items})

    async def _place(self, request: web.Request) -> tuple[str, str]:
        """Whose the conversation is, and its id."""
        conversation_id = request.match_info["conversation_id"]
        return await self._conversations.owner_of(request[CALL].caller, conversation_id), conversation_id

    def _items(self, call: Call) -> list[Json]:
        """The items of a body; compaction items among them are ones that this key can use later."""
        items: list[Json] = call.body.get("items") or []
        for index, item in enumerate(items):
            if (kind := item.get("type") or "message") not in KNOWN_ITEMS:
                where = f"items[{index}].type"
                raise InvalidRequest(f"{where}: '{kind[:_SHOWN_CHARS]}' is no type of an item", param=where)
        try:
            self._compactor.opened(items, call.caller.identity)
        except InvalidRequest as error:
            error.param = (error.param or "").replace("input", "items", 1)
            raise
        return items


@dataclass(frozen=True, slots=True)
class _Held:
    """As `calls.masking.Earlier`: a conversation that is changed."""

    stored: list[Stored]
    lock: Lock
    param: str = "items"

    async def release(self) -> None:
        """Let it go."""
        await self.lock.release()
