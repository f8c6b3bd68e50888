"""Chat completions: finds the model, calls its upstreams until one answers, and normalises the answer.

`images` fetches the images that messages name by URL. Upstreams are `ports.CompletionUpstream`, `attempts` decides on
retries, `wire` normalises.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, nullcontext
from functools import partial
from typing import NamedTuple

from gateway.access.people import account_of, digest
from gateway.access.sealing import Sealer
from gateway.domain import CallBudget, EventBatch, EventStream, Json, Relay, RequestStats
from gateway.errors import BudgetSpent, UpstreamError, UpstreamTimeout
from gateway.ports import ImageSource, OwnUseCounter
from gateway.services.completion.attempts import Attempt, ModelEntry, Plan, Target
from gateway.services.completion.images import inline_images
from gateway.services.completion.model_names import ModelNames
from gateway.services.completion.turns import SealedStates, Turn, TurnMemory
from gateway.wire.caller_addresses import refuse_in_tools, refuse_media
from gateway.wire.chat.answer import AnswerContext, SaidBytes, normalise_answer, told_usage
from gateway.wire.chat.json_answer import mend_answer, wanted
from gateway.wire.chat.kept import NO_CARRIER, Carrier
from gateway.wire.chat.request import ImagePlace, image_parts, is_legacy, to_upstream
from gateway.wire.chat.stream import ChatStream
from gateway.wire.untrusted_json import count_in, table_in, utf8_size

FREE = nullcontext()
"""In the place of a reservation where nothing binds."""
_LATELY_S = 600.0
"""For how long a failure after which nobody has called again is a note."""
_AFTER_FINISH_S = 5.0
"""Seconds to wait for usage and `[DONE]` after the finish reason."""
_MOST_AFTER_FINISH = 64
"""Most events accepted after the finish reason."""


class CompletionService:
    """Answers chat requests to the models of a table.

    `images` fetches the images that messages name by URL; None refuses these. `user_key` is the secret of the hash that
    is sent instead of a caller's `user`.
    """

    def __init__(self, models: Sequence[ModelEntry], *, images: ImageSource | None, user_key: bytes) -> None:
        self._images = images
        self._memory = TurnMemory()
        self.sealer: Callable[[], Sealer] | None = None
        """Seals what clients carry; None: they carry nothing."""
        self.user_key = user_key
        self.models = tuple(models)
        self._names = ModelNames(models)

    def upstreams(self) -> Iterator[tuple[str, Target]]:
        """Each upstream, with the name of its model."""
        return ((entry.name, target) for entry in self.models for target in entry.targets)

    def resolve(self, name: str) -> ModelEntry:
        """The entry of a name (`ModelNames`). Raises ModelNotFound."""
        return self._names.exact.get(name) or self._names.resolve(name)

    async def complete(self, body: Json, stats: RequestStats, is_plain: bool = False) -> Json:
        """As `complete_once`. What should be JSON and is not is asked for once more, where the budget has room.

        Raises as it, and UpstreamError with code `invalid_json_answer`.
        """
        kind = wanted(body) if body.get("response_format") else ""
        return await as_json(lambda: self.complete_once(body, stats, is_plain), kind, mend_answer)

    async def complete_once(self, body: Json, stats: RequestStats, is_plain: bool = False) -> Json:
        """A normal `chat.completion` object (see `wire.chat.answer.normalise_answer`) for a checked chat body.
        `is_plain`: it is valid by `wire.chat.request.plain_chat`, so that nothing looks at its messages.

        Adds the answer's tokens to `stats`. Raises GatewayError: ModelNotFound, InvalidRequest, UpstreamError,
        BudgetSpent, NoPrice.
        """
        call = await self._begun(body, stats, is_plain)
        held = call.held
        async with held or FREE:
            while True:
                async with call.plan.attempt(stats) as attempt:
                    context = _context(call, attempt, stats)
                    answer = await attempt.target.upstream.complete(self._sent(call, attempt, stats), stats)
                    if held is not None:
                        held.answered(told_usage(answer.get("usage")))
                    answer = normalise_answer(answer, context)
                    break
            if held is None:
                count_usage(answer["usage"], stats)
            else:
                held.wrote(sum(SaidBytes().of(choice["message"]) for choice in answer["choices"]))
        stats.made = context.state_of(0)
        call.turn.remember(context.states.values())
        return answer

    async def stream(
        self, body: Json, stats: RequestStats, is_plain: bool = False, relay: Relay | None = None
    ) -> EventStream:
        """Normal `chat.completion.chunk` events, ended by `[DONE]`, for a checked chat body. The stream of a key that
        has no budget left for it ends with `length`. `is_plain` as for `complete`. Plain chunks go by the `relay`, once
        it is open.

        Raises GatewayError as `complete`, also after the first events; there is no `[DONE]` then.
        """
        call = await self._begun(body, stats, is_plain)
        held = call.held
        async with held or FREE:
            while True:
                async with call.plan.attempt(stats) as attempt:
                    context = _context(call, attempt, stats)
                    stats.made = context.state_of(0)
                    joins = relay if relay is not None and relay.stage is None and held is None else None
                    said, kind = SaidBytes(), wanted(body) if body.get("response_format") else ""
                    state = ChatStream(context, json_kind=kind, joins=joins)
                    if relay is not None:
                        relay.convert = state.relayed if held is None else partial(_within, held, state)
                        relay.events = state.relayed_events if held is None else partial(_events_within, held, state)
                    stream = attempt.target.upstream.stream(self._sent(call, attempt, stats), stats, relay=relay)
                    try:
                        async with aclosing(stream) as payloads:
                            async for batch in payloads:
                                events, fault = state.take(batch)
                                is_spent = False
                                if (
                                    held is not None
                                    and held.wrote(size := _size(events, said))
                                    and not await held.extend()
                                ):
                                    is_spent = True
                                    events = first_within(events, held.cut(size), _size)
                                if events or (relay is not None and relay.is_over):
                                    if not attempt.begun:  # with the first event no other upstream is asked any more
                                        attempt.begin()
                                        stats.streaming = state
                                    yield events
                                if fault is not None:
                                    raise fault
                                if is_spent and held is not None:
                                    state.cut(held.counted())
                                if state.finished or state.done:
                                    break
                            if state.finished and not state.done and (trailing := await _trailing(payloads, state)):
                                yield trailing
                        ending = state.end()
                        call.turn.remember(context.states.values())
                        attempt.begin()
                        yield ending
                    finally:
                        stats.streaming = None
                        if attempt.begun and held is not None:
                            held.answered(state.told)
                        elif attempt.begun:  # an attempt that sent no event must not add estimated tokens
                            count_usage(state.usage, stats)
                    return

    async def _begun(self, body: Json, stats: RequestStats, is_plain: bool) -> "_ChatCall":
        """A call before its first attempt, with all that its model will read; what it may use is reserved."""
        entry = self.resolve(body["model"])
        refuse_media(body, "")
        if body.get("tools"):
            refuse_in_tools(body["tools"])
        if not is_plain:
            await self.inline(image_parts(body))
        started_s = time.perf_counter()
        turn = Turn(self._memory, stats.key_id, body["messages"], stats.names, is_plain=is_plain)
        if turn.left_out:
            stats.warnings.append(_LEFT_OUT.format(turn.left_out))
        plan = self._plan(entry, turn.maker)
        plan.asked = (body, turn.remembered)
        if stats.spend is None:
            return _ChatCall(body, turn, plan, started_s)
        held = await stats.spend.reserve(body, stats, more=turn.remembered, fixed=plan.fixed)
        return _ChatCall(held.limited(body), turn, plan, started_s, held)

    def hashed_user(self, body: Json, stats: RequestStats) -> str | None:
        """`user_` and 32 hex digits, an HMAC of the body's `user`, noted for the log; None when it has none."""
        user = body.get("user")
        if not isinstance(user, str) or not user:
            return None
        stats.user_hash = "user_" + self.digest(account_of(user))
        return stats.user_hash

    def digest(self, name: str) -> str:
        """See `people.digest`."""
        return digest(self.user_key, name)

    async def inline(self, images: Sequence[ImagePlace], param: str = "messages") -> None:
        """Put the images themselves in the place of their addresses. Raises InvalidRequest as `inline_images`."""
        await inline_images(images, self._images, param)

    def _sent(self, call: "_ChatCall", attempt: Attempt, stats: RequestStats) -> Json:
        options, body = attempt.target.options, call.body
        if call.turn.states:
            body = {**body, "messages": call.turn.messages_for(attempt.maker, options.rules.thoughts)}
        sent = to_upstream(body, options, user=self.hashed_user(body, stats), is_plain=call.turn.is_plain)
        return sent if call.held is None else call.held.clipped(sent, options.rules.rename)

    def notes(self) -> list[str]:
        """What an operator must know: upstreams whose last call failed, on whichever worker, and why.
        `gateway doctor` reads them."""
        notes, since = list[str](), time.time() - _LATELY_S
        for entry in self.models:
            failing = [each for each in entry.targets if each.failed_at > max(each.answered_at, since)]
            more = ", and none answers" if len(failing) == len(entry.targets) else ""
            notes += [
                f"upstream {each.upstream.name} of {entry.name} failed last{more}: {each.fault}" for each in failing
            ]
        return notes

    def carrier(self, owner: str, stats: RequestStats) -> Carrier:
        """Hands the states of this request's answer to its client, the key `owner`, and reads those that it has."""
        return SealedStates(self.sealer, owner, stats) if self.sealer is not None else NO_CARRIER

    def plan(self, name: str, maker: str = "") -> Plan:
        """The attempts for a model: its own upstreams, then those of its fallbacks. The upstream `maker` is asked
        first: it has made what only it understands of the conversation. Raises ModelNotFound."""
        return self._plan(self.resolve(name), maker)

    def _plan(self, entry: ModelEntry, maker: str) -> Plan:
        return Plan([entry, *(self.resolve(other) for other in entry.fallback)], maker)


_LEFT_OUT = "{} signed thoughts were left out: a placeholder in them stands for another value in older ones"


class OwnModel:
    """Implements ports.ChatModel with one model of the service: for the guardrail, whose calls no key pays, and for
    crawl instructions."""

    def __init__(
        self, completions: CompletionService, model: str, own_use: OwnUseCounter | None = None, owner: str = ""
    ) -> None:
        """`own_use`: charges the key `owner`."""
        self._completions, self._model = completions, model
        self._own_use, self._owner = own_use, owner

    async def ask(self, body: Json, timeout_s: float) -> Json:
        """A `chat.completion` object for a chat body without `model`. Raises GatewayError; UpstreamTimeout after
        `timeout_s` seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                stats = RequestStats(key_id=self._owner)
                async with self._own_use.charged(stats) if self._own_use is not None else nullcontext():
                    return await self._completions.complete_once({**body, "model": self._model}, stats)
        except TimeoutError:
            raise UpstreamTimeout(f"the model did not answer within {timeout_s:g} s") from None


async def _trailing(payloads: AsyncGenerator[list[bytes], None], state: ChatStream) -> EventBatch:
    """The events after the finish reason, at most usage and `[DONE]`; a timeout or a cut there is not an error.

    Raises UpstreamError for an event that is not a chunk.
    """
    events: EventBatch = []
    try:
        async with asyncio.timeout(_AFTER_FINISH_S):
            async for batch in payloads:
                more, fault = state.take(batch)
                events += more
                if fault is not None or state.done or len(events) > _MOST_AFTER_FINISH:
                    break
            else:
                fault = None
    except (TimeoutError, UpstreamError):
        return events
    if fault is not None:
        raise fault
    return events


class _ChatCall(NamedTuple):
    """One call of a model. `held`: what is reserved for it, None where nothing binds."""

    body: Json
    turn: Turn
    plan: Plan
    started_s: float
    held: CallBudget | None = None


async def as_json(ask: Callable[[], Awaitable[Json]], kind: str, mend: Callable[[Json, str], bool]) -> Json:
    """An answer of `ask`, of a kind of JSON if there is one: `mend` returns whether it is, once mended. Raises what
    `ask` raises, and UpstreamError with code `invalid_json_answer`."""
    answer = await ask()
    if not kind or mend(answer, kind):
        return answer
    with contextlib.suppress(BudgetSpent):
        answer = await ask()
        if mend(answer, kind):
            return answer
    raise UpstreamError("the model did not answer with JSON", code="invalid_json_answer")


def _size(events: EventBatch, said: SaidBytes | None = None) -> int:
    """Bytes of all that a model has said in the events of one read. `said`: counts those of the stream before."""
    size, said = 0, said or SaidBytes()
    for event in events:
        if event.relayed is not None and event.data is None:
            size += utf8_size(event.text)
        elif event.data is not None:
            size += sum(said.of(choice["delta"]) for choice in event.data["choices"])
    return size


def _within(held: CallBudget, state: ChatStream, batch: list[bytes]) -> bytes | None:
    """As `ChatStream.relayed`, for a key whose budget has room for all of the batch."""
    if not held.has_room(sum(map(len, batch))):  # more than their text
        return None
    before = state.relayed_bytes
    frames = state.relayed(batch)
    held.wrote(state.relayed_bytes - before)
    return frames


def _events_within(held: CallBudget, state: ChatStream, batch: list[bytes]) -> EventBatch:
    """The same for `ChatStream.relayed_events`."""
    if not held.has_room(sum(map(len, batch))):
        return []
    events = state.relayed_events(batch)
    held.wrote(sum(utf8_size(event.text) for event in events))
    return events


def first_within(events: EventBatch, most: int, size_of: Callable[[EventBatch], int]) -> EventBatch:
    """The first events that have no more than `most` bytes by `size_of`."""
    total = 0
    for place, event in enumerate(events):
        if (total := total + size_of([event])) > most:
            return events[:place]
    return events


def _context(call: _ChatCall, attempt: Attempt, stats: RequestStats) -> AnswerContext:
    body = call.body
    return AnswerContext(
        model=attempt.entry.called or attempt.entry.name,
        provider=attempt.target.upstream.name,
        upstream_model=attempt.target.options.model or body["model"],
        started_s=call.started_s,
        attempts=stats.attempts,
        legacy=is_legacy(body),
        include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
        request=body,
        fingerprint=attempt.target.options.fingerprint,
        warnings=stats.warnings,
        made_by=attempt.maker,
        ids=call.turn.ids,
    )


def count_usage(usage: Json, stats: RequestStats) -> None:
    """Adds what a normal usage of chat or of a response counts to the request's stats: tokens in and out, and those
    that a cache had or got."""
    prompt = count_in(usage, "prompt_tokens") or count_in(usage, "input_tokens")
    details = table_in(usage, "prompt_tokens_details") or table_in(usage, "input_tokens_details")
    cached = min(count_in(details, "cached_tokens"), prompt)
    stats.input_tokens += prompt
    stats.output_tokens += count_in(usage, "completion_tokens") or count_in(usage, "output_tokens")
    stats.cached_tokens += cached
    stats.written_tokens += min(count_in(details, "cache_write_tokens"), prompt - cached)
