"""Writes an answer with hosted tools as a chat completion, whole or in chunks, with citations as annotations.

Source: OpenAI API reference (chat completions, `web_search_options`), read 2026-11-22. The tools' calls are not shown:
chat has no form for them. Text before a call and text after it are joined by an empty line.

Positions: as in `wire.hosted_answer`, counted in `Event.finish`.
"""

import time
from collections.abc import Iterable, Iterator
from functools import partial

from gateway.domain import Event, EventBatch, Json
from gateway.wire import sse
from gateway.wire.chat.answer import new_id
from gateway.wire.hosted_answer import (
    AnswerEnd,
    AnswerWriter,
    CallPhase,
    ClientCall,
    HostedEvent,
    ReasoningPiece,
    Source,
    TextPiece,
)

_BETWEEN = "\n\n"


class HostedChat(AnswerWriter):
    """One answer. `model` is its public name until the answer says another."""

    def __init__(self, body: Json, model: str) -> None:
        self._with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        self._id, self._created = new_id("chatcmpl-"), int(time.time())
        self._identity: Json = {"model": model}
        self._chars = 0  # of the text that was written
        self._final_chars = 0  # of the text that has left, as masked
        self._notes = 0  # annotations that were written
        self._is_apart = False  # a call came after the text
        self._is_open = False

    def take(self, pieces: Iterable[HostedEvent]) -> EventBatch:
        """See AnswerWriter."""
        return [made for each in pieces for made in self._events_for(each)]

    def ending(self) -> EventBatch:
        """`[DONE]`."""
        return [Event.from_bytes(sse.DONE)]

    def made_of(self, events: Iterable[HostedEvent]) -> Json:
        """A `chat.completion` object."""
        deltas = list[Json]()
        answer: Json = {"id": self._id, "object": "chat.completion", "created": self._created}
        choice: Json = {"index": 0, "message": None, "logprobs": None}
        for each in events:
            if isinstance(each, AnswerEnd):
                choice["finish_reason"] = each.finish_reason
                choice["provider_specific_fields"] = dict(each.backend or {})
                answer |= {**_identity_of(each), "choices": [choice], "usage": each.usage}
            deltas += [delta for delta, _ in self._deltas(each)]
        choice["message"] = _message_of(deltas)
        return answer

    def _events_for(self, event: HostedEvent) -> Iterator[Event]:
        """The chunks of an event; the first one has the role."""
        if not self._is_open:
            self._is_open = True
            yield self._chunk({"role": "assistant", "content": ""}, [])
        for delta, notes in self._deltas(event):
            yield self._chunk(delta, notes)
        if isinstance(event, AnswerEnd):
            self._identity |= _identity_of(event)
            ending = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": event.finish_reason}
            fields = {"provider_specific_fields": dict(event.backend or {})}
            yield Event.from_data(self._envelope([{**ending, **fields}]))
            if self._with_usage:
                yield Event.from_data({**self._envelope([]), "usage": event.usage})

    def _deltas(self, event: HostedEvent) -> Iterator[tuple[Json, list[Json]]]:
        """The deltas of an event; with a text that is a visible link its annotations, which follow in a delta."""
        match event:
            case TextPiece(text, _, True):
                yield {"refusal": text}, []
            case TextPiece(text, citations):
                if self._is_apart:
                    self._is_apart, self._chars = False, self._chars + len(_BETWEEN)
                    yield {"content": _BETWEEN}, []
                start, self._chars = self._chars, self._chars + len(text)
                notes = [_annotation(source, start, self._chars) for source in citations]
                yield {"content": text}, notes
                if notes:
                    yield {"annotations": notes}, []
            case ReasoningPiece(text):
                yield {"reasoning_content": text}, []
            case ClientCall(call):
                yield {"tool_calls": [call]}, []
            case CallPhase():
                self._is_apart = self._chars > 0

    def _chunk(self, delta: Json, notes: list[Json]) -> Event:
        if "annotations" in delta:
            delta = {"annotations": self._numbered(delta["annotations"])}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        finish = partial(self._finish_text, notes) if "content" in delta else None
        return Event.from_data(self._envelope([choice]), finish=finish)

    def _numbered(self, notes: list[Json]) -> list[Json]:
        """Streamed annotations with their `index` in the message: by it the SDKs join lists that come in parts."""
        first, self._notes = self._notes, self._notes + len(notes)
        return [{"index": index, **note} for index, note in enumerate(notes, first)]

    def _envelope(self, choices: list[Json]) -> Json:
        chunk = {"id": self._id, "object": "chat.completion.chunk", "created": self._created, **self._identity}
        chunk["choices"] = choices
        return {**chunk, "usage": None} if self._with_usage else chunk

    def _finish_text(self, notes: list[Json], data: Json) -> Json:
        """Called with the masked chunk, in the order of the stream: sets the positions of the link that it is."""
        start = self._final_chars
        self._final_chars += len(data["choices"][0]["delta"]["content"])
        for note in notes:
            note["url_citation"].update(start_index=start, end_index=self._final_chars)
        return data


def _identity_of(end: AnswerEnd) -> Json:
    """What the upstream says of itself; the id and the time are those of our whole answer."""
    return {name: value for name, value in end.identity.items() if name not in ("id", "created")}


def _annotation(source: Source, start: int, end: int) -> Json:
    """`{type: "url_citation", url_citation: {url, title, start_index, end_index}}`: code points, the end exclusive."""
    place = {"url": source.url, "title": source.title, "start_index": start, "end_index": end}
    return {"type": "url_citation", "url_citation": place}


def _message_of(deltas: list[Json]) -> Json:
    """The message that these deltas make, whose calls are whole."""
    message: Json = {"role": "assistant", "content": None, "refusal": None}
    message["annotations"] = [note for delta in deltas for note in delta.get("annotations") or ()]
    for name in ("reasoning_content", "content", "refusal"):
        if texts := [delta[name] for delta in deltas if name in delta]:
            message[name] = "".join(texts)
    if calls := [call for delta in deltas for call in delta.get("tool_calls") or ()]:
        return {**message, "tool_calls": [{n: v for n, v in call.items() if n != "index"} for call in calls]}
    return message if message["refusal"] is not None else {**message, "content": message["content"] or ""}
