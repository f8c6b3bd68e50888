"""Translates chat chunks, or the neutral events of hosted tools, into a message: whole, or as a stream of events.

Source: Anthropic API reference (Streaming messages), SDK anthropic 2.12, read 2026-11-22. Knows no HTTP.

Order: `message_start`, `ping`, the blocks (`blocks`), one `message_delta`, `message_stop`. After an error the last
event is `error`; there is no `message_stop` then.
"""

import re
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import TypeAlias

from gateway.domain import Event, EventBatch, EventStream, Json
from gateway.errors import GatewayError, UpstreamError
from gateway.wire import sse
from gateway.wire.hosted_answer import CallPhase, ClientCall, HostedEvent, ReasoningPiece, TextPiece
from gateway.wire.messages import object as objects
from gateway.wire.messages.blocks import Blocks, stop_event
from gateway.wire.messages.errors import error_object
from gateway.wire.messages.request import thinking_display
from gateway.wire.messages.search import call_blocks, citations_of

HostedEvents: TypeAlias = AsyncGenerator[list[HostedEvent], None]

_IN_BLOCK = re.compile(r"content\[(\d+)\]")
"""Place of a text in a block's deltas, as `dialect` names it."""


class MessageStream:
    """One answer. `body` is the caller's messages request, `input_tokens` an estimate of its size, at least 1.

    `message` is the message so far.
    """

    def __init__(self, body: Json, input_tokens: int) -> None:
        self._stops: list[str] = body.get("stop_sequences") or []
        self.message = objects.new_message(body["model"])
        self.message["usage"] |= {"input_tokens": input_tokens, "output_tokens": 1}
        self.blocks = Blocks(thinking_display(body))
        self._is_open = False
        self._is_refused = False
        self._finish_reason: str | None = None
        self._matched: object = None
        self._usage: Json | None = None
        self._backend: Json | None = None
        self._server_tool_use: Json = {}
        self._contents: dict[str, str] = {}

    async def run(self, chunks: EventStream) -> EventStream:
        """The events of a stream of normal chat chunks ended by `[DONE]`. Raises what `chunks` raises."""
        async with aclosing(chunks):
            async for batch in chunks:
                events: EventBatch = []
                for chunk in sse.decoded(batch):
                    if not self._is_open:
                        self.message["model"] = chunk.get("model", self.message["model"])
                        events += self.opening()
                    events += self._chunk_events(chunk)
                yield events
        yield list(self.ending())

    async def run_hosted(self, batches: HostedEvents) -> EventStream:
        """The events of a stream with hosted tools. Raises what `batches` raises."""
        async with aclosing(batches):
            async for batch in batches:
                events: EventBatch = [] if self._is_open else list(self.opening())
                for each in batch:
                    events += self._hosted_events(each)
                yield events
        yield list(self.ending())

    async def whole_hosted(self, batches: HostedEvents) -> Json:
        """The message of a whole answer with hosted tools. Raises what `batches` raises, and as `from_chat`."""
        self.blocks.is_whole = True
        async with aclosing(batches):
            async for batch in batches:
                for each in batch:
                    deque(self._hosted_events(each), maxlen=0)
        return self.finished()

    def from_chat(self, answer: Json) -> Json:
        """The message of a whole, normal `chat.completion`, of which the first choice is used, and taken out.

        Raises UpstreamError for a call whose arguments are no JSON object, unless the answer was cut.
        """
        self.blocks.is_whole = True
        self.message["model"] = answer.get("model", self.message["model"])
        choice: Json = (answer.pop("choices", None) or [{}])[0]
        message = choice.pop("message", None) or {}
        calls = [{**call, "index": number} for number, call in enumerate(message.get("tool_calls") or ())]
        chunk = {"usage": answer.get("usage"), "choices": [{**choice, "delta": {**message, "tool_calls": calls}}]}
        deque(self._chunk_events(chunk), maxlen=0)
        return self.finished()

    def finished(self) -> Json:
        """The whole message, once everything was added. Raises UpstreamError as `from_chat`."""
        deque(self.ending(), maxlen=0)
        if self.blocks.broken_call and self._finish_reason != "length":
            raise UpstreamError("the model called a tool with arguments that are not a JSON object")
        self.message["content"] = self.blocks.content
        return self.message

    def opening(self) -> Iterator[Event]:
        """`message_start` and a `ping`."""
        self._is_open = True
        yield _named({"type": "message_start", "message": {**self.message, "usage": dict(self.message["usage"])}})
        yield _named({"type": "ping"})

    def ending(self) -> Iterator[Event]:
        """The end of the last block, `message_delta` and `message_stop`."""
        yield from self.blocks.end()
        reason = objects.stop_fields(self._finish_reason, self._matched, self._stops)
        if self._is_refused and reason["stop_reason"] == "end_turn":
            reason["stop_reason"] = "refusal"
        usage = objects.usage_object(self._usage)
        if self._server_tool_use:
            usage["server_tool_use"] = self._server_tool_use
        self.message |= {**reason, "usage": usage, "provider_specific_fields": self._backend or {}}
        yield from _closing(reason, usage, self._backend)

    def error_events(self, error: GatewayError) -> list[Event]:
        """The end of a stream that failed: one `error` event."""
        return [_named(error_object(error))]

    def refused_events(self, error: GatewayError, usage: Json) -> list[Event]:
        """The end of a stream whose text is blocked: stop reason `refusal`. `usage` has chat's fields.

        The client has seen what comes before the place in `error.param`: a place in a block's deltas means that
        this block is open there, whatever this object has made since.
        """
        place = _IN_BLOCK.match(error.param or "")
        events = [stop_event(int(place[1]))] if place else []
        reason = objects.stop_fields("content_filter", None, [])
        return [*events, *_closing(reason, objects.usage_object(usage), self._backend)]

    def _hosted_events(self, event: HostedEvent) -> Iterator[Event]:
        if isinstance(event, TextPiece):
            self._is_refused = self._is_refused or event.is_refusal
            yield from self.blocks.text(event.text, citations_of(event.citations, self._contents))
        elif isinstance(event, ReasoningPiece):
            yield from self.blocks.thought(event.text)
        elif isinstance(event, ClientCall):
            yield from self.blocks.call(event.delta)
        elif isinstance(event, CallPhase):
            yield from self._call_events(event)
        else:
            self._finish_reason, self._usage, self._backend = event.finish_reason, event.usage, dict(event.backend)
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

    def _chunk_events(self, chunk: Json) -> Iterator[Event]:
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            if thought := delta.get("reasoning_content"):
                yield from self.blocks.thought(thought)
            if text := delta.get("content"):
                yield from self.blocks.text(text)
            if refusal := delta.get("refusal"):
                self._is_refused = True
                yield from self.blocks.text(refusal)
            for call in delta.get("tool_calls") or ():
                yield from self.blocks.call(call)
            self._finish_reason = choice.get("finish_reason") or self._finish_reason
            self._matched = objects.matched_stop(choice) or self._matched
            self._backend = choice.get("provider_specific_fields") or self._backend


def _closing(reason: Json, usage: Json, backend: Json | None) -> Iterator[Event]:
    delta: Json = {"type": "message_delta", "delta": reason, "usage": usage}
    if backend is not None:
        delta["provider_specific_fields"] = backend
    yield _named(delta)
    yield _named({"type": "message_stop"})


def _named(data: Json) -> Event:
    return Event.from_data(data, name=data["type"])
