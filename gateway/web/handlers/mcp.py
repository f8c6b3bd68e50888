"""MCP's transport over HTTP for the web tools: the Accept header, MCP's own headers, 202, JSON or an event stream.

Source: modelcontextprotocol.io, "Transports", all revisions, read 2026-11-21.
"""

import re
from functools import partial

from aiohttp import hdrs, web
from multidict import MultiMapping

from gateway.errors import NotAcceptable
from gateway.mcp.dialect import failure_events
from gateway.mcp.dispatcher import Dispatcher, RpcCaller
from gateway.mcp.messages import MAX_BODY_BYTES, RpcBatch, render, render_all
from gateway.mcp.versions import RpcHeaders
from gateway.web.replies import EventReply, JsonReply
from gateway.web.state import CALL
from gateway.wire.json_body import JsonBody

FIRST_EVENT_WAIT_S = 15
"""Seconds until a stream begins without an event. Proxies cut silent connections after 60 s; a stream that has begun
carries comments."""

_USUAL_ACCEPT = "application/json, text/event-stream"
"""What the official SDKs send: compared whole, so that the usual request parses nothing."""
_JSON_RANGES = ("application/json", "application/*", "*/*")
_EVENT_RANGES = ("text/event-stream", "text/*", "*/*")
_NO_WEIGHT = re.compile(r"q\s*=\s*0(\.0*)?")


class WebSearchHandler:
    """The endpoint's `check` and `handle`, and the bytes that its bodies may have."""

    max_body_bytes = MAX_BODY_BYTES

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def check(self, body: JsonBody, headers: MultiMapping[str]) -> RpcBatch:
        """The body's messages. Raises NotAcceptable, or RpcFault when the body is not a legal request."""
        return self._dispatcher.check(body, _rpc_headers(headers))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """202 without a body for notifications alone, else a JsonReply or an EventReply of JSON-RPC messages.

        Raises RateLimited when a single call is over the key's limit; other failures are JSON-RPC answers.
        """
        call = request[CALL]
        batch: RpcBatch = call.body
        owner = call.caller.key_id
        caller = RpcCaller(
            owner=owner,
            client=lambda: (owner, request.remote, request.headers.get(hdrs.USER_AGENT)),
            request_id=call.request_id,
            charge=call.charge,
            stats=call.stats,
        )
        self._dispatcher.notify(batch, caller)
        if not batch.answered:
            return web.Response(status=202)
        if batch.wants_events:
            events = self._dispatcher.events(batch, caller)
            return EventReply(
                events,
                first_event_wait_s=FIRST_EVENT_WAIT_S,
                whole_answers=True,
                failure_events=partial(failure_events, batch),
            )
        data = await self._dispatcher.answer(batch, caller)
        return JsonReply(data, finish=render_all if batch.is_batch else render)


def _rpc_headers(headers: MultiMapping[str]) -> RpcHeaders:
    accept = headers.get(hdrs.ACCEPT, "")
    if accept != _USUAL_ACCEPT:
        accept = ", ".join(headers.getall(hdrs.ACCEPT, ()))  # several lines are one list (RFC 9110, 5.3)
    return RpcHeaders(headers, *_accepted(accept))


def _accepted(accept: str) -> tuple[bool, bool]:
    """Whether JSON and whether events may be sent. Lenient: an empty Accept and `*/*` mean JSON."""
    if accept == _USUAL_ACCEPT:
        return True, True
    ranges: dict[str, bool] = {}
    for element in accept.split(","):
        if element.strip():  # empty elements of a list are ignored (RFC 9110, 5.6.1)
            name, wanted = _media_range(element)
            ranges[name] = wanted or ranges.get(name, False)
    takes_json = not ranges or _is_wanted(ranges, _JSON_RANGES)
    takes_events = ranges.get(_EVENT_RANGES[0], False) or (not takes_json and _is_wanted(ranges, _EVENT_RANGES))
    if not (takes_json or takes_events):
        raise NotAcceptable("the Accept header is not supported; it must allow application/json or text/event-stream")
    return takes_json, takes_events


def _is_wanted(ranges: dict[str, bool], names: tuple[str, ...]) -> bool:
    """What the most specific range that was sent says; `names` begins with it (RFC 9110, 12.5.1)."""
    return next((ranges[name] for name in names if name in ranges), False)


def _media_range(text: str) -> tuple[str, bool]:
    """`text/event-stream;q=0` -> ("text/event-stream", False)."""
    name, *parameters = (part.strip().lower() for part in text.split(";"))
    return name, bool(name) and not any(map(_NO_WEIGHT.fullmatch, parameters))
