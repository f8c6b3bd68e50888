"""`POST /v1/messages` and `POST /v1/messages/count_tokens`: Anthropic's interface to the models of kind `text`.

A request is translated to chat and its answer back (`wire.messages`). Knows no upstream and no block.
"""

import time
from collections.abc import Mapping

from aiohttp import web

from gateway import schemas
from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.images import MAX_IMAGES
from gateway.services.completion.service import CompletionService
from gateway.services.completion.token_count import TokenCounter
from gateway.web.context import CONTEXT
from gateway.web.handlers.chat import require_kind, timing_headers, used_so_far
from gateway.web.handlers.json_body import checked_body
from gateway.web.replies import EventReply, JsonReply
from gateway.wire.messages.object import estimated_tokens
from gateway.wire.messages.request import to_chat, wants_web_search
from gateway.wire.messages.stream import MessageStream


class MessagesHandler:
    """The endpoints' checks and handlers. `anthropic-version` and `anthropic-beta` are not looked at."""

    def __init__(self, completions: CompletionService) -> None:
        self._completions = completions
        self._counter = TokenCounter()
        schema = schemas.load("messages")
        self._checker = schemas.Checker(schema)
        needed = [name for name in schema["required"] if name != "max_tokens"]
        self._count_checker = schemas.Checker({**schema, "required": needed})

    def check(self, raw: bytes, headers: Mapping[str, str]) -> Json:
        """The body (schemas/messages.json). Raises InvalidRequest that names the wrong field."""
        return checked_body(raw, self._checker)

    def check_count(self, raw: bytes, headers: Mapping[str, str]) -> Json:
        """The same for a count, which needs no `max_tokens`."""
        return checked_body(raw, self._count_checker)

    async def create(self, request: web.Request) -> web.StreamResponse:
        """JsonReply of a `message`, or EventReply of its events.

        Raises ModelNotFound, InvalidRequest, ContentBlocked, UpstreamError.
        """
        context = request[CONTEXT]
        body: Json = context.body
        entry = self._text_model(body)
        if wants_web_search(body) is not None:
            raise InvalidRequest("tools: hosted web search is not available on this route", param="tools")
        chat = to_chat(body, MAX_IMAGES)
        stats, started_s = context.stats, time.perf_counter()
        stream = MessageStream(body, estimated_tokens(chat))
        if body.get("stream"):
            reply = EventReply(
                stream.run(self._completions.stream(chat, stats)),
                first_event_wait_s=entry.first_event_wait_s,
                failure_events=stream.error_events,
                refusal_events=lambda error, _: stream.refused_events(error, used_so_far(stats)),
            )
            reply.late_headers = lambda: timing_headers(stats, started_s)
            return reply
        message = stream.from_chat(await self._completions.complete(chat, stats))
        return JsonReply(message, headers=timing_headers(stats, started_s))

    async def count(self, request: web.Request) -> web.StreamResponse:
        """JsonReply of `{input_tokens}`, counted by the upstream where it can. An estimate says so in
        `provider_specific_fields.usage_estimated`. Raises ModelNotFound, InvalidRequest."""
        context = request[CONTEXT]
        body: Json = context.body
        entry = self._text_model(body)
        chat = to_chat(body, MAX_IMAGES)
        tokens = await self._counter.count(entry, body, context.stats)
        if tokens is not None:
            return JsonReply({"input_tokens": tokens})
        estimate = {"usage_estimated": True}
        return JsonReply({"input_tokens": estimated_tokens(chat), "provider_specific_fields": estimate})

    def _text_model(self, body: Json) -> ModelEntry:
        entry = self._completions.resolve(body["model"])
        require_kind(entry, "text")
        return entry
