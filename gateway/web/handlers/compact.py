"""`POST /v1/responses/compact` and `POST /v1/responses/input_tokens`: a conversation made shorter, and counted."""

import time

from aiohttp import web

from gateway import schemas
from gateway.calls.call import Call
from gateway.errors import InvalidRequest
from gateway.services.completion.service import CompletionService
from gateway.services.responses.continued import Continued, continued_of, holder_of, refuse_trigger
from gateway.services.responses.listing import with_ids
from gateway.web.handlers.model_routes import by_schema, require_kind, whole
from gateway.web.handlers.responses import Kept
from gateway.web.replies import JsonReply
from gateway.web.state import CALL
from gateway.wire.responses.object import new_id, usage_object
from gateway.wire.responses.request import to_chat


class CompactHandler:
    """The two endpoints' checks and handlers. A count needs no model."""

    def __init__(self, completions: CompletionService, kept: Kept) -> None:
        self._completions, self._compactor, self._tokens = completions, kept.compactor, kept.tokens
        self._inputs = kept.inputs()
        schema = schemas.load_with_items("compact")
        self.check_count = by_schema(schema)
        self.check = by_schema({**schema, "required": ["model"]})

    async def reads(self, call: Call) -> Continued:
        """What a request goes on with; nothing is added to a conversation. Raises InvalidRequest, NotFound."""
        call.body["store"] = False
        return await self._inputs.read(call)

    async def compact(self, request: web.Request) -> web.StreamResponse:
        """JsonReply of `{id, object: "response.compaction", created_at, output, usage}`; `output` is the user messages
        and one compaction item. Raises ModelNotFound, InvalidRequest, UpstreamError."""
        call = request[CALL]
        body = call.body
        entry = require_kind(self._completions.resolve(body["model"]), "text")
        continued = continued_of(call)
        refuse_trigger(continued)
        compacted = await self._compactor.compact(
            {**body, "model": entry.shown}, continued.everything, holder_of(call), call.stats, entry.context_length
        )
        answer = {
            "id": new_id("resp"),
            "object": "response.compaction",
            "created_at": int(time.time()),
            "output": [*with_ids(compacted.retained), compacted.item],
            "usage": usage_object(compacted.usage),
        }
        return whole(call, answer)

    async def count(self, request: web.Request) -> web.StreamResponse:
        """JsonReply of `{object: "response.input_tokens", input_tokens}`: what the model would read, tools, schema and
        earlier turns included. Nothing is generated. Where nothing is known of how the model counts,
        `provider_specific_fields.usage_estimated` says so. Raises ModelNotFound, InvalidRequest."""
        call = request[CALL]
        body = call.body
        model = ""
        if body.get("model") is not None:
            model = require_kind(self._completions.resolve(body["model"]), "text").name
        continued = continued_of(call)
        refuse_trigger(continued)
        if not continued.everything and not body.get("instructions"):
            raise InvalidRequest("input: must hold a message", param="input")
        asked = {"model": "", **body, "input": body["input"]}
        chat = to_chat(asked, continued.earlier, ("mcp", "web_search"), first=continued.first).body
        tokens, is_estimate = self._tokens.of(model, chat)
        more = {"provider_specific_fields": {"usage_estimated": True}} if is_estimate else {}
        return JsonReply({"object": "response.input_tokens", "input_tokens": tokens, **more})
