"""`POST /v1/chat/completions`: text models go to the completion service, OCR models to the OCR service above it.

The kind of the model decides which scope the key needs.
"""

from typing import Any

from aiohttp import web

from gateway import schemas
from gateway.calls.call import Call
from gateway.domain import EventStream, Json, Relay
from gateway.errors import InvalidRequest
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.service import CompletionService
from gateway.services.file_parts import FileParts
from gateway.services.hosted_tools.hosted_search import HostedRequest, HostedSearch
from gateway.services.hosted_tools.loop import LoopRequest
from gateway.services.hosted_tools.search_options import of_chat
from gateway.services.ocr.service import OcrService
from gateway.web.handlers.model_routes import by_schema, plain_chats, require_kind, require_scope, streamed, whole
from gateway.web.replies import EventReply
from gateway.web.state import CALL
from gateway.wire.chat.dialect import ChatDialect
from gateway.wire.chat.hosted_answer import HostedChat
from gateway.wire.chat.request import is_legacy
from gateway.wire.hosted_answer import LOGPROBS_LEFT_OUT, translated
from gateway.wire.json_body import is_too_deep

_SCOPE_OF_KIND = {"text": "chat", "ocr": "ocr"}
"""The scope a key needs on the chat route, by the model's kind; models of other kinds have a route of their own."""
_TOKEN_FIELDS = ("logprobs", "top_logprobs")
_SEARCH = "web_search_options"


def _is_plain(body: Any) -> bool:
    return plain_chats().allows(body) and not is_too_deep({**body, "messages": ()})


class ChatHandler:
    """The endpoint's `check` and `handle`. `files` reads `file` parts."""

    def __init__(self, completions: CompletionService, ocr: OcrService, hosted: HostedSearch, files: FileParts) -> None:
        self._completions, self._ocr, self._hosted, self._files = completions, ocr, hosted, files
        self._dialect = ChatDialect()
        self.check = by_schema(schemas.load("chat"), _is_plain)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """JsonReply of a `chat.completion`, or EventReply of its chunks. Raises ModelNotFound, Forbidden, UpstreamError
        and other GatewayErrors."""
        call = request[CALL]
        body: Json = call.body
        entry = require_kind(self._completions.resolve(body["model"]), *_SCOPE_OF_KIND)
        require_scope(call.caller, _SCOPE_OF_KIND[entry.kind])
        if entry.kind == "text" and not call.body_is_plain:
            await self._files.replace(call, entry, body)
        if body.get(_SEARCH) is not None:
            return await self._search(call, entry, body)
        is_ocr, stats, is_plain = entry.kind == "ocr", call.stats, call.body_is_plain
        if body.get("stream"):
            if is_ocr:
                return self._streamed(call, entry, self._ocr.stream(body, stats))
            relay = Relay()
            return self._streamed(call, entry, self._completions.stream(body, stats, is_plain, relay), relay)
        answer = self._ocr.complete(body, stats) if is_ocr else self._completions.complete(body, stats, is_plain)
        return whole(call, await answer)

    async def _search(self, call: Call, entry: ModelEntry, body: Json) -> web.StreamResponse:
        """The reply to a request with `web_search_options`. Raises InvalidRequest, Forbidden, and as `handle`."""
        if entry.kind != "text":
            raise InvalidRequest(f"{_SEARCH}: this model does not search the web; leave it out", param=_SEARCH)
        options = of_chat(body[_SEARCH], _SEARCH)
        for name, is_wrong in (("n", (body.get("n") or 1) > 1), ("functions", is_legacy(body))):
            if is_wrong:
                raise InvalidRequest(f"{name}: is not supported with {_SEARCH}; leave one of the two out", param=name)
        self._hosted.require_scope(call.caller, _SEARCH)
        if body.get("logprobs"):
            call.stats.warnings.append(LOGPROBS_LEFT_OUT)
        asked = {name: value for name, value in body.items() if name not in (_SEARCH, *_TOKEN_FIELDS)}
        answer = HostedChat(body, entry.shown)
        relay = translated(answer.take)
        loop = LoopRequest(asked, relay=relay)
        events = self._hosted.answer(call, entry, HostedRequest(loop, options, is_kept=False))
        if body.get("stream"):
            reply = self._streamed(call, entry, answer.run(events), relay)
            reply.has_own_links = True
            return reply
        return whole(call, await answer.whole(events))

    def _streamed(self, call: Call, entry: ModelEntry, events: EventStream, relay: Relay | None = None) -> EventReply:
        return streamed(call, entry, events, self._dialect.refused_events, relay=relay)
