"""`/v1/conversations` and their items. Source: OpenAI API reference (Conversations), read 2026-11-27."""

from aiohttp import web

from gateway import schemas
from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.services.responses.compaction import Compactor
from gateway.services.responses.conversations import Conversations, item_of
from gateway.services.responses.listing import as_list, page_of
from gateway.web.handlers.model_routes import by_schema
from gateway.web.replies import JsonReply
from gateway.web.state import CONTEXT, RequestContext


class ConversationsHandler:
    """The endpoints' `check` and handlers. All raise NotFound for a conversation that is not the key's own."""

    def __init__(self, conversations: Conversations, compactor: Compactor) -> None:
        self._conversations = conversations
        self._compactor = compactor
        self.check = by_schema(schemas.load_with_items("conversation"))

    async def create(self, request: web.Request) -> web.StreamResponse:
        """`{items?, metadata?}` -> the conversation."""
        context = request[CONTEXT]
        items = self._items(context)
        made = await self._conversations.create(context.caller.key_id, items, context.body.get("metadata"))
        return JsonReply(made.shown())

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        """The conversation without its items."""
        return JsonReply((await self._conversations.get(*_place(request))).shown())

    async def update(self, request: web.Request) -> web.StreamResponse:
        """`{metadata}` -> the conversation with this metadata."""
        body = request[CONTEXT].body
        if "metadata" not in body:
            raise InvalidRequest("metadata: is required", param="metadata")
        return JsonReply((await self._conversations.update(*_place(request), body["metadata"])).shown())

    async def delete(self, request: web.Request) -> web.StreamResponse:
        """`{id, object: "conversation.deleted", deleted: true}`."""
        owner, conversation_id = _place(request)
        await self._conversations.delete(owner, conversation_id)
        return JsonReply({"id": conversation_id, "object": "conversation.deleted", "deleted": True})

    async def items(self, request: web.Request) -> web.StreamResponse:
        """A page of the items, newest first unless `order=asc`."""
        return JsonReply(page_of((await self._conversations.get(*_place(request))).items, request.query))

    async def add(self, request: web.Request) -> web.StreamResponse:
        """`{items}` -> the list of the items that were added, with their ids."""
        items = self._items(request[CONTEXT])
        if not items:
            raise InvalidRequest("items: must hold an item", param="items")
        return JsonReply(as_list(await self._conversations.add(*_place(request), items)))

    async def item(self, request: web.Request) -> web.StreamResponse:
        """One item."""
        return JsonReply(item_of(await self._conversations.get(*_place(request)), request.match_info["item_id"]))

    async def remove(self, request: web.Request) -> web.StreamResponse:
        """Remove an item -> the conversation."""
        return JsonReply((await self._conversations.remove(*_place(request), request.match_info["item_id"])).shown())

    def _items(self, context: RequestContext) -> list[Json]:
        """The items of a body; compaction items among them are ones that this key can use later."""
        items: list[Json] = context.body.get("items") or []
        try:
            self._compactor.opened(items, context.caller.identity)
        except InvalidRequest as error:
            error.param = (error.param or "").replace("input", "items", 1)
            raise
        return items


def _place(request: web.Request) -> tuple[str, str]:
    return request[CONTEXT].caller.key_id, request.match_info["conversation_id"]
