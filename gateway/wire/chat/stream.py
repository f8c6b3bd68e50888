"""Streamed chat answers of any OpenAI-compatible upstream, brought into the one form that clients are promised.

A chunk is decoded, repaired and encoded again. After the first plain text chunk of a choice, later chunks that differ
in the text alone are relayed by their bytes instead (`ChunkPattern`). Source: OpenAI API reference and streams of
llama.cpp, vLLM, Ollama, Azure, DeepSeek (facts read 2026-11-21).

Theory of operation. One `ChatStream` reads one upstream stream. Its owner calls `take` for every batch in order, and
`end` exactly once, when the upstream has no more to say. Where nobody looks at the events it may ask `relayed` first.

| state     | condition                                        | allowed calls | left when                          |
|-----------|--------------------------------------------------|---------------|------------------------------------|
| waiting   | no choice has been seen                          | `take`        | a chunk has a choice               |
| answering | a requested choice has no finish reason yet      | `take`        | all requested choices have one     |
| finished  | `finished`: only usage and `[DONE]` are missing  | `take`, `end` | the owner calls `end`              |
| done      | `done`: `[DONE]` came, whatever was before it    | `end`         | the owner calls `end`              |
| failed    | `take` returned an error, or `end` raised        | none          | never                              |

Invariants: every event has the same id, time and model; a choice begins with one role chunk; its finish reason is held
back and sent by `end`, once; `end` raises unless every choice seen has a finish reason, so that a cut stream never gets
a clean end; a choice has at most one learnt pattern, the newest.
"""

import time
from collections.abc import Iterator
from typing import Any

import orjson

from gateway.domain import Event, EventBatch, Json, Relay
from gateway.errors import UpstreamError
from gateway.wire import sse
from gateway.wire.chat.answer import (
    MAX_CHOICES,
    OF_ANSWER,
    OF_CHOICE,
    AnswerContext,
    failure_of,
    finish_reason,
    nested_usage,
    new_id,
    normalise_usage,
    others,
    reason_of,
    told_usage,
)
from gateway.wire.chat.calls import CallDeltas
from gateway.wire.chat.chunk_relay import MAX_RELAYED_BYTES, ChunkPattern, split_around_content
from gateway.wire.chat.json_answer import warn_of_stream
from gateway.wire.chat.kept import SHOWN_AS_TEXT, StateSoFar
from gateway.wire.chat.over_responses import to_completion
from gateway.wire.chat.said import called, place_of, said
from gateway.wire.mended_json import Halves, mended_json
from gateway.wire.openai_error import error_in_answer


def decode_chunk(data: bytes, halves: Halves | None = None) -> Json:
    """A chunk that may be read. Raises UpstreamError: not JSON, of another shape, too many choices, or an error."""
    try:
        chunk = mended_json(data, halves)
    except orjson.JSONDecodeError:
        raise UpstreamError("the upstream sent a chunk that is not JSON") from None
    if (error := error_in_answer(chunk)) is not None:
        raise error
    if isinstance(chunk, list) and len(chunk) == 1:
        chunk = chunk[0]
    if chunk is None:
        return {}
    if isinstance(chunk, dict) and isinstance(chunk.get("choices"), dict):
        chunk["choices"] = [chunk["choices"]]
    elif isinstance(chunk, dict) and "output" in chunk:
        chunk = to_completion(chunk)
    if not isinstance(chunk, dict) or not isinstance(chunk.get("choices") or [], list):
        raise UpstreamError("the upstream sent a chunk that is not valid")
    if len(chunk.get("choices") or ()) > MAX_CHOICES:
        raise UpstreamError("the upstream sent too many choices")
    return chunk


_MAX_LEARNT = 8
"""Patterns that a stream may learn before any chunk was relayed; every four relayed chunks allow one more."""
MAX_STREAM_CHARS = 4_000_000
"""Most characters of all choices of one stream, about a million tokens."""


_AROUND_CHARS = 24
"""What a delta costs beside its text: empty ones are held until the end, too."""


class _Choice:
    """What is known of one choice. `text` is kept only where JSON will be checked.
    `others`: its members that no event has had yet, as the upstream sent them. `has_delta`: one of its deltas has said
    something. `is_named`: its thoughts are texts with a name, no parts; None before the first."""

    __slots__ = ("calls", "finish", "has_delta", "is_named", "others", "started", "state", "text")

    def __init__(self, context: AnswerContext, state: StateSoFar) -> None:
        self.started = self.has_delta = False
        self.is_named: bool | None = None
        self.finish: str | None = None
        self.others: Json = {}
        self.state = state
        self.calls = CallDeltas(context.ids, state, legacy=context.legacy)
        self.text: list[str] = []


_PLAIN_DELTA = frozenset(("role", "content"))
"""Members of a delta that is a text alone."""
_LEAST_JOINED = 4
"""Plain chunks that come together and are worth joining."""


class ChatStream:
    """One upstream stream; see the module's table for its states.

    `json_kind`: the text is collected, and the end says where it is not such JSON (`json_answer.wanted`). Nothing is
    relayed by bytes then.
    `joins`: where nobody looks at the events, long runs of plain chunks are one, and this counts those that are not.
    """

    def __init__(self, context: AnswerContext, *, json_kind: str = "", joins: Relay | None = None) -> None:
        self._context, self.joins = context, joins
        self._json_kind = json_kind
        self._id = ""
        self._created = 0
        self._halves = Halves()
        self._fingerprint: Any = context.fingerprint
        self._choices: dict[int, _Choice] = {}
        self._usage: Json = {}
        self._others: Json = {}
        """Members of chunks that no event has had yet, as the upstream sent them."""
        self._characters = self._other_characters = 0
        """Characters of the choices' texts so far; characters of reasoning, refusals and calls."""
        self._patterns: list[ChunkPattern[_Choice]] = []
        self._learnt = 0
        self._relayed = 0
        self.relayed_bytes = 0
        """Bytes of the texts that `relayed` has given, in UTF-8."""
        self.done = False
        self.finished = False

    @property
    def usage(self) -> Json:
        """`{prompt_tokens, completion_tokens, total_tokens, …}` so far; estimated where the upstream sent no counts."""
        return normalise_usage(self._usage, lambda: self._context.prompt_chars, self._characters)[0]

    @property
    def told(self) -> Json:
        """The usage so far, with 0 for what the upstream has not told."""
        return told_usage(self._usage)

    def cut(self, usage: Json) -> None:
        """End it here, with `length`, and with this usage unless the upstream has told its own: no more will be read.
        One of its choices has begun."""
        for choice in self._choices.values():
            choice.finish = "length"
        self._usage = self._usage or usage
        self.done = True

    def take(self, batch: list[bytes]) -> tuple[EventBatch, UpstreamError | None]:
        """Our events for the data of one batch of theirs, and the error that ended it, if any.

        The events before the error are valid and are to be sent.
        """
        events, at = self._run(batch, 0)
        try:
            while at < len(batch):
                events.extend(self._normalised(batch[at]))
                plain, count = self._run(batch, at + 1)
                events += plain
                at += 1 + count
            self._check_length()
        except UpstreamError as error:
            return events, error
        return events, None

    def relayed(self, batch: list[bytes]) -> bytes | None:
        """The frames that `take` gives for a batch of relayed chunks alone. None for any other batch, and near the end
        of the longest stream: then it is not taken."""
        size, count = sum(map(len, batch)), len(batch)
        if count and self._characters + self._other_characters + size <= MAX_STREAM_CHARS:
            for pattern in self._patterns:
                if count == 1 and (frame := pattern.frame_of(batch[0])) is not None:
                    self._relayed += 1
                    self._characters += size - pattern.fixed_bytes
                    self.relayed_bytes += size - pattern.fixed_bytes
                    return frame
                if (joined := pattern.joined(batch)) is not None and joined.chunks == count:
                    self._relayed += count
                    self._characters += size - count * pattern.fixed_bytes
                    self.relayed_bytes += joined.text_bytes
                    return joined.frames
        return None

    def relayed_events(self, batch: list[bytes]) -> EventBatch:
        """The same as events, for who looks at their texts; none where `relayed` would be None."""
        size, count = sum(map(len, batch)), len(batch)
        if self._characters + self._other_characters + size <= MAX_STREAM_CHARS:
            for pattern in self._patterns:
                if len(frames := pattern.frames(batch)) == count:
                    self._relayed += count
                    self._characters += size - count * pattern.fixed_bytes
                    return Event.of_relay(pattern, frames)
        return []

    def _run(self, batch: list[bytes], start: int) -> tuple[EventBatch, int]:
        """Our events for the chunks from `start` on that one pattern relays, and how many these are; none where the
        first is another."""
        for pattern in self._patterns:
            events, count = self._joined(pattern, batch, start)
            if not events:
                events = pattern.run(batch, start)
                count = len(events)
            if count:
                self._relayed += count
                sizes = map(len, batch[start : start + count])
                self._characters += sum(sizes) - count * pattern.fixed_bytes
                return events, count
        return [], 0

    def _joined(self, pattern: ChunkPattern[_Choice], batch: list[bytes], start: int) -> tuple[EventBatch, int]:
        """A long run of such chunks as one event, where nobody looks at each."""
        if self.joins is None or self.finished or len(batch) - start < _LEAST_JOINED:
            return [], 0
        joined = pattern.joined(batch, start)
        if joined is None or joined.chunks < _LEAST_JOINED:
            return [], 0
        self.joins.joined += joined.chunks - 1
        return [Event.from_bytes(joined.frames)], joined.chunks

    def _check_length(self) -> None:
        if self._characters + self._other_characters > MAX_STREAM_CHARS:
            raise UpstreamError("the upstream's answer is too long")

    def _normalised(self, data: bytes) -> Iterator[Event]:
        """Our events for the data of one of theirs. Raises UpstreamError for an error object and for invalid chunks."""
        data = data.removeprefix(b"data:").strip()  # some servers write the field's name twice
        if data == b"[DONE]":
            self.done = True
            return
        chunk = decode_chunk(data, self._halves)
        if usage := chunk.get("usage"):
            self._note_usage(usage)
        self._identify(chunk)
        if more := others(chunk, OF_ANSWER):
            self._others |= more
            self._note_usage(nested_usage(more))
        for position, choice in enumerate(chunk.get("choices") or ()):
            if not isinstance(choice, dict):
                raise UpstreamError("the upstream sent a chunk that is not valid")
            yield from self._choice_events(choice, position, data)
        if self._halves.held:
            self._patterns.clear()  # the rest of a character comes first
        self.finished = len(self._choices) >= (self._context.request.get("n") or 1) and self._all_ended

    @property
    def _all_ended(self) -> bool:
        return all(choice.finish for choice in self._choices.values())

    def end(self) -> EventBatch:
        """The last events: a finish chunk for each choice, usage if the caller requested it, `[DONE]`.

        Raises UpstreamError when the stream was cut.
        """
        if not self._choices:
            raise UpstreamError("the upstream ended its stream without an answer")
        if not self._all_ended:
            raise UpstreamError("the upstream ended its stream before the answer was complete")
        estimated = normalise_usage(self._usage, lambda: 0, 0)[1]
        events = [self._finish_event(index, choice, estimated) for index, choice in sorted(self._choices.items())]
        if self._context.include_usage:
            events.append(Event.from_data({**self._envelope([]), "usage": self.usage}))
        return [*events, Event.from_bytes(sse.DONE)]

    def _finish_event(self, index: int, choice: _Choice, estimated: bool) -> Event:
        fields = self._context.fields()
        if estimated:
            fields["usage_estimated"] = True
        if self._json_kind and choice.finish == "stop":
            warn_of_stream("".join(choice.text), self._json_kind, fields)
        ending = {"index": index, "delta": {}, "logprobs": None, "finish_reason": choice.finish}
        return Event.from_data(self._envelope([{**choice.others, **ending, "provider_specific_fields": fields}]))

    def _identify(self, chunk: Json) -> None:
        if not self._id and isinstance(chunk.get("id"), str):
            self._id = chunk["id"]
        created = chunk.get("created")
        if not self._created and isinstance(created, int | float):
            self._created = int(created)
        self._fingerprint = self._fingerprint or chunk.get("system_fingerprint")

    def _envelope(self, choices: list[Json]) -> Json:
        self._id = self._id or new_id("chatcmpl-")
        self._created = self._created or int(time.time())
        chunk: Json = {"id": self._id, "object": "chat.completion.chunk", "created": self._created}
        chunk["model"] = self._context.model
        if self._fingerprint:
            chunk["system_fingerprint"] = self._fingerprint
        chunk["choices"] = choices
        if self._context.include_usage:
            chunk["usage"] = None
        if self._others:
            chunk |= self._others
            self._others = {}
        return chunk

    def _choice_events(self, incoming: Json, position: int, data: bytes) -> Iterator[Event]:
        index = incoming.get("index")
        if type(index) is not int:
            index = place_of(incoming, position)
        if index not in self._choices and len(self._choices) >= MAX_CHOICES:
            raise UpstreamError("the upstream sent too many choices")
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = _Choice(self._context, self._context.state_of(index))
        delta = incoming.get("delta")
        if not delta and not choice.has_delta:  # one that follows deltas says them all again
            delta = incoming.get("message") or incoming.pop("text", None) or delta
            deltas = self._deltas(choice, delta or {})
        else:
            deltas = self._deltas(choice, delta or {})
            choice.has_delta = choice.has_delta or bool(deltas)
        if more := others(incoming, OF_CHOICE):
            choice.others |= more
            self._note_usage(more.get("usage"))
        if (failure := failure_of(incoming)) is not None:
            raise failure
        if reported := reason_of(incoming):
            reason = finish_reason(reported, has_calls=choice.calls.any, legacy=self._context.legacy)
            if reason is None:
                raise UpstreamError("the upstream failed while it was answering")
            choice.finish = reason
            deltas += choice.calls.flush()
            if self._halves.held.pop(f".0.choices.{index}.delta.content", ""):
                deltas.append({"content": "\ufffd"})
        elif choice.finish:
            choice.finish = finish_reason(choice.finish, has_calls=choice.calls.any, legacy=self._context.legacy)
        if not choice.started and (deltas or choice.finish or delta is not None):
            choice.started = True
            yield self._event(index, {"role": "assistant", "content": ""}, None)
        logprobs = incoming.get("logprobs")
        learns = len(deltas) == 1 and list(deltas[0]) == ["content"] and not choice.finish and not self._json_kind
        for each in deltas:
            if "content" not in each:
                self._other_characters += _cost_of(each)
            event = self._event(index, each, logprobs, choice)
            if learns:
                self._learn_pattern(choice, index, data, event.data or {})
            yield event

    def _event(self, index: int, delta: Json, logprobs: Any, choice: _Choice | None = None) -> Event:
        ending = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": None}
        if choice is not None and choice.others and not choice.finish:
            ending, choice.others = {**choice.others, **ending}, {}
        return Event.from_data(self._envelope([ending]))

    def _deltas(self, choice: _Choice, delta: Any) -> list[Json]:
        """The delta split into deltas of one field each: thoughts, text, refusal, what is kept as it came, calls. Empty
        fields are dropped."""
        if type(delta) is dict and delta.keys() <= _PLAIN_DELTA and type(delta.get("content", "")) is str:
            text = delta.get("content", "")
            self._characters += len(text)
            if self._json_kind:
                choice.text.append(text)
            return [{"content": text}] if text else []
        told = said(delta)
        if told.name:
            choice.state.think(told.name, told.thoughts)
        if told.thoughts and choice.is_named is None:
            choice.is_named = bool(told.name)
        thoughts = told.thoughts if choice.is_named is bool(told.name) else ""  # details repeat what has a name
        texts = {"reasoning_content": thoughts, "content": told.text, "refusal": told.refusal}
        deltas: list[Json] = [{name: text} for name, text in texts.items() if text]
        self._characters += len(told.text)
        if self._json_kind:
            choice.text.append(told.text)
        kept = others(told.kept, frozenset())
        if kept or told.parts:
            choice.state.take(kept, told.parts)
            shown = others(kept, SHOWN_AS_TEXT)
            deltas += [shown] if shown else []
            self._note_usage(kept.get("usage"))
        return deltas + choice.calls.take(told.calls) if told.calls else deltas

    def _note_usage(self, usage: Any) -> None:
        """Take the counts of an upstream; a 0 does not replace a number."""
        if isinstance(usage, dict):
            told = others(usage, frozenset())
            self._usage |= {name: value for name, value in told.items() if value or name not in self._usage}

    def _learn_pattern(self, choice: _Choice, index: int, data: bytes, ours: Json) -> None:
        """Learn the bytes around this chunk's text, if its text is all that can differ. Bounded by _MAX_LEARNT."""
        if self._learnt - self._relayed // 4 >= _MAX_LEARNT or len(data) > MAX_RELAYED_BYTES:
            return
        self._learnt += 1
        around, our_around = split_around_content(data), split_around_content(orjson.dumps(ours))
        if around and our_around:
            self._patterns = [each for each in self._patterns if each.choice is not choice]
            self._patterns.append(ChunkPattern(choice, index, around, our_around))


def _cost_of(delta: Json) -> int:
    """What a delta counts as: the characters of its text, and those around it."""
    name, value = next(iter(delta.items()))
    if isinstance(value, str) and len(delta) == 1:
        return _AROUND_CHARS + len(value)
    if name in ("tool_calls", "function_call"):
        calls = value if name == "tool_calls" else (value,)
        return _AROUND_CHARS + sum(len(called(each).text or "") for each in calls)
    return _AROUND_CHARS + len(orjson.dumps(delta, default=str))
