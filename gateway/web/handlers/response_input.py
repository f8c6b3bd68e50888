"""What a responses request continues: the items of earlier turns, of a conversation, and of references.

Stored items and opened summaries go to a model again, so they are sanitized like the request: they were stored as the
model wrote them.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from gateway.domain import Json
from gateway.errors import ContentBlocked, InvalidRequest, NotFound
from gateway.services.responses.compaction import ITEM_TYPES, Compactor, Holder, is_trigger
from gateway.services.responses.conversations import Conversations, Lock
from gateway.services.responses.listing import with_ids
from gateway.services.responses.store import ResponseStore, check_history
from gateway.web.middleware.sanitize import clean_answer_text, clean_request
from gateway.web.state import RequestContext
from gateway.wire.responses.request import input_items


class Memory(Protocol):
    """Responses that a connection remembers beside the store."""

    async def history(self, response_id: str) -> list[Json] | None:
        """The items up to and including a response; None for one that is not remembered."""
        ...

    async def put(self, response: Json, items: list[Json]) -> None:
        """Remember a response with the items before it."""
        ...


@dataclass(slots=True)
class Continued:
    """The items of a request, `input` without its references and without a trigger.

    `kept`: what is stored for the next turn, compaction items as they came. `earlier`: the items before those of the
    request, for the model; `recent`: those of the request, of which the first is `input[first]`. `wants_compaction`:
    the request ends in a trigger. `lock`: the conversation that it holds.
    """

    kept: list[Json]
    earlier: list[Json]
    recent: list[Json]
    first: int = 0
    wants_compaction: bool = False
    lock: Lock | None = None
    added: list[Json] = field(default_factory=list)

    @property
    def everything(self) -> list[Json]:
        """All items for the model."""
        return [*self.earlier, *self.recent]

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Hold the conversation, if there is one, during the block."""
        if self.lock is None:
            yield
            return
        async with self.lock.held():
            yield


class ResponseInput:
    """Reads what requests continue."""

    def __init__(self, store: ResponseStore, conversations: Conversations, compactor: Compactor) -> None:
        self._store = store
        self._conversations = conversations
        self._compactor = compactor

    async def read(
        self, context: RequestContext, memory: Memory | None = None, *, passes_foreign: bool = False
    ) -> Continued:
        """The items of a checked request. `passes_foreign`: the model's upstream may read compaction items that are not
        ours. A conversation is held where the request may add to it.

        Raises InvalidRequest, NotFound, ContentBlocked; then no conversation is held."""
        body, owner = context.body, context.caller.key_id
        conversation, lock = _conversation_id(body), None
        sent, previous = input_items(body), body.get("previous_response_id")
        if conversation is not None and body.get("store") is not False:
            lock = await self._conversations.lock(owner, conversation)
        try:
            if conversation is not None:
                earlier = (await self._conversations.get(owner, conversation)).items
                check_history(len(earlier), 0, "conversation")
            elif previous:
                remembered = await memory.history(previous) if memory is not None else None
                earlier = remembered if remembered is not None else await self._store.history(owner, previous)
            else:
                earlier = []
            wants_compaction = is_trigger(sent)
            if wants_compaction:
                sent.pop()
            fetched = await self._referenced(owner, sent)
            body["input"] = [fetched.get(index, item) for index, item in enumerate(sent)]
            continued = self._opened(context, earlier, passes_foreign=passes_foreign)
            await self._clean(
                context, continued, list(fetched.values()), "previous_response_id" if earlier else "input"
            )
        except BaseException:
            if lock is not None:
                await lock.release()
            raise
        continued.wants_compaction, continued.lock = wants_compaction, lock
        return continued

    def _opened(self, context: RequestContext, earlier: list[Json], *, passes_foreign: bool) -> Continued:
        sent: list[Json] = context.body["input"]
        owner = context.caller.identity
        at = max((place for place, item in enumerate(sent) if item.get("type") in ITEM_TYPES), default=-1) + 1
        added = with_ids(sent)
        if at:
            self._compactor.opened(earlier, owner, "previous_response_id", passes_foreign=passes_foreign)
            opened = self._compactor.opened(sent[:at], owner, passes_foreign=passes_foreign, before=earlier)
            kept = [*self._compactor.cut([*earlier, *added[:at]]), *added[at:]]
        else:
            opened = self._compactor.opened(earlier, owner, "previous_response_id", passes_foreign=passes_foreign)
            kept = [*self._compactor.cut(earlier), *added]
        return Continued(kept, opened, sent[at:], at, added=added)

    async def _clean(self, context: RequestContext, continued: Continued, fetched: list[Json], param: str) -> None:
        items = [*continued.earlier, *fetched]
        if not items:
            return
        try:
            context.history_verdicts = await clean_request(context, {"input": items})
        except ContentBlocked as error:
            error.param = param
            raise

    async def _referenced(self, owner: str, sent: list[Json]) -> dict[int, Json]:
        """The items that references name, by the references' index. AI SDK clients send one for every old answer."""
        found: dict[int, Json] = {}
        size = 0
        for index, item in enumerate(sent):
            if item.get("type") == "item_reference":
                try:
                    raw = await self._store.item(owner, str(item.get("id")))
                except NotFound as error:
                    error.param = f"input[{index}].id"
                    raise
                size += len(raw)
                check_history(len(found) + 1, size, "input")
                found[index] = orjson.loads(raw)
        return found


def refuse_trigger(continued: Continued) -> None:
    """Raises InvalidRequest where a request that makes no answer ends in a compaction trigger."""
    if continued.wants_compaction:
        raise InvalidRequest("input: a compaction_trigger has no meaning here; leave it out", param="input")


def holder_of(context: RequestContext) -> Holder:
    """The key of a request as the holder of a summary, which is masked as an answer of the request's route."""
    values = context.placeholders.as_map() if context.placeholders else {}
    return Holder(context.caller.identity, lambda text: clean_answer_text(context, text), values)


def _conversation_id(body: Json) -> str | None:
    """The id in a request's `conversation`, which is the id or `{id}`. Raises InvalidRequest."""
    value = body.get("conversation")
    if value is None:
        return None
    found = value.get("id") if isinstance(value, dict) else value
    if not isinstance(found, str) or not found:
        raise InvalidRequest("conversation: must be an id, or an object with one", param="conversation")
    if body.get("previous_response_id"):
        text = "conversation: cannot be combined with previous_response_id; leave one of the two out"
        raise InvalidRequest(text, param="conversation")
    return found
