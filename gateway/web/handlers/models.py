"""`GET /v1/models` and `GET /v1/models/{model}`: the model table as OpenAI's clients read it. Knows no upstream."""

from aiohttp import web

from gateway.domain import Json
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.service import CompletionService
from gateway.web.replies import JsonReply


class ModelsHandler:
    """A model is `{id, object: "model", created, owned_by, kind, context_length?}`; `kind` is `text`, `ocr` or
    `embedding`, and `context_length`, in tokens, is there where it is known."""

    def __init__(self, completions: CompletionService) -> None:
        self._completions = completions

    async def listing(self, request: web.Request) -> web.StreamResponse:
        """`{object: "list", data: [model]}`."""
        return JsonReply({"object": "list", "data": [_model_object(entry) for entry in self._completions.models]})

    async def one(self, request: web.Request) -> web.StreamResponse:
        """One model, by its name or an alias. Raises ModelNotFound."""
        return JsonReply(_model_object(self._completions.resolve(request.match_info["model"])))


def _model_object(entry: ModelEntry) -> Json:
    model = {"id": entry.name, "object": "model", "created": entry.created, "owned_by": "gateway", "kind": entry.kind}
    return {**model, "context_length": entry.context_length} if entry.context_length else model
