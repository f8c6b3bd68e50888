"""`POST /v1/messages` and `POST /v1/messages/count_tokens`: Anthropic's interface to the models of kind `text`.

A request is translated to chat and its answer back (`wire.messages`). Knows no upstream and no block.
"""

import time
from collections.abc import Mapping

from aiohttp import web

from gateway import schemas
from gateway.domain import EventStream, Json
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.service import MAX_IMAGES, CompletionService, TokenCounter
from gateway.services.hosted_tools.citations import Sources
from gateway.services.hosted_tools.loop import LoopRequest
from gateway.services.hosted_tools.web_search import WebSearchTool, of_messages
from gateway.web.context import CONTEXT, RequestContext
from gateway.web.handlers.chat import require_kind, timing_headers, used_so_far
from gateway.web.handlers.file_parts import FileParts
from gateway.web.handlers.hosted_search import HostedRequest, HostedSearch
from gateway.web.handlers.json_body import checked_body
from gateway.web.replies import EventReply, JsonReply
from gateway.wire.hosted_answer import events_of, events_of_whole
from gateway.wire.json_body import JsonBody
from gateway.wire.messages.object import token_estimate
from gateway.wire.messages.request import to_chat
from gateway.wire.messages.stream import MessageStream
from gateway.wire.messages.tools import WebWish, item_id, left_out, open_calls, web_wish

_CALL_AND_OUTPUT = 2
"""Items that a remembered call is recalled as."""


class MessagesHandler:
    """The endpoints' checks and handlers. `anthropic-version` and `anthropic-beta` are ignored."""

    def __init__(self, completions: CompletionService, hosted: HostedSearch, files: FileParts | None = None) -> None:
        """`files` reads documents that are not text."""
        self._files = files
        self._completions = completions
        self._hosted = hosted
        self._counter = TokenCounter()
        schema = schemas.load("messages")
        self._checker = schemas.Checker(schema)
        needed = [name for name in schema["required"] if name != "max_tokens"]
        self._count_checker = schemas.Checker({**schema, "required": needed})

    def check(self, body: JsonBody, headers: Mapping[str, str]) -> Json:
        """The body (schemas/messages.json). Raises InvalidRequest that names the wrong field."""
        return checked_body(body, self._checker)

    def check_count(self, body: JsonBody, headers: Mapping[str, str]) -> Json:
        """The same for a count, which needs no `max_tokens`."""
        return checked_body(body, self._count_checker)

    async def create(self, request: web.Request) -> web.StreamResponse:
        """JsonReply of a `message`, or EventReply of its events.

        Raises ModelNotFound, InvalidRequest, ContentBlocked, UpstreamError.
        """
        context = request[CONTEXT]
        body: Json = context.body
        entry = self._text_model(body)
        if self._files is not None:
            await self._files.replace(context, entry, body)
        context.stats.warnings += left_out(body)
        wish = web_wish(body)
        if wish is not None:
            return await self._search(context, entry, wish)
        stats, carrier = context.stats, self._completions.carrier(context.caller.key_id, context.stats)
        chat = to_chat(body, MAX_IMAGES, carrier=carrier)
        stream = MessageStream(body, token_estimate(chat), carrier)
        if body.get("stream"):
            return self._streamed(context, entry, stream, stream.run(events_of(self._completions.stream(chat, stats))))
        started_s = time.perf_counter()
        message = await stream.whole(events_of_whole(await self._completions.complete(chat, stats)))
        return JsonReply(message, headers=timing_headers(stats, started_s))

    async def _search(self, context: RequestContext, entry: ModelEntry, wish: WebWish) -> web.StreamResponse:
        """The reply to a request with hosted web tools. As `create`, and Forbidden."""
        body, owner, sources = context.body, context.caller.key_id, Sources()
        self._hosted.require_scope(context.caller, wish.tools[0][1])
        options = of_messages(wish.search, wish.fetch, fetches_first=wish.forced == "web_fetch")
        recalled = self._recalled(owner, body["messages"], sources)
        carrier = self._completions.carrier(owner, context.stats)
        chat = to_chat(body, MAX_IMAGES, recalled, carrier)
        stream = MessageStream({**body, "model": entry.name}, token_estimate(chat), carrier)
        loop = LoopRequest(chat, WebSearchTool.kind if wish.forced else "", wish.max_uses)
        is_allowed = (body.get("tool_choice") or {}).get("type") != "none"
        events = self._hosted.answer(context, entry, HostedRequest(loop, options if is_allowed else None, sources))
        if body.get("stream"):
            return self._streamed(context, entry, stream, stream.run(events))
        started_s = time.perf_counter()
        message = await stream.whole(events)
        return JsonReply(message, headers=timing_headers(context.stats, started_s))

    def _recalled(self, owner: str, messages: list[Json], sources: Sources) -> dict[str, Json]:
        """What the searches of the turn that is not over gave the model, by the ids of their blocks."""
        found: dict[str, Json] = {}
        for each in open_calls(messages):
            items = self._hosted.recall(owner, [{"type": "web_search_call", "id": item_id(each)}], sources)
            if len(items) == _CALL_AND_OUTPUT:
                found[each] = {**items[0], "output": items[1]["output"]}
        return found

    def _streamed(
        self, context: RequestContext, entry: ModelEntry, stream: MessageStream, events: EventStream
    ) -> web.StreamResponse:
        stats, started_s = context.stats, time.perf_counter()
        reply = EventReply(
            events,
            first_event_wait_s=entry.first_event_wait_s,
            failure_events=stream.error_events,
            refusal_events=lambda error, _: stream.refused_events(error, used_so_far(stats)),
        )
        reply.late_headers = lambda: timing_headers(stats, started_s)
        return reply

    async def count(self, request: web.Request) -> web.StreamResponse:
        """JsonReply of `{input_tokens}`, counted by the upstream where it can. An estimate says so in
        `provider_specific_fields.usage_estimated`. Raises ModelNotFound, InvalidRequest."""
        context = request[CONTEXT]
        body: Json = context.body
        entry = self._text_model(body)
        if self._files is not None:
            await self._files.replace(context, entry, body)
        chat = to_chat(body, MAX_IMAGES)
        tokens = await self._counter.count(entry, body, context.stats)
        if tokens is not None:
            return JsonReply({"input_tokens": tokens})
        estimate = {"usage_estimated": True}
        return JsonReply({"input_tokens": token_estimate(chat), "provider_specific_fields": estimate})

    def _text_model(self, body: Json) -> ModelEntry:
        entry = self._completions.resolve(body["model"])
        require_kind(entry, "text")
        return entry
