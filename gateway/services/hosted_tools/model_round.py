"""One round with a model: a chat request to the completion service, its answer as neutral events.

Calls of hosted tools are kept for the loop, everything else is passed on at once.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from gateway.domain import Event, EventBatch, Json, Relay, RequestStats
from gateway.services.completion.service import CompletionService
from gateway.services.hosted_tools.citations import CitationFinder
from gateway.services.hosted_tools.sources import Sources
from gateway.wire import sse
from gateway.wire.hosted_answer import ClientCall, HostedEvent, RelayedTexts, TextPiece, identity_of, pieces_of
from gateway.wire.untrusted_json import joined_text


@dataclass(slots=True)
class AskedCall:
    """A call of a hosted tool as the model made it. `pieces`: what has come of its arguments."""

    call_id: str
    name: str
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        """JSON, as long as it is still streamed a part of it."""
        return "".join(self.pieces)


@dataclass(slots=True)
class Round:
    """What a round has brought so far. `text`: all of it; `finish_reason` and `usage`: None until they came.

    `is_hosted(name)`: whether a call is one of ours. `client_calls`: calls of the caller's own tools, over all rounds.
    """

    is_hosted: Callable[[str], bool]
    client_calls: int = 0
    text: list[str] = field(default_factory=list)
    calls: list[AskedCall] = field(default_factory=list)
    finish_reason: str | None = None
    usage: Json = field(default_factory=dict)
    backend: Json = field(default_factory=dict)
    identity: Json = field(default_factory=dict)


class RoundReader:
    """Reads one answer into a `Round`. `sources`: what it may cite; None where its text is no prose (JSON)."""

    def __init__(self, made: Round, sources: Sources | None) -> None:
        self._round = made
        self._finder = CitationFinder(sources or Sources())
        self._hosted: dict[int, AskedCall] = {}
        self._numbers: dict[int, int] = {}

    def take(self, batch: EventBatch) -> list[HostedEvent]:
        """The events of the chunks of one read (`wire.chat.stream`). Plain texts that came together are one piece."""
        events: list[HostedEvent] = []
        texts: list[str] = []
        for event in batch:
            if event.relayed is not None and event.data is None:
                texts.append(event.text)
                continue
            if texts:
                events += self._text("".join(texts))
                texts = []
            events += self._take_chunk(event)
        return [*events, *self._text("".join(texts))] if texts else events

    def _take_chunk(self, event: Event) -> list[HostedEvent]:
        chunk = sse.decode(event)
        if chunk is None:
            return []
        if not self._round.identity:
            self._round.identity = identity_of(chunk)
        self._round.usage = chunk.get("usage") or self._round.usage
        events: list[HostedEvent] = []
        for choice in chunk.get("choices") or ():
            events += self.take_delta(choice.get("delta") or {})
            self._finish(choice)
        return events

    def take_answer(self, answer: Json) -> list[HostedEvent]:
        """The events of a whole answer (`wire.chat.answer.normalise_answer`)."""
        choice: Json = answer["choices"][0]
        message: Json = choice["message"]
        self._round.identity, self._round.usage = identity_of(answer), answer["usage"]
        events = self.take_delta(message)
        self._finish(choice)
        return [*events, *self.end()]

    def take_delta(self, delta: Json) -> list[HostedEvent]:
        """The events of a chat delta, or of a whole message."""
        events: list[HostedEvent] = []
        for piece in pieces_of(delta):
            if isinstance(piece, TextPiece) and not piece.is_refusal:
                events += self._text(piece.text)
            elif isinstance(piece, ClientCall):
                events += self._call(piece.delta)
            else:
                events += [*self.end(), piece]
        return events

    def end(self) -> list[HostedEvent]:
        """The text that was held back: no more will come."""
        return list(self._finder.flush())

    def _text(self, text: str) -> list[HostedEvent]:
        self._round.text.append(text)
        return list(self._finder.push(text))

    def _call(self, delta: Json) -> list[HostedEvent]:
        index, function = int(delta.get("index") or 0), delta.get("function") or {}
        if index not in self._hosted and index not in self._numbers:
            name = function.get("name") or ""
            if self._round.is_hosted(name):
                self._hosted[index] = AskedCall(delta.get("id") or "", name)
                self._round.calls.append(self._hosted[index])
            else:
                self._numbers[index] = self._round.client_calls
                self._round.client_calls += 1
        if index in self._hosted:
            self._hosted[index].pieces.append(function.get("arguments") or "")
            return []
        return [*self.end(), ClientCall({**delta, "index": self._numbers[index]})]

    def _finish(self, choice: Json) -> None:
        self._round.finish_reason = choice.get("finish_reason") or self._round.finish_reason
        self._round.backend = choice.get("provider_specific_fields") or self._round.backend


async def ask(
    completions: CompletionService, body: Json, stats: RequestStats, reader: RoundReader, relay: Relay | None = None
) -> AsyncGenerator[list[HostedEvent], None]:
    """The events of one round; `body["stream"]` decides how the upstream is called. `relay`: see LoopRequest. Raises
    GatewayError."""
    if not body.get("stream"):
        yield reader.take_answer(await completions.complete(body, stats))
        return
    body = {**body, "stream_options": {"include_usage": True}}
    if relay is not None and isinstance(relay.stage, RelayedTexts):
        relay.stage.read = reader.take
    async with aclosing(completions.stream(body, stats, relay=relay)) as batches:
        async for batch in batches:
            yield reader.take(batch)
    yield reader.end()


def message_text(message: Json) -> str:
    """The text of a chat message, its parts joined by line feeds."""
    return joined_text(message.get("content"), "\n")
