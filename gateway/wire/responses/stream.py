"""Translates a stream of chat chunks into a stream of responses events.

Source: OpenAI API reference (Responses streaming) and Open Responses 2026-04-24, read 2026-11-21.

Theory of operation. `run` reads normal chat chunks and keeps the response object of the stream up to date. At any time
at most one message or reasoning item is open; function calls stay open beside each other until the end.

| item      | opened by                         | closed by                                              |
|-----------|-----------------------------------|--------------------------------------------------------|
| reasoning | the first reasoning text          | text, a tool call, or the end                          |
| message   | the first text, the first text of | reasoning, a tool call, a refusal after a text or a    |
|           | a refusal; the end, if the answer | text after a refusal, or the end                       |
|           | is empty or all reasoning         |                                                        |
| call      | the first delta of its index; the | the end                                                |
|           | end, if it is held (`calls`)      |                                                        |

Invariants: an item is opened once and closed once, with the same id and place in all its events; the last event is
`response.completed` or `response.incomplete`, then `[DONE]`, or after an error `response.failed`. Sequence numbers are
set when an event is encoded, after every middleware, so that events which a middleware drops leave no gap.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Any

from gateway.domain import Event, EventStream, Json
from gateway.errors import GatewayError
from gateway.wire import sse
from gateway.wire.chat.kept import NO_CARRIER, Carrier, call_extras
from gateway.wire.openai_error import failure_code, responses_error_object
from gateway.wire.responses import object as objects
from gateway.wire.responses.tools import StreamedCall, ToolNames, call_items
from gateway.wire.untrusted_json import list_in

# --- sent items ---
# Keeps what has left of a stream's output items, as masked: a failed response tells its caller what it has got.
#
# Source: openai-python's types of response events (3.52), read 2026-11-22.

_PART_FIELDS = {
    "output_text": ("content", "output_text", "text"),
    "refusal": ("content", "refusal", "refusal"),
    "reasoning_text": ("content", "reasoning_text", "text"),
    "reasoning_summary_text": ("summary", "summary_text", "text"),
}
"""By the name in the middle of a delta's type: the list of the item that it is for, the part's type, and its field."""
_FAILED_KINDS = ("web_search_call", "mcp_call")
"""Items that end as `failed` where others end as `incomplete`."""
_Place = tuple[int, str, int]


class SentItems:
    """One stream. Call `note` with the data of every event in the order in which they are sent, then `at_failure`."""

    def __init__(self) -> None:
        self._items: dict[int, Json] = {}
        self._done: set[int] = set()
        self._texts: dict[_Place, list[str]] = {}
        self._notes: dict[_Place, list[Any]] = {}

    def note(self, data: Json) -> None:
        """Remember an event, `{type, output_index, …}`; others than those of items are ignored."""
        kind: str = data["type"]
        if kind.endswith(".delta"):
            if isinstance(data.get("delta"), str):
                place = _place(data, kind[9:-6])
                self._texts.setdefault(place, []).append(data["delta"])
        elif kind == "response.output_text.annotation.added":
            self._notes.setdefault(_place(data, "output_text"), []).append(data.get("annotation"))
        elif kind in ("response.output_item.added", "response.output_item.done"):
            index = data["output_index"]
            self._items[index] = data["item"]
            if kind.endswith("done"):
                self._done.add(index)
                for place in [each for each in self._texts if each[0] == index]:
                    del self._texts[place]

    def at_failure(self) -> list[Json]:
        """The items in their order; those that were not finished have the text that was sent and say so."""
        return [
            item if index in self._done else self._unfinished(index, item)
            for index, item in sorted(self._items.items())
        ]

    def _unfinished(self, index: int, item: Json) -> Json:
        status = "failed" if item.get("type") in _FAILED_KINDS else "incomplete"
        partial: Json = {**item, "status": status} if "status" in item else dict(item)
        for place in sorted(each for each in self._texts if each[0] == index):
            text, kind = "".join(self._texts[place]), place[1]
            if kind in _PART_FIELDS:
                name, part_type, field = _PART_FIELDS[kind]
                part: Json = objects.text_part(text) if part_type == "output_text" else {"type": part_type, field: text}
                if part_type == "output_text":
                    part["annotations"] = self._notes.get(place, [])
                partial[name] = [*(partial.get(name) or ()), part]
            else:
                for ending, field in (("_arguments", "arguments"), ("_input", "input")):
                    if kind.endswith(ending):
                        partial[field] = text
        return partial


def _place(data: Json, kind: str) -> _Place:
    """`(output_index, kind, index of the part)`."""
    part = data.get("summary_index") if "summary_index" in data else data.get("content_index")
    index = data.get("output_index")
    return (index if isinstance(index, int) else -1, kind, part if isinstance(part, int) else 0)


class ResponseStream:
    """One stream. `body` is the caller's responses request; `on_end` gets the finished response object, once.

    `names` are those of the translated request (`request.to_chat`).
    `response` is the response object so far; `backend` its `provider_specific_fields`, None while unknown.
    """

    def __init__(self, body: Json, on_end: Callable[[Json], None], names: ToolNames | None = None) -> None:
        self._body = body
        self.response = objects.new_response(body)
        self._on_end = on_end
        self._numbers = itertools.count()
        self._indices: dict[int, int] = {}  # places in the output by id(item): looking for one costs more with each
        self._message: Json | None = None
        self._is_refusal = False
        self._reasoning: Json | None = None
        self._text: list[str] = []  # of whichever is open
        self._calls: dict[int, StreamedCall] = {}
        self.names = names or ToolNames()
        self._closed: set[str] = set()
        self._finish_reason: str | None = None
        self._usage: Json | None = None
        self.backend: Json | None = None
        self.carrier = NO_CARRIER
        self._sent = SentItems()
        self._is_open = False

    async def run(self, chunks: EventStream) -> EventStream:
        """The events of the whole stream, for normal chat chunks ended by `[DONE]`. Raises what `chunks` raises."""
        async with aclosing(chunks):
            async for batch in chunks:
                yield [event for chunk in sse.decoded(batch) for event in self._chunk_events(chunk)]
        yield list(self._ending())

    def opening(self) -> list[Event]:
        """The first events, where there was no chunk."""
        self._is_open = True
        return list(self._opening({}))

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
        """The end of a stream whose text is blocked: its items closed without text, then `response.incomplete`.

        `usage` has chat's fields, `{prompt_tokens, completion_tokens, …}`.
        """
        events = []
        for index, item in enumerate(self.response["output"]):
            item["status"] = "incomplete"
            objects.without_text(item)
            if item["id"] not in self._closed:
                events.append(self._event("response.output_item.done", {"output_index": index, "item": item}))
        objects.finish(self.response, "content_filter", usage, self.backend)
        return [*events, self._event("response.incomplete", {"response": self.response}), Event.from_bytes(sse.DONE)]

    def _event(self, kind: str, fields: Json) -> Event:
        return Event.from_data({"type": kind, "sequence_number": 0, **fields}, name=kind, finish=self._numbered)

    def _numbered(self, data: Json) -> Json:
        data["sequence_number"] = next(self._numbers)
        self._sent.note(data)
        return data

    def _opening(self, chunk: Json) -> Iterator[Event]:
        self.response["model"] = chunk.get("model", self.response["model"])
        if chunk.get("system_fingerprint"):
            self.response["system_fingerprint"] = chunk["system_fingerprint"]
        for kind in ("response.created", "response.in_progress"):
            yield self._event(kind, {"response": {**self.response, "output": []}})

    def _chunk_events(self, chunk: Json) -> Iterator[Event]:
        if not self._is_open:
            self._is_open = True
            yield from self._opening(chunk)
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            if reasoning := delta.get("reasoning_content"):
                yield from self._reasoning_events(reasoning)
            if text := delta.get("content"):
                yield from self._text_events(text)
            if refusal := delta.get("refusal"):
                yield from self._refusal_events(refusal)
            for call in delta.get("tool_calls") or ():
                yield from self._call_events(call)
            self._finish_reason = choice.get("finish_reason") or self._finish_reason
            self.backend = choice.get("provider_specific_fields") or self.backend

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

    def _text_events(self, text: str) -> Iterator[Event]:
        if self._message is None or self._is_refusal:
            yield from self._open_message()
        assert self._message is not None
        self._text.append(text)
        yield self._event(
            "response.output_text.delta",
            {**self._position(self._message), "content_index": 0, "delta": text, "logprobs": []},
        )

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
        index, function = int(delta.get("index") or 0), delta.get("function") or {}
        call = self._calls.get(index)
        if call is None:
            yield from self._close_reasoning()
            yield from self._close_message()
            call = self._calls[index] = StreamedCall(self.names.ref_of(function.get("name") or ""), delta.get("id"))
            call.item = {**call_extras(delta), **call.item}
            if not call.held:
                yield from self._open(call.item)
        if arguments := function.get("arguments"):
            yield from self._events_of(call.item, call.take(arguments))

    def _events_of(self, item: Json, events: Iterable[tuple[str, Json]]) -> Iterator[Event]:
        for kind, fields in events:
            yield self._event(kind, {**self._position(item), **fields})

    def _position(self, item: Json) -> Json:
        return {"item_id": item["id"], "output_index": self._indices[id(item)]}

    def _copy(self, item: Json) -> Json:
        """The item as an event has it, which later additions do not change."""
        return objects.snapshot(item)

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
            yield self._event("response.output_text.done", {**place, "text": part["text"], "logprobs": []})
        yield self._event("response.content_part.done", {**place, "part": dict(part)})
        yield from self._close(item, status)

    def _close(self, item: Json, status: str = "completed") -> Iterator[Event]:
        item["status"] = status
        self._closed.add(item["id"])
        fields = {"output_index": self._indices[id(item)], "item": self._copy(item)}
        yield self._event("response.output_item.done", fields)

    def _ending(self) -> Iterator[Event]:
        last_status = "incomplete" if objects.is_cut(self._finish_reason) else "completed"
        yield from self._close_reasoning()
        if not self._calls and all(item["type"] == "reasoning" for item in self.response["output"]):
            yield from self._open_message()
        held = [call for call in self._calls.values() if call.held]
        last_item = None if held else self.response["output"][-1]
        yield from self._close_message(last_status if self._message is last_item else "completed")
        for call in self._calls.values():
            is_last = call is held[-1] if held else call.item is last_item
            done = call.end()
            if call.held:
                yield from self._open(call.item)
            yield from self._events_of(call.item, done)
            yield from self._close(call.item, last_status if is_last else "completed")
        status = objects.finish(self.response, self._finish_reason, self._usage, self.backend)
        self._on_end(self.response)
        final = {**self.response, "output": [self._copy(item) for item in self.response["output"]]}
        yield self._event(f"response.{status}", {"response": final})
        yield Event.from_bytes(sse.DONE)


# --- whole answer ---
# The response object of a whole chat answer.
#
# Source: OpenAI API reference (Responses) and the Open Responses specification 2026-04-24, read 2026-11-21.


def from_chat(body: Json, answer: Json, names: ToolNames, carrier: Carrier = NO_CARRIER) -> Json:
    """The response object for a request `body` and a normal `chat.completion`, of which the first choice is used.

    `names` are those of the translated request (`request.to_chat`). A reasoning item carries what the upstream must get
    back, and is there for that alone where the model has not shown its thoughts.
    """
    response = objects.new_response(body)
    response["model"] = answer.get("model", response["model"])
    choice: Json = (answer.get("choices") or [{}])[0]
    message = choice.get("message") or {}
    text, refusal = message.get("content") or "", message.get("refusal") or ""
    calls = message.get("tool_calls") or []
    output = response["output"]
    sealed = carrier.sealed()
    wants_sealed = "reasoning.encrypted_content" in list_in(body, "include")
    if (reasoning := message.get("reasoning_content")) or (sealed and wants_sealed):
        summary = [objects.summary_part(reasoning)] if reasoning else []
        item = objects.reasoning_item(objects.new_id("rs"), "completed", summary)
        output.append({**item, "encrypted_content": sealed} if sealed else item)
    parts = [objects.text_part(text)] if text or not (refusal or calls) else []
    parts += [objects.refusal_part(refusal)] if refusal else []
    output += [objects.message_item(objects.new_id("msg"), "completed", [part]) for part in parts]
    output += call_items(names, calls)
    objects.finish(response, choice.get("finish_reason"), answer.get("usage"), choice.get("provider_specific_fields"))
    for name in ("system_fingerprint", "service_tier"):
        if answer.get(name) is not None:
            response[name] = answer[name]
    return response
