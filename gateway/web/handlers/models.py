"""`GET /v1/models` and `GET /v1/models/{model}`: the model table as OpenAI's clients read it."""

from aiohttp import web

from gateway.domain import Json
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.service import CompletionService
from gateway.web.replies import JsonReply


class ModelsHandler:
    def __init__(self, completions: CompletionService) -> None:
        self._completions = completions

    async def listing(self, request: web.Request) -> web.StreamResponse:
        return JsonReply({"object": "list", "data": [_shown(entry) for entry in self._completions.models]})

    async def one(self, request: web.Request) -> web.StreamResponse:
        """Raises ModelNotFound."""
        return JsonReply(_shown(self._completions.resolve(request.match_info["model"])))


def _shown(entry: ModelEntry) -> Json:
    return {"id": entry.name, "object": "model", "created": entry.created, "owned_by": "gateway", "kind": entry.kind}
