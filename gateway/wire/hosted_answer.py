"""An answer as events that no route's format shapes: the one form that responses and messages are written from.

`events_of` reads them from chat chunks, `events_of_whole` from a whole completion, and `services.hosted_tools` makes
them where the gateway itself runs tools (web search, MCP). Order of an answer: perhaps an `AnswerStart`, any number of
pieces and calls, one `AnswerEnd`. All phases of a call come together; text before a call and text after it are two
texts.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from gateway.domain import EventBatch, EventStream, Json, Relay
from gateway.wire import sse
from gateway.wire.untrusted_json import list_in, tables_in
from gateway.wire.url_citations import flat

LOGPROBS_LEFT_OUT = "logprobs were left out: answers with tools that the gateway runs have none"
"""A warning. The tokens of several rounds, cut anew at citations, do not spell the pieces of the text."""


class Source(NamedTuple):
    """A page that the model was shown. `number` is what the model cites it by, from 1 on."""

    number: int
    url: str
    title: str


@dataclass(slots=True)
class HostedCall:
    """One call of a hosted tool, from its beginning to its end.

    `item_id`: its id in the answer (`ws_…`). `kind`: which kind of hosted tool (`web_search`). `name` and `arguments`
    (JSON): as the model called it. `status`: `in_progress`, `completed` or `failed`. `action`: what it does, for a
    search `{type: "search", query, queries}`, `{type: "open_page", url}` or `{type: "find_in_page", url, pattern}`.
    `sources`: the pages it found; `results`: `{title, url, content, published_date?}` of each. `output`: the text that
    the model was given. `error`: a sentence where it failed. `ends_turn`: the answer ends with this call. `ms`: its
    time.
    """

    item_id: str
    kind: str
    name: str
    arguments: str
    status: str = "in_progress"
    action: Json = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    results: list[Json] = field(default_factory=list)
    output: str = ""
    error: str = ""
    ends_turn: bool = False
    ms: float = 0.0


class TextPiece(NamedTuple):
    """A piece of the answer's text. With `citations` it is one whole visible link to these sources, nothing else.
    `logprobs`: chat's, of its tokens."""

    text: str
    citations: tuple[Source, ...] = ()
    is_refusal: bool = False
    logprobs: Sequence[Any] = ()


class ReasoningPiece(NamedTuple):
    """A piece of the model's reasoning."""

    text: str


class ClientCall(NamedTuple):
    """A piece of a call of the caller's own tools: chat's `{index, id?, type?, function: {name?, arguments?}}`."""

    delta: Json


class Citations(NamedTuple):
    """Annotations that an upstream has made of the text so far, as the Responses API has them."""

    notes: list[Json]


class CallPhase(NamedTuple):
    """A hosted call went on: `in_progress`, `searching`, `completed` or `failed` for a search."""

    call: HostedCall
    phase: str


class AnswerStart(NamedTuple):
    """The first event of an answer without hosted tools. `identity`: as in AnswerEnd, as far as it is known."""

    identity: Json


class AnswerEnd(NamedTuple):
    """The end. `usage`: chat's usage, summed over all rounds. `backend`: `provider_specific_fields` of the last one.

    `identity` holds `model`, and `id`, `created`, `system_fingerprint`, `service_tier` where the upstream sent them.
    `matched`: the stop sequence that the upstream names as its end, if it does.
    """

    finish_reason: str | None
    usage: Json
    backend: Json | None
    identity: Json
    matched: Any = None


HostedEvent: TypeAlias = TextPiece | ReasoningPiece | ClientCall | Citations | CallPhase | AnswerStart | AnswerEnd
HostedEvents: TypeAlias = AsyncGenerator[list[HostedEvent], None]

BeforeEnd = Callable[[], Awaitable[None]]


class AnswerWriter(ABC):
    """Writes one answer in the form of an interface: call `run`, `whole` or `made_of`, once."""

    @abstractmethod
    def take(self, pieces: Iterable[HostedEvent]) -> EventBatch:
        """Our events for some of the answer."""

    @abstractmethod
    def ending(self) -> EventBatch:
        """Our events after the last one."""

    @abstractmethod
    def made_of(self, events: Iterable[HostedEvent]) -> Json:
        """The whole answer of all its events."""

    async def run(self, events: HostedEvents, before_end: BeforeEnd | None = None) -> EventStream:
        """The events of the whole stream. `before_end`: awaited when `ending` was made, before its events. Raises what
        `events` and it raise."""
        async with aclosing(events):
            async for batch in events:
                yield self.take(batch)
        ending = self.ending()
        if before_end is not None:
            await before_end()
        yield ending

    async def whole(self, events: HostedEvents) -> Json:
        """The same answer, not streamed. Raises what `events` and `made_of` raise."""
        async with aclosing(events):
            return self.made_of([each async for batch in events for each in batch])

    def write_all(self, events: Iterable[HostedEvent]) -> None:
        """Write all events of an answer that is not streamed."""
        self.take(events)
        self.ending()


_MATCHED_STOP = ("stop_reason", "matched_stop")
"""Fields of a choice in which vLLM and SGLang name the stop sequence that ended it."""
_IDENTITY = ("id", "created", "model", "system_fingerprint", "service_tier")


def identity_of(answer: Json) -> Json:
    """What an answer or chunk says of itself: the members that `AnswerEnd.identity` has."""
    return {name: answer[name] for name in _IDENTITY if answer.get(name) is not None}


def pieces_of(delta: Json, logprobs: Any = None) -> Iterator[HostedEvent]:
    """The pieces of a chat delta, or of a whole message. `logprobs`: of its choice."""
    if reasoning := delta.get("reasoning_content"):
        yield ReasoningPiece(reasoning)
    if content := delta.get("content"):
        yield TextPiece(content, logprobs=list_in(logprobs, "content") if logprobs else ())
    if refusal := delta.get("refusal"):
        yield TextPiece(refusal, is_refusal=True)
    for index, call in enumerate(delta.get("tool_calls") or ()):
        yield ClientCall({"index": index, **call})


def pieces_of_relayed(events: EventBatch) -> list[HostedEvent]:
    """Relayed chunks that came together, which hold text alone, as one piece."""
    return [TextPiece("".join([each.text for each in events]))]


class RelayedTexts:
    """Writes relayed chunks in the form of another interface: a `domain.RelayStage`. `write` makes its events of some
    pieces; `read` makes the pieces, and is set anew for each round of an answer with hosted tools."""

    is_open, has_failed = True, False

    def __init__(self, write: Callable[[list[HostedEvent]], EventBatch]) -> None:
        self._write = write
        self.read: Callable[[EventBatch], list[HostedEvent]] = pieces_of_relayed

    def pass_on(self, events: EventBatch) -> tuple[bytes, int]:
        """See domain.RelayStage."""
        made = self._write(self.read(events))
        return sse.encode_all(made), len(made)


def translated(write: Callable[[list[HostedEvent]], EventBatch]) -> Relay:
    """The short way of a stream whose events are made by `write`; see `RelayedTexts`."""
    relay = Relay()
    relay.stage = RelayedTexts(write)
    return relay


async def events_of(chunks: EventStream) -> HostedEvents:
    """The events of a stream of normal chat chunks ended by `[DONE]`. Texts that came in one read are one piece. Raises
    what `chunks` raises."""
    reader = _ChunkReader()
    async with aclosing(chunks):
        async for batch in chunks:
            events: list[HostedEvent] = []
            texts: list[str] = []
            for each in batch:
                if each.relayed is not None and each.data is None:  # a chunk of text alone, which is not decoded
                    texts.append(each.text)
                elif (chunk := sse.decode(each)) is not None:
                    events += [TextPiece("".join(texts))] if texts else []
                    texts.clear()
                    events += reader.take(chunk)
            yield [*events, TextPiece("".join(texts))] if texts else events
    yield [reader.end()]


def events_of_whole(answer: Json) -> list[HostedEvent]:
    """The events of a whole, normal `chat.completion`, of which the first choice is used."""
    reader = _ChunkReader()
    return [*reader.take({**answer, "choices": answer["choices"][:1]}), reader.end()]


class _ChunkReader:
    """Reads chunks, or one whole answer: `take` each of them, then `end`."""

    def __init__(self) -> None:
        self._identity: Json | None = None
        self._usage: Json = {}
        self._finish: str | None = None
        self._backend: Json | None = None
        self._matched: Any = None

    def take(self, chunk: Json) -> Iterator[HostedEvent]:
        if self._identity is None:
            self._identity = identity_of(chunk)
            yield AnswerStart(self._identity)
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            message = choice.get("delta") or choice.get("message") or {}
            yield from pieces_of(message, choice.get("logprobs"))
            if notes := tables_in(message, "annotations"):
                yield Citations([flat(note) for note in notes])
            if reason := choice.get("finish_reason"):
                self._finish = reason
                self._identity |= identity_of(chunk)  # the tier that was served may come last
            self._backend = choice.get("provider_specific_fields") or self._backend
            self._matched = next((choice[name] for name in _MATCHED_STOP if choice.get(name)), None) or self._matched

    def end(self) -> AnswerEnd:
        return AnswerEnd(self._finish, self._usage, self._backend, self._identity or {}, self._matched)
