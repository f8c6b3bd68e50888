"""Writes an answer with hosted tools as responses events: their items, their events, and citations in the text.

Source: recorded streams of OpenAI's API (vercel/ai fixtures) and openai-python's types, read 2026-11-22; the order of
events is theirs. Knows no tool beyond its items (`HostedItems`).

Positions. The text is masked after it was written here. So each piece of text is a delta of its own, a visible link is
one whole piece, and positions are counted in `Event.finish`, when every middleware has seen the delta. Until then, and
in the response that is stored, which is stored as the model wrote it, they are those of the unmasked text.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Protocol

from gateway.domain import Event, EventStream, Json
from gateway.wire.hosted_answer import (
    AnswerEnd,
    CallPhase,
    ClientCall,
    HostedCall,
    HostedEvent,
    ReasoningPiece,
    Source,
    TextPiece,
)
from gateway.wire.responses.stream import ResponseStream
from gateway.wire.responses.tools import ToolNames


class HostedItems(Protocol):
    """How calls of one kind of hosted tool are written."""

    def added(self, call: HostedCall) -> Json:
        """The item when it is opened: `{id, type, status, …}`."""
        ...

    def item(self, call: HostedCall) -> Json:
        """The whole item of a call that has ended."""
        ...

    def events(self, call: HostedCall, phase: str) -> list[tuple[str, Json]]:
        """The events of a phase: their type, and their fields beside the item's position."""
        ...


class WebSearchItems:
    """Implements HostedItems for `web_search_call`. `include`: the request's."""

    def __init__(self, include: object = ()) -> None:
        wanted = include if isinstance(include, list) else ()
        self._with_sources = "web_search_call.action.sources" in wanted
        self._with_results = "web_search_call.results" in wanted

    def added(self, call: HostedCall) -> Json:
        """`{id, type, status}`: its action is known at its end."""
        return {"id": call.item_id, "type": "web_search_call", "status": "in_progress"}

    def item(self, call: HostedCall) -> Json:
        """`{id, type, status, action, results?}`, the action with `sources` where they were asked for."""
        action = dict(call.action)
        if self._with_sources and action.get("type") == "search":
            action["sources"] = [{"type": "url", "url": source.url} for source in call.sources]
        item = {"id": call.item_id, "type": "web_search_call", "status": call.status, "action": action}
        return {**item, "results": call.results} if self._with_results else item

    def events(self, call: HostedCall, phase: str) -> list[tuple[str, Json]]:
        """`response.web_search_call.PHASE`; a failure has no event of its own."""
        return [] if phase == "failed" else [(f"response.web_search_call.{phase}", {})]


_UNSENT = Event.from_data({})
"""Replaces every event of an answer that is not streamed: only its response object is used."""


class _FinalText:
    """How many characters of a message have left, as masked."""

    __slots__ = ("chars",)

    def __init__(self) -> None:
        self.chars = 0


class HostedStream(ResponseStream):
    """One answer, streamed or whole. `model` is its public name until the answer says another; `kinds` has the items of
    every kind of hosted tool that may come."""

    def __init__(
        self,
        body: Json,
        on_end: Callable[[Json], None],
        names: ToolNames | None = None,
        *,
        model: str,
        kinds: Mapping[str, HostedItems],
    ) -> None:
        super().__init__(body, lambda response: on_end(self._unmasked(response)), names)
        self._kinds = kinds
        self._items: dict[str, Json] = {}
        self._final, self._chars = _FinalText(), 0  # of the open message: what has left, and what came
        self._positions: dict[int, Json] = {}
        self._is_silent_end = False
        self._is_whole = False
        self.response["model"] = model

    async def run_hosted(self, batches: AsyncGenerator[list[HostedEvent], None]) -> EventStream:
        """The events of the whole stream. Raises what `batches` raises."""
        opened = False
        async with aclosing(batches):
            async for batch in batches:
                events = [] if opened else list(self._opening({}))
                opened = True
                for each in batch:
                    events += self._events_for(each)
                yield events
        yield list(self._ending())

    async def whole(self, batches: AsyncGenerator[list[HostedEvent], None]) -> Json:
        """The response object of the same answer, not streamed. Raises what `batches` raises."""
        self._is_whole = True
        async with aclosing(self.run_hosted(batches)) as events:
            async for _ in events:
                pass
        return self.response

    def _event(self, kind: str, fields: Json) -> Event:
        return _UNSENT if self._is_whole else super()._event(kind, fields)

    def _copy(self, item: Json) -> Json:
        return item if self._is_whole else super()._copy(item)

    def _events_for(self, event: HostedEvent) -> Iterator[Event]:
        match event:
            case TextPiece(text, _, True):
                yield from self._refusal_events(text)
            case TextPiece():
                yield from self._piece_events(event)
            case ReasoningPiece(text):
                yield from self._reasoning_events(text)
            case ClientCall(delta):
                yield from self._call_events(delta)
            case CallPhase(call, phase):
                yield from self._phase_events(call, phase)
            case AnswerEnd():
                self._finish_reason, self._usage, self.backend = event.finish_reason, event.usage, event.backend
                self.response["model"] = event.identity.get("model", self.response["model"])
                for name in ("system_fingerprint", "service_tier"):
                    if event.identity.get(name) is not None:
                        self.response[name] = event.identity[name]

    def _piece_events(self, piece: TextPiece) -> Iterator[Event]:
        *opening, delta = self._text_events(piece.text)
        yield from opening
        assert self._message is not None
        if opening:
            self._final, self._chars = _FinalText(), 0
        self._chars += len(piece.text)
        part, position = self._message["content"][0], {**self._position(self._message), "content_index": 0}
        end = self._chars
        notes = [_citation(source, end - len(piece.text), end) for source in piece.citations]
        if not self._is_whole:
            delta.finish = partial(self._finish_delta, self._final, notes)
        yield delta
        for note in notes:
            self._positions[id(note)] = {name: note[name] for name in ("start_index", "end_index")}
            part["annotations"].append(note)
            index = len(part["annotations"]) - 1
            fields = {**position, "annotation_index": index, "annotation": note}
            yield self._event("response.output_text.annotation.added", fields)

    def _finish_delta(self, final: _FinalText, notes: list[Json], data: Json) -> Json:
        """Called with the masked delta, in the order of the stream: sets the positions of the links that it is."""
        start, final.chars = final.chars, final.chars + len(data["delta"])
        for note in notes:
            note.update(start_index=start, end_index=final.chars)
        return self._numbered(data)

    def _phase_events(self, call: HostedCall, phase: str) -> Iterator[Event]:
        kind = self._kinds[call.kind]
        item = self._items.get(call.item_id)
        if item is None:
            yield from self._close_reasoning()
            yield from self._close_message()
            item = self._items[call.item_id] = kind.added(call)
            yield from self._open(item)
        yield from self._events_of(item, kind.events(call, phase))
        if phase in ("completed", "failed"):
            item.update(kind.item(call))
            self._is_silent_end = call.ends_turn
            yield from self._close(item, call.status)

    def _ending(self) -> Iterator[Event]:
        last = self.response["output"][-1] if self.response["output"] else None
        if last is not None and last["id"] in self._items and not self._is_silent_end and not self._calls:
            yield from self._open_message()  # an answer without a text has an empty one, as without hosted tools
        yield from super()._ending()

    def _unmasked(self, response: Json) -> Json:
        """The response with the positions of its unmasked text, to be stored."""
        output = []
        for item in response["output"]:
            parts = item.get("content") if item["type"] == "message" else None
            output.append({**item, "content": [self._unmasked_part(part) for part in parts]} if parts else item)
        return {**response, "output": output}

    def _unmasked_part(self, part: Json) -> Json:
        if "annotations" not in part:
            return part
        notes = part["annotations"] or ()
        return {**part, "annotations": [{**note, **self._positions.get(id(note), {})} for note in notes]}


def _citation(source: Source, start: int, end: int) -> Json:
    """`{type: "url_citation", url, title, start_index, end_index}`: code points, the end exclusive."""
    return {"type": "url_citation", "url": source.url, "title": source.title, "start_index": start, "end_index": end}
