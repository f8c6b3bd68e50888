"""`POST /v1/responses`, and the input items of stored responses: `GET /v1/responses/{id}/input_items`.

A request is translated to chat and its answer back (`wire.responses`), or passed on to an upstream that has the route
itself. `response_input` reads what it continues; `background`, `compact`, `conversations` and `websocket` are what
surrounds it.
"""

import re
from contextlib import aclosing
from dataclasses import dataclass, field

from aiohttp import web
from multidict import MultiMapping

from gateway import schemas
from gateway.access.token_counts import TokenCounts, read_size
from gateway.calls.call import Call
from gateway.calls.masking import Stored
from gateway.domain import Event, EventStream, Json, Relay
from gateway.errors import GatewayError, InvalidRequest, UpstreamError
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.native_responses import NativeResponses
from gateway.services.completion.service import CompletionService
from gateway.services.file_parts import FileParts
from gateway.services.hosted_tools.hosted_responses import HostedAnswer, HostedResponses, HostedWishes
from gateway.services.responses.background import Runs
from gateway.services.responses.compaction import Compacted, Compactor, has_something_to_drop, threshold
from gateway.services.responses.continued import Continued, ResponseInput, continued_of, holder_of
from gateway.services.responses.conversations import Conversations
from gateway.services.responses.listing import page_of
from gateway.services.responses.masking_maps import MaskingMaps
from gateway.services.responses.store import Keeper, ResponseStore, Storing
from gateway.web.handlers.background import BackgroundResponses
from gateway.web.handlers.model_routes import by_schema, plain_chats, require_kind, streamed, whole
from gateway.web.replies import EventReply, JsonReply
from gateway.web.state import CALL
from gateway.wire.hosted_answer import RelayedTexts, events_of
from gateway.wire.json_body import JsonBody
from gateway.wire.responses.mcp import approved_calls, refuse_unserved
from gateway.wire.responses.native import NativeStream
from gateway.wire.responses.request import ChatRequest, refuse_unkept, to_chat
from gateway.wire.responses.stream import ResponseStream

_MAX_NAMED = 8
"""Tools named in the warning header."""

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True)
class Kept:
    """What the route keeps: responses, conversations, and summaries that clients carry."""

    store: ResponseStore
    conversations: Conversations
    compactor: Compactor
    maps: MaskingMaps
    runs: Runs
    background: BackgroundResponses
    tokens: TokenCounts

    def inputs(self) -> ResponseInput:
        """What reads the items that requests continue."""
        return ResponseInput(self.store, self.runs, self.conversations, self.compactor, self.maps)


@dataclass(slots=True)
class _Turn:
    """One response. `is_over`: the conversation is longer than the request's `compact_threshold`. The model is
    asked by chat if `chat` is set, with hosted tools if `hosted` is, and else by its own responses route."""

    call: Call
    entry: ModelEntry
    continued: Continued
    storing: Storing
    wishes: HostedWishes | None = None
    chat: ChatRequest | None = None
    hosted: HostedAnswer | None = None
    stream: ResponseStream | None = None
    is_over: bool = False
    generates: bool = True
    relay: Relay = field(default_factory=Relay)

    @property
    def body(self) -> Json:
        body: Json = self.call.body
        return body

    @property
    def out(self) -> ResponseStream:
        """The stream of its answer, once it is known what asks the model."""
        assert self.stream is not None
        return self.stream

    @property
    def makes_items_alone(self) -> bool:
        """Whether no model answers: the response is a compaction, or one to be continued."""
        return self.continued.wants_compaction or not self.generates

    def headers(self) -> dict[str, str]:
        """A warning that names the first few tools that were left out, in letters, digits and `_.-` only."""
        chat = self.hosted.chat if self.hosted is not None else self.chat
        if chat is None or not chat.dropped:
            return {}
        names = list(dict.fromkeys(_NOT_PLAIN.sub("", kind) or "unnamed" for kind in chat.dropped))
        more = " and more" if len(names) > _MAX_NAMED else ""
        text = f"tools not available here were left out: {', '.join(names[:_MAX_NAMED])}{more}"
        return {"X-Gateway-Warning": text}


class ResponsesHandler:
    """The endpoints' `check` and handlers. A response is the `response` object of OpenAI's API."""

    def __init__(self, completions: CompletionService, kept: Kept, hosted: HostedResponses, files: FileParts) -> None:
        """`hosted` answers requests with hosted tools. `files` reads `input_file` parts."""
        self._completions, self._kept, self._hosted, self._files = completions, kept, hosted, files
        self._native = NativeResponses(completions)
        self._inputs = kept.inputs()
        self._check = by_schema(schemas.load("responses"))

    def check(self, body: JsonBody, headers: MultiMapping[str]) -> Json:
        """The body (schemas/responses.json). Raises InvalidRequest that names the wrong field."""
        checked: Json = self._check(body, headers)
        refuse_unkept(checked)
        if checked.get("background") and checked.get("store") is False:
            text = "background: a response that is not stored cannot run there; leave store out"
            raise InvalidRequest(text, param="background")
        return checked

    async def create(self, request: web.Request) -> web.StreamResponse:
        """As `answer`, for a POST."""
        return await self.answer(request[CALL])

    async def reads(self, call: Call) -> Continued:
        """What a request goes on with. Raises ModelNotFound, InvalidRequest, NotFound (a previous response)."""
        entry = require_kind(self._completions.resolve(call.body["model"]), "text")
        return await self._inputs.read(call, passes_foreign=self._native.speaks(entry))

    async def answer(self, call: Call, *, generates: bool = True) -> web.StreamResponse:
        """JsonReply of a `response`, or EventReply of its events; stored for the key where `store` is true.

        Without `generates` the response is only there to be continued. Raises ModelNotFound, InvalidRequest,
        ContentBlocked, UpstreamError.
        """
        body: Json = call.body
        entry = require_kind(self._completions.resolve(body["model"]), "text")
        keeps_events = bool(body.get("stream"))
        await self._files.replace(call, entry, body)
        continued = continued_of(call)
        if body.get("store") is not False or continued.lock is not None:
            self._kept.maps.require(call.values)
        if not body.get("background"):
            turn = self._turn(call, entry, continued, generates=generates)
            return _streamed(turn, self._events(turn)) if body.get("stream") else await self._whole(turn)
        body["stream"], own = True, call.detached()
        try:
            turn = self._turn(own, entry, continued, generates=generates)
            return await self._kept.background.start(
                own, turn.out, self._events(turn), continued.kept, keeps_events=keeps_events
            )
        except BaseException:
            call.take_back(own)
            raise

    async def input_items(self, request: web.Request) -> web.StreamResponse:
        """A page of the items that a stored response has read, newest first unless `order=asc`. Raises NotFound,
        InvalidRequest."""
        call, response_id = request[CALL], request.match_info["response_id"]
        owner = await self._kept.store.owner_of(call.caller, response_id)
        stored = await self._kept.store.get(owner, response_id)
        await self._kept.maps.show(call, response_id, stored.sealed, {"input": stored.items})
        return JsonReply(page_of(stored.items, request.query))

    def _turn(self, call: Call, entry: ModelEntry, continued: Continued, *, generates: bool) -> _Turn:
        """The response that is to be made. Raises InvalidRequest, Forbidden."""
        turn = _Turn(call, entry, continued, self._storing(call, continued), generates=generates)
        self._translate(turn)
        return turn

    def _storing(self, call: Call, continued: Continued) -> Storing:
        """What keeps a finished response: the store unless the caller wants none stored, the conversation that it
        belongs to, the connection's memory. A compaction is kept by its client alone."""
        kept, owner, keepers = self._kept, call.caller.identity, list[Keeper]((call.hide_known,))
        if continued.wants_compaction:
            return Storing([])
        if (lock := continued.lock) is not None:

            async def add(response: Json) -> None:
                items = [*continued.added, *response["output"]]
                sealed = kept.maps.sealed(call.values, call.caller)
                await kept.conversations.append(lock.owner, lock.conversation_id, items, sealed)
                await kept.store.keep_map_for_0_4(owner, lock.conversation_id, sealed)
                await lock.release()  # before the response is stored as finished: who has seen it may ask at once

            keepers.append(add)
        if call.body.get("store") is not False:

            async def store(response: Json) -> None:
                sealed = kept.maps.sealed(call.values, call.caller)
                await kept.store.put(owner, response, continued.kept, sealed)

            keepers.append(store)
        if (memory := call.memory) is not None:
            keepers.append(lambda response: memory.put(response, Stored(continued.kept, call.values)))
        return Storing(keepers)

    def _translate(self, turn: _Turn) -> None:
        """Set what asks the model, and the stream of its answer. Raises InvalidRequest, Forbidden."""
        body, continued, put = turn.body, turn.continued, turn.storing.put
        if continued.wants_compaction:
            turn.stream = ResponseStream({**body, "store": False}, put)
            return
        serves_itself = self._native.serves(turn.entry, body)
        wishes = self._hosted.wishes(turn.call)
        if serves_itself and (wishes is None or wishes.may_pass):
            turn.stream = NativeStream(body, put) if turn.generates else ResponseStream(body, put)
            return
        turn.wishes = wishes
        if wishes is None:
            refuse_unserved(approved_calls(continued.everything), ())
        self._translate_to_chat(turn)
        chat = turn.hosted.chat if turn.hosted is not None else turn.chat
        limit = threshold(body)
        if limit is not None and chat is not None and turn.generates:
            tokens, _ = self._kept.tokens.of(turn.entry.name, chat.body)
            turn.is_over = tokens > limit and has_something_to_drop(continued.everything)
        if turn.chat is not None and not turn.is_over and self._kept.tokens.wants(turn.entry.name):
            turn.storing.keep(self._counting(turn.entry.name, turn.chat.body))

    def _translate_to_chat(self, turn: _Turn) -> None:
        body, continued, put = turn.body, turn.continued, turn.storing.put
        carrier = self._completions.carrier(turn.call.caller.identity, turn.call.stats)
        if turn.wishes is not None:
            hosted = turn.hosted = self._hosted.answer(
                turn.call, turn.entry, continued.earlier, turn.wishes, carrier, first=continued.first, relay=turn.relay
            )
            names = hosted.chat.names
            if turn.stream is None:
                turn.stream = ResponseStream(body, put, model=turn.entry.shown, kinds=hosted.kinds)
        else:
            turn.chat = to_chat(body, continued.earlier, carrier=carrier, first=continued.first)
            turn.call.stats.warnings += turn.chat.warnings
            names = turn.chat.names
            if turn.stream is None:
                turn.stream = ResponseStream(body, put, names)
        turn.stream.names, turn.stream.carrier = names, carrier

    def _counting(self, model: str, chat: Json) -> Keeper:
        """Notes how many tokens a model's upstream has counted for a chat body."""

        async def note(response: Json) -> None:
            is_estimate = (response.get("provider_specific_fields") or {}).get("usage_estimated")
            if response.get("usage") and not is_estimate:
                self._kept.tokens.note(model, read_size(chat), response["usage"]["input_tokens"])

        return note

    def _events(self, turn: _Turn) -> EventStream:
        """The events of a response; the upstream is called at the first one."""
        return self._after_cut(turn) if turn.is_over else self._answered(turn)

    async def _after_cut(self, turn: _Turn) -> EventStream:
        await self._cut(turn)
        async with aclosing(self._answered(turn)) as batches:
            async for batch in batches:
                yield batch

    def _answered(self, turn: _Turn) -> EventStream:
        body, stats, stream = turn.body, turn.call.stats, turn.out
        if turn.makes_items_alone:
            return stream.run_items(lambda: self._items(turn), turn.storing.finish)
        turn.relay.stage = RelayedTexts(stream.take)
        if turn.hosted is not None:
            return stream.run(turn.hosted.events, turn.storing.finish)
        if turn.chat is not None:
            chat = turn.chat.body
            events = events_of(self._completions.stream(chat, stats, plain_chats().allows(chat), turn.relay))
            return stream.run(events, turn.storing.finish)
        assert isinstance(stream, NativeStream)
        return turn.storing.stored(self._native.stream(body, turn.continued.earlier, stats, stream))

    async def _whole(self, turn: _Turn) -> web.StreamResponse:
        body, stats = turn.body, turn.call.stats
        if turn.is_over:
            await self._cut(turn)
        if turn.makes_items_alone:
            response = await turn.out.whole_items(lambda: self._items(turn))
        elif turn.hosted is not None:
            response = await turn.out.whole(turn.hosted.events)
        elif turn.chat is not None:
            chat = turn.chat.body
            answer = await self._completions.complete(chat, stats, plain_chats().allows(chat))
            response = turn.out.from_chat(answer)
        else:
            response = await self._native.complete(body, turn.continued.earlier, stats)
            turn.storing.put(response)
        await turn.storing.finish()
        return whole(turn.call, response, turn.headers())

    async def _items(self, turn: _Turn) -> tuple[list[Json], Json]:
        """The items of a response that no model answers, and chat's usage of making them."""
        if not turn.continued.wants_compaction:
            return [], {}
        compacted = await self._compacted(turn)
        return [compacted.item], compacted.usage

    async def _compacted(self, turn: _Turn) -> Compacted:
        call = turn.call
        items = turn.continued.everything
        return await self._kept.compactor.compact(
            turn.body, items, holder_of(call), call.stats, turn.entry.context_length
        )

    async def _cut(self, turn: _Turn) -> None:
        """Compact the conversation before it is answered; the compaction item comes first in the output."""
        continued, compacted = turn.continued, await self._compacted(turn)
        continued.earlier, turn.body["input"] = compacted.items, []
        self._translate_to_chat(turn)
        turn.out.begin_with([compacted.item], compacted.usage)


def _streamed(turn: _Turn, events: EventStream) -> EventReply:
    stream = turn.out

    def refused(error: GatewayError, last: Json | None, used: Json) -> list[Event]:
        return stream.refused_events(error, used)

    def instead(error: GatewayError) -> list[Event]:
        """A conversation that is too long is a failed response, not an error status: Codex compacts then."""
        is_told = isinstance(error, UpstreamError) and error.code == "context_length_exceeded"
        return [*stream.opening(), *stream.error_events(error)] if is_told else []

    reply = streamed(
        turn.call,
        turn.entry,
        events,
        refused,
        headers=turn.headers(),
        failed=stream.error_events,
        cancelled=stream.cancelled_events,
        relay=turn.relay,
    )
    reply.instead, reply.has_own_links = instead, stream.places_links
    return reply
