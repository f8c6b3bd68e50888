"""`POST /v1/chat/completions`: text models go to the completion service, OCR models to the OCR service above it.

The kind of the model decides which scope the key needs. Knows neither upstreams nor the contents of a message.
"""

import time
from collections.abc import Mapping
from typing import Protocol

from aiohttp import web

from gateway import schemas
from gateway.domain import Caller, EventStream, Json, RequestStats
from gateway.errors import Forbidden, InvalidRequest
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.service import CompletionService
from gateway.services.hosted_tools.loop import LoopRequest
from gateway.services.hosted_tools.web_search import of_chat
from gateway.web.context import CONTEXT, RequestContext
from gateway.web.handlers.file_parts import FileParts
from gateway.web.handlers.hosted_search import HostedRequest, HostedSearch
from gateway.web.handlers.json_body import checked_body
from gateway.web.replies import EventReply, JsonReply
from gateway.wire.chat.dialect import ChatDialect
from gateway.wire.chat.hosted_answer import HostedChat
from gateway.wire.chat.request import is_legacy
from gateway.wire.hosted_answer import LOGPROBS_LEFT_OUT, KeptLinks
from gateway.wire.json_body import JsonBody

SCOPE_OF_KIND = {"text": "chat", "ocr": "ocr"}
"""The scope a key needs on the chat route, by the model's kind; models of other kinds have a route of their own."""
_TOKEN_FIELDS = ("logprobs", "top_logprobs")
_ROUTE_OF_KIND = {
    "ocr": "reads images; use it on /v1/chat/completions",
    "embedding": "makes embeddings; use it on /v1/embeddings",
}


class Completions(Protocol):
    """A service that answers chat bodies (schemas/chat.json): the completion service, or the OCR service above it."""

    async def complete(self, body: Json, stats: RequestStats) -> Json:
        """A `chat.completion` object. Raises GatewayError."""
        ...

    def stream(self, body: Json, stats: RequestStats) -> EventStream:
        """`chat.completion.chunk` events, then `[DONE]`. Raises GatewayError, also after the first event."""
        ...


class ChatHandler:
    """The endpoint's `check` and `handle`. `ocr` answers for models of kind `ocr`; without it `completions` does.
    `hosted` answers requests with `web_search_options`; without it they are refused. `files` reads `file` parts."""

    def __init__(
        self,
        completions: CompletionService,
        ocr: Completions | None = None,
        hosted: HostedSearch | None = None,
        files: FileParts | None = None,
    ) -> None:
        self._completions = completions
        self._hosted = hosted
        self._files = files
        self._ocr = ocr
        self._dialect = ChatDialect()
        self._checker = schemas.Checker(schemas.load("chat"))

    def check(self, body: JsonBody, headers: Mapping[str, str]) -> Json:
        """The chat body (schemas/chat.json). Raises InvalidRequest that names the wrong field."""
        return checked_body(body, self._checker)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """JsonReply of a `chat.completion`, or EventReply of its chunks. Raises ModelNotFound, Forbidden, UpstreamError
        and other GatewayErrors."""
        context = request[CONTEXT]
        body: Json = context.body
        entry = self._completions.resolve(body["model"])
        require_kind(entry, *SCOPE_OF_KIND)
        require_scope(context.caller, SCOPE_OF_KIND[entry.kind])
        if self._files is not None and entry.kind == "text":
            await self._files.replace(context, entry, body)
        if body.get("web_search_options") is not None:
            return await self._search(context, entry, body)
        service: Completions = self._ocr if entry.kind == "ocr" and self._ocr is not None else self._completions
        stats, started_s = context.stats, time.perf_counter()
        if body.get("stream"):
            reply = EventReply(
                service.stream(body, stats),
                first_event_wait_s=entry.first_event_wait_s,
                refusal_events=lambda error, last: self._dialect.refused_events(error, last, used_so_far(stats)),
            )
            reply.late_headers = lambda: timing_headers(stats, started_s)
            return reply
        return JsonReply(await service.complete(body, stats), headers=timing_headers(stats, started_s))

    async def _search(self, context: RequestContext, entry: ModelEntry, body: Json) -> web.StreamResponse:
        """The reply to a request with `web_search_options`. Raises InvalidRequest, Forbidden, and as `handle`."""
        param = "web_search_options"
        if self._hosted is None or entry.kind != "text":
            raise InvalidRequest(f"{param}: this model does not search the web; leave it out", param=param)
        options = of_chat(body[param], param)
        for name, is_wrong in (("n", (body.get("n") or 1) > 1), ("functions", is_legacy(body))):
            if is_wrong:
                raise InvalidRequest(f"{name}: is not supported with {param}; leave one of the two out", param=name)
        self._hosted.require_scope(context.caller, param)
        asked = {name: value for name, value in body.items() if name not in (param, *_TOKEN_FIELDS)}
        stats, started_s, answer = context.stats, time.perf_counter(), HostedChat(body, entry.name)
        if body.get("logprobs"):
            stats.warnings.append(LOGPROBS_LEFT_OUT)
        events = self._hosted.answer(context, entry, HostedRequest(LoopRequest(asked), options, is_kept=False))
        if body.get("stream"):
            reply = EventReply(
                answer.chunks(events),
                first_event_wait_s=entry.first_event_wait_s,
                refusal_events=lambda error, last: self._dialect.refused_events(error, last, used_so_far(stats)),
            )
            reply.late_headers = lambda: timing_headers(stats, started_s)
            return reply
        data = await answer.whole(events)
        links = KeptLinks(choice["message"] for choice in data["choices"])
        return JsonReply(data, headers=timing_headers(stats, started_s), finish=links.placed)


def require_kind(entry: ModelEntry, *kinds: str) -> None:
    """Raises InvalidRequest, naming the right route, unless the model is of one of these kinds."""
    if entry.kind not in kinds:
        reason = _ROUTE_OF_KIND.get(entry.kind, "answers text; use it on /v1/chat/completions")
        raise InvalidRequest(f"model '{entry.name}' {reason}", param="model")


def require_scope(caller: Caller, scope: str) -> None:
    """Raises Forbidden unless the key has the scope that the model's kind needs."""
    if scope not in caller.scopes:
        raise Forbidden(f"this key may not use this model; it needs the scope '{scope}'", param="model")


def used_so_far(stats: RequestStats) -> Json:
    """`{prompt_tokens, completion_tokens, total_tokens}` of an answer that is still being streamed."""
    counts = (stats.input_tokens, stats.output_tokens)
    if stats.streaming is not None:
        usage = stats.streaming.usage
        counts = (counts[0] + usage["prompt_tokens"], counts[1] + usage["completion_tokens"])
    return {"prompt_tokens": counts[0], "completion_tokens": counts[1], "total_tokens": sum(counts)}


def timing_headers(stats: RequestStats, started_s: float) -> dict[str, str]:
    """`openai-processing-ms` (since `started_s` of time.perf_counter), `x-gateway-overhead-ms` (without upstreams)."""
    total_ms = (time.perf_counter() - started_s) * 1000
    upstream_ms = stats.upstream_s * 1000
    return {
        "openai-processing-ms": str(round(total_ms)),
        "x-gateway-overhead-ms": f"{max(0.0, total_ms - upstream_ms):.2f}",
    }
