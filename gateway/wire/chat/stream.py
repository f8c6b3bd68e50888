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

import re
import time
from collections.abc import Hashable, Iterator
from typing import Any, Generic, TypeVar

import orjson

from gateway.domain import Event, EventBatch, Json
from gateway.errors import UpstreamError
from gateway.texts import TextSlot, drop_logprobs
from gateway.wire import sse
from gateway.wire.chat.answer import (
    MATCHED_STOP,
    MAX_CALLS,
    MAX_CHOICES,
    TOO_MANY_CALLS,
    AnswerContext,
    arguments_text,
    finish_reason,
    joined_text,
    new_id,
    normalise_usage,
)
from gateway.wire.ocr import REPORT
from gateway.wire.openai_error import error_in_stream
from gateway.wire.untrusted_json import mended_json, words_of

# --- chunk decoding ---
# Decodes the chunks of a streamed chat answer. Knows the shape of a chunk, not what it means.


def decode_chunk(data: bytes) -> Json:
    """A chunk that may be read. Raises UpstreamError: not JSON, of another shape, too many choices, or an error."""
    try:
        chunk = mended_json(data)
    except orjson.JSONDecodeError:
        raise UpstreamError("the upstream sent a chunk that is not JSON") from None
    if not isinstance(chunk, dict) or not isinstance(chunk.get("choices") or [], list):
        raise UpstreamError("the upstream sent a chunk that is not valid")
    if len(chunk.get("choices") or ()) > MAX_CHOICES:
        raise UpstreamError("the upstream sent too many choices")
    if chunk.get("error"):
        raise error_in_stream(chunk)
    return chunk


# --- chunk relay ---
# Relays plain text chunks by their bytes: the usual chunk of a stream is checked and sent on without being decoded.
#
# Naive form: decode the chunk, put its text into our own chunk, encode that. Whenever `ChunkPattern.match` returns an
# event, the event equals the naive form; in every doubtful case it returns None and `ChatStream` uses the naive form.
#
# | step  | call                         | what it establishes                                                         |
# |-------|------------------------------|-----------------------------------------------------------------------------|
# | learn | `split_around_content(data)` | the bytes before and after the one string `choices[0].delta.content`        |
# | keep  | `ChunkPattern(...)`          | these bytes as the upstream sends them, beside the bytes that we send       |
# | relay | `ChunkPattern.match(data)`   | the same bytes around one valid JSON string: only the text is different     |
# | edit  | `RelayedSlot.text = ...`     | a middleware changed the text: only now is the frame decoded                |
#
#

_CONTENT_KEY = re.compile(rb'"content"\s*:\s*"')
_PLAIN_TEXT = re.compile(rb'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))*+')
"""The inside of a JSON string (RFC 8259 §7) without escaped surrogates: whether two of them form a pair is left to the
decoder."""
MAX_RELAYED_BYTES = 16_384
"""Longer chunks are decoded."""
_QUOTE, _BACKSLASH = b'"\\'
ChoiceT = TypeVar("ChoiceT")


class RelayedSlot(TextSlot):
    """The text of a relayed frame. Reading it is free; setting it decodes the frame and changes its data."""

    __slots__ = ("_event", "_text")

    def __init__(self, event: Event, where: str, channel: Hashable) -> None:
        self._event, self._text = event, event.text
        self.where, self.channel = where, channel
        self.form, self.last, self.key = "text", False, "content"

    @property
    def text(self) -> str:
        return self._text

    @text.setter
    def text(self, value: str) -> None:
        data = sse.decode(self._event)
        if data is not None:
            data["choices"][0]["delta"]["content"] = self._text = value
            drop_logprobs(data["choices"][0])


class ChunkPattern(Generic[ChoiceT]):
    """The bytes around the text of one choice's plain chunks: as the upstream sends them (`theirs`), and as we do.

    Implements `domain.RelayTemplate` for the frames that `match` makes. `choice` is the caller's own record of the
    choice; `fixed_bytes` is the size of an upstream's chunk without its text.
    """

    __slots__ = (
        "after", "before", "channel", "choice", "fixed_bytes", "our_after", "our_before",
        "text_from", "text_to", "where",
    )  # fmt: skip

    def __init__(self, choice: ChoiceT, index: int, theirs: tuple[bytes, bytes], ours: tuple[bytes, bytes]) -> None:
        self.choice = choice
        self.channel, self.where = (index, "content"), f"choices[{index}].delta.content"
        self.before, self.after = theirs
        self.fixed_bytes = len(self.before) + len(self.after)
        self.text_from, self.text_to = len(self.before), -len(self.after)
        self.our_before, self.our_after = b"data: " + ours[0], ours[1] + b"\n\n"

    def match(self, data: bytes) -> Event | None:
        """Our event for a chunk that differs from the learnt one in its text alone; None for any other chunk."""
        if not (data.startswith(self.before) and data.endswith(self.after)):
            return None
        if not self.fixed_bytes < len(data) <= MAX_RELAYED_BYTES:
            return None
        text = data[self.text_from : self.text_to]
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            return None
        if _QUOTE in text or _BACKSLASH in text or not decoded.isprintable():
            if not _PLAIN_TEXT.fullmatch(text):
                return None
            if _BACKSLASH in text:
                decoded = orjson.loads(f'"{decoded}"')
        return Event(None, self.our_before + text + self.our_after, False, self, decoded)

    def slot_of(self, event: Event) -> TextSlot:
        """The text of one of this pattern's events, to be read or replaced."""
        return RelayedSlot(event, self.where, self.channel)


def split_around_content(data: bytes) -> tuple[bytes, bytes] | None:
    """The bytes before and after a chunk's text, quotes included on both sides.

    None when the chunk has more than one key `content`, or when decoding a probe shows that the string is not
    `choices[0].delta.content` of the only choice. `data` is a chunk that was decoded before.
    """
    keys = _CONTENT_KEY.findall(data)
    start = _CONTENT_KEY.search(data)
    if start is None or len(keys) != 1:
        return None
    text = _PLAIN_TEXT.match(data, start.end())
    if text is None or data[text.end() : text.end() + 1] != b'"':
        return None
    before, after = data[: start.end()], data[text.end() :]
    try:
        probe = orjson.loads(before + b"X" + after)
    except orjson.JSONDecodeError:  # it was decoded with its invalid UTF-8 replaced, so its bytes cannot be relayed
        return None
    if len(probe["choices"]) != 1 or probe["choices"][0]["delta"].get("content") != "X":
        return None
    return before, after


# --- tool call deltas ---
# Repairs streamed tool calls: each call's index, id, type and name are sent once, and then argument text alone.
#
# Clients concatenate the deltas they receive, so that a repeated name or id would come out doubled. The deltas of a
# call wait until its name is known. Knows one choice of one stream. Source: OpenAI API reference and the deltas of
# vLLM, Ollama, llama.cpp (facts read 2026-11-21).


class _Call:
    """One tool call. `announced`: its first delta was sent. `waiting`: argument text that came before its name."""

    __slots__ = ("announced", "call_id", "name", "waiting")

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.name = ""
        self.announced = False
        self.waiting: list[str] = []


class CallDeltas:
    """The tool calls of one choice. Call `take` for every delta that has calls, and `flush` once at the choice's end.

    `legacy`: the caller declared `functions`; deltas are `{function_call}` and hold the first call only.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, int] = {}

    @property
    def any(self) -> bool:
        """Whether the choice has made a tool call."""
        return bool(self._calls)

    def take(self, incoming: list[Any], *, legacy: bool) -> list[Json]:
        """Our deltas for the `tool_calls` of one of theirs: `{tool_calls: [{index, id?, type?, function}]}` each.

        `function` is `{name, arguments: ""}` in a call's first delta and `{arguments}` in the others. Raises
        UpstreamError for a call that is not an object, and for more than MAX_CALLS.
        """
        deltas: list[Json] = []
        for position, each in enumerate(incoming):
            if not isinstance(each, dict):
                raise UpstreamError("the upstream sent a tool call that is not valid")
            deltas += self._call_deltas(each, position, len(incoming), legacy)
        return deltas

    def flush(self, *, legacy: bool) -> list[Json]:
        """The deltas of calls whose name never came, sent with an empty name at the choice's end."""
        deltas: list[Json] = []
        for number, call in enumerate(self._calls):
            if not call.announced:
                deltas += self._announce(number, call, legacy)
        return deltas

    def _call_deltas(self, incoming: Json, position: int, count: int, legacy: bool) -> list[Json]:
        inner = incoming.get("function")
        function: Json = inner if isinstance(inner, dict) else incoming
        identity = incoming.get("id") if isinstance(incoming.get("id"), str) else ""
        number = self._call_number(incoming, identity or "", words_of(function.get("name") or ""), position, count)
        call = self._calls[number]
        name = function.get("name")
        if isinstance(name, str) and name and not call.name:
            call.name = name
        arguments = function.get("arguments")
        text = arguments_text(arguments) if arguments is not None else ""
        if not call.announced:
            if text:
                call.waiting.append(text)
            return self._announce(number, call, legacy) if call.name else []
        return [delta] if text and (delta := _delta(number, {"arguments": text}, legacy)) else []

    def _call_number(self, incoming: Json, identity: str, name: str, position: int, count: int) -> int:
        """Which call a delta belongs to: by its index; without one, a new id or a second name starts a new call."""
        index = incoming.get("index")
        if isinstance(index, int):
            if index not in self._by_index:
                self._by_index[index] = self._add_call(identity)
            known = self._by_index[index]
            call = self._calls[known]
            if identity and call.call_id and identity != call.call_id and name and call.announced:
                self._by_index[index] = known = self._add_call(identity)  # this upstream sends index 0 for every call
            elif identity and not call.call_id:
                call.call_id = identity
            return known
        for number, call in enumerate(self._calls):
            if identity and call.call_id == identity:
                return number
        if not self._calls or (identity and self._calls[-1].call_id) or (name and self._calls[-1].name):
            return self._add_call(identity)
        return len(self._calls) - 1 if count == 1 else min(position, len(self._calls) - 1)

    def _add_call(self, identity: str) -> int:
        if len(self._calls) >= MAX_CALLS:
            raise UpstreamError(TOO_MANY_CALLS)
        self._calls.append(_Call(identity))
        return len(self._calls) - 1

    def _announce(self, number: int, call: _Call, legacy: bool) -> list[Json]:
        call.announced = True
        call.call_id = call.call_id or new_id("call_")
        first: Json = {"name": call.name, "arguments": ""}
        deltas = [_delta(number, first, legacy, call.call_id)]
        if call.waiting:
            deltas.append(_delta(number, {"arguments": "".join(call.waiting)}, legacy))
            call.waiting.clear()
        return [delta for delta in deltas if delta]


def _delta(number: int, function: Json, legacy: bool, identity: str = "") -> Json:
    if legacy:
        return {"function_call": function} if number == 0 else {}
    call: Json = {"index": number}
    if identity:
        call |= {"id": identity, "type": "function"}
    return {"tool_calls": [{**call, "function": function}]}


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
