"""`POST /v1/responses`, and the stored responses: `GET` and `DELETE /v1/responses/{id}`, `GET …/input_items`.

A request is translated to chat and its answer back (`wire.responses`), or passed on to an upstream that has the route
itself. Knows no upstream and no chat body.
"""

import re
import time
from collections.abc import Mapping
from contextlib import aclosing

import orjson
from aiohttp import web

from gateway import schemas
from gateway.domain import EventStream, Json, RequestStats
from gateway.errors import ContentBlocked, InvalidRequest, NotFound, UpstreamError
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.native_responses import NativeResponses
from gateway.services.completion.response_store import ResponseStore, Storing, check_history
from gateway.services.completion.service import CompletionService
from gateway.web.context import CONTEXT, RequestContext
from gateway.web.handlers.chat import require_kind, timing_headers, used_so_far
from gateway.web.handlers.file_parts import FileParts
from gateway.web.handlers.hosted_responses import HostedResponses, HostedWishes
from gateway.web.handlers.json_body import checked_body
from gateway.web.middleware.sanitize import clean_request
from gateway.web.replies import EventReply, JsonReply
from gateway.wire.hosted_answer import KeptLinks, text_holders
from gateway.wire.json_body import JsonBody
from gateway.wire.responses.hosted_stream import HostedStream
from gateway.wire.responses.mcp import approved_calls, refuse_unserved
from gateway.wire.responses.native import NativeStream
from gateway.wire.responses.object import new_id
from gateway.wire.responses.request import input_items, refuse_unkept, to_chat
from gateway.wire.responses.stream import ResponseStream, from_chat

_MAX_PAGE = 100
"""Items of one page of `input_items`, as in OpenAI's API reference."""

_LIMIT = re.compile(r"[0-9]{1,3}")

_MAX_NAMED = 8
"""Tools named in the warning header. Chosen: half would leave out kinds that one request does send together; double
would make a header of a kilobyte from long names."""

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_.-]")


class ResponsesHandler:
    """The endpoints' `check` and handlers. A response is the `response` object of OpenAI's API."""

    def __init__(
        self,
        completions: CompletionService,
        store: ResponseStore,
        hosted: HostedResponses | None = None,
        files: FileParts | None = None,
    ) -> None:
        """`hosted` answers requests with hosted tools; without it such a tool is left out with a warning. `files` reads
        `input_file` parts."""
        self._completions = completions
        self._hosted = hosted
        self._files = files
        self._native = NativeResponses(completions)
        self._store = store
        self._checker = schemas.Checker(schemas.load("responses"))

    def check(self, body: JsonBody, headers: Mapping[str, str]) -> Json:
        """The body (schemas/responses.json). Raises InvalidRequest that names the wrong field."""
        checked = checked_body(body, self._checker)
        refuse_unkept(checked)
        return checked

    async def create(self, request: web.Request) -> web.StreamResponse:
        """JsonReply of a `response`, or EventReply of its events; stored for the key where `store` is true.

        Raises ModelNotFound, InvalidRequest, NotFound (a previous response), ContentBlocked, UpstreamError.
        """
        context = request[CONTEXT]
        body: Json = context.body
        entry = self._completions.resolve(body["model"])
        require_kind(entry, "text")
        if self._files is not None:
            await self._files.replace(context, entry, body)
        earlier = await self._history_of(request, body)
        native = self._native.serves(entry, body)
        wishes = self._hosted.wishes(context) if self._hosted is not None else None
        if wishes is not None and not (native and wishes.may_pass):
            return await self._answer_hosted(context, entry, earlier, wishes)
        if not native:
            refuse_unserved(approved_calls([*earlier, *body["input"]]), ())
        storing = self._storing(context, earlier)
        carrier = self._completions.carrier(context.caller.key_id, context.stats)
        chat = None if native else to_chat(body, earlier, carrier=carrier)
        headers = _warning_headers(chat.dropped if chat is not None else [])
        stats, started_s = context.stats, time.perf_counter()
        stats.warnings += chat.warnings if chat is not None else []
        if body.get("stream"):
            stream: ResponseStream
            if chat is None:
                stream = native_stream = NativeStream(body, storing.put)
                events = self._native.stream(body, earlier, stats, native_stream)
            else:
                stream = ResponseStream(body, storing.put, chat.names)
                stream.carrier = carrier
                events = stream.run(self._completions.stream(chat.body, stats))
            return _streamed(stream, storing.stored(events), entry, stats, headers)
        if chat is None:
            response = await self._native.complete(body, earlier, stats)
        else:
            response = from_chat(body, await self._completions.complete(chat.body, stats), chat.names, carrier)
        storing.put(response)
        await storing.finish()
        return JsonReply(response, headers={**headers, **timing_headers(stats, started_s)})

    async def _answer_hosted(
        self, context: RequestContext, entry: ModelEntry, earlier: list[Json], wishes: HostedWishes
    ) -> web.StreamResponse:
        """The reply to a request with hosted tools; as `create`."""
        assert self._hosted is not None
        body, stats, started_s = context.body, context.stats, time.perf_counter()
        storing = self._storing(context, earlier)
        carrier = self._completions.carrier(context.caller.key_id, stats)
        answer = self._hosted.answer(context, entry, earlier, wishes, carrier)
        headers = _warning_headers(answer.chat.dropped)
        stream = HostedStream(body, storing.put, answer.chat.names, model=entry.name, kinds=answer.kinds)
        stream.carrier = carrier
        if body.get("stream"):
            return _streamed(stream, storing.stored(stream.run_hosted(answer.events)), entry, stats, headers)
        response = await stream.whole(answer.events)
        await storing.finish()
        links = KeptLinks(text_holders(response["output"]))
        return JsonReply(response, headers={**headers, **timing_headers(stats, started_s)}, finish=links.placed)

    def _storing(self, context: RequestContext, earlier: list[Json]) -> Storing:
        """What stores a finished response with the items before it, unless the caller wants none stored."""
        owner = context.caller.key_id
        if context.body.get("store") is False:
            return Storing(self._store, owner, list)
        return Storing(self._store, owner, lambda: [*earlier, *_with_ids(context.body["input"])])

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        """A stored `response`. Raises NotFound; InvalidRequest for `stream=true`, since events are not stored."""
        if request.query.get("stream") == "true":
            raise InvalidRequest("stream: stored responses have no events; leave it out", param="stream")
        stored = await self._store.get(request[CONTEXT].caller.key_id, request.match_info["response_id"])
        response = stored.response
        return JsonReply(response, finish=KeptLinks(text_holders(response["output"])).placed)

    async def delete(self, request: web.Request) -> web.StreamResponse:
        """`{id, object: "response", deleted: true}`. Raises NotFound."""
        response_id = request.match_info["response_id"]
        await self._store.delete(request[CONTEXT].caller.key_id, response_id)
        return JsonReply({"id": response_id, "object": "response", "deleted": True})

    async def input_items(self, request: web.Request) -> web.StreamResponse:
        """`{object: "list", data: [item], first_id, last_id, has_more}`, newest first unless `order=asc`.

        Query: `limit` (1 to 100, 20 by default), `order`, `after` (an item's id). Raises NotFound, InvalidRequest.
        """
        stored = await self._store.get(request[CONTEXT].caller.key_id, request.match_info["response_id"])
        limit = request.query.get("limit", "20")
        if not (_LIMIT.fullmatch(limit) and 1 <= int(limit) <= _MAX_PAGE):
            raise InvalidRequest(f"limit: must be 1 to {_MAX_PAGE}", param="limit")
        if request.query.get("order", "desc") not in ("asc", "desc"):
            raise InvalidRequest("order: must be asc or desc", param="order")
        items = stored.items
        if request.query.get("order") != "asc":
            items.reverse()
        ids = [item["id"] for item in items]
        after = request.query.get("after")
        if after is not None and after not in ids:
            raise InvalidRequest("after: no item of this response has this id", param="after")
        start = ids.index(after) + 1 if after is not None else 0
        page = items[start : start + int(limit)]
        listing = {
            "object": "list",
            "data": page,
            "first_id": page[0]["id"] if page else None,
            "last_id": page[-1]["id"] if page else None,
            "has_more": start + len(page) < len(items),
        }
        return JsonReply(listing, finish=KeptLinks(text_holders(page)).placed)

    async def _history_of(self, request: web.Request, body: Json) -> list[Json]:
        """The items of the turns before this one; references in the body's input are replaced by the items they name.

        Stored items go to a model again, so they are sanitized like the request: they were stored as the model wrote
        them.
        """
        context = request[CONTEXT]
        owner = context.caller.key_id
        sent, previous = input_items(body), body.get("previous_response_id")
        earlier = await self._store.history(owner, previous) if previous else []
        fetched = await self._referenced(owner, sent)
        if earlier or fetched:
            try:
                context.history_verdicts = await clean_request(context, {"input": [*earlier, *fetched.values()]})
            except ContentBlocked as error:
                error.param = "previous_response_id" if earlier else "input"
                raise
        body["input"] = [fetched.get(index, item) for index, item in enumerate(sent)]
        return earlier

    async def _referenced(self, owner: str, sent: list[Json]) -> dict[int, Json]:
        """The items that references name, by the references' index. AI SDK clients send one for every old answer."""
        found: dict[int, Json] = {}
        size = 0
        for index, item in enumerate(sent):
            if item.get("type") == "item_reference":
                try:
                    raw = await self._store.item(owner, str(item.get("id")))
                except NotFound as error:
                    error.param = f"input[{index}].id"
                    raise
                size += len(raw)
                check_history(len(found) + 1, size, "input")
                found[index] = orjson.loads(raw)
        return found


async def _told_in_stream(stream: ResponseStream, events: EventStream, stats: RequestStats) -> EventStream:
    """The events; a conversation that is too long is a failed response, not an error status: Codex compacts then."""
    begun = False
    async with aclosing(events) as batches:
        try:
            async for batch in batches:
                begun = True
                yield batch
        except UpstreamError as error:
            if begun or error.code != "context_length_exceeded":
                raise
            stats.outcome = "failed"
            yield [*stream.opening(), *stream.error_events(error)]


def _streamed(
    stream: ResponseStream, events: EventStream, entry: ModelEntry, stats: RequestStats, headers: Mapping[str, str]
) -> EventReply:
    """The reply of a stream, which words its own failures and refusals."""
    started_s = time.perf_counter()
    reply = EventReply(
        _told_in_stream(stream, events, stats),
        headers=headers,
        first_event_wait_s=entry.first_event_wait_s,
        failure_events=stream.error_events,
        refusal_events=lambda error, _: stream.refused_events(error, used_so_far(stats)),
    )
    reply.late_headers = lambda: timing_headers(stats, started_s)
    return reply


def _warning_headers(kinds: list[str]) -> dict[str, str]:
    return {"X-Gateway-Warning": _dropped_warning(kinds)} if kinds else {}


def _dropped_warning(kinds: list[str]) -> str:
    """A header value that names the first few dropped tools, in letters, digits and `_.-` only."""
    names = list(dict.fromkeys(_NOT_PLAIN.sub("", kind) or "unnamed" for kind in kinds))
    more = " and more" if len(names) > _MAX_NAMED else ""
    return f"tools not available here were left out: {', '.join(names[:_MAX_NAMED])}{more}"


def _with_ids(items: list[Json]) -> list[Json]:
    return [{"type": "message", **item, "id": item.get("id") or new_id("msg")} for item in items]
