"""`POST /v1/chat/completions`: text models by the completion service, OCR models by the OCR service above it.

The kind of the model decides which scope the key needs. Knows neither upstreams nor what is in a message.
"""

import time
from collections.abc import Mapping
from typing import Protocol

from aiohttp import web

from gateway import schemas
from gateway.domain import Caller, EventStream, Json, RequestStats
from gateway.errors import Forbidden
from gateway.services.completion.service import CompletionService
from gateway.web.context import CONTEXT
from gateway.web.handlers.json_body import checked_body
from gateway.web.replies import EventReply, JsonReply
from gateway.wire.chat.dialect import ChatDialect

SCOPE_OF_KIND = {"text": "chat", "ocr": "ocr"}


class Completions(Protocol):
    """What answers chat bodies: the completion service, or the OCR service above it."""

    async def complete(self, body: Json, stats: RequestStats) -> Json: ...

    def stream(self, body: Json, stats: RequestStats) -> EventStream: ...


class ChatHandler:
    """`check` and `handle` of the endpoint. `ocr` answers for models of kind `ocr`."""

    def __init__(self, completions: CompletionService, ocr: Completions | None = None) -> None:
        self._completions = completions
        self._ocr = ocr
        self._dialect = ChatDialect()
        self._checker = schemas.Checker(schemas.load("chat"))

    def check(self, raw: bytes, headers: Mapping[str, str]) -> Json:
        """Raises InvalidRequest naming the field."""
        return checked_body(raw, self._checker)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        context = request[CONTEXT]
        body: Json = context.body
        entry = self._completions.resolve(body["model"])
        require_scope(context.caller, SCOPE_OF_KIND[entry.kind])
        service: Completions = self._ocr if entry.kind == "ocr" and self._ocr is not None else self._completions
        stats = context.stats
        started_s = time.perf_counter()
        if body.get("stream"):
            reply = EventReply(
                service.stream(body, stats),
                first_event_wait_s=entry.first_event_wait_s,
                refusal_events=lambda error, last: self._dialect.refused_events(error, last, used_so_far(stats)),
            )
            reply.late_headers = lambda: timing_headers(stats, started_s)
            return reply
        data = await service.complete(body, stats)
        return JsonReply(data, headers=timing_headers(stats, started_s))


def require_scope(caller: Caller, scope: str) -> None:
    """Raises Forbidden when the key lacks the scope that the model's kind needs."""
    if scope not in caller.scopes:
        raise Forbidden(f"this key may not use this model; it needs the scope '{scope}'", param="model")


def used_so_far(stats: RequestStats) -> Json:
    """Chat's usage of an answer that is still on its way."""
    counts = (stats.input_tokens, stats.output_tokens)
    if stats.streaming is not None:
        usage = stats.streaming.usage
        counts = (counts[0] + usage["prompt_tokens"], counts[1] + usage["completion_tokens"])
    return {"prompt_tokens": counts[0], "completion_tokens": counts[1], "total_tokens": sum(counts)}


def timing_headers(stats: RequestStats, started_s: float) -> dict[str, str]:
    """How long the upstream took, and what the gateway added."""
    total_ms = (time.perf_counter() - started_s) * 1000
    upstream_ms = stats.upstream_s * 1000
    return {
        "openai-processing-ms": str(round(total_ms)),
        "x-gateway-overhead-ms": f"{max(0.0, total_ms - upstream_ms):.2f}",
    }
