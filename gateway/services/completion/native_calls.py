"""Calls of models on an interface that their upstreams speak themselves, with the attempts, breakers and budgets of
chat. What is written and read is the business of each interface: `native_responses`, `native_messages`.

A fallback model that does not speak the interface is called through chat, after all others failed.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from gateway.domain import CallBudget, EventBatch, EventStream, Json, RequestStats
from gateway.errors import UpstreamError, UpstreamRefused
from gateway.services.completion.attempts import Attempt, ModelEntry, Plan
from gateway.services.completion.service import FREE, CompletionService, as_json, count_usage, first_within
from gateway.wire.chat.answer import AnswerContext, told_usage
from gateway.wire.chat.request import UpstreamOptions
from gateway.wire.hosted_answer import AnswerWriter, events_of, events_of_whole
from gateway.wire.native_stream import PassedStream


class NativeCall(NamedTuple):
    """One call of a model. `earlier`: what is sent before the body's own. `held`: what is reserved for it, None where
    nothing binds."""

    body: Json
    earlier: Sequence[Json]
    plan: Plan
    started_s: float
    held: CallBudget | None = None


class NativeCalls(ABC):
    """The calls of one interface. `route`: its path at an upstream."""

    route: str

    def __init__(self, completions: CompletionService) -> None:
        self._completions = completions

    def speaks(self, entry: ModelEntry) -> bool:
        """Whether every upstream of the model speaks the interface."""
        return bool(entry.targets) and all(self.route in target.speaks for target in entry.targets)

    @abstractmethod
    async def prepare(self, body: Json, earlier: Sequence[Json]) -> None:
        """Load the images of a request. Raises InvalidRequest for what an upstream would open."""

    @abstractmethod
    def translated(
        self, body: Json, earlier: Sequence[Json], stats: RequestStats, state: PassedStream | None
    ) -> tuple[Json, AnswerWriter]:
        """The chat request for a fallback, and what writes its answer: `state`, or a new one."""

    @abstractmethod
    def to_send(self, call: NativeCall, options: UpstreamOptions, stats: RequestStats) -> Json:
        """The body for an upstream."""

    @abstractmethod
    def mended(self, answer: Json, body: Json, model: str, backend: Json) -> tuple[Json, int]:
        """A whole answer in the form that callers get, and how many bytes a model has written in it."""

    @abstractmethod
    def json_kind(self, body: Json) -> str:
        """The kind of JSON that a request wants; empty for none (`wire.chat.json_answer`)."""

    @abstractmethod
    def mend_json(self, answer: Json, kind: str) -> bool:
        """Whether an answer is JSON; what is around it is left out."""

    def asked(self, body: Json) -> Json:
        """The body with chat's names of what budgets are about."""
        return body

    def usage(self, told: Any) -> Json:
        """An upstream's usage with chat's names."""
        return told_usage(told)

    @abstractmethod
    def written_in(self, events: EventBatch) -> int:
        """Bytes of all that a model has written in these events."""

    async def complete(self, body: Json, earlier: Sequence[Json], stats: RequestStats) -> Json:
        """The whole answer to a request. Raises GatewayError."""

        async def ask() -> Json:
            return await self.whole(await self.begun(body, earlier, stats), stats)

        try:
            await self.prepare(body, earlier)
            return await as_json(ask, self.json_kind(body), self.mend_json)
        except UpstreamError as error:
            if error.code == "invalid_json_answer":
                raise
            name = self.chat_fallback(error, body["model"])
        chat, writer = self.translated(body, earlier, stats, None)
        return writer.made_of(events_of_whole(await self._completions.complete({**chat, "model": name}, stats)))

    async def stream(
        self, body: Json, earlier: Sequence[Json], stats: RequestStats, state: PassedStream
    ) -> EventStream:
        """The events of an answer, made by `state`. Raises GatewayError, also after the first events."""
        begun = False
        try:
            await self.prepare(body, earlier)
            call = await self.begun(body, earlier, stats)
            async with aclosing(self.events(call, stats, state)) as batches:
                async for batch in batches:
                    begun = True
                    yield batch
            return
        except UpstreamError as error:
            if begun:
                raise
            name = self.chat_fallback(error, body["model"])
        chat, writer = self.translated(body, earlier, stats, state)
        events = events_of(self._completions.stream({**chat, "model": name}, stats))
        async with aclosing(writer.run(events)) as batches:
            async for batch in batches:
                yield batch

    async def begun(self, body: Json, earlier: Sequence[Json], stats: RequestStats) -> NativeCall:
        """A call before its first attempt, with what it may use reserved."""
        entry = self._completions.resolve(body["model"])
        others = (self._completions.resolve(name) for name in entry.fallback)
        plan, started_s = Plan([entry, *(other for other in others if self.speaks(other))]), time.perf_counter()
        plan.asked = (body, earlier)
        if stats.spend is None:
            return NativeCall(body, earlier, plan, started_s)
        held = await stats.spend.reserve(self.asked(body), stats, more=earlier, fixed=plan.fixed)
        return NativeCall(held.limited(body), earlier, plan, started_s, held)

    async def whole(self, call: NativeCall, stats: RequestStats) -> Json:
        """The whole answer of a call. Raises GatewayError."""
        async with call.held or FREE:
            while True:
                async with call.plan.attempt(stats) as attempt:
                    sent = self._sent(call, attempt, stats)
                    answer = await attempt.target.upstream.complete(sent, stats, route=self.route)
                    if call.held is not None:
                        call.held.answered(self.usage(answer.get("usage")))
                    backend = _backend(call, attempt, stats)
                    made, written = self.mended(answer, call.body, attempt.entry.shown, backend)
                    break
            if call.held is None:
                count_usage(self.usage(answer.get("usage")), stats)
            else:
                call.held.wrote(written)
        return made

    async def events(self, call: NativeCall, stats: RequestStats, state: PassedStream) -> EventStream:
        """The events of a call, made by `state`. Raises GatewayError, also after the first events."""
        held = call.held
        async with held or FREE:
            while True:
                async with call.plan.attempt(stats) as attempt:
                    state.model, state.backend = attempt.entry.shown, _backend(call, attempt, stats)
                    sent = self._sent(call, attempt, stats)
                    payloads = attempt.target.upstream.stream(sent, stats, route=self.route)
                    try:
                        async with aclosing(state.pass_through(payloads)) as batches:
                            async for batch in batches:
                                if not attempt.begun:
                                    attempt.begin()
                                if held is not None:
                                    if held.wrote(size := self.written_in(batch)) and not await held.extend():
                                        batch = first_within(batch, held.cut(size), self.written_in)
                                        state.cut(held.counted())
                                    state.note(batch)
                                yield batch
                    finally:
                        if attempt.begun and held is not None:
                            held.answered(self.usage(state.told))
                    if held is None:
                        count_usage(self.usage(state.told), stats)
                    return

    def chat_fallback(self, error: UpstreamError, model: str) -> str:
        """The name of the first fallback of a model that does not speak the interface.

        Raises `error` when there is none, or when the request itself was refused, so that no other model would help.
        """
        refused = isinstance(error, UpstreamRefused) and error.status != 429
        for name in () if refused else self._completions.resolve(model).fallback:
            if not self.speaks(self._completions.resolve(name)):
                return name
        raise error

    def _sent(self, call: NativeCall, attempt: Attempt, stats: RequestStats) -> Json:
        options = attempt.target.options
        sent = self.to_send(call, options, stats)
        return sent if call.held is None else call.held.clipped(sent, options.rules.rename)


def _backend(call: NativeCall, attempt: Attempt, stats: RequestStats) -> dict[str, Any]:
    name, model = attempt.target.upstream.name, attempt.target.options.name_of(call.body)
    return AnswerContext("", name, model, call.started_s, stats.attempts, warnings=stats.warnings).fields()
