"""Writes an answer (`wire.hosted_answer`) as a message: whole, or as a stream of events.

Source: Anthropic API reference (Streaming messages), SDK anthropic 2.12, read 2026-11-22.

Order: `message_start`, `ping`, the blocks (`blocks`), one `message_delta`, `message_stop`. After an error the last
event is `error`; there is no `message_stop` then.
"""

import re
from collections.abc import Iterable, Iterator

from gateway.domain import Event, EventBatch, Json
from gateway.errors import GatewayError, UpstreamError
from gateway.wire.chat.kept import NO_CARRIER, Carrier
from gateway.wire.hosted_answer import (
    AnswerEnd,
    AnswerStart,
    AnswerWriter,
    CallPhase,
    ClientCall,
    HostedEvent,
    ReasoningPiece,
    TextPiece,
)
from gateway.wire.messages import object as objects
from gateway.wire.messages.blocks import Blocks, stop_event
from gateway.wire.messages.client_tools import long_names
from gateway.wire.messages.error import error_object
from gateway.wire.messages.hosted_search import call_blocks, citations_of
from gateway.wire.messages.request import thinking_display

_IN_BLOCK = re.compile(r"content\[(\d+)\]")
"""Place of a text in a block's deltas, as `dialect` names it."""


class MessageStream(AnswerWriter):
    """One answer. `body` is the caller's messages request, `input_tokens` an estimate of its size, at least 1.

    `message` is the message so far.
    """

    def __init__(self, body: Json, input_tokens: int, carrier: Carrier = NO_CARRIER) -> None:
        self._stops: list[str] = body.get("stop_sequences") or []
        self.message = objects.new_message(body["model"])
        self.message["usage"] |= {"input_tokens": input_tokens, "output_tokens": 1}
        self.blocks = Blocks(thinking_display(body), carrier, long_names(body))
        self._is_open = False
        self._is_refused = False
        self._end = AnswerEnd(None, {}, None, {})
        self._server_tool_use: Json = {}
        self._contents: dict[str, str] = {}

    def take(self, pieces: Iterable[HostedEvent]) -> EventBatch:
        """See AnswerWriter."""
        return [made for each in pieces for made in self._events_for(each)]

    def made_of(self, events: Iterable[HostedEvent]) -> Json:
        """The message of all events of an answer. Raises UpstreamError for a call whose arguments are no JSON object,
        unless the answer was cut."""
        self.blocks.is_whole = True
        self.write_all(events)
        if self.blocks.broken_call and self._end.finish_reason != "length":
            raise UpstreamError("the model called a tool with arguments that are not a JSON object")
        self.message["content"] = self.blocks.content
        return self.message

    def opening(self) -> Iterator[Event]:
        """`message_start` and a `ping`."""
        self._is_open = True
        yield named({"type": "message_start", "message": {**self.message, "usage": dict(self.message["usage"])}})
        yield named({"type": "ping"})

    def ending(self) -> EventBatch:
        """The end of the last block, `message_delta` and `message_stop`."""
        closed = list(self.blocks.end())
        reason = objects.stop_fields(self._end.finish_reason, self._end.matched, self._stops)
        if self._is_refused and reason["stop_reason"] == "end_turn":
            reason["stop_reason"] = "refusal"
        usage = objects.usage_object(self._end.usage)
        if tier := self._end.identity.get("service_tier"):
            usage["service_tier"] = "standard" if tier == "default" else tier
        if self._server_tool_use:
            usage["server_tool_use"] = self._server_tool_use
        self.message |= {**reason, "usage": usage, "provider_specific_fields": self._end.backend or {}}
        return [*closed, *closing(reason, usage, self._end.backend)]

    def error_events(self, error: GatewayError) -> list[Event]:
        """The end of a stream that failed: one `error` event."""
        return [named(error_object(error))]

    def refused_events(self, error: GatewayError, usage: Json) -> list[Event]:
        """The end of a stream whose text is blocked: stop reason `refusal`. `usage` has chat's fields.

        The client has seen what comes before the place in `error.param`: a place in a block's deltas means that
        this block is open there, whatever this object has made since.
        """
        place = _IN_BLOCK.match(error.param or "")
        events = [stop_event(int(place[1]))] if place else []
        reason = objects.stop_fields("content_filter", None, [])
        return [*events, *closing(reason, objects.usage_object(usage), self._end.backend)]

    def _events_for(self, event: HostedEvent) -> Iterator[Event]:
        if not self._is_open:
            if isinstance(event, AnswerStart):
                self.message["model"] = event.identity.get("model", self.message["model"])
            yield from self.opening()
        match event:
            case TextPiece():
                self._is_refused = self._is_refused or event.is_refusal
                citations = citations_of(event.citations, self._contents)
                yield from self.blocks.text(event.text, citations, is_refusal=event.is_refusal)
            case ReasoningPiece(text):
                yield from self.blocks.thought(text)
            case ClientCall(delta):
                yield from self.blocks.call(delta)
            case CallPhase():
                yield from self._call_events(event)
            case AnswerEnd():
                self._end = event
                self.message["model"] = event.identity.get("model", self.message["model"])

    def _call_events(self, event: CallPhase) -> Iterator[Event]:
        """The blocks of a call that has ended; while it runs, there is nothing that this API could show."""
        if event.phase not in ("completed", "failed"):
            return
        self._contents |= {each["url"]: str(each.get("content") or "") for each in event.call.results}
        for block in call_blocks(event.call):
            if block["type"] == "server_tool_use":
                counter = f"{block['name']}_requests"
                self._server_tool_use[counter] = self._server_tool_use.get(counter, 0) + 1
            yield from self.blocks.whole(block)


def closing(reason: Json, usage: Json, backend: Json | None) -> Iterator[Event]:
    """`message_delta` with the stop reason and a usage of this interface, and `message_stop`."""
    delta: Json = {"type": "message_delta", "delta": reason, "usage": usage}
    if backend is not None:
        delta["provider_specific_fields"] = backend
    yield named(delta)
    yield named({"type": "message_stop"})


def named(data: Json) -> Event:
    """An event of its type."""
    return Event.from_data(data, name=data["type"])
