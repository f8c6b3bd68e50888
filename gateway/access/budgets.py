"""Budgets of keys: tokens a minute and a day, tool calls a day, spend a month; of users within a key, a day. In UTC.

Theory of operation. A budget is a counter of its holder and the period (`shared_state.port.Counters`), which all
workers and machines share. Every call of a model passes here (`KeySpend`), with all that its upstream will read:

| step    | when                                | what is added                                                       |
|---------|-------------------------------------|---------------------------------------------------------------------|
| reserve | before the upstream is called       | the input, and the most output; of a stream at most _SLICE of it    |
| extend  | before a slice of a stream is spent | the next slice; refused: the answer ends with `length`              |
| settle  | after the answer, however it ends   | the difference to what was used                                     |

The upstream is sent a limit that fits into what is left, so that it can use no more than was reserved: calls in
parallel never exceed a budget together. What an upstream uses beyond its limit is its overrun, the one excess there is:
it is counted, logged and measured. A model whose thoughts nobody sees, and an answer that comes whole, reserve all of
their limit at once: nobody could count on the way. Used is what the upstream tells, unless it tells less than any
tokenizer makes of the text, or nothing: then the larger of that and what was counted (`token_counts.believed`).

A call is settled in the period in which it was reserved. Days and months begin anew at midnight UTC; the minute slides,
as that of calls does: of the minute before counts the part that lies within the last sixty seconds, taken to be spread
evenly. (The naive form, a list of all calls with their tokens, would have to be settled too and grows with the calls.)
A tool call is counted when it begins and never given back. A key without budgets costs nothing.
"""

import asyncio
import calendar
import contextlib
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from gateway import logs
from gateway.access.people import account_of
from gateway.access.rate_limits import LimitState
from gateway.access.token_counts import Size, TokenCounts, believed, size_of
from gateway.access.usage import NANO, PriceList, UsageBook, UsageKey, Used, sum_text
from gateway.config.settings import Limits
from gateway.domain import KEY_LIMITS, Caller, Json, RequestStats
from gateway.errors import BudgetSpent, NoPrice, UpstreamError, UpstreamTimeout
from gateway.metrics import Metrics
from gateway.resilience.bounded_cache import BoundedCache
from gateway.shared_state.port import Amount, Counters
from gateway.wire.chat.request import THINKING
from gateway.wire.untrusted_json import count_in, table_in

_KEPT_S = 3600.0
"""How long a counter outlives its period, for calls settled after it: four times the longest (`total_timeout_s`)."""

_SLICE = 1024
"""Tokens of a stream that are reserved at a time."""
_AHEAD = 256
"""A slice is followed by the next when so many of its tokens are left, or a quarter of them."""
LEAST_OUTPUT = 256
"""The upstream is not asked for a shorter answer than that, unless the caller has: it would be cut in any case."""
_TRIES = 4
"""How often a smaller amount is tried where others reserve at the same time."""

_LIMIT_FIELDS = ("max_completion_tokens", "max_output_tokens", "max_tokens")
"""Fields of chat and responses bodies that bound the output."""
_OWN_LIMIT_FIELDS = ("n_predict", "max_new_tokens", "num_predict")
"""The same as llama.cpp, SGLang and Ollama call it: there they go before `max_tokens`."""
_ALL_LIMIT_FIELDS = (*_LIMIT_FIELDS, *_OWN_LIMIT_FIELDS)
_ANSWERS = ("n", "best_of", "candidate_count", "num_return_sequences")
"""Fields that multiply it."""
_ENDLESS, _MAX_DIGITS = 2**53, 20

TOKENS_MINUTE, TOKENS_DAY, TOOLS_DAY, SPEND_MONTH = "tokens-minute", "tokens-day", "tool-calls-day", "spend-month"
USER_TOKENS_DAY, USER_SPEND_DAY = "user-tokens-day", "user-spend-day"
"""Names of the budgets, in counters and in the RateLimit headers."""
_MONEY, _OF_USER = frozenset((SPEND_MONTH, USER_SPEND_DAY)), (USER_TOKENS_DAY, USER_SPEND_DAY)
_USERS_DAY = "users-day"
"""The counter of a key's users."""
MOST_USERS = 10_000
"""Most users of a key that have budgets of their own on one day; all further users share those of _REST."""
_NOBODY, _REST = "-", "rest"


_LIMITS = {
    TOKENS_MINUTE: "tokens_per_minute",
    TOKENS_DAY: "tokens_per_day",
    TOOLS_DAY: "tool_calls_per_day",
    SPEND_MONTH: "spend_per_month",
    USER_TOKENS_DAY: "per_user_tokens_per_day",
    USER_SPEND_DAY: "per_user_spend_per_day",
}
"""The limit of each budget, of a key and in the configuration."""


class Period(NamedTuple):
    """A minute, day or month: the part that it has in a counter's name, and when it ends (unix seconds)."""

    name: str
    ends_at: float


def periods(now_s: float) -> dict[str, Period]:
    """The present period of each budget."""
    now = datetime.fromtimestamp(now_s, UTC)
    minute = int(now_s // 60)
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    days = calendar.monthrange(now.year, now.month)[1]
    next_month = (day.replace(day=1) + timedelta(days=days)).timestamp()
    today = Period(f"{now:%Y%m%d}", (day + timedelta(days=1)).timestamp())
    return {
        TOKENS_MINUTE: Period(str(minute), (minute + 1) * 60.0),
        TOKENS_DAY: today,
        TOOLS_DAY: today,
        USER_TOKENS_DAY: today,
        USER_SPEND_DAY: today,
        SPEND_MONTH: Period(f"{now:%Y%m}", next_month),
    }


class _Bound(NamedTuple):
    """A budget that binds a caller: `limit` tokens, calls or NANO of the currency; `left_s` until its period ends."""

    budget: str
    counter: str
    limit: int
    ends_at: float
    left_s: float

    @property
    def is_money(self) -> bool:
        return self.budget in _MONEY


class _Told(NamedTuple):
    """What the counters answer. `refused`: the place of the first amount that is too much, None where all were added.
    `totals`: of each counter afterwards; that of a minute has `carried`, what counts of the minute before."""

    refused: int | None
    totals: Sequence[int]
    carried: int = 0


class Budgets:
    """The budgets of all keys. `fallbacks(model)` names a model and those that may answer in its place, as prices know
    them; None for an unknown model. `now` gives unix time."""

    def __init__(
        self,
        counters: Counters,
        defaults: Limits,
        prices: PriceList,
        fallbacks: Callable[[str], Sequence[str] | None],
        now: Callable[[], float] = time.time,
        *,
        metrics: Metrics | None = None,
        hash_user: Callable[[str], str] = str,
    ) -> None:
        self.counters = counters
        self.prices = prices
        self.fallbacks = fallbacks
        self.tokens = TokenCounts()
        self._metrics = metrics
        self._hash_user = hash_user
        self._users: BoundedCache[str, str] = BoundedCache(4 * MOST_USERS, ttl_s=86_400.0)
        self.reserve_tokens = defaults.reserve_tokens
        self._defaults = defaults
        self._now = now
        self.bind_all = any(getattr(defaults, name) for name in KEY_LIMITS[2:])

    def of(self, caller: Caller, limits: dict[str, LimitState]) -> "KeySpend | None":
        """What a caller may spend on models; None where nothing binds, as for most keys. The states of its budgets are
        written to `limits`. Keys without budgets of their own need not ask unless `bind_all`."""
        binding = {
            budget: limit for budget in _LIMITS if budget != TOOLS_DAY and (limit := self._limit(budget, caller))
        }
        return KeySpend(self, caller.key_id, binding, limits) if binding else None

    async def charge_tool(self, caller: Caller, tool: str, limits: dict[str, LimitState], model: str = "") -> None:
        """Count one call of a tool, for a model where the gateway calls it for one. Raises BudgetSpent; then nothing is
        counted."""
        wanted = {}
        if per_day := self._limit(TOOLS_DAY, caller):
            wanted[TOOLS_DAY] = per_day
        cost = self.prices.tool_cost(tool, next(iter(self.fallbacks(model) or ()), model))
        if cost and (spend := self._limit(SPEND_MONTH, caller)):
            wanted[SPEND_MONTH] = spend
        if wanted:
            bounds = self.bounds(caller.key_id, wanted)
            amounts = [cost if bound.is_money else 1 for bound in bounds]
            told = await self.add(bounds, amounts, limits)
            if told.refused is not None:
                raise self.refusal(bounds[told.refused], amounts[told.refused], told.totals[told.refused])

    def bounds(self, key_id: str, limits: Mapping[str, int], user: str = "") -> list[_Bound]:
        """The present periods of a key's budgets, and of a user's within it."""
        now_s = self._now()
        current = periods(now_s)
        found = []
        for name, limit in limits.items():
            period, holder = current[name], f"{key_id}:{user}" if name in _OF_USER else key_id
            found.append(_Bound(name, f"{name}:{holder}:{period.name}", limit, period.ends_at, period.ends_at - now_s))
        return found

    async def user_of(self, key_id: str, body: Json, budget: str) -> str:
        """Whose budget within a key a call takes from: the hash of its `user`, _NOBODY without one, _REST where the key
        has too many. `budget`: one that binds them."""
        user = body.get("user")
        if not isinstance(user, str) or not user:
            return _NOBODY
        name = self._hash_user(account_of(user))
        [bound] = self.bounds(key_id, {budget: 0}, name)
        if (known := self._users.get(bound.counter)) is not None:
            return known
        ends_at = bound.ends_at + _KEPT_S
        users = Amount(f"{_USERS_DAY}:{key_id}:{bound.counter.rpartition(':')[2]}", 1, MOST_USERS, ends_at)
        own = await self.counters.reserve([Amount(bound.counter, 0, None, ends_at)])
        if not own.totals[0] and (await self.counters.reserve([users])).refused is not None:
            name = _REST
        self._users.put(bound.counter, name)
        return name

    async def add(
        self, bounds: Sequence[_Bound], amounts: Sequence[int], limits: dict[str, LimitState], *, bind: bool = True
    ) -> _Told:
        """Add an amount to each counter, or to none where one would be exceeded. In the totals of a minute is what
        counts of the minute before. `bind` False: whatever the limits are."""
        wanted = [
            Amount(bound.counter, amount, bound.limit if bind else None, bound.ends_at + _KEPT_S)
            for bound, amount in zip(bounds, amounts, strict=True)
        ]
        minute = next((place for place, bound in enumerate(bounds) if bound.budget == TOKENS_MINUTE), None)
        if minute is None:
            told = _Told(*(await self.counters.reserve(wanted))[:2])
        else:
            told = await self._add_sliding(bounds[minute], minute, wanted)
        for bound, total in zip(bounds, told.totals, strict=True):
            if not bound.is_money:  # a sum is no count: it has no RateLimit header
                limits[bound.budget] = LimitState(bound.limit, max(0, bound.limit - total), max(0.0, bound.left_s))
        return told

    async def _add_sliding(self, bound: _Bound, place: int, wanted: list[Amount]) -> _Told:
        """As `add`, for amounts of which one is a minute's. The minute before is read in the same call; what turns out
        to be too much with it is taken back."""
        name, _, minute = bound.counter.rpartition(":")
        before = Amount(f"{name}:{int(minute) - 1}", 0, None, bound.ends_at - 60 + _KEPT_S)
        told = await self.counters.reserve([*wanted, before])
        passed = 1 - min(60.0, max(0.0, bound.left_s)) / 60
        carried = math.ceil(max(0, told.totals[-1]) * (1 - passed))
        totals = list(told.totals[:-1])
        amount, refused = wanted[place], told.refused
        if refused is None and amount.limit is not None and amount.amount > 0 and (
            totals[place] + carried > amount.limit
        ):  # fmt: skip
            await self.counters.reserve([each._replace(amount=-each.amount, limit=None) for each in wanted])
            totals = [total - each.amount for total, each in zip(totals, wanted, strict=True)]
            refused = place
        totals[place] += carried
        return _Told(refused, totals, carried)

    def refusal(self, bound: _Bound, amount: int, total: int, carried: int = 0) -> BudgetSpent:
        """The error of a budget of which `total` is used, and which has no room for `amount`."""
        words = {
            TOKENS_MINUTE: f"{bound.limit} tokens a minute",
            TOKENS_DAY: f"{bound.limit} tokens a day",
            TOOLS_DAY: f"{bound.limit} tool calls a day",
            SPEND_MONTH: f"{self.prices.currency} {_shown(bound, bound.limit)} a month",
            USER_TOKENS_DAY: f"{bound.limit} tokens a day for one user",
            USER_SPEND_DAY: f"{self.prices.currency} {_shown(bound, bound.limit)} a day for one user",
        }[bound.budget]
        is_minute = bound.budget == TOKENS_MINUTE
        room = max(0, bound.limit - amount)
        left_s = _wait_s(room, total - carried, carried, bound.left_s) if is_minute else bound.left_s
        if amount > bound.limit:
            text = f"this key may use {words}, and this request alone needs {_shown(bound, amount)}; send less"
            return BudgetSpent(text, retry_after_s=left_s)
        told = f"it has used {_shown(bound, total)}, and this request may take {_shown(bound, amount)}"
        error = BudgetSpent(f"this key may use {words}; {told}", retry_after_s=left_s)
        if is_minute:
            error.code, error.retryable = "rate_limit_exceeded", True
        return error

    def tell_overrun(self, model: str, stats: RequestStats, tokens: int) -> None:
        """Tell tokens that an upstream has used beyond what was reserved: in a metric, and in the log."""
        if self._metrics is not None:
            self._metrics.overrun.labels(model).inc(tokens)
        fields = {"key": stats.key_id, "model": model, "upstream": stats.upstream, "tokens": tokens}
        logs.event("budget_overrun", fields, level=logging.WARNING if tokens >= LEAST_OUTPUT else logging.INFO)

    def _limit(self, budget: str, caller: Caller) -> int:
        """The key's own limit, or the configured one; 0 for none."""
        own = getattr(caller, _LIMITS[budget])
        limit: float = getattr(self._defaults, _LIMITS[budget]) if own is None else own
        return math.floor(min(limit * NANO, 2.0**62)) if budget in _MONEY else int(limit)


def user_counters(key_id: str) -> list[str]:
    """What the names of the counters begin with that tell of a key's users."""
    return [f"{name}:{key_id}:" for name in (*_OF_USER, _USERS_DAY)]


class Asked(NamedTuple):
    """A call of a model that is asked for. `body`: what it is sent, before its upstream's own words; `more`: what it is
    sent beside it. `fixed`: fields that the operator sets for each upstream that may answer. `has_output` False: an
    answer without text (embeddings)."""

    body: Json
    more: Sequence[Json]
    fixed: Sequence[Mapping[str, Any]]
    has_output: bool

    @property
    def size(self) -> Size:
        """Of the body and what is sent with it."""
        size = size_of(self.body)
        for each in self.more:
            size = size.plus(size_of(each))
        return size

    def largest(self, names: Sequence[str]) -> int:
        """The largest whole number that a field of these names has; 0 where none has one."""
        return max(_count(fields.get(name)) for fields in (self.body, *self.fixed) for name in names)

    @property
    def thinks(self) -> bool:
        """Whether thoughts were asked for, which need not be seen."""
        return any(_wants_thoughts(fields) for fields in (self.body, *self.fixed))

    @property
    def thoughts(self) -> int:
        """Tokens that thoughts alone may have, of which the answer must have more; 0 for unknown."""
        tables = [table_in(fields, "thinking") for fields in (self.body, *self.fixed)]
        return max(_count(self.body.get(THINKING)), *(_count(table.get("budget_tokens")) for table in tables))


def _wants_thoughts(fields: Mapping[str, Any]) -> bool:
    wishes = (fields.get("reasoning_effort"), table_in(fields, "reasoning").get("effort"), fields.get(THINKING))
    kind = table_in(fields, "thinking").get("type")
    return any(wish not in (None, "none", 0) for wish in wishes) or kind not in (None, "disabled")


class KeySpend:
    """What one caller may spend. `binding`: the limits of its budgets, by name."""

    def __init__(
        self, budgets: Budgets, key_id: str, binding: Mapping[str, int], limits: dict[str, LimitState]
    ) -> None:
        self.budgets = budgets
        self.limits = limits
        self._key_id = key_id
        self._binding = binding

    async def reserve(
        self,
        body: Json,
        stats: RequestStats,
        *,
        more: Sequence[Json] = (),
        fixed: Sequence[Mapping[str, Any]] = (),
        has_output: bool = True,
    ) -> "Reservation":
        """Reserve what a call may use (`Asked` says what of it). Raises BudgetSpent, NoPrice."""
        budgets, model = self.budgets, str(body.get("model"))
        models = budgets.fallbacks(model) or [model]
        priced = budgets.prices.has
        if _MONEY & self._binding.keys() and (unpriced := next((name for name in models if not priced(name)), None)):
            raise NoPrice(
                f"this key has a spend limit, and model '{unpriced}' has no price; the operator must add [[prices]]",
                param="model",
            )
        of_user = next((budget for budget in _OF_USER if budget in self._binding), None)
        user = await budgets.user_of(self._key_id, body, of_user) if of_user is not None else ""
        bounds = budgets.bounds(self._key_id, self._binding, user)
        reservation = Reservation(self, bounds, models, Asked(body, more, fixed, has_output), stats)
        await reservation.begin()
        return reservation


class Reservation:
    """What one call of a model has reserved, and has used so far. Implements domain.CallBudget.

    `limit`: the most tokens that the upstream may make of one answer; 0 where an answer has no text.
    """

    def __init__(
        self, spend: KeySpend, bounds: Sequence[_Bound], models: Sequence[str], asked: Asked, stats: RequestStats
    ) -> None:
        self._budgets, self._bounds, self._limits = spend.budgets, bounds, spend.limits
        self._models, self._stats, self._attempts = models, stats, stats.attempts
        tokens, prices = self._budgets.tokens, self._budgets.prices
        self._size = asked.size
        self._input = max(tokens.most(model, self._size) for model in models)
        ratios = list(map(tokens.output, models))
        self._ratio, self._least_ratio = max(each.most for each in ratios), min(each.least for each in ratios)
        self._likely_ratio = min(each.likely for each in ratios)
        self._input_cost = max(prices.most_input_cost(model, self._input) for model in models)
        self._output_cost = max(map(prices.output_cost, models))
        self._answers, self.limit = 0, 0
        if asked.has_output:
            self._answers = asked.largest(_ANSWERS) or 1
            self.limit = asked.largest(_ALL_LIMIT_FIELDS) or self._budgets.reserve_tokens + asked.thoughts
        self._least = min(self.limit, max(LEAST_OUTPUT, asked.thoughts + 1))
        self._is_seen = bool(asked.body.get("stream")) and not asked.thinks and not any(map(tokens.thinks, models))
        self._reserved = [0] * len(bounds)
        self._output = self._written = 0
        self._check_at = math.inf
        self._is_cut = False
        self._told: Json | None = None

    async def begin(self) -> None:
        """Reserve the input and the first output, and lower `limit` to what is left. Raises BudgetSpent."""
        answers, inputs = self._answers, self._amounts(0, self._input, self._input_cost)
        wanted = min(self.limit * answers, _SLICE if self._is_seen else _ENDLESS)
        for _ in range(_TRIES):
            amounts = self._amounts(wanted, self._input, self._input_cost)
            told = await self._add(amounts)
            is_in = told.refused is None
            room, tightest = self._room(told.totals, inputs, amounts if is_in else None)
            limit = min(self.limit, room // answers) if answers else 0
            if room < 0 or limit < self._least:
                used = told.totals[tightest] - (amounts[tightest] if is_in else 0)
                if is_in:
                    await self._add([-amount for amount in amounts], bind=False)
                needed = self._amounts(self._least * answers, self._input, self._input_cost)[tightest]
                raise self._budgets.refusal(self._bounds[tightest], needed, used, told.carried)
            if is_in:
                self.limit, self._output = limit if self._is_seen else min(limit, wanted // max(1, answers)), wanted
                self._check_at = (wanted - min(_AHEAD, wanted // 4)) / self._ratio
                return
            wanted = min(wanted, limit * answers)
        raise self._budgets.refusal(self._bounds[tightest], amounts[tightest], told.totals[tightest], told.carried)

    def limited(self, body: Json) -> Json:
        """The body with `limit` in each field that bounds the output, in `max_tokens` or, for `input`, in
        `max_output_tokens` where no usual one does."""
        if not self.limit:
            return body
        names = [name for name in _LIMIT_FIELDS if body.get(name) is not None]
        names = names or ["max_output_tokens" if "input" in body else "max_tokens"]
        names += [name for name in _OWN_LIMIT_FIELDS if name in body]
        return {**body, **{name: min(_count(body.get(name)) or self.limit, self.limit) for name in names}}

    def clipped(self, sent: Json, renamed: Mapping[str, str]) -> Json:
        """What an upstream is sent, after the operator's own fields: these cannot raise the limit, nor can a field of
        the caller's under the name to which the operator has `renamed` one."""
        names = {*_ALL_LIMIT_FIELDS, *(renamed.get(name, name) for name in _LIMIT_FIELDS)}
        over = {name: self.limit for name in names if _count(sent.get(name)) > self.limit}
        return {**sent, **over} if over else sent

    def wrote(self, size: int) -> bool:
        """Count so many bytes of the answer. Returns whether `extend` must be asked before they are passed on."""
        self._written += size
        return self._written >= self._check_at

    def has_room(self, size: int) -> bool:
        """Whether so many bytes more may be passed on before `extend` is asked."""
        return self._written + size < self._check_at

    async def extend(self) -> bool:
        """Reserve further slices. Returns whether all that was counted may be passed on: not where a slice is spent and
        there is no further one. An answer that has all of its limit goes on as long as it may be within it."""
        promised, counted = self._promised, math.ceil(self._written * self._ratio)
        wanted = max(_SLICE, counted + _AHEAD - self._output)
        if self._output < promised:
            wanted = min(wanted, max(promised - self._output, counted - self._output))
        told = await self._add(self._amounts(wanted))
        if told.refused is not None:
            room, _ = self._room(told.totals)
            wanted = min(wanted, room)
            if wanted > 0:
                told = await self._add(self._amounts(wanted))
        if told.refused is None:
            self._output += wanted
            self._check_at = (self._output - min(_AHEAD, wanted // 4)) / self._ratio
            if self._written < self._check_at:
                return True
        self._check_at = self._output / self._ratio
        if self._output >= promised:
            self._check_at = max(self._check_at, promised / self._likely_ratio)
        return self._written < self._check_at

    def cut(self, size: int) -> int:
        """The answer ends here: how many of the last `size` bytes may still be passed on. No more of them count."""
        self._is_cut = True
        over = self._written - math.floor(self._check_at)
        self._written -= max(0, over)
        return size - max(0, over)

    def answered(self, usage: Json, written: int = 0) -> None:
        """The upstream has answered, `written` bytes more than were counted, and told this usage:
        `{prompt_tokens, completion_tokens, …}`, 0 for what it has not told."""
        self._told = usage
        self._written += written

    def counted(self) -> Json:
        """The usage so far as it is counted here, marked as an estimate."""
        return {"prompt_tokens": self._input, "completion_tokens": self._written_tokens, "estimated": True}

    async def __aenter__(self) -> "Reservation":
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await asyncio.shield(self._settle(error))

    async def _settle(self, error: BaseException | None) -> None:
        """Correct what was reserved to what was used, and tell an overrun."""
        stats, budgets = self._stats, self._budgets
        model = stats.model if self._attempts < stats.attempts else self._models[0]
        used = self._used(model, error)
        cost = budgets.prices.cost(model, used)
        final = [cost if bound.is_money else used.tokens for bound in self._bounds]
        await self._add([new - old for new, old in zip(final, self._reserved, strict=True)], bind=False)
        stats.input_tokens += used.input_tokens
        stats.output_tokens += used.output_tokens
        stats.cached_tokens += used.cached_tokens
        stats.written_tokens += used.written_tokens
        if (over := used.tokens - self._input - self._output) > 0:
            budgets.tell_overrun(model, stats, over)

    def _used(self, model: str, error: BaseException | None) -> Used:
        told, tokens = self._told, self._budgets.tokens
        if told is None:
            if self._stats.attempts == self._attempts or not _may_cost(error):
                return Used()
            # Nobody saw what was made of an answer that did not come, or of thoughts: all that was reserved may be it.
            return Used(
                self._input, 0, self._written_tokens if self._is_seen else max(self._output, self._written_tokens)
            )
        prompt, completion = count_in(told, "prompt_tokens"), count_in(told, "completion_tokens")
        if error is None and not self._is_cut:
            tokens.note(model, self._size, prompt)
            tokens.note_answer(model, self._written, completion)
        used = believed(prompt, self._size.bytes, self._input)
        details = table_in(told, "prompt_tokens_details")
        cached = min(count_in(details, "cached_tokens"), used)
        written = min(count_in(details, "cache_write_tokens"), used - cached)
        return Used(used, cached, believed(completion, self._written, self._written_tokens), 0, written)

    @property
    def _promised(self) -> int:
        """The most tokens that the upstream may make."""
        return self.limit * self._answers

    @property
    def _written_tokens(self) -> int:
        """Tokens of what was written; not more than its limit, as long as it may be within it."""
        counted, promised = math.ceil(self._written * self._ratio), self._promised
        return counted if counted <= promised else max(promised, math.ceil(self._written * self._least_ratio))

    def _amounts(self, output: int, own: int = 0, own_cost: int = 0) -> list[int]:
        """What input and output tokens add to each counter."""
        cost = own_cost + math.ceil(output * self._output_cost)
        return [cost if bound.is_money else own + output for bound in self._bounds]

    def _room(
        self, totals: Sequence[int], inputs: Sequence[int] = (), added: Sequence[int] | None = None
    ) -> tuple[int, int]:
        """As many output tokens as fit beside `inputs`, and the place of the budget that has no room for more. `added`:
        what of the totals is this call's own."""
        rooms = []
        for place, bound in enumerate(self._bounds):
            used = totals[place] - (added[place] if added else 0) + (inputs[place] if inputs else 0)
            a_token = self._output_cost if bound.is_money else 1.0
            left = bound.limit - used
            rooms.append((left / a_token if a_token else math.copysign(_ENDLESS, left), place))
        room, place = min(rooms)
        return math.floor(room), place

    async def _add(self, amounts: Sequence[int], *, bind: bool = True) -> _Told:
        told = await self._budgets.add(self._bounds, amounts, self._limits, bind=bind)
        if told.refused is None:
            self._reserved = [old + new for old, new in zip(self._reserved, amounts, strict=True)]
        return told


def _may_cost(error: BaseException | None) -> bool:
    """Whether an upstream may have worked for a call that ended so before it had answered."""
    if isinstance(error, UpstreamError):
        return isinstance(error, UpstreamTimeout) or error.code == "upstream_disconnected"
    return error is not None and not isinstance(error, Exception)


def _wait_s(room: int, total: int, carried: int, left_s: float) -> float:
    """Seconds until a sliding minute has this room free, if nothing else is added. `total`: what this clock minute,
    which lasts for `left_s` more, has used."""
    if total <= room:  # enough of the minute before will have passed by within this one
        return left_s * min(1.0, 1 - (room - total) / carried) if carried else 0.0
    return left_s + 60 * (1 - room / total)


def _shown(bound: _Bound, amount: int) -> str:
    return sum_text(amount / NANO) if bound.is_money else str(amount)


def _count(value: Any) -> int:
    """A whole number above 0, which JSON may write as `8.0` and many upstreams take as `"8"`; 0 for anything else."""
    if isinstance(value, str) and len(value) <= _MAX_DIGITS:
        try:
            value = float(value)
        except ValueError:
            return 0
    if isinstance(value, float) and value.is_integer():
        return max(0, int(value))
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0


class OwnUse:
    """Counts the gateway's own calls of models for a key, by the rules of requests: OCR of pages that hold no text, in
    web tools and file parts. `caller_of` gives the caller of a key's id, None for none: the gateway's own work, or a
    key revoked meanwhile."""

    def __init__(
        self, caller_of: Callable[[str], Caller | None], budgets: Budgets, usage: UsageBook, metrics: Metrics
    ) -> None:
        self._caller_of = caller_of
        self._budgets = budgets
        self._usage = usage
        self._metrics = metrics

    @contextlib.asynccontextmanager
    async def charged(self, stats: RequestStats) -> AsyncIterator[None]:
        """Around calls with `stats`, which has the key's id before, and what was used after it."""
        caller = self._caller_of(stats.key_id)
        stats.spend = self._budgets.of(caller, {}) if caller is not None else None
        try:
            yield
        finally:
            used = Used(stats.input_tokens, stats.cached_tokens, stats.output_tokens, 0, stats.written_tokens)
            if stats.model and used.tokens:
                if stats.key_id:
                    self._usage.add(UsageKey(stats.key_id, stats.model), used, requests=0)
                self._metrics.tokens.labels(stats.model, "input").inc(used.input_tokens)
                self._metrics.tokens.labels(stats.model, "output").inc(used.output_tokens)
