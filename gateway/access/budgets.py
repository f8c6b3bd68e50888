"""Budgets of keys: tokens a minute and a day, tool calls a day, spend a month. Periods are those of UTC.

Theory of operation. A budget is a counter of the key and the period (`shared_state.port.Counters`), which all workers
and machines share:

| step    | when                              | what is added                                                        |
|---------|-----------------------------------|----------------------------------------------------------------------|
| reserve | before the upstream is called     | estimated input and the most output; refused where it does not fit   |
| settle  | after the answer, however it ends | the difference to what the upstream counted, or what was sent        |

So parallel requests never exceed a budget together by more than estimates were too low. A request is settled in the
period in which it was reserved. Days and months begin anew at midnight UTC; the minute slides, as that of calls does:
of the minute before counts the part that lies within the last sixty seconds, taken to be spread evenly. (The naive
form, a list of all calls with their tokens, would have to be settled too and grows with the calls.) A tool call is
counted when it begins and never given back. A key without budgets costs nothing.

`OwnUse` counts the gateway's own calls of models for a key by the same rules (OCR of pages that hold no text, in web
tools and file parts): they come in the course of a request for another thing, so that the middleware, which counts what
a request names, does not see them.

`token_estimate` estimates the tokens of a request before it is sent.
"""

import asyncio
import calendar
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from gateway.access.rate_limits import LimitState
from gateway.access.usage import NANO, PriceList, UsageBook, UsageKey, Used
from gateway.config.settings import Limits
from gateway.domain import Caller, Json, RequestStats
from gateway.errors import BudgetSpent, NoPrice
from gateway.metrics import Metrics
from gateway.shared_state.port import Amount, Counters

_CHARS_A_TOKEN = 4
"""Characters of a token in the estimate of a request's input, as for usage that an upstream does not report."""

_IMAGE_TOKENS = 1000
"""Estimate for an image in a request."""


def token_estimate(body: Any) -> int:
    """Tokens of all text in a decoded body, at least 1; an image counts as _IMAGE_TOKENS."""
    characters = images = 0
    for text in _texts(body):
        if text.startswith("data:"):
            images += 1
        else:
            characters += len(text)
    return characters // _CHARS_A_TOKEN + images * _IMAGE_TOKENS + 1


def _texts(body: Any) -> Iterator[str]:
    """Every string in a decoded body, without recursion."""
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


Limit = TypeVar("Limit", int, float)

_KEPT_S = 3600.0
"""How long a counter outlives its period, for requests settled after it: four times the longest (`total_timeout_s`)."""

_OUTPUT_LIMITS = ("max_completion_tokens", "max_output_tokens", "max_tokens")
"""Fields of chat, responses and messages bodies that bound the output."""

TOKENS_MINUTE, TOKENS_DAY, TOOLS_DAY, SPEND_MONTH = "tokens-minute", "tokens-day", "tool-calls-day", "spend-month"
"""Names of the budgets, in counters and in the RateLimit headers."""


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
        SPEND_MONTH: Period(f"{now:%Y%m}", next_month),
    }


@dataclass(slots=True)
class Reservation:
    """What one request has reserved: per budget its name and the amount. `input_tokens` is the estimate, `carried` the
    tokens of the minute before that counted."""

    model: str
    input_tokens: int
    amounts: list[tuple[str, Amount]] = field(default_factory=list)
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
    ) -> None:
        self._counters = counters
        self._defaults = defaults
        self._prices = prices
        self._fallbacks = fallbacks
        self._now = now
        own = (defaults.tokens_per_minute, defaults.tokens_per_day, defaults.tool_calls_per_day)
        self._defaults_bind = any((*own, defaults.spend_per_month))

    def may_bind(self, caller: Caller) -> bool:
        """Whether `reserve` or `charge_tool` may have something to do for the key: most keys have no budgets, and this
        costs nothing."""
        return self._defaults_bind or caller.has_budgets

    async def reserve(self, caller: Caller, body: Json, limits: dict[str, LimitState]) -> Reservation | None:
        """Reserve what a request body with a `model` may use. None where the key has no budget for it or the model does
        not exist. Writes the budgets' states to `limits`. Raises BudgetSpent, NoPrice."""
        spend = self._spend_limit(caller)
        per_minute = _chosen(caller.tokens_per_minute, self._defaults.tokens_per_minute)
        per_day = _chosen(caller.tokens_per_day, self._defaults.tokens_per_day)
        if not (spend or per_minute or per_day):
            return None
        models = self._fallbacks(str(body.get("model")))
        if models is None:
            return None
        if spend and (unpriced := next((name for name in models if not self._prices.has(name)), None)):
            raise NoPrice(
                f"this key has a spend limit, and model '{unpriced}' has no price; the operator must add [[prices]]",
                param="model",
            )
        used = Used(token_estimate(body), 0, self._most_output(body))
        amounts = []
        if per_minute:
            amounts.append((TOKENS_MINUTE, used.tokens, per_minute))
        if per_day:
            amounts.append((TOKENS_DAY, used.tokens, per_day))
        if spend:
            amounts.append((SPEND_MONTH, max(self._prices.cost(name, used) for name in models), spend))
        carried = await self._carried(caller) if per_minute else 0
        reserved = await self._reserve(caller, amounts, limits, carried)
        return Reservation(models[0], used.input_tokens, reserved, carried)

    async def settle(self, reservation: Reservation, model: str, used: Used, limits: dict[str, LimitState]) -> None:
        """Correct a reservation to what `model`, which answered, has used."""
        cost = self._prices.cost(model or reservation.model, used)
        corrections = [
            (budget, amount._replace(amount=(cost if budget == SPEND_MONTH else used.tokens) - amount.amount))
            for budget, amount in reservation.amounts
        ]
        told = await self._counters.reserve([amount._replace(limit=None) for _, amount in corrections])
        self._note(corrections, told.totals, limits, reservation.carried)

    async def charge_tool(self, caller: Caller, tool: str, limits: dict[str, LimitState], model: str = "") -> None:
        """Count one call of a tool, for a model where the gateway calls it for one. Raises BudgetSpent; then nothing is
        counted."""
        amounts = []
        if per_day := _chosen(caller.tool_calls_per_day, self._defaults.tool_calls_per_day):
            amounts.append((TOOLS_DAY, 1, per_day))
        cost = self._prices.tool_cost(tool, model)
        if cost and (spend := self._spend_limit(caller)):
            amounts.append((SPEND_MONTH, cost, spend))
        if amounts:
            await self._reserve(caller, amounts, limits)

    async def _carried(self, caller: Caller) -> int:
        """Tokens of the clock minute before this one that lie within the last sixty seconds."""
        now_s = self._now()
        minute, elapsed_s = divmod(now_s, 60)
        ends_at = minute * 60 + _KEPT_S
        before = Amount(f"{TOKENS_MINUTE}:{caller.key_id}:{int(minute) - 1}", 0, None, ends_at)
        total = (await self._counters.reserve([before])).totals[0]
        return math.ceil(max(0, total) * (1 - elapsed_s / 60))

    async def _reserve(
        self, caller: Caller, wanted: Sequence[tuple[str, int, int]], limits: dict[str, LimitState], carried: int = 0
    ) -> list[tuple[str, Amount]]:
        """Add (budget, amount, limit) to the key's counters; `carried` tokens of its minute are used already. Raises
        BudgetSpent."""
        now_s = self._now()
        current = periods(now_s)
        amounts = [
            (
                budget,
                Amount(
                    f"{budget}:{caller.key_id}:{current[budget].name}", amount, limit, current[budget].ends_at + _KEPT_S
                ),
            )
            for budget, amount, limit in wanted
        ]
        reserved = await self._counters.reserve(
            [
                amount._replace(limit=max(0, (amount.limit or 0) - carried)) if budget == TOKENS_MINUTE else amount
                for budget, amount in amounts
            ]
        )
        self._note(amounts, reserved.totals, limits, carried)
        if reserved.refused is not None:
            budget, amount = amounts[reserved.refused]
            total, left_s = reserved.totals[reserved.refused], current[budget].ends_at - now_s
            if budget == TOKENS_MINUTE:
                left_s = _wait_s(amount, total, carried, left_s)
                total += carried
            raise self._refusal(budget, amount, total, left_s)
        return amounts

    def _note(
        self, amounts: Sequence[tuple[str, Amount]], totals: Sequence[int], limits: dict[str, LimitState], carried: int
    ) -> None:
        now_s = self._now()
        for (budget, amount), total in zip(amounts, totals, strict=True):
            if budget == TOKENS_MINUTE:
                total += carried
            if amount.limit is not None and budget != SPEND_MONTH:  # a sum is no count: it has no RateLimit header
                left_s = max(0.0, amount.ends_at - _KEPT_S - now_s)
                limits[budget] = LimitState(amount.limit, max(0, amount.limit - total), left_s)

    def _refusal(self, budget: str, amount: Amount, total: int, left_s: float) -> BudgetSpent:
        limit = amount.limit or 0
        words = {
            TOKENS_MINUTE: f"{limit} tokens a minute",
            TOKENS_DAY: f"{limit} tokens a day",
            TOOLS_DAY: f"{limit} tool calls a day",
            SPEND_MONTH: f"{self._prices.currency} {limit / NANO:g} a month",
        }[budget]
        if amount.amount > limit:
            shown = f"{amount.amount / NANO:g}" if budget == SPEND_MONTH else str(amount.amount)
            text = f"this key may use {words}, and this request alone may use {shown}; ask for less output"
            return BudgetSpent(text, retry_after_s=left_s)
        error = BudgetSpent(f"this key may use {words}; it has used {_shown(budget, total)}", retry_after_s=left_s)
        if budget == TOKENS_MINUTE:
            error.code, error.retryable = "rate_limit_exceeded", True
        return error

    def _most_output(self, body: Json) -> int:
        most = next(filter(None, (_count(body.get(name)) for name in _OUTPUT_LIMITS)), self._defaults.reserve_tokens)
        return most * (_count(body.get("n")) or 1)

    def _spend_limit(self, caller: Caller) -> int:
        return math.floor(_chosen(caller.spend_per_month, self._defaults.spend_per_month) * NANO)


def count_cut_off(stats: RequestStats, reservation: Reservation) -> None:
    """What a request has used that was called off before anybody had counted: its input, and a token for every event
    that was sent of the answer."""
    if stats.attempts and not (stats.input_tokens or stats.output_tokens):
        stats.input_tokens, stats.output_tokens = reservation.input_tokens, stats.sent_events


def _wait_s(amount: Amount, total: int, carried: int, left_s: float) -> float:
    """Seconds until an amount fits into its sliding minute, if nothing else is added. `total`: what this clock minute,
    which lasts for `left_s` more, has used."""
    room = max(0, (amount.limit or 0) - amount.amount)
    if total <= room:  # enough of the minute before will have passed by within this one
        return left_s * min(1.0, 1 - (room - total) / carried) if carried else 0.0
    return left_s + 60 * (1 - room / total)


def _shown(budget: str, total: int) -> str:
    return f"{total / NANO:g}" if budget == SPEND_MONTH else str(total)


def _chosen(own: Limit | None, default: Limit) -> Limit:
    """A key's own limit, or the configured one."""
    return default if own is None else own


def _count(value: Any) -> int:
    """A whole number above 0; 0 for anything else."""
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0


class OwnUse:
    """`caller_of` gives the caller of a key's id, None for none: the gateway's own work, or a key revoked meanwhile."""

    def __init__(
        self, caller_of: Callable[[str], Caller | None], budgets: Budgets, usage: UsageBook, metrics: Metrics
    ) -> None:
        self._caller_of = caller_of
        self._budgets = budgets
        self._usage = usage
        self._metrics = metrics

    @asynccontextmanager
    async def charged(self, body: Json, stats: RequestStats) -> AsyncIterator[None]:
        """Around one call with `body`; `stats` has the key's id before, and what was used after it. Raises BudgetSpent
        and NoPrice before the call."""
        caller = self._caller_of(stats.key_id)
        limits: dict[str, LimitState] = {}
        reservation = await self._budgets.reserve(caller, body, limits) if caller is not None else None
        was_cut = False
        try:
            yield
        except asyncio.CancelledError:
            was_cut = True
            raise
        finally:
            if was_cut and reservation is not None:
                count_cut_off(stats, reservation)
            used = Used(stats.input_tokens, stats.cached_tokens, stats.output_tokens, 0, stats.written_tokens)
            if reservation is not None:
                await asyncio.shield(self._budgets.settle(reservation, stats.model, used, limits))
            if stats.model and used.tokens:
                self._count(stats, used)

    def _count(self, stats: RequestStats, used: Used) -> None:
        if stats.key_id:
            self._usage.add(UsageKey(stats.key_id, stats.model), used, requests=0)
        self._metrics.tokens.labels(stats.model, "input").inc(used.input_tokens)
        self._metrics.tokens.labels(stats.model, "output").inc(used.output_tokens)
