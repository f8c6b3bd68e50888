"""Budgets: reserved before, settled after, never exceeded together, refused with the truth about when to come back."""

import asyncio
from datetime import UTC, datetime

import pytest

from gateway.access.budgets import SPEND_MONTH, Budgets, periods, token_estimate
from gateway.access.rate_limits import LimitState
from gateway.access.usage import NANO, PriceList, Used
from gateway.config.settings import Limits, Price
from gateway.domain import Caller, Json
from gateway.errors import BudgetSpent, NoPrice
from gateway.shared_state.memory import MemoryCounters

PRICES = PriceList(
    [
        Price(
            "SvcLLM",
            input_per_million=1.0,
            output_per_million=10.0,
            cached_input_per_million=0.1,
            cache_write_per_million=1.25,
        ),
        Price("cheap", input_per_million=0.1),
        Price("websearch-search", tool_call=0.5),
    ]
)
BODY: Json = {"model": "SvcLLM", "messages": [{"role": "user", "content": "x" * 398}], "max_tokens": 100}
"""103 tokens of input by the estimate (`SvcLLM` and `user` are text too), 100 of output."""
RESERVED = 203


class Now:
    at = datetime(2026, 11, 22, 10, 30, 20, tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.at


def models(name: str) -> list[str] | None:
    return {"SvcLLM": ["SvcLLM"], "free": ["free"], "cheap": ["cheap", "SvcLLM"]}.get(name)


def caller(**limits: float) -> Caller:
    return Caller("k", "name", frozenset({"chat"}), **limits)  # type: ignore[arg-type]  # whole numbers where it matters


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def budgets(now: Now) -> Budgets:
    return Budgets(MemoryCounters(now), Limits(reserve_tokens=50), PRICES, models, now)


def test_periods_are_those_of_utc_and_a_month_ends_where_the_next_begins() -> None:
    now = int(datetime(2028, 2, 29, 23, 59, 59, tzinfo=UTC).timestamp())
    found = periods(now)
    assert {name: period.name for name, period in found.items()} == {
        "tokens-minute": str(now // 60), "tokens-day": "20280229",
        "tool-calls-day": "20280229", "spend-month": "202802",
    }  # fmt: skip
    assert {period.ends_at for period in found.values()} == {datetime(2028, 3, 1, tzinfo=UTC).timestamp()}


async def test_a_request_reserves_its_input_and_most_output_and_is_settled_to_what_it_used(budgets: Budgets) -> None:
    limits: dict[str, LimitState] = {}
    reservation = await budgets.reserve(caller(tokens_per_day=1000), BODY, limits)
    assert reservation is not None
    assert limits["tokens-day"].remaining == 1000 - RESERVED
    await budgets.settle(reservation, "SvcLLM", Used(90, 0, 10), limits)
    assert limits == {"tokens-day": LimitState(1000, 900, 13.5 * 3600 - 20)}
    without = await budgets.reserve(caller(tokens_per_day=1000), {**BODY, "max_tokens": None, "n": 2}, limits)
    assert without is not None and limits["tokens-day"].remaining == 900 - 103 - 2 * 50


async def test_fifty_requests_at_once_never_exceed_a_budget_together(budgets: Budgets) -> None:
    answers = await asyncio.gather(
        *(budgets.reserve(caller(tokens_per_day=10 * RESERVED + 5), BODY, {}) for _ in range(50)),
        return_exceptions=True,
    )
    assert sum(not isinstance(answer, BudgetSpent) for answer in answers) == 10


async def test_a_day_that_is_used_up_is_not_worth_waiting_for_and_ends_at_midnight(budgets: Budgets, now: Now) -> None:
    await budgets.reserve(caller(tokens_per_day=RESERVED), BODY, {})
    with pytest.raises(BudgetSpent, match=r"203 tokens a day; it has used 203") as refusal:
        await budgets.reserve(caller(tokens_per_day=RESERVED), BODY, {})
    assert refusal.value.retry_after_s == 13.5 * 3600 - 20
    assert (refusal.value.status, refusal.value.code, refusal.value.retryable) == (429, "insufficient_quota", False)
    now.at += refusal.value.retry_after_s
    assert await budgets.reserve(caller(tokens_per_day=RESERVED), BODY, {})


async def test_a_minute_that_is_used_up_is_worth_waiting_for(budgets: Budgets, now: Now) -> None:
    await budgets.reserve(caller(tokens_per_minute=RESERVED), BODY, {})
    with pytest.raises(BudgetSpent, match="203 tokens a minute") as refusal:
        await budgets.reserve(caller(tokens_per_minute=RESERVED), BODY, {})
    assert (refusal.value.code, refusal.value.retryable) == ("rate_limit_exceeded", True)
    assert refusal.value.retry_after_s == 40 + 60  # all of it must have passed by
    now.at += 100
    assert await budgets.reserve(caller(tokens_per_minute=RESERVED), BODY, {})


async def test_of_the_minute_before_counts_what_lies_within_the_last_sixty_seconds(budgets: Budgets, now: Now) -> None:
    key, limits = caller(tokens_per_minute=2 * RESERVED), dict[str, LimitState]()
    for _ in range(2):
        await budgets.reserve(key, BODY, limits)
    assert limits["tokens-minute"].remaining == 0
    now.at += 41  # the next minute of the clock, a second old
    with pytest.raises(BudgetSpent) as refusal:
        await budgets.reserve(key, BODY, limits)
    assert refusal.value.retry_after_s is not None
    assert refusal.value.retry_after_s == pytest.approx(29, abs=0.5)  # half of the two has passed by then
    now.at += refusal.value.retry_after_s + 0.2  # what the rounding up of a token takes
    await budgets.reserve(key, BODY, limits)
    assert 0 <= limits["tokens-minute"].remaining < 5
    now.at += 1
    with pytest.raises(BudgetSpent):
        await budgets.reserve(key, BODY, limits)


async def test_waiting_as_long_as_a_refusal_says_is_enough(budgets: Budgets, now: Now) -> None:
    key, refused = caller(tokens_per_minute=5 * RESERVED // 2), 0
    for _ in range(40):
        now.at += 7
        try:
            await budgets.reserve(key, BODY, {})
        except BudgetSpent as refusal:
            refused += 1
            assert refusal.retry_after_s is not None
            now.at += refusal.retry_after_s + 0.5  # what the rounding up of a token takes
            await budgets.reserve(key, BODY, {})
    assert refused > 10


async def test_a_request_that_is_larger_than_the_whole_budget_is_told_to_ask_for_less(budgets: Budgets) -> None:
    with pytest.raises(BudgetSpent, match="this request alone may use 203; ask for less output") as refusal:
        await budgets.reserve(caller(tokens_per_minute=100), BODY, {})
    assert not refusal.value.retryable


async def test_spend_is_counted_by_the_model_that_answered_and_cached_input_at_its_own_price(budgets: Budgets) -> None:
    key = caller(spend_per_month=1.0)
    for _ in range(2):
        reservation = await budgets.reserve(key, {**BODY, "model": "cheap"}, {})
        assert reservation is not None
        [(budget, amount)] = reservation.amounts
        assert budget == SPEND_MONTH
        assert amount.amount == 102 * 1000 + 100 * 10_000  # the dearer of those that may answer
        await budgets.settle(reservation, "SvcLLM", Used(300_000, 200_000, 10_000), {})
    # each: 100,000 at 1.0, 200,000 at 0.1 and 10,000 at 10.0 a million: 0.22
    with pytest.raises(BudgetSpent, match=r"USD 1 a month; it has used 0\.44"):
        await budgets.reserve(key, {**BODY, "max_tokens": 60_000}, {})


async def test_a_spend_limit_on_a_model_or_fallback_without_a_price_is_refused_naming_the_setting() -> None:
    budgets = Budgets(MemoryCounters(), Limits(spend_per_month=5), PRICES, lambda name: ["cheap", "free"])
    with pytest.raises(NoPrice, match=r"'free' has no price; the operator must add \[\[prices\]\]") as refusal:
        await budgets.reserve(caller(), BODY, {})
    assert (refusal.value.status, refusal.value.param) == (403, "model")
    assert await budgets.reserve(caller(spend_per_month=0), BODY, {}) is None


async def test_tool_calls_have_a_budget_a_day_and_a_price(budgets: Budgets) -> None:
    limits: dict[str, LimitState] = {}
    key = caller(tool_calls_per_day=3, spend_per_month=1.0)
    for _ in range(2):
        await budgets.charge_tool(key, "websearch-search", limits)
    assert limits["tool-calls-day"].remaining == 1
    with pytest.raises(BudgetSpent, match="USD 1 a month"):
        await budgets.charge_tool(key, "websearch-search", limits)
    await budgets.charge_tool(key, "websearch-map", limits)
    with pytest.raises(BudgetSpent, match="3 tool calls a day"):
        await budgets.charge_tool(key, "websearch-map", limits)


async def test_a_request_that_ends_in_the_next_period_is_settled_in_its_own(budgets: Budgets, now: Now) -> None:
    key = caller(tokens_per_minute=RESERVED)
    reservation = await budgets.reserve(key, BODY, {})
    assert reservation is not None
    now.at += 40
    with pytest.raises(BudgetSpent):
        await budgets.reserve(key, BODY, {})
    await budgets.settle(reservation, "SvcLLM", Used(), {})  # which used nothing
    limits: dict[str, LimitState] = {}
    assert await budgets.reserve(key, BODY, limits)
    assert limits["tokens-minute"].remaining == 0


async def test_keys_without_budgets_and_unknown_models_reserve_nothing(budgets: Budgets) -> None:
    assert await budgets.reserve(caller(), BODY, {}) is None
    assert await budgets.reserve(caller(tokens_per_day=1), {**BODY, "model": "unknown"}, {}) is None


def test_an_image_counts_as_an_image_and_not_as_its_letters() -> None:
    parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4_000_000}}]
    assert token_estimate({"messages": [{"content": parts}]}) < 1100


def test_a_cost_is_a_whole_number_of_billionths() -> None:
    assert PRICES.cost("SvcLLM", Used(1_000_000, 0, 0)) == NANO
    assert PRICES.cost("SvcLLM", Used(4, 1, 0, written_tokens=2)) == 100 + 2 * 1_250 + 1_000
    assert PRICES.cost("cheap", Used(1, 0, 0)) == 100
    assert PRICES.cost("unknown", Used(10**9)) == 0
