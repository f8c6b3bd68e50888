"""`POST /v1/embeddings`: OpenAI's interface to the models of kind `embedding`. Knows no upstream."""

import time
from collections.abc import Mapping

from aiohttp import web

from gateway import schemas
from gateway.domain import Json
from gateway.services.completion.embeddings import EmbeddingService
from gateway.services.completion.service import CompletionService
from gateway.web.context import CONTEXT
from gateway.web.handlers.chat import require_kind, timing_headers
from gateway.web.handlers.json_body import checked_body
from gateway.web.replies import JsonReply


class EmbeddingsHandler:
    """The endpoint's `check` and `handle`."""

    def __init__(self, completions: CompletionService) -> None:
        self._completions = completions
        self._service = EmbeddingService(completions)
        self._checker = schemas.Checker(schemas.load("embeddings"))

    def check(self, raw: bytes, headers: Mapping[str, str]) -> Json:
        """The body (schemas/embeddings.json). Raises InvalidRequest that names the wrong field."""
        return checked_body(raw, self._checker)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """JsonReply of `{object: "list", data, model, usage}`. Raises ModelNotFound, InvalidRequest, UpstreamError."""
        context = request[CONTEXT]
        body: Json = context.body
        context.body = None
        require_kind(self._completions.resolve(body["model"]), "embedding")
        started_s = time.perf_counter()
        answer = await self._service.create(body, context.stats)
        return JsonReply(answer, headers=timing_headers(context.stats, started_s))
