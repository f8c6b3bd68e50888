"""`POST /v1/messages` and `POST /v1/messages/count_tokens`: Anthropic's interface to the models of kind `text`.

A request is translated to chat and its answer back (`wire.messages`), or passed on to an upstream that has the route
itself.
"""

from collections.abc import Mapping

from aiohttp import web

from gateway import schemas
from gateway.calls.call import Call
from gateway.domain import Event, EventStream, Json, Relay
from gateway.errors import GatewayError
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.images import MAX_IMAGES
from gateway.services.completion.native_messages import NativeMessages
from gateway.services.completion.service import CompletionService
from gateway.services.completion.token_counter import TokenCounter
from gateway.services.file_parts import FileParts
from gateway.services.hosted_tools.hosted_search import HostedRequest, HostedSearch
from gateway.services.hosted_tools.loop import LoopRequest
from gateway.services.hosted_tools.search_options import of_messages
from gateway.services.hosted_tools.sources import Sources
from gateway.services.hosted_tools.web_search import WebSearchTool
from gateway.web.handlers.model_routes import by_schema, plain_chats, require_kind, streamed, whole
from gateway.web.replies import JsonReply
from gateway.web.state import CALL
from gateway.wire.hosted_answer import events_of, events_of_whole, translated
from gateway.wire.messages.hosted_search import WebWish, item_id, open_calls, web_wish
from gateway.wire.messages.native import NativeMessageStream, passed_headers, set_apart
from gateway.wire.messages.object import QUICK_CHARS, token_estimate
from gateway.wire.messages.request import to_chat
from gateway.wire.messages.stream import MessageStream
from gateway.wire.messages.tools import left_out

_CALL_AND_OUTPUT = 2
"""Items that a remembered call is recalled as."""
_BY_CHAT = "the gateway runs tools of this request, so its model was asked through chat"


class MessagesHandler:
    """The endpoints' checks and handlers. A count needs no `max_tokens`."""

    def __init__(self, completions: CompletionService, hosted: HostedSearch, files: FileParts) -> None:
        """`files` reads documents that are not text."""
        self._completions, self._hosted, self._files = completions, hosted, files
        self._counter, self._native = TokenCounter(), NativeMessages(completions)
        schema = schemas.load("messages")
        self.check = by_schema(schema)
        self.check_count = by_schema(
            {**schema, "required": [each for each in schema["required"] if each != "max_tokens"]}
        )

    async def create(self, request: web.Request) -> web.StreamResponse:
        """JsonReply of a `message`, or EventReply of its events.

        Raises ModelNotFound, InvalidRequest, ContentBlocked, UpstreamError.
        """
        call = request[CALL]
        body, stats = call.body, call.stats
        entry = await self._text_model(call)
        wish, is_native = web_wish(body), self._native.speaks(entry)
        if is_native and wish is None:
            return await self._pass_on(call, entry, passed_headers(request.headers, stats.warnings))
        stats.warnings += left_out(body)
        if wish is not None:
            stats.warnings += [_BY_CHAT] if is_native else []
            return await self._search(call, entry, wish)
        carrier = self._completions.carrier(call.caller.identity, stats)
        chat = to_chat(body, MAX_IMAGES, carrier=carrier)
        stream, is_plain = MessageStream(body, token_estimate(chat, QUICK_CHARS), carrier), plain_chats().allows(chat)
        if body.get("stream"):
            relay = translated(stream.take)
            events = events_of(self._completions.stream(chat, stats, is_plain, relay))
            return _streamed(call, entry, stream, stream.run(events), relay)
        return whole(call, stream.made_of(events_of_whole(await self._completions.complete(chat, stats, is_plain))))

    async def _pass_on(self, call: Call, entry: ModelEntry, headers: Mapping[str, str]) -> web.StreamResponse:
        """The reply of an upstream that speaks this interface. As `create`."""
        body, stats = call.body, call.stats
        stats.headers = headers
        if body.get("stream"):
            stream = NativeMessageStream(
                body, token_estimate(body, QUICK_CHARS), holds_thoughts=call.masking is not None
            )
            return _streamed(call, entry, stream, self._native.stream(body, (), stats, stream))
        message = await self._native.complete(body, (), stats)
        return whole(call, message, finish=set_apart(message) if call.masking is not None else None)

    async def _search(self, call: Call, entry: ModelEntry, wish: WebWish) -> web.StreamResponse:
        """The reply to a request with hosted web tools. As `create`, and Forbidden."""
        body, owner, sources = call.body, call.caller.key_id, Sources()
        self._hosted.require_scope(call.caller, wish.tools[0][1])
        options = of_messages(wish.search, wish.fetch, fetches_first=wish.forced == "web_fetch")
        recalled = self._recalled(owner, body["messages"], sources)
        carrier = self._completions.carrier(call.caller.identity, call.stats)
        chat = to_chat(body, MAX_IMAGES, recalled, carrier)
        stream = MessageStream({**body, "model": entry.shown}, token_estimate(chat, QUICK_CHARS), carrier)
        relay = translated(stream.take)
        loop = LoopRequest(chat, WebSearchTool.kind if wish.forced else "", wish.max_uses, relay)
        is_allowed = (body.get("tool_choice") or {}).get("type") != "none"
        events = self._hosted.answer(call, entry, HostedRequest(loop, options if is_allowed else None, sources))
        if body.get("stream"):
            return _streamed(call, entry, stream, stream.run(events), relay)
        return whole(call, await stream.whole(events))

    def _recalled(self, owner: str, messages: list[Json], sources: Sources) -> dict[str, Json]:
        """What the searches of the turn that is not over gave the model, by the ids of their blocks."""
        found: dict[str, Json] = {}
        for each in open_calls(messages):
            items = self._hosted.recall(owner, [{"type": "web_search_call", "id": item_id(each)}], sources)
            if len(items) == _CALL_AND_OUTPUT:
                found[each] = {**items[0], "output": items[1]["output"]}
        return found

    async def count(self, request: web.Request) -> web.StreamResponse:
        """JsonReply of `{input_tokens}`, counted by the upstream where it can. An estimate says so in
        `provider_specific_fields.usage_estimated`. Raises ModelNotFound, InvalidRequest."""
        call = request[CALL]
        entry = await self._text_model(call)
        if self._native.speaks(entry):
            call.stats.headers, chat = passed_headers(request.headers, call.stats.warnings), call.body
            tokens = await self._native.count(call.body, call.stats)
        else:
            chat = to_chat(call.body, MAX_IMAGES)
            tokens = await self._counter.count(entry, call.body, call.stats)
        if tokens is not None:
            return JsonReply({"input_tokens": tokens})
        estimate = {"usage_estimated": True}
        return JsonReply({"input_tokens": token_estimate(chat), "provider_specific_fields": estimate})

    async def _text_model(self, call: Call) -> ModelEntry:
        """The request's model, once its documents are read."""
        entry = require_kind(self._completions.resolve(call.body["model"]), "text")
        if call.masking is not None or not self._native.speaks(entry):
            await self._files.replace(call, entry, call.body)
        return entry


def _streamed(
    call: Call, entry: ModelEntry, stream: MessageStream, events: EventStream, relay: Relay | None = None
) -> web.StreamResponse:
    def refused(error: GatewayError, last: Json | None, used: Json) -> list[Event]:
        return stream.refused_events(error, used)

    return streamed(call, entry, events, refused, failed=stream.error_events, relay=relay)
