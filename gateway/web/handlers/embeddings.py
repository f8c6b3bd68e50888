"""`POST /v1/embeddings`: OpenAI's interface to the models of kind `embedding`."""

from typing import Any

from aiohttp import web
from multidict import MultiMapping

from gateway import schemas
from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.services.completion.embeddings import EmbeddingService
from gateway.services.completion.service import CompletionService
from gateway.web.handlers.model_routes import by_schema, require_kind, whole
from gateway.web.state import CALL
from gateway.wire.json_body import JsonBody

_MAX_INPUTS = 2048
"""Texts, or lists of tokens, of one request: as in OpenAI's API reference."""


class EmbeddingsHandler:
    """The endpoint's `check` and `handle`."""

    max_body_bytes = 4 << 20

    def __init__(self, completions: CompletionService) -> None:
        self._completions = completions
        self._service = EmbeddingService(completions)
        self._check = by_schema(schemas.load("embeddings"))

    def check(self, body: JsonBody, headers: MultiMapping[str]) -> Json:
        """The body (schemas/embeddings.json). Raises InvalidRequest that names the wrong field."""
        checked: Json = self._check(body, headers)
        _require_one_kind(checked["input"])
        return checked

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """JsonReply of `{object: "list", data, model, usage}`. Raises ModelNotFound, InvalidRequest, UpstreamError."""
        call = request[CALL]
        body: Json = call.body
        require_kind(self._completions.resolve(body["model"]), "embedding")
        return whole(call, await self._service.create(body, call.stats))


def _require_one_kind(value: Any) -> None:
    """Raises InvalidRequest for a list of texts and tokens, and for too many texts."""
    if not isinstance(value, list):
        return
    kinds = {type(each) for each in value}
    if len(value) > _MAX_INPUTS and kinds != {int}:
        raise InvalidRequest(f"input: must have at most {_MAX_INPUTS} texts or lists of tokens", param="input")
    if len(kinds) > 1:
        raise InvalidRequest("input: must hold texts alone, tokens alone, or lists of tokens alone", param="input")
