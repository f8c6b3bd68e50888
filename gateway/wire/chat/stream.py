"""Streamed chat answers of any OpenAI-compatible upstream, brought into the one form that clients are promised.

A chunk is decoded, mended and made anew, but once a plain text chunk has been seen its bytes around the text are
learnt: later chunks that differ in the text alone are checked by bytes and relayed with ours around it. The end is
always checked: an upstream that stops without a finish_reason raises UpstreamError. Source: OpenAI API reference and
streams of llama.cpp, vLLM, Ollama, Azure, DeepSeek (facts read 2026-11-21). Deliberately knows no HTTP.
"""

import time
from typing import Any

import orjson

from gateway.domain import Event, EventBatch, Json
from gateway.errors import UpstreamError
from gateway.wire import sse
from gateway.wire.chat.answer import AnswerContext, finish_reason, joined_text, mend_usage, new_id
from gateway.wire.chat.chunk_relay import ChunkPattern, split_around_content
from gateway.wire.chat.tool_call_deltas import CallDeltas
from gateway.wire.openai_error import upstream_error

_MAX_LEARNT = 8


class _Choice:
    __slots__ = ("calls", "characters", "finish", "started", "text")

    def __init__(self) -> None:
        self.started = False
        self.finish: str | None = None
        self.calls = CallDeltas()
        self.characters = 0
        self.text: list[str] = []


class ChatStream:
    """One stream. `take` is given the data of incoming events, `end` is called once when no more will come.

    `finished`: every choice asked for has said why it ended, at most usage and `[DONE]` are to come. `done`: `[DONE]`
    came.
    """

    def __init__(self, context: AnswerContext, *, keep_text: bool = False) -> None:
        self._context = context
        self._keep_text = keep_text
        self._id = ""
        self._created = 0
        self._fingerprint: Any = context.fingerprint
        self._choices: dict[int, _Choice] = {}
        self._usage: Any = None
        self._patterns: list[ChunkPattern[_Choice]] = []
        self._learnt = 0
        self._relayed = 0
        self.done = False
        self.finished = False

    @property
    def usage(self) -> Json:
        characters = sum(choice.characters for choice in self._choices.values())
        return mend_usage(self._usage, lambda: self._context.prompt_chars, characters)[0]

    def take(self, batch: list[bytes]) -> tuple[EventBatch, UpstreamError | None]:
        """Our events for a batch of theirs, and the fault that ended it: what came before the fault was good."""
        events: EventBatch = []
        try:
            for data in batch:
                for pattern in self._patterns:
                    if (event := pattern.match(data)) is not None:
                        self._relayed += 1
                        pattern.choice.characters += len(data) - pattern.fixed_bytes
                        events.append(event)
                        break
                else:
                    events += self._mended(data)
        except UpstreamError as error:
            return events, error
        return events, None

    def _mended(self, data: bytes) -> EventBatch:
        """Our events for one of theirs. Raises UpstreamError for an error or anything that is not a chunk."""
        if data.strip() == b"[DONE]":
            self.done = True
            return []
        chunk = _decoded(data)
        if self._usage is None or chunk.get("usage"):
            self._usage = chunk.get("usage") or self._usage
        self._identify(chunk)
        events: EventBatch = []
        for position, choice in enumerate(chunk.get("choices") or ()):
            if not isinstance(choice, dict):
                raise UpstreamError("the upstream sent a chunk that is not valid")
            events += self._choice_events(choice, position, data)
        self.finished = len(self._choices) >= (self._context.asked.get("n") or 1) and self._all_ended
        return events

    @property
    def _all_ended(self) -> bool:
        return all(choice.finish for choice in self._choices.values())

    def end(self) -> EventBatch:
        """The last events: finish chunks, usage if asked, `[DONE]`. Raises UpstreamError when the stream was cut."""
        if not self._choices:
            raise UpstreamError("the upstream ended its stream without an answer")
        if not self._all_ended:
            raise UpstreamError("the upstream ended its stream before the answer was complete")
        if self._keep_text:
            self._check_json()
        estimated = mend_usage(self._usage, lambda: 0, 0)[1]
        events = [self._finish_event(index, choice, estimated) for index, choice in sorted(self._choices.items())]
        if self._context.include_usage:
            events.append(Event.from_data({**self._envelope([]), "usage": self.usage}))
        return [*events, Event.from_bytes(sse.DONE)]

    def _finish_event(self, index: int, choice: _Choice, estimated: bool) -> Event:
        fields = self._context.fields()
        if estimated:
            fields["usage_estimated"] = True
        ending = {"index": index, "delta": {}, "logprobs": None, "finish_reason": choice.finish}
        return Event.from_data(self._envelope([{**ending, "provider_specific_fields": fields}]))

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

    def _choice_events(self, given: Json, position: int, data: bytes) -> EventBatch:
        index = given["index"] if isinstance(given.get("index"), int) else position
        if index not in self._choices and len(self._choices) >= 128:
            raise UpstreamError("the upstream sent too many choices")
        choice = self._choices.setdefault(index, _Choice())
        delta = given.get("delta") or given.get("message")  # a whole answer sent where a stream was asked
        deltas = self._deltas(choice, delta if isinstance(delta, dict) else {})
        if given.get("finish_reason"):
            reason = finish_reason(given["finish_reason"], has_calls=choice.calls.any, legacy=self._context.legacy)
            if reason is None:
                raise UpstreamError("the upstream failed while it was answering")
            choice.finish = reason
            deltas += choice.calls.flush(legacy=self._context.legacy)
        elif choice.finish:
            choice.finish = finish_reason(choice.finish, has_calls=choice.calls.any, legacy=self._context.legacy)
        events: EventBatch = []
        if not choice.started and (deltas or choice.finish or delta is not None):
            choice.started = True
            events.append(self._event(index, {"role": "assistant", "content": ""}, None))
        logprobs = given.get("logprobs")
        for delta in deltas:
            events.append(self._event(index, delta, logprobs))
        if len(deltas) == 1 and list(deltas[0]) == ["content"] and not choice.finish and not self._keep_text:
            self._learn_pattern(choice, index, data, events[-1].data or {})
        return events

    def _event(self, index: int, delta: Json, logprobs: Any) -> Event:
        ending = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": None}
        return Event.from_data(self._envelope([ending]))

    def _deltas(self, choice: _Choice, delta: Json) -> list[Json]:
        """What the delta says, one thing each: reasoning, text, refusal, calls; role and empties are dropped."""
        deltas: list[Json] = []
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(reasoning, str) and reasoning:
            deltas.append({"reasoning_content": reasoning})
        content = delta.get("content")
        if isinstance(content, list):
            content = joined_text(content)
        if isinstance(content, str) and content:
            choice.characters += len(content)
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
        """Remember the bytes around this chunk's text, if nothing else in it can hold text.

        An upstream whose every chunk differs elsewhere too (a clock, say) is not learnt again and again.
        """
        if self._learnt - self._relayed // 4 >= _MAX_LEARNT:
            return
        self._learnt += 1
        parts, our_parts = split_around_content(data), split_around_content(orjson.dumps(ours))
        if parts and our_parts:
            self._patterns = [each for each in self._patterns if each.choice is not choice]
            self._patterns.append(ChunkPattern(choice, index, parts, our_parts))

    def _check_json(self) -> None:
        for choice in self._choices.values():
            if choice.finish == "stop":
                require_json("".join(choice.text))


def require_json(text: str) -> None:
    """Raises UpstreamError when the text is not one JSON object."""
    try:
        if isinstance(orjson.loads(text), dict):
            return
    except orjson.JSONDecodeError:
        pass
    raise UpstreamError("the model did not answer with a JSON object", code="invalid_json_answer")


def _decoded(data: bytes) -> Json:
    try:
        chunk = orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            chunk = orjson.loads(data.decode(errors="replace"))
        except orjson.JSONDecodeError:
            raise UpstreamError("the upstream sent a chunk that is not JSON") from None
    if not isinstance(chunk, dict) or not isinstance(chunk.get("choices") or [], list):
        raise UpstreamError("the upstream sent a chunk that is not valid")
    if chunk.get("error"):
        error = chunk["error"]
        status = error.get("code") if isinstance(error, dict) else None
        raise upstream_error(status if isinstance(status, int) and 400 <= status < 600 else 500, chunk, None)
    return chunk
