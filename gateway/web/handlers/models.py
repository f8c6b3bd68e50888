"""`GET /v1/models` and `GET /v1/models/{model}`: the model table as OpenAI's clients, Codex or Claude Code read it.

Sources: OpenAI API reference; Anthropic API reference (Models) and what Claude Code 2.1.330 sends; Codex CLI 0.171
(`codex-rs/protocol/src/openai_models.rs`), which reads strictly. Read 2026-11-28.
"""

from datetime import UTC, datetime

from aiohttp import web

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.listed_models import ListedModels
from gateway.services.completion.service import CompletionService
from gateway.web.replies import JsonReply

_DEFAULT_PAGE, _MAX_PAGE = 20, 1_000
"""Models of one page, as in Anthropic's reference."""
_INSTRUCTIONS = (
    "You are a coding agent that runs in a terminal on the user's machine. Work on the task until it is done: read the "
    "files that matter before you change them, make small changes with the tools you have, run what shows that they "
    "work, and tell the user briefly what you did."
)
"""Instructions for Codex, which takes a listed model's in place of its own."""


class ModelsHandler:
    """A model is `{id, object: "model", created, owned_by, kind, context_length?}`; `kind` is `text`, `ocr` or
    `embedding`, and `context_length`, in tokens, is there where it is known.

    A request with the query `client_version` (Codex) gets `{models}`, one with the header `anthropic-version` gets
    Anthropic's form; both of text models alone, the second with aliases.
    """

    def __init__(self, completions: CompletionService) -> None:
        self._completions, self._listed = completions, ListedModels(completions)

    async def listing(self, request: web.Request) -> web.StreamResponse:
        """`{object: "list", data: [model]}`, or one of the other forms. Raises InvalidRequest for a wrong `limit`."""
        named = [(entry, name) for entry in self._completions.models for name in await self._listed.names(entry)]
        with_aliases = "anthropic-version" in request.headers and "client_version" not in request.query
        named = [each for each in named if with_aliases or each[1] not in each[0].aliases]
        texts = [each for each in named if each[0].kind == "text"]
        if "client_version" in request.query:
            return JsonReply({"models": [_codex_model(*each, at) for at, each in enumerate(texts)]})
        if with_aliases:
            return JsonReply(_page([_anthropic_model(*each) for each in texts], request))
        return JsonReply({"object": "list", "data": [_model_object(*each) for each in named]})

    async def one(self, request: web.Request) -> web.StreamResponse:
        """One model, by its name or an alias. Raises ModelNotFound."""
        name = request.match_info["model"]
        entry = self._completions.resolve(name)
        if "anthropic-version" in request.headers:
            return JsonReply(_anthropic_model(entry, name))
        return JsonReply(_model_object(entry, entry.shown))


def _model_object(entry: ModelEntry, name: str) -> Json:
    model = {"id": name, "object": "model", "created": entry.created, "owned_by": "gateway", "kind": entry.kind}
    return {**model, "context_length": entry.context_length} if entry.context_length else model


def _anthropic_model(entry: ModelEntry, name: str) -> Json:
    created = datetime.fromtimestamp(entry.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": "model", "id": name, "display_name": name, "created_at": created}


def _page(models: list[Json], request: web.Request) -> Json:
    """`{data, has_more, first_id, last_id}`, behind `after_id` or before `before_id`."""
    limit = request.query.get("limit", str(_DEFAULT_PAGE))
    if not (limit.isascii() and limit.isdigit() and len(limit) < 5 and 1 <= int(limit) <= _MAX_PAGE):
        raise InvalidRequest(f"limit: must be 1 to {_MAX_PAGE}", param="limit")
    ids = [model["id"] for model in models]
    after, before = request.query.get("after_id"), request.query.get("before_id")
    start = ids.index(after) + 1 if after in ids else 0
    end = ids.index(before) if before in ids else len(ids)
    page = models[max(start, end - int(limit)) : end] if before in ids else models[start : start + int(limit)]
    has_more = end - len(page) > start if before in ids else start + len(page) < len(ids)
    first, last = (page[0]["id"], page[-1]["id"]) if page else (None, None)
    return {"data": page, "has_more": has_more, "first_id": first, "last_id": last}


def _codex_model(entry: ModelEntry, name: str, priority: int) -> Json:
    """Every field that Codex must have: one that lacks spoils its whole list."""
    model: Json = {
        "slug": name,
        "display_name": name,
        "description": None,
        "default_reasoning_level": None,
        "supported_reasoning_levels": [],
        "shell_type": "shell_command",
        "visibility": "list",
        "supported_in_api": True,
        "priority": priority,
        "availability_nux": None,
        "upgrade": None,
        "base_instructions": _INSTRUCTIONS,
        "supports_reasoning_summaries": False,
        "default_reasoning_summary": "auto",
        "support_verbosity": False,
        "default_verbosity": None,
        "apply_patch_tool_type": None,
        "truncation_policy": {"mode": "tokens", "limit": 10_000},
        "supports_parallel_tool_calls": True,
        "experimental_supported_tools": [],
    }
    return {**model, "context_window": entry.context_length} if entry.context_length else model
