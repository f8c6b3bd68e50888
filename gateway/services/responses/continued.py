"""What a responses request goes on with: the items of earlier turns, of a conversation, and of references.

`ResponseInput.read` finds them before anything is masked; `Continued` puts them together with the request's own items
once these are masked. Stored items go to a model again, so they are masked like the request.
"""

from dataclasses import dataclass, field

import orjson

from gateway.calls.call import Call
from gateway.calls.masking import Stored
from gateway.domain import Json
from gateway.errors import Conflict, InvalidRequest, NotFound
from gateway.services.responses.background import UNFINISHED, Runs
from gateway.services.responses.compaction import ITEM_TYPES, Compactor, Holder, is_trigger
from gateway.services.responses.conversations import Conversations, Lock
from gateway.services.responses.listing import with_ids
from gateway.services.responses.masking_maps import MaskingMaps
from gateway.services.responses.store import ResponseStore, check_history
from gateway.wire.responses.request import input_items

_RETRY_S = 2.0


@dataclass(slots=True)
class Continued:
    """The items of a request, `input` without its references and without a trigger.

    `before`: the stored items before it, compaction items as they came; `earlier`: the same for the model, with the
    newest compaction item opened, also one of the request. `first`: how many items of the request are among them.
    `stored`: the same by where they come from, with what their placeholders stand for (`calls.masking.Earlier`).
    `wants_compaction`: the request ends in a trigger. `lock`: the conversation that it holds.
    """

    body: Json
    before: list[Json]
    earlier: list[Json]
    stored: list[Stored]
    first: int = 0
    wants_compaction: bool = False
    lock: Lock | None = None
    param: str = "input"
    _sent: list[Json] = field(default_factory=list)
    _added: list[Json] | None = None

    @property
    def added(self) -> list[Json]:
        """The request's own items as they are stored."""
        if self._added is None:
            self._added = with_ids(self._sent)
        return self._added

    @property
    def kept(self) -> list[Json]:
        """All that is stored for the next turn."""
        own = self.added
        return [*Compactor.cut([*self.before, *own[: self.first]]), *own[self.first :]]

    async def release(self) -> None:
        """Let the conversation go."""
        if self.lock is not None:
            await self.lock.release()

    def join(self) -> None:
        """Take the items that are opened among the earlier ones from the body. Call it once the request is masked:
        `added` and `kept` are its items as they are then."""
        self._sent = self.body["input"]
        self.body["input"] = self._sent[self.first :]

    @property
    def everything(self) -> list[Json]:
        """All items for the model, once they are joined."""
        return [*self.earlier, *self.body["input"]]


class ResponseInput:
    """Reads what requests go on with."""

    def __init__(
        self, store: ResponseStore, runs: Runs, conversations: Conversations, compactor: Compactor, maps: MaskingMaps
    ) -> None:
        self._store = store
        self._runs = runs
        self._conversations = conversations
        self._compactor = compactor
        self._maps = maps

    async def read(self, call: Call, *, passes_foreign: bool = False) -> Continued:
        """The items of a checked request, whose `input` becomes a list. `passes_foreign`: the model's upstream may read
        compaction items that are not ours. A conversation is held where the request may add to it.

        Raises InvalidRequest, NotFound; then no conversation is held."""
        body = call.body
        conversation, lock = conversation_id(body), None
        sent, previous = input_items(body), body.get("previous_response_id")
        if conversation is not None and body.get("store") is not False:
            owner = await self._conversations.owner_of(call.caller, conversation)
            lock = await self._conversations.lock(owner, conversation)
        try:
            before = await self._before(call, conversation, previous, adds=lock is not None)
            wants_compaction = is_trigger(sent)
            if wants_compaction:
                sent.pop()
            referenced = await self._with_references(call, sent)
            continued = self._opened(call, before, referenced, passes_foreign=passes_foreign)
        except BaseException:
            if lock is not None:
                await lock.release()
            raise
        continued.wants_compaction, continued.lock = wants_compaction, lock
        return continued

    async def _before(self, call: Call, conversation: str | None, previous: str | None, *, adds: bool) -> Stored:
        """The stored items before the request's own. `adds`: these are added to the conversation."""
        if conversation is not None:
            owner = await self._conversations.owner_of(call.caller, conversation)
            found = await self._conversations.get(owner, conversation)
            check_history(len(found.items), 0, "conversation")
            if adds:
                await self._conversations.touch(owner, found)
            values = await self._maps.values_of(call, conversation, found.sealed)
            return Stored(found.items, values, where="conversation")
        if not previous:
            return Stored([])
        remembered = await call.memory.history(previous) if call.memory is not None else None
        if remembered is not None:
            return remembered
        owner = await self._store.owner_of(call.caller, previous)
        stored = await self._store.history(owner, previous)
        if (await self._runs.settled(owner, stored.response))["status"] in UNFINISHED:
            text = "previous_response_id: this response is still being made; wait for its end, or cancel it"
            raise Conflict(text, param="previous_response_id", retry_after_s=_RETRY_S)
        values = await self._maps.values_of(call, previous, stored.sealed)
        return Stored(stored.history, values, where="previous_response_id")

    def _opened(self, call: Call, before: Stored, referenced: list[Stored], *, passes_foreign: bool) -> Continued:
        sent: list[Json] = call.body["input"]
        owner = call.caller.identity
        at = max((place for place, item in enumerate(sent) if item.get("type") in ITEM_TYPES), default=-1) + 1
        if not (at or before.items or referenced):
            return Continued(call.body, [], [], [])
        opened = self._compactor.opened(before.items, owner, "previous_response_id", passes_foreign=passes_foreign)
        if at:
            opened = self._compactor.opened(sent[:at], owner, passes_foreign=passes_foreign, before=before.items)
        known = {id(item) for item in (*before.items, *sent)}
        kept = Stored([item for item in opened if id(item) in known], before.values, where=before.where)
        carried = self._maps.carried(call.caller, [*before.items, *sent[:at]]) if call.masking is not None else {}
        summary = Stored([item for item in opened if id(item) not in known], carried, where="the compaction item")
        param = "previous_response_id" if before.items else "input"
        stored = [each for each in (kept, summary, *referenced) if each.items]
        return Continued(call.body, before.items, opened, stored, at, param=param)

    async def _with_references(self, call: Call, sent: list[Json]) -> list[Stored]:
        """Put the items that references name in their place, as the input of the body. AI SDK clients send a reference
        for every old answer."""
        found, size = list[Stored](), 0
        for index, item in enumerate(sent):
            if item.get("type") == "item_reference":
                try:
                    raw, sealed = await self._store.item(call.caller, str(item.get("id")))
                except NotFound as error:
                    error.param = f"input[{index}].id"
                    raise
                size += len(raw)
                check_history(len(found) + 1, size, "input")
                sent[index] = orjson.loads(raw)
                values = await self._maps.values_of(call, str(item.get("id")), sealed) if sealed else {}
                found.append(Stored([sent[index]], values, is_read=False, where=f"input[{index}]"))
        call.body["input"] = sent
        return found


def refuse_trigger(continued: Continued) -> None:
    """Raises InvalidRequest where a request that makes no answer ends in a compaction trigger."""
    if continued.wants_compaction:
        raise InvalidRequest("input: a compaction_trigger has no meaning here; leave it out", param="input")


def continued_of(call: Call) -> Continued:
    """What a call goes on with, joined with its own items, which are masked by now."""
    continued = call.earlier
    assert isinstance(continued, Continued)
    continued.join()
    return continued


def holder_of(call: Call) -> Holder:
    """The key of a call as the holder of a summary, which is masked as an answer of the call's interface."""
    return Holder(call.caller.identity, call.clean_answer_text, call.values)


def conversation_id(body: Json) -> str | None:
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
