"""The events of an upstream that speaks its caller's interface itself, mended one by one: `PassedStream`."""

import re
from abc import abstractmethod
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

import orjson

from gateway.domain import Event, EventBatch, EventStream, Json
from gateway.errors import UpstreamError
from gateway.wire.hosted_answer import AnswerWriter
from gateway.wire.mended_json import Halves, mended_json
from gateway.wire.openai_error import error_in_stream
from gateway.wire.untrusted_json import table_in, words_of

_FAILURES = ("response.failed", "error")
_is_event_name = re.compile(r"[A-Za-z_.]{1,80}").fullmatch
"""Whether an event's type has the form of all known ones. Others are dropped: it would be the name of an SSE event,
which no middleware inspects."""


class PassedStream(AnswerWriter):
    """One stream. Call `pass_through` once; `run` remains for a fallback model that is called through chat.

    `told`: the usage that the upstream has told. `model`, `backend`: public name and `provider_specific_fields`.
    `is_over`: its last event was made.
    """

    model = ""
    backend: Json | None = None
    is_over = False
    _spent: Json | None = None

    def __init__(self) -> None:
        self.told: Json = {}
        self._halves = Halves()

    @abstractmethod
    def events_of(self, kind: str, data: Json) -> Iterable[Event]:
        """Our events for one of theirs, of the type `kind`, which is no failure. Raises UpstreamError."""

    @abstractmethod
    def cut_end(self, usage: Json) -> Iterable[Event]:
        """The last events of an answer that has come to its limit, after what was noted. `usage` has chat's names."""

    @abstractmethod
    def note(self, events: EventBatch) -> None:
        """Remember what is passed on, for `cut_end`: call it with every batch, or with none."""

    def cut(self, usage: Json) -> None:
        """End it after the batch that was noted last; no more will be read. `usage` has chat's names."""
        self._spent = usage

    async def pass_through(self, payloads: AsyncGenerator[list[bytes], None]) -> EventStream:
        """Our events for the data of theirs. Raises UpstreamError for a failure event, an invalid event, or a stream
        that ends before the answer does."""
        async with aclosing(payloads):
            async for batch in payloads:
                events: EventBatch = []
                try:
                    for data in batch:
                        if not self.is_over and data.strip() != b"[DONE]":
                            events += self._made(_decoded(data, self._halves))
                except UpstreamError:
                    if events:
                        yield events
                    raise
                if events:
                    yield events
                if self._spent is not None:
                    self.is_over = True
                    yield list(self.cut_end(self._spent))
                if self.is_over:
                    return
        raise UpstreamError("the upstream ended its stream before the answer was complete")

    def _made(self, data: Json) -> Iterable[Event]:
        kind = words_of(data.get("type"))
        if kind in _FAILURES:
            raise error_in_stream(table_in(data, "response") or data)
        return self.events_of(kind, data) if _is_event_name(kind) else ()


def _decoded(data: bytes, halves: Halves) -> Json:
    try:
        decoded = mended_json(data, halves)
    except orjson.JSONDecodeError:
        raise UpstreamError("the upstream sent an event that is not JSON") from None
    if not isinstance(decoded, dict):
        raise UpstreamError("the upstream sent an event that is not valid")
    return decoded
