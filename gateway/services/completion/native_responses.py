"""Responses from upstreams that speak /responses themselves, with the same attempts, breakers and budgets as chat.

A fallback model that does not speak /responses is called through chat, after all others failed. `wire` rewrites
requests and repairs answers.
"""

import time
from contextlib import aclosing
from typing import NamedTuple

from gateway.domain import CallBudget, EventBatch, EventStream, Json, RequestStats
from gateway.errors import UpstreamError, UpstreamRefused
from gateway.services.completion.attempts import Attempt, ModelEntry, Plan
from gateway.services.completion.service import FREE, CompletionService, count_usage, first_within
from gateway.wire.chat.answer import AnswerContext, told_usage
from gateway.wire.hosted_answer import events_of, events_of_whole
from gateway.wire.responses.native import (
    NativeStream,
    image_parts,
    refuse_hosts,
    repair_response,
    said_bytes,
    takes,
    to_native,
)
from gateway.wire.responses.request import ChatRequest, to_chat
from gateway.wire.responses.stream import ResponseStream
from gateway.wire.untrusted_json import table_in, utf8_size

_ROUTE = "responses"


class NativeResponses:
    """Answers responses requests whose `input` is a list of items; `earlier` are the items before it."""

    def __init__(self, completions: CompletionService) -> None:
        self._completions = completions

    def serves(self, entry: ModelEntry, body: Json) -> bool:
        """True when every upstream of the model speaks /responses, and /responses has every field of the request."""
        return is_native(entry) and takes(body)

    async def complete(self, body: Json, earlier: list[Json], stats: RequestStats) -> Json:
        """A full response object (see `wire.responses.object.new_response`). Raises GatewayError."""
        try:
            return await self._complete(body, earlier, stats)
        except UpstreamError as error:
            chat = self._chat_fallback(error, body, earlier)
        stats.warnings += chat.warnings
        answer = await self._completions.complete(chat.body, stats)
        return ResponseStream(body, lambda response: None, chat.names).made_of(events_of_whole(answer))

    async def stream(self, body: Json, earlier: list[Json], stats: RequestStats, state: NativeStream) -> EventStream:
        """Responses events made by `state`, ended by `[DONE]`. Raises GatewayError, also after the first events."""
        begun = False
        try:
            async with aclosing(self._stream(body, earlier, stats, state)) as batches:
                async for batch in batches:
                    begun = True
                    yield batch
            return
        except UpstreamError as error:
            if begun:
                raise
            chat = self._chat_fallback(error, body, earlier)
        stats.warnings += chat.warnings
        state.names = chat.names
        async with aclosing(state.run(events_of(self._completions.stream(chat.body, stats)))) as batches:
            async for batch in batches:
                yield batch

    def _chat_fallback(self, error: UpstreamError, body: Json, earlier: list[Json]) -> ChatRequest:
        """The chat request for the first fallback model that does not speak /responses.

        Raises `error` when there is none, or when the request itself was refused, so that no other model would help.
        """
        refused = isinstance(error, UpstreamRefused) and error.status != 429
        for name in () if refused else self._completions.resolve(body["model"]).fallback:
            if not is_native(self._completions.resolve(name)):
                chat = to_chat(body, earlier)
                chat.body["model"] = name
                return chat
        raise error

    async def _complete(self, body: Json, earlier: list[Json], stats: RequestStats) -> Json:
        call = await self._begun(body, earlier, stats)
        async with call.held or FREE:
            while True:
                async with call.plan.attempt(stats) as attempt:
                    answer = await attempt.target.upstream.complete(
                        self._sent(call, attempt, stats), stats, route=_ROUTE
                    )
                    if call.held is not None:
                        call.held.answered(told_usage(answer.get("usage")))
                    backend = _fields(attempt, stats, call.started_s)
                    response = repair_response(answer, body, attempt.entry.name, backend)
                    break
            if call.held is None:
                count_usage(table_in(response, "usage"), stats)
            else:
                call.held.wrote(sum(map(said_bytes, response["output"])))
        return response

    async def _stream(self, body: Json, earlier: list[Json], stats: RequestStats, state: NativeStream) -> EventStream:
        call = await self._begun(body, earlier, stats)
        held = call.held
        async with held or FREE:
            while True:
                async with call.plan.attempt(stats) as attempt:
                    state.model, state.backend = attempt.entry.name, _fields(attempt, stats, call.started_s)
                    payloads = attempt.target.upstream.stream(self._sent(call, attempt, stats), stats, route=_ROUTE)
                    try:
                        async with aclosing(state.pass_through(payloads)) as batches:
                            async for batch in batches:
                                if not attempt.begun:
                                    attempt.begin()
                                if held is not None:
                                    if held.wrote(size := _size(batch)) and not await held.extend():
                                        batch = first_within(batch, held.cut(size), _size)
                                        state.cut(held.counted())
                                    state.note(batch)
                                yield batch
                    finally:
                        if attempt.begun and held is not None:
                            held.answered(told_usage(state.told))
                    if held is None:
                        count_usage(table_in(state.response, "usage"), stats)
                    return

    async def _begun(self, body: Json, earlier: list[Json], stats: RequestStats) -> "_NativeCall":
        """A call before its first attempt, with what it may use reserved."""
        plan, started_s = self._plan(body), time.perf_counter()
        refuse_hosts(body, earlier)
        await self._completions.inline(image_parts([*earlier, *body["input"]]), "input")
        if stats.spend is None:
            return _NativeCall(body, earlier, plan, started_s)
        held = await stats.spend.reserve(body, stats, more=earlier, fixed=plan.fixed)
        return _NativeCall(held.limited(body), earlier, plan, started_s, held)

    def _plan(self, body: Json) -> Plan:
        """The model's upstreams, then those of its fallbacks that speak /responses."""
        entry = self._completions.resolve(body["model"])
        others = (self._completions.resolve(name) for name in entry.fallback)
        return Plan([entry, *(other for other in others if is_native(other))])

    def _sent(self, call: "_NativeCall", attempt: Attempt, stats: RequestStats) -> Json:
        user = self._completions.hashed_user(call.body, stats)
        sent = to_native(call.body, call.earlier, attempt.target.options, user)
        return sent if call.held is None else call.held.clipped(sent, attempt.target.options.rules.rename)


class _NativeCall(NamedTuple):
    """One call of a model. `held`: what is reserved for it, None where nothing binds."""

    body: Json
    earlier: list[Json]
    plan: Plan
    started_s: float
    held: CallBudget | None = None


def _size(events: EventBatch) -> int:
    """Bytes of all that a model has said in the events of one read."""
    deltas = [event.data["delta"] for event in events if event.data is not None and "delta" in event.data]
    return sum(utf8_size(delta) for delta in deltas if isinstance(delta, str))


def is_native(entry: ModelEntry) -> bool:
    """Whether every upstream of the model speaks /responses itself."""
    return bool(entry.targets) and all(target.native for target in entry.targets)


def _fields(attempt: Attempt, stats: RequestStats, started_s: float) -> Json:
    options = attempt.target.options
    return AnswerContext("", attempt.target.upstream.name, options.model, started_s, stats.attempts).fields()
