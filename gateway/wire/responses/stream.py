"""Writes an answer (`wire.hosted_answer`) as a response object and its stream of events.

Source: OpenAI API reference (Responses streaming), Open Responses 2026-04-24, read 2026-11-21, and recorded streams of
OpenAI's API with hosted tools, read 2026-11-22.

Theory of operation. `run` reads the events of an answer and keeps the response object up to date. At any time at most
one message or reasoning item is open; function calls stay open beside each other until the end.

| item      | opened by                         | closed by                                              |
|-----------|-----------------------------------|--------------------------------------------------------|
| reasoning | the first reasoning text          | text, a tool call, or the end                          |
| message   | the first text, the first text of | reasoning, a tool call, a refusal after a text or a    |
|           | a refusal; the end, if the answer | text after a refusal, or the end                       |
|           | is empty or all reasoning         |                                                        |
| call      | the first delta of its index; the | the end                                                |
|           | end, if it is held (`calls`)      |                                                        |
| hosted    | its first phase                   | its phase `completed` or `failed`                      |

Invariants: an item is opened once and closed once, with the same id and place in all its events; the last event is
`response.completed` or `response.incomplete`, then `[DONE]`, or after an error `response.failed`. Sequence numbers are
set when an event is encoded, after every middleware, so that events which a middleware drops leave no gap.

Positions of citations. The text is masked after it was written here. So a visible link is one whole delta, and
positions are counted in `Event.finish`, when every middleware has seen the delta. Until then, and in the response that
is stored as the model wrote it, they are those of the unmasked text.
"""

import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from gateway.domain import Event, EventBatch, EventStream, Json
from gateway.errors import GatewayError
from gateway.wire import sse
from gateway.wire.chat.answer import summed_usage
from gateway.wire.chat.kept import NO_CARRIER
from gateway.wire.chat.said import called
from gateway.wire.hosted_answer import (
    AnswerEnd,
    AnswerStart,
    AnswerWriter,
    BeforeEnd,
    CallPhase,
    Citations,
    ClientCall,
    HostedCall,
    HostedEvent,
    ReasoningPiece,
    Source,
    TextPiece,
    events_of_whole,
)
from gateway.wire.openai_error import failure_code, responses_error_object
from gateway.wire.responses import object as objects
from gateway.wire.responses.hosted_items import HostedItems
from gateway.wire.responses.sent_items import SentItems
from gateway.wire.responses.streamed_call import StreamedCall
from gateway.wire.responses.tool_names import ToolNames
from gateway.wire.untrusted_json import list_in

_MORE_THAN_TEXT = ("reasoning_content", "refusal", "tool_calls", "annotations")
_NO_ANSWER = ("reasoning", "compaction")
"""Items after which a message must follow, if it is an empty one."""


_PLAIN: Mapping[str, HostedItems] = MappingProxyType({})
_UNSENT = Event.from_data({})
"""Replaces every event of an answer that is not streamed: only its response object is used."""


class ResponseStream(AnswerWriter):
    """One answer, streamed or whole. `body` is the caller's responses request; `on_end` gets the finished response
    object, once, as the model wrote it. `model`: the answer's public name until it says another.

    `names` are those of the translated request (`request.to_chat`). `kinds`: how the calls of hosted tools are written,
    empty where there are none. `response` is the response object so far; `backend` its `provider_specific_fields`,
    None while unknown.
    """

    def __init__(
        self,
        body: Json,
        on_end: Callable[[Json], None],
        names: ToolNames | None = None,
        *,
        model: str = "",
        kinds: Mapping[str, HostedItems] = _PLAIN,
    ) -> None:
        self._body = body
        self.response = objects.new_response(body)
        self.response["model"] = model or self.response["model"]
        self._on_end = on_end
        self._kinds = kinds
        self._numbers = itertools.count()
        self._indices: dict[int, int] = {}  # places in the output by id(item): looking for one costs more with each
        self._message: Json | None = None
        self._is_refusal = False
        self._reasoning: Json | None = None
        self._text: list[str] = []  # of whichever is open
        self._logprobs: list[Any] = []  # of the open text
        self._notes: list[Json] = []  # citations that have no text yet
        self._calls: dict[int, StreamedCall] = {}
        self.names = names or ToolNames()
        self._closed: set[str] = set()
        self._end = AnswerEnd(None, {}, None, {})
        self.backend: Json | None = None
        self.carrier = NO_CARRIER
        self._sent = SentItems()
        self._is_open = self._is_created = self._is_whole = False
        self._before: list[Json] = []
        self._usage_before: Json = {}
        self._hosted: dict[str, Json] = {}
        self._ends_turn = False  # the last hosted call does
        self._chars = 0  # of the open message
        self._left = Counter[str]()  # characters of each message that have left, as masked
        self._positions: dict[int, Json] = {}  # of annotations in the unmasked text, by id(annotation)

    @property
    def places_links(self) -> bool:
        """Whether the positions of its citations are set when its events leave: of hosted tools."""
        return bool(self._kinds)

    def from_chat(self, answer: Json) -> Json:
        """The response object of a whole, normal `chat.completion`.

        Naive form: `made_of(events_of_whole(answer))`, which takes five times as long for a text alone.
        """
        choice, wanted = answer["choices"][0], list_in(self._body, "include")
        message = choice["message"]
        if self._before or wanted or choice.get("logprobs") or any(message.get(name) for name in _MORE_THAN_TEXT):
            return self.made_of(events_of_whole(answer))
        self._identify(answer)
        parts = [objects.text_part(message.get("content") or "")]
        self.response["output"].append(objects.message_item(objects.new_id("msg"), "completed", parts))
        objects.finish(
            self.response, choice.get("finish_reason"), answer.get("usage"), choice.get("provider_specific_fields")
        )
        self._on_end(self.response)
        return self.response

    def take(self, pieces: Iterable[HostedEvent]) -> EventBatch:
        """See AnswerWriter."""
        return [made for each in pieces for made in self._events_for(each)]

    def made_of(self, events: Iterable[HostedEvent]) -> Json:
        """The response object of all events of an answer."""
        self._is_whole = True
        self.write_all(events)
        return self.response

    def opening(self) -> list[Event]:
        """The first events, where there was no chunk."""
        return list(self._opening({}))

    def begin_with(self, items: list[Json], usage: Json) -> None:
        """Put items before the answer: they are complete. `usage`: chat's usage of making them, which is added."""
        self._before, self._usage_before = items, usage

    async def run_items(
        self, make: Callable[[], Awaitable[tuple[list[Json], Json]]], before_end: BeforeEnd | None = None
    ) -> EventStream:
        """The events of a response of these items alone; `make` gives them, with chat's usage. `before_end` as for
        `run`. Raises as both do."""
        self.begin_with(*await make())
        yield self.opening()
        ending = list(self._finished("stop"))
        if before_end is not None:
            await before_end()
        yield ending

    async def whole_items(self, make: Callable[[], Awaitable[tuple[list[Json], Json]]]) -> Json:
        """The response object of the same, not streamed."""
        self._is_whole = True
        async for _ in self.run_items(make):
            pass
        return self.response

    def queued_events(self) -> list[Event]:
        """The events of a response that waits to be made: `response.created` and `response.queued`."""
        self._is_created = True
        kinds, queued = ("response.created", "response.queued"), {**self.response, "status": "queued"}
        return [self._event(kind, {"response": objects.shown(queued, [])}) for kind in kinds]

    def cancelled_events(self) -> list[Event]:
        """The end of a response that was cancelled: `response.failed`, whose response says so and has no output."""
        self.response |= {"status": "cancelled", "output": [], "error": None, "completed_at": None}
        return [self._event("response.failed", {"response": self.response})]

    def error_events(self, error: GatewayError) -> list[Event]:
        """`error`, then `response.failed` with what has left of the output, which is masked as it has left.

        The `error` event has both of its known shapes: its fields at the top, and again under `error`.
        """
        wire_error = responses_error_object(error)
        flat = {"code": error.code, "message": error.message, "param": wire_error["param"], "error": wire_error}
        self.response["status"] = "failed"
        self.response["error"] = {"code": failure_code(error), "message": error.message}
        self.response["output"] = self._sent.at_failure()
        return [self._event("error", flat), self._event("response.failed", {"response": self.response})]

    def refused_events(self, error: GatewayError, usage: Json) -> list[Event]:
        """The end of a stream whose text is blocked: its items closed with what has left of them, then
        `response.incomplete`. `usage` has chat's fields, `{prompt_tokens, completion_tokens, …}`."""
        events = []
        for index, item in enumerate(self.response["output"]):
            objects.without_text(item)  # what was not judged is never shown
            if item["id"] not in self._closed:
                events.append(self._event("response.output_item.done", {"output_index": index, "item": item}))
                events[-1].finish = self._finish_item
        objects.finish(self.response, "content_filter", usage, self.backend)
        events.append(self._event("response.incomplete", {"response": self.response}))
        events[-1].finish = self._finish_refused
        return [*events, Event.from_bytes(sse.DONE)]

    def _finish_item(self, data: Json) -> Json:
        """The event of an item that was cut: only when the events before it are written is known what has left."""
        left = dict(enumerate(self._sent.at_failure()))
        return self._numbered({**data, "item": left.get(data["output_index"], data["item"])})

    def _finish_refused(self, data: Json) -> Json:
        self.response["output"] = self._sent.at_failure()
        return self._numbered({**data, "response": {**data["response"], "output": self.response["output"]}})

    def _event(self, kind: str, fields: Json) -> Event:
        if self._is_whole:
            return _UNSENT
        return Event.from_data({"type": kind, "sequence_number": 0, **fields}, name=kind, finish=self._numbered)

    def _numbered(self, data: Json) -> Json:
        data["sequence_number"] = next(self._numbers)
        self._sent.note(data)
        return data

    def _opening(self, identity: Json) -> Iterator[Event]:
        self._is_open = True
        self._identify(identity)
        kinds = ["response.created", "response.in_progress"][self._is_created :]
        for kind in kinds if not self._is_whole else ():
            yield self._event(kind, {"response": objects.shown(self.response, [])})
        for item in self._before:
            self.response["output"].append(item)
            self._closed.add(item["id"])
            place = {"output_index": len(self.response["output"]) - 1}
            for step in ("added", "done"):
                yield self._event(f"response.output_item.{step}", {**place, "item": dict(item)})

    def _identify(self, identity: Json) -> None:
        for name in ("model", "system_fingerprint", "service_tier"):
            if identity.get(name):
                self.response[name] = identity[name]

    def _events_for(self, event: HostedEvent) -> Iterator[Event]:
        if not self._is_open:
            yield from self._opening(event.identity if isinstance(event, AnswerStart) else {})
        match event:
            case TextPiece(text, _, True):
                yield from self._refusal_events(text)
            case TextPiece():
                yield from self._text_events(event)
            case ReasoningPiece(text):
                yield from self._reasoning_events(text)
            case Citations(notes):
                self._notes += notes
                if self._message is not None and not self._is_refusal:
                    yield from self._note_events()
            case ClientCall(delta):
                yield from self._call_events(delta)
            case CallPhase(call, phase):
                yield from self._phase_events(call, phase)
            case AnswerEnd():
                self._end, self.backend = event, event.backend
                self._identify(event.identity)

    def _reasoning_events(self, text: str) -> Iterator[Event]:
        if self._reasoning is None:
            yield from self._close_message()
            self._reasoning = item = objects.reasoning_item(objects.new_id("rs"), "in_progress", [])
            yield from self._open(item)
            empty = {**self._position(item), "summary_index": 0, "part": objects.summary_part("")}
            yield self._event("response.reasoning_summary_part.added", empty)
            item["summary"].append(objects.summary_part(""))
        item = self._reasoning
        self._text.append(text)
        delta = {**self._position(item), "summary_index": 0, "delta": text}
        yield self._event("response.reasoning_summary_text.delta", delta)

    def _close_reasoning(self, status: str = "completed") -> Iterator[Event]:
        item, self._reasoning = self._reasoning, None
        if item is None:
            return
        part = {**self._position(item), "summary_index": 0}
        text = item["summary"][0]
        text["text"] = self._whole_text()
        yield self._event("response.reasoning_summary_text.done", {**part, "text": text["text"]})
        yield self._event("response.reasoning_summary_part.done", {**part, "part": dict(text)})
        if (sealed := self.carrier.sealed()) is not None:
            item["encrypted_content"] = sealed
        yield from self._close(item, status)

    def _text_events(self, piece: TextPiece) -> Iterator[Event]:
        if self._message is None or self._is_refusal:
            yield from self._open_message()
        assert self._message is not None
        self._text.append(piece.text)
        place = {**self._position(self._message), "content_index": 0}
        self._logprobs += piece.logprobs
        spelt = {"delta": piece.text, "logprobs": objects.copied(list(piece.logprobs)) if piece.logprobs else []}
        delta = self._event("response.output_text.delta", {**place, **spelt})
        start, self._chars = self._chars, self._chars + len(piece.text)
        notes = [_citation(source, start, self._chars) for source in piece.citations]
        if self._kinds and not self._is_whole:
            delta.finish = partial(self._finish_delta, notes)
        yield delta
        part = self._message["content"][0]
        for note in notes:
            self._positions[id(note)] = {name: note[name] for name in ("start_index", "end_index")}
            part["annotations"].append(note)
            fields = {**place, "annotation_index": len(part["annotations"]) - 1, "annotation": note}
            yield self._event("response.output_text.annotation.added", fields)
        yield from self._note_events()

    def _note_events(self) -> Iterator[Event]:
        """Add the upstream's own citations to the open text; those that came before it are added with its first
        piece."""
        if not self._notes:
            return
        assert self._message is not None
        place, kept = {**self._position(self._message), "content_index": 0}, self._message["content"][0]["annotations"]
        for note in self._notes:
            kept.append(note)
            fields = {**place, "annotation_index": len(kept) - 1, "annotation": dict(note)}
            yield self._event("response.output_text.annotation.added", fields)
        self._notes.clear()

    def _finish_delta(self, notes: list[Json], data: Json) -> Json:
        """Called with the masked delta, in the order of the stream: sets the positions of the links that it is."""
        start = self._left[data["item_id"]]
        end = self._left[data["item_id"]] = start + len(data["delta"])
        for note in notes:
            note.update(start_index=start, end_index=end)
        return self._numbered(data)

    def _phase_events(self, call: HostedCall, phase: str) -> Iterator[Event]:
        kind = self._kinds[call.kind]
        item = self._hosted.get(call.item_id)
        if item is None:
            yield from self._close_reasoning()
            yield from self._close_message()
            item = self._hosted[call.item_id] = kind.added(call)
            yield from self._open(item)
        yield from self._events_of(item, kind.events(call, phase))
        if phase in ("completed", "failed"):
            item.update(kind.done(call))
            self._ends_turn = call.ends_turn
            yield from self._close(item, call.status)
            if kind.after is not None:
                after = kind.after(call)
                self._hosted[after["id"]] = after
                yield from self._open(after)
                yield from self._close(after)

    def _refusal_events(self, text: str) -> Iterator[Event]:
        """A piece of a refusal, which a client must not take for the answer (a JSON document, say)."""
        if self._message is None or not self._is_refusal:
            yield from self._open_message(is_refusal=True)
        assert self._message is not None
        self._text.append(text)
        yield self._event(
            "response.refusal.delta", {**self._position(self._message), "content_index": 0, "delta": text}
        )

    def _open_message(self, *, is_refusal: bool = False) -> Iterator[Event]:
        """Open a message with one empty part, a text or a refusal; what is open is closed."""
        yield from self._close_reasoning()
        yield from self._close_message()
        self._is_refusal, part = is_refusal, objects.refusal_part("") if is_refusal else objects.text_part("")
        self._chars = 0
        item = objects.message_item(objects.new_id("msg"), "in_progress", [])
        yield from self._open(item)
        self._message = item
        shown = {**self._position(item), "content_index": 0, "part": dict(part)}
        yield self._event("response.content_part.added", shown)
        item["content"].append(part)

    def _open(self, item: Json) -> Iterator[Event]:
        self.response["output"].append(item)
        index = self._indices[id(item)] = len(self.response["output"]) - 1
        yield self._event("response.output_item.added", {"output_index": index, "item": self._copy(item)})

    def _call_events(self, delta: Json) -> Iterator[Event]:
        index, piece = int(delta.get("index") or 0), called(delta)
        call = self._calls.get(index)
        if call is None:
            yield from self._close_reasoning()
            yield from self._close_message()
            ref, is_free = self.names.ref_of(piece.name), piece.kind == "custom"
            call = self._calls[index] = StreamedCall(ref, delta.get("id"), is_free=is_free)
            call.item = {**piece.kept, **call.item}
            if not call.held:
                yield from self._open(call.item)
        if piece.text:
            yield from self._events_of(call.item, call.take(piece.text))

    def _events_of(self, item: Json, events: Iterable[tuple[str, Json]]) -> Iterator[Event]:
        for kind, fields in events:
            yield self._event(kind, {**self._position(item), **fields})

    def _position(self, item: Json) -> Json:
        return {"item_id": item["id"], "output_index": self._indices[id(item)]}

    def _copy(self, item: Json) -> Json:
        """The item as an event has it, which later additions do not change."""
        return item if self._is_whole else objects.snapshot(item)

    def _whole_text(self) -> str:
        """The text of the item that is closed."""
        text = "".join(self._text)
        self._text.clear()
        return text

    def _close_message(self, status: str = "completed") -> Iterator[Event]:
        item, self._message = self._message, None
        if item is None:
            return
        place, part = {**self._position(item), "content_index": 0}, item["content"][0]
        part["refusal" if self._is_refusal else "text"] = self._whole_text()
        if self._is_refusal:
            yield self._event("response.refusal.done", {**place, "refusal": part["refusal"]})
        else:
            part["logprobs"], self._logprobs = self._logprobs, []
            spelt = {"text": part["text"], "logprobs": objects.copied(part["logprobs"])}
            yield self._event("response.output_text.done", {**place, **spelt})
        yield self._event("response.content_part.done", {**place, "part": objects.copied_part(part)})
        yield from self._close(item, status)

    def _close(self, item: Json, status: str = "completed") -> Iterator[Event]:
        item["status"] = status
        self._closed.add(item["id"])
        fields = {"output_index": self._indices[id(item)], "item": self._copy(item)}
        yield self._event("response.output_item.done", fields)

    def ending(self) -> EventBatch:
        """See AnswerWriter. `on_end` gets the response here."""
        return list(self._ending())

    def _ending(self) -> Iterator[Event]:
        output, finish_reason = self.response["output"], self._end.finish_reason
        if self._is_whole and "reasoning.encrypted_content" in list_in(self._body, "include"):
            self._add_carried()
        last_status = "incomplete" if objects.is_cut(finish_reason) else "completed"
        yield from self._close_reasoning()
        if not self._calls and not self._ends_turn and all(map(self._is_no_answer, output[-1:])):
            yield from self._open_message()
        held = [call for call in self._calls.values() if call.held]
        last_item = None if held or not output else output[-1]
        yield from self._close_message(last_status if self._message is last_item else "completed")
        for call in self._calls.values():
            is_last = call is held[-1] if held else call.item is last_item
            done = call.end()
            if call.held:
                yield from self._open(call.item)
            yield from self._events_of(call.item, done)
            yield from self._close(call.item, last_status if is_last else "completed")
        yield from self._finished(finish_reason)

    def _add_carried(self) -> None:
        """Where the model has not shown its thoughts, a reasoning item for what its upstream must get back."""
        output = self.response["output"]
        has_thoughts = self._reasoning is not None or any(item["type"] == "reasoning" for item in output)
        if not has_thoughts and (sealed := self.carrier.sealed()) is not None:
            item = objects.reasoning_item(objects.new_id("rs"), "completed", [])
            output.insert(0, {**item, "encrypted_content": sealed})

    def _is_no_answer(self, item: Json) -> bool:
        """Whether a message must follow an item, if only an empty one."""
        return item["type"] in _NO_ANSWER or item["id"] in self._hosted

    def _finished(self, finish_reason: str | None) -> Iterator[Event]:
        """Complete the response, hand it to `on_end`, and tell the client."""
        usage = summed_usage(self._end.usage, self._usage_before)
        status = objects.finish(self.response, finish_reason, usage, self.backend)
        self._on_end(self._unmasked())
        if not self._is_whole:
            final = objects.shown(self.response, [self._copy(item) for item in self.response["output"]])
            yield self._event(f"response.{status}", {"response": final})
        yield Event.from_bytes(sse.DONE)

    def _unmasked(self) -> Json:
        """The response with the positions of its unmasked text, to be stored."""
        if not self._positions:
            return self.response
        return {**self.response, "output": [self._unmasked_item(item) for item in self.response["output"]]}

    def _unmasked_item(self, item: Json) -> Json:
        if item["type"] != "message":
            return item
        content = [
            {**part, "annotations": [{**note, **self._positions.get(id(note), {})} for note in part["annotations"]]}
            if part.get("annotations")
            else part
            for part in item["content"]
        ]
        return {**item, "content": content}


def _citation(source: Source, start: int, end: int) -> Json:
    """`{type: "url_citation", url, title, start_index, end_index}`: code points, the end exclusive."""
    return {"type": "url_citation", "url": source.url, "title": source.title, "start_index": start, "end_index": end}
