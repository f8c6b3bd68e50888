"""`POST /v1/responses`, and the stored responses: `GET` and `DELETE /v1/responses/{id}`, `GET …/input_items`.

A request is translated to chat and its answer back (`wire.responses_*`); the service below knows only chat.
"""

import copy
import re
import time
from collections.abc import Mapping

from aiohttp import web

from gateway import schemas
from gateway.domain import Json
from gateway.errors import ContentBlocked, InvalidRequest, NotFound
from gateway.services.completion.native_responses import NativeResponses
from gateway.services.completion.response_store import ResponseStore
from gateway.services.completion.service import CompletionService
from gateway.web.context import CONTEXT
from gateway.web.handlers.chat import timing_headers, used_so_far
from gateway.web.handlers.json_body import checked_body
from gateway.web.middleware.sanitize import clean_request
from gateway.web.replies import EventReply, JsonReply
from gateway.wire.responses.events import ResponseStream
from gateway.wire.responses.native_answer import NativeStream
from gateway.wire.responses.object import from_chat, new_id
from gateway.wire.responses.request import input_items, to_chat

_MAX_PAGE = 100
_MAX_NAMED = 8
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_.-]")


class ResponsesHandler:
    """`check` and the handlers of the endpoints."""

    def __init__(self, completions: CompletionService, store: ResponseStore) -> None:
        self._completions = completions
        self._native = NativeResponses(completions)
        self._store = store
        self._checker = schemas.Checker(schemas.load("responses"))

    def check(self, raw: bytes, headers: Mapping[str, str]) -> Json:
        """Raises InvalidRequest naming the field."""
        return checked_body(raw, self._checker)

    async def create(self, request: web.Request) -> web.StreamResponse:
        context = request[CONTEXT]
        body: Json = context.body
        owner = context.caller.key_id
        entry = self._completions.resolve(body["model"])
        if entry.kind != "text":
            raise InvalidRequest(f"model '{body['model']}' reads images: ask it on /v1/chat/completions", param="model")
        earlier = await self._recalled(request, body)
        native = self._native.serves(entry, body)
        chat, dropped = ({}, []) if native else to_chat(body, earlier)
        headers = {"X-Gateway-Warning": _left_out(dropped)} if dropped else {}

        def keep(response: Json) -> None:
            if response["store"]:
                self._store.put(owner, copy.deepcopy(response), [*earlier, *_with_ids(body["input"])])

        stats, started_s = context.stats, time.perf_counter()
        if body.get("stream"):
            stream: ResponseStream
            if native:
                stream = passed = NativeStream(body, keep)
                events = self._native.stream(body, earlier, stats, passed)
            else:
                stream = ResponseStream(body, keep)
                events = stream.run(self._completions.stream(chat, stats))
            reply = EventReply(
                events,
                headers=headers,
                first_event_wait_s=entry.first_event_wait_s,
                failure_events=stream.error_events,
                refusal_events=lambda error, _: stream.refused_events(error, used_so_far(stats)),
            )
            reply.late_headers = lambda: timing_headers(stats, started_s)
            return reply
        if native:
            response = await self._native.complete(body, earlier, stats)
        else:
            response = from_chat(body, await self._completions.complete(chat, stats))
        keep(response)
        return JsonReply(response, headers={**headers, **timing_headers(stats, started_s)})

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("stream") == "true":
            raise InvalidRequest("stream: kept responses are given whole, their events are not kept", param="stream")
        stored = self._store.get(request[CONTEXT].caller.key_id, request.match_info["response_id"])
        return JsonReply(copy.deepcopy(stored.response))

    async def delete(self, request: web.Request) -> web.StreamResponse:
        response_id = request.match_info["response_id"]
        self._store.delete(request[CONTEXT].caller.key_id, response_id)
        return JsonReply({"id": response_id, "object": "response", "deleted": True})

    async def input_items(self, request: web.Request) -> web.StreamResponse:
        """Newest first unless `order=asc`; at most `limit` (1 to 100, 20 by default), after the item `after`."""
        stored = self._store.get(request[CONTEXT].caller.key_id, request.match_info["response_id"])
        limit = request.query.get("limit", "20")
        if not (limit.isascii() and limit.isdigit() and 1 <= int(limit) <= _MAX_PAGE):
            raise InvalidRequest(f"limit: must be 1 to {_MAX_PAGE}", param="limit")
        if request.query.get("order", "desc") not in ("asc", "desc"):
            raise InvalidRequest("order: must be asc or desc", param="order")
        items = stored.items if request.query.get("order") == "asc" else stored.items[::-1]
        ids = [item["id"] for item in items]
        after = request.query.get("after")
        if after is not None and after not in ids:
            raise InvalidRequest("after: no item of this response has this id", param="after")
        start = ids.index(after) + 1 if after is not None else 0
        page = items[start : start + int(limit)]
        return JsonReply(
            {
                "object": "list",
                "data": copy.deepcopy(page),
                "first_id": page[0]["id"] if page else None,
                "last_id": page[-1]["id"] if page else None,
                "has_more": start + len(page) < len(items),
            }
        )

    async def _recalled(self, request: web.Request, body: Json) -> list[Json]:
        """The turns before this one; the items that the input points to take their places in it. What was kept goes to
        a model again, so it is looked at like what is sent: it was kept as the model gave it."""
        context = request[CONTEXT]
        owner = context.caller.key_id
        given, previous = input_items(body), body.get("previous_response_id")
        earlier = self._store.history(owner, previous) if previous else []
        items = [self._dereferenced(owner, item, index) for index, item in enumerate(given)]
        if earlier or items != given:
            earlier = copy.deepcopy(earlier)
            items = [copy.deepcopy(item) if item is not was else was for item, was in zip(items, given, strict=True)]
            fetched = [item for item, was in zip(items, given, strict=True) if item is not was]
            try:
                context.recalled = await clean_request(context, {"input": [*earlier, *fetched]})
            except ContentBlocked as error:
                error.param = "previous_response_id" if earlier else "input"
                raise
        body["input"] = items
        return earlier

    def _dereferenced(self, owner: str, item: Json, index: int) -> Json:
        """A reference to an earlier output item becomes that item: AI SDK clients send them for every old answer."""
        if item.get("type") != "item_reference":
            return item
        try:
            return self._store.item(owner, str(item.get("id")))
        except NotFound as error:
            error.param = f"input[{index}].id"
            raise


def _left_out(kinds: list[str]) -> str:
    """What the caller asked for in vain, fit for a header: letters, digits and `_.-` of the first few names."""
    names = list(dict.fromkeys(_NOT_PLAIN.sub("", kind) or "unnamed" for kind in kinds))
    more = " and more" if len(names) > _MAX_NAMED else ""
    return f"tools not available here were left out: {', '.join(names[:_MAX_NAMED])}{more}"


def _with_ids(items: list[Json]) -> list[Json]:
    return [{"type": "message", **item, "id": item.get("id") or new_id("msg")} for item in items]
