"""An answer as events that no route's format shapes: the one form that responses and messages are written from.

`events_of` reads them from chat chunks, `events_of_whole` from a whole completion, and `services.hosted_tools` makes
them where the gateway itself runs tools (web search, MCP). Order of an answer: perhaps an `AnswerStart`, any number of
pieces and calls, one `AnswerEnd`. All phases of a call come together; text before a call and text after it are two
texts.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from gateway.domain import EventStream, Json
from gateway.wire import sse

LOGPROBS_LEFT_OUT = "logprobs were left out: only /v1/chat/completions without web search has them"
"""A warning. The tokens of several rounds, cut anew at citations, do not spell the pieces of the text; and responses
that are translated from chat have none."""


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
    the model was given. `error`: a sentence where it failed. `ends_turn`: the answer ends with this call.
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


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer's text. With `citations` it is one whole visible link to these sources, nothing else."""

    text: str
    citations: tuple[Source, ...] = ()
    is_refusal: bool = False


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A piece of a call of the caller's own tools: chat's `{index, id?, type?, function: {name?, arguments?}}`."""

    delta: Json


@dataclass(frozen=True, slots=True)
class CallPhase:
    """A hosted call went on: `in_progress`, `searching`, `completed` or `failed` for a search."""

    call: HostedCall
    phase: str


@dataclass(frozen=True, slots=True)
class AnswerStart:
    """The first event of an answer without hosted tools. `identity`: as in AnswerEnd, as far as it is known."""

    identity: Json


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    """The end. `usage`: chat's usage, summed over all rounds. `backend`: `provider_specific_fields` of the last one.

    `identity` holds `model`, and `id`, `created`, `system_fingerprint`, `service_tier` where the upstream sent them.
    `matched`: the stop sequence that the upstream names as its end, if it does.
    """

    finish_reason: str | None
    usage: Json
    backend: Json | None
    identity: Json
    matched: Any = None


HostedEvent: TypeAlias = TextPiece | ReasoningPiece | ClientCall | CallPhase | AnswerStart | AnswerEnd
HostedEvents: TypeAlias = AsyncGenerator[list[HostedEvent], None]

_MATCHED_STOP = ("stop_reason", "matched_stop")
"""Fields of a choice in which vLLM and SGLang name the stop sequence that ended it."""
_IDENTITY = ("id", "created", "model", "system_fingerprint", "service_tier")


def identity_of(answer: Json) -> Json:
    """What an answer or chunk says of itself: the members that `AnswerEnd.identity` has."""
    return {name: answer[name] for name in _IDENTITY if answer.get(name) is not None}


def pieces_of(delta: Json) -> Iterator[HostedEvent]:
    """The pieces of a chat delta, or of a whole message."""
    if reasoning := delta.get("reasoning_content"):
        yield ReasoningPiece(reasoning)
    if content := delta.get("content"):
        yield TextPiece(content)
    if refusal := delta.get("refusal"):
        yield TextPiece(refusal, is_refusal=True)
    for index, call in enumerate(delta.get("tool_calls") or ()):
        yield ClientCall({"index": index, **call})


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
            yield from pieces_of(choice.get("delta") or choice.get("message") or {})
            self._finish = choice.get("finish_reason") or self._finish
            self._backend = choice.get("provider_specific_fields") or self._backend
            self._matched = next((choice[name] for name in _MATCHED_STOP if choice.get(name)), None) or self._matched

    def end(self) -> AnswerEnd:
        return AnswerEnd(self._finish, self._usage, self._backend, self._identity or {}, self._matched)


# --- url citations ---
# Keeps the positions of citations right when their text is masked after they were made.
#
# `start_index` and `end_index` count code points; the end is exclusive, so `text[start:end]` is the visible link.
# Source of the shapes: OpenAI API reference (`url_citation` of responses and chat), read 2026-11-22.

_TEXT_FIELDS = ("text", "content")
"""Where the annotated text is: beside `annotations`, in a responses part and in a chat message."""


class KeptLinks:
    """The visible links of annotated texts, taken before the texts are masked; `place` finds them again afterwards."""

    def __init__(self, holders: Iterable[Any]) -> None:
        """`holders`: text parts `{text, annotations}` and messages `{content, annotations}`; others are left alone."""
        self._texts: list[tuple[Json, str, str, list[tuple[Json, tuple[int, int], str]]]] = []
        for holder in holders:
            notes = holder.get("annotations") if isinstance(holder, dict) else None
            name = next((each for each in _TEXT_FIELDS if notes and isinstance(holder.get(each), str)), None)
            if name is not None and isinstance(notes, list):
                links = [(note, _span(note), holder[name][slice(*_span(note))]) for note in notes if _span(note)[1]]
                self._texts.append((holder, name, holder[name], links))

    def placed(self, data: Any) -> Any:
        """Call `place`; returns `data`, the whole value that holds the texts."""
        self.place()
        return data

    def place(self) -> None:
        """Set every annotation to the place of its link in the text as it is now, in place.

        A text that was not changed keeps its annotations as they are. A link that a mask has changed is a link no more:
        its annotation is dropped. Annotations of one span stay together.
        """
        for holder, name, before, links in self._texts:
            text, notes = holder.get(name), holder.get("annotations")
            if not isinstance(text, str) or not isinstance(notes, list) or text == before:
                continue  # withheld, or nothing to do
            kept = [note for note in notes if not _span(note)[1]]
            done, position, last, start = 0, 0, (0, 0), -1
            for note, span, link in links:
                if span != last:
                    last, start = span, _place_of(link, before[done : span[0]], text, position)
                    if start >= 0:
                        done, position = span[1], start + len(link)
                if start >= 0:
                    _citation(note).update(start_index=start, end_index=position)
                    kept.append(note)
            holder["annotations"] = kept


def _place_of(link: str, gap: str, text: str, position: int) -> int:
    """Where a link is in the masked `text`, from `position` on; -1 where it is no more. `gap`: the unmasked text before
    it, which may have the same characters in it without being a citation (an index in code, say)."""
    if text.startswith(gap + link, position):
        return position + len(gap)
    start = position - len(link)
    for _ in range(gap.count(link) + 1):
        start = text.find(link, start + len(link))
        if start < 0:
            return -1
    return start


def text_holders(items: Any) -> list[Any]:
    """The parts of responses items, `[{content: [part]}]`, which may be annotated."""
    listed = items if isinstance(items, list) else []
    contents = (item.get("content") for item in listed if isinstance(item, dict))
    return [part for content in contents if isinstance(content, list) for part in content]


def _citation(note: Json) -> Json:
    """The object with the indexes: chat has it one level deeper."""
    inner = note.get("url_citation")
    return inner if isinstance(inner, dict) else note


def _span(note: Any) -> tuple[int, int]:
    """`(start, end)` of a citation; `(0, 0)` for anything else."""
    citation = _citation(note) if isinstance(note, dict) else {}
    start, end = citation.get("start_index"), citation.get("end_index")
    if isinstance(start, int) and isinstance(end, int) and 0 <= start < end:
        return start, end
    return 0, 0
