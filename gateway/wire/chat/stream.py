"""Streamed chat answers of any OpenAI-compatible upstream, brought into the one form that clients are promised.

A chunk is decoded, repaired and encoded again. After the first plain text chunk of a choice, later chunks that differ
in the text alone are relayed by their bytes instead (`chunk_relay`). Source: OpenAI API reference and streams of
llama.cpp, vLLM, Ollama, Azure, DeepSeek (facts read 2026-11-21). Deliberately knows no HTTP.

Theory of operation. One `ChatStream` reads one upstream stream. Its owner calls `take` for every batch in order, and
`end` exactly once, when the upstream has no more to say. It may ask `relayed` first, a shorter way for most batches.

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

from gateway.domain import Event, EventBatch, Json
from gateway.errors import UpstreamError
from gateway.wire import sse
from gateway.wire.chat.answer import (
    MATCHED_STOP,
    MAX_CHOICES,
    AnswerContext,
    finish_reason,
    joined_text,
    new_id,
    normalise_usage,
)
from gateway.wire.chat.chunk_decoding import decode_chunk
from gateway.wire.chat.chunk_relay import MAX_RELAYED_BYTES, ChunkPattern, split_around_content
from gateway.wire.chat.tool_call_deltas import CallDeltas
from gateway.wire.ocr import REPORT

_MAX_LEARNT = 8
"""Patterns that a stream may learn before any chunk was relayed; every four relayed chunks allow one more. Chosen: at
half, an answer with eight choices could not learn a pattern for each; at double, an upstream whose chunks all differ
(a clock in each, say) costs twice as much useless learning."""
MAX_STREAM_CHARS = 4_000_000
"""Characters of all choices of one stream. Chosen: a million tokens, eight times what models write in one answer. Some
interfaces repeat the whole answer in their last events, so that at double one stream of a broken upstream could take
the gateway 128 MB; at half, answers to several choices with long reasoning come near."""


_AROUND_CHARS = 24
"""What a delta costs beside its text: empty ones are held until the end, too."""


class _Choice:
    """What is known of one choice. `text` is kept only where JSON will be checked.
    `matched` is the stop sequence that ended it, under the upstream's name for it, and the report of an OCR engine."""

    __slots__ = ("calls", "finish", "matched", "started", "text")

    def __init__(self) -> None:
        self.started = False
        self.finish: str | None = None
        self.matched: Json = {}
        self.calls = CallDeltas()
        self.text: list[str] = []


class ChatStream:
    """One upstream stream; see the module's table for its states.

    `keep_text`: collect the text and let `end` check that it is one JSON object. Nothing is relayed by bytes then.
    """

    def __init__(self, context: AnswerContext, *, keep_text: bool = False) -> None:
        self._context = context
        self._keep_text = keep_text
        self._id = ""
        self._created = 0
        self._fingerprint: Any = context.fingerprint
        self._choices: dict[int, _Choice] = {}
        self._usage: Any = None
        self._characters = self._other_characters = 0
        """Of the choices' texts so far; of reasoning, refusals and calls."""
        self._patterns: list[ChunkPattern[_Choice]] = []
        self._learnt = 0
        self._relayed = 0
        self.done = False
        self.finished = False

    @property
    def usage(self) -> Json:
        """`{prompt_tokens, completion_tokens, total_tokens, …}` so far; estimated where the upstream sent no counts."""
        return normalise_usage(self._usage, lambda: self._context.prompt_chars, self._characters)[0]

    def take(self, batch: list[bytes]) -> tuple[EventBatch, UpstreamError | None]:
        """Our events for the data of one batch of theirs, and the error that ended it, if any.

        The events before the error are valid and are to be sent.
        """
        events: EventBatch = []
        try:
            for data in batch:
                for pattern in self._patterns:
                    if (event := pattern.match(data)) is not None:
                        self._relayed += 1
                        self._characters += len(data) - pattern.fixed_bytes
                        events.append(event)
                        break
                else:
                    events.extend(self._normalised(data))
            self._check_length()
        except UpstreamError as error:
            return events, error
        return events, None

    def relayed(self, batch: list[bytes]) -> EventBatch | None:
        """What `take` gives for a batch of one relayed chunk; None for any other batch, which is not taken."""
        if len(batch) == 1:
            data = batch[0]
            for pattern in self._patterns:
                if (event := pattern.match(data)) is not None:
                    characters = self._characters + len(data) - pattern.fixed_bytes
                    if characters + self._other_characters > MAX_STREAM_CHARS:
                        return None
                    self._characters = characters
                    self._relayed += 1
                    return [event]
        return None

    def _check_length(self) -> None:
        if self._characters + self._other_characters > MAX_STREAM_CHARS:
            raise UpstreamError("the upstream's answer is too long")

    def _normalised(self, data: bytes) -> Iterator[Event]:
        """Our events for the data of one of theirs. Raises UpstreamError for an error object and for invalid chunks."""
        if data.strip() == b"[DONE]":
            self.done = True
            return
        chunk = decode_chunk(data)
        if self._usage is None or chunk.get("usage"):
            self._usage = chunk.get("usage") or self._usage
        self._identify(chunk)
        for position, choice in enumerate(chunk.get("choices") or ()):
            if not isinstance(choice, dict):
                raise UpstreamError("the upstream sent a chunk that is not valid")
            yield from self._choice_events(choice, position, data)
        self.finished = len(self._choices) >= (self._context.request.get("n") or 1) and self._all_ended

    @property
    def _all_ended(self) -> bool:
        return all(choice.finish for choice in self._choices.values())

    def end(self) -> EventBatch:
        """The last events: a finish chunk for each choice, usage if the caller requested it, `[DONE]`.

        Raises UpstreamError when the stream was cut, or when the text had to be JSON and is not.
        """
        if not self._choices:
            raise UpstreamError("the upstream ended its stream without an answer")
        if not self._all_ended:
            raise UpstreamError("the upstream ended its stream before the answer was complete")
        for choice in self._choices.values() if self._keep_text else ():
            if choice.finish == "stop":
                require_json("".join(choice.text))
        estimated = normalise_usage(self._usage, lambda: 0, 0)[1]
        events = [self._finish_event(index, choice, estimated) for index, choice in sorted(self._choices.items())]
        if self._context.include_usage:
            events.append(Event.from_data({**self._envelope([]), "usage": self.usage}))
        return [*events, Event.from_bytes(sse.DONE)]

    def _finish_event(self, index: int, choice: _Choice, estimated: bool) -> Event:
        fields = self._context.fields()
        if estimated:
            fields["usage_estimated"] = True
        ending = {"index": index, "delta": {}, "logprobs": None, "finish_reason": choice.finish}
        return Event.from_data(self._envelope([{**ending, **choice.matched, "provider_specific_fields": fields}]))

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
        return chunk

    def _choice_events(self, incoming: Json, position: int, data: bytes) -> Iterator[Event]:
        index = incoming["index"] if isinstance(incoming.get("index"), int) else position
        if index not in self._choices and len(self._choices) >= MAX_CHOICES:
            raise UpstreamError("the upstream sent too many choices")
        choice = self._choices.setdefault(index, _Choice())
        delta = incoming.get("delta") or incoming.get("message")  # `message`: a whole answer instead of a stream
        deltas = self._deltas(choice, delta if isinstance(delta, dict) else {})
        if incoming.get("finish_reason"):
            reason = finish_reason(incoming["finish_reason"], has_calls=choice.calls.any, legacy=self._context.legacy)
            if reason is None:
                raise UpstreamError("the upstream failed while it was answering")
            choice.finish = reason
            choice.matched = {name: incoming[name] for name in MATCHED_STOP if isinstance(incoming.get(name), str)}
            if isinstance(incoming.get(REPORT), dict):
                choice.matched[REPORT] = incoming[REPORT]
            deltas += choice.calls.flush(legacy=self._context.legacy)
        elif choice.finish:
            choice.finish = finish_reason(choice.finish, has_calls=choice.calls.any, legacy=self._context.legacy)
        if not choice.started and (deltas or choice.finish or delta is not None):
            choice.started = True
            yield self._event(index, {"role": "assistant", "content": ""}, None)
        logprobs = incoming.get("logprobs")
        is_text = len(deltas) == 1 and list(deltas[0]) == ["content"]
        learns = is_text and not choice.finish and not self._keep_text
        for delta in deltas:
            if "content" not in delta:
                self._other_characters += _cost_of(delta)
            event = self._event(index, delta, logprobs)
            if learns:
                self._learn_pattern(choice, index, data, event.data or {})
            yield event

    def _event(self, index: int, delta: Json, logprobs: Any) -> Event:
        ending = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": None}
        return Event.from_data(self._envelope([ending]))

    def _deltas(self, choice: _Choice, delta: Json) -> list[Json]:
        """The delta split into deltas of one field each: reasoning, text, refusal, calls. Empty fields are dropped."""
        deltas: list[Json] = []
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(reasoning, str) and reasoning:
            deltas.append({"reasoning_content": reasoning})
        content = delta.get("content")
        if isinstance(content, list):
            content = joined_text(content)
        if isinstance(content, str) and content:
            self._characters += len(content)
            if self._keep_text:
                choice.text.append(content)
            deltas.append({"content": content})
        if isinstance(delta.get("refusal"), str) and delta["refusal"]:
            deltas.append({"refusal": delta["refusal"]})
        calls = delta.get("tool_calls")
        if not calls and isinstance(delta.get("function_call"), dict):
            calls = [{"index": 0, "function": delta["function_call"]}]
        if isinstance(calls, list):
            deltas += choice.calls.take(calls, legacy=self._context.legacy)
        return deltas

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
    """What a delta of one field counts as: the characters of its text, and those around it."""
    name, value = next(iter(delta.items()))
    if isinstance(value, str):
        return _AROUND_CHARS + len(value)
    calls = value if name == "tool_calls" else (value,)
    return _AROUND_CHARS + sum(len(each.get("function", each).get("arguments") or "") for each in calls)


def require_json(text: str) -> None:
    """Raises UpstreamError, code `invalid_json_answer`, when the text is not one JSON object."""
    try:
        if isinstance(orjson.loads(text), dict):
            return
    except orjson.JSONDecodeError:
        pass
    raise UpstreamError("the model did not answer with a JSON object", code="invalid_json_answer")
