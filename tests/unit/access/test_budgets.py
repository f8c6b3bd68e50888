"""Budgets: reserved before, extended on the way, settled after, never exceeded together, refused with the truth."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.access.budgets import Budgets, Reservation, periods
from gateway.access.people import account_of
from gateway.access.rate_limits import LimitState
from gateway.access.usage import NANO, PriceList, Used
from gateway.config.settings import Limits, Price
from gateway.domain import Caller, Json, RequestStats
from gateway.errors import BudgetSpent, NoPrice, UpstreamRefused, UpstreamTimeout
from gateway.metrics import Metrics
from gateway.shared_state.memory import MemoryCounters
from tests.support.clocks import Clock

PRICE = Price(
    "SvcLLM", input_per_million=1.0, output_per_million=10.0, cached_input_per_million=0.1, cache_write_per_million=1.25
)
PRICES = PriceList([PRICE, Price("cheap", input_per_million=0.1), Price("websearch-search", tool_call=0.5)])
BODY: Json = {"model": "SvcLLM", "messages": [{"role": "user", "content": "x" * 385}], "max_tokens": 100}
"""400 bytes, names and role included: 200 tokens of input by the first count; 100 of output."""
INPUT, RESERVED = 200, 300


def models(name: str) -> list[str] | None:
    return {"SvcLLM": ["SvcLLM"], "free": ["free"], "cheap": ["cheap", "SvcLLM"]}.get(name)


def caller(**limits: float) -> Caller:
    return Caller("k", "name", frozenset({"chat"}), **limits)  # type: ignore[arg-type]  # whole numbers where it matters


@pytest.fixture
def now() -> Clock:
    return Clock(datetime(2026, 11, 22, 10, 30, 20, tzinfo=UTC).timestamp())


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def budgets(now: Clock, metrics: Metrics) -> Budgets:
    return Budgets(MemoryCounters(now), Limits(reserve_tokens=500), PRICES, models, now, metrics=metrics)


class Key:
    """Calls for one caller. `limits`: the states that the last one told."""

    def __init__(self, budgets: Budgets, **limits: float) -> None:
        self.limits: dict[str, LimitState] = {}
        spend = budgets.of(caller(**limits), self.limits)
        assert spend is not None
        self.spend = spend

    async def reserve(self, body: Json = BODY, **more: Any) -> Reservation:
        """What a call has reserved whose upstream is then asked."""
        stats = RequestStats()
        held = await self.spend.reserve(body, stats, **more)
        stats.model, stats.attempts = str(body["model"]), 1
        return held

    async def use(self, prompt: int, completion: int, body: Json = BODY, written: int = 0, **told: Any) -> None:
        """A whole call whose upstream tells this usage."""
        async with await self.reserve(body) as held:
            held.answered({"prompt_tokens": prompt, "completion_tokens": completion, **told}, written or completion)

    def left(self, budget: str = "tokens-day") -> int:
        return self.limits[budget].remaining


def test_periods_are_those_of_utc_and_a_month_ends_where_the_next_begins() -> None:
    now = int(datetime(2028, 2, 29, 23, 59, 59, tzinfo=UTC).timestamp())
    found = periods(now)
    assert {name: period.name for name, period in found.items()} == {
        "tokens-minute": str(now // 60), "tokens-day": "20280229",
        "tool-calls-day": "20280229", "spend-month": "202802",
        "user-tokens-day": "20280229", "user-spend-day": "20280229",
    }  # fmt: skip
    assert {period.ends_at for period in found.values()} == {datetime(2028, 3, 1, tzinfo=UTC).timestamp()}


async def test_a_call_reserves_its_input_and_its_limit_and_is_settled_to_what_it_used(budgets: Budgets) -> None:
    key = Key(budgets, tokens_per_day=1000)
    async with await key.reserve() as held:
        assert (held.limit, key.left()) == (100, 1000 - RESERVED)
        held.answered({"prompt_tokens": 90, "completion_tokens": 10}, 40)
    assert key.limits == {"tokens-day": LimitState(1000, 900, 13.5 * 3600 - 20)}


async def test_where_no_limit_was_asked_for_the_usual_one_is_sent_for_each_answer(budgets: Budgets) -> None:
    key = Key(budgets, tokens_per_day=10_000)
    body = {**BODY, "max_tokens": None, "n": 2}
    assert (await key.reserve(body)).limited(body)["max_tokens"] == 500 and key.left() == 10_000 - INPUT - 2 * 500


async def test_of_several_limits_the_largest_is_reserved_and_each_is_lowered_to_what_is_left(budgets: Budgets) -> None:
    key = Key(budgets, tokens_per_day=1000)
    body = {**BODY, "max_completion_tokens": 1, "max_tokens": 5000}
    held = await key.reserve(body)
    sent = held.limited(body)
    assert (sent["max_completion_tokens"], sent["max_tokens"]) == (1, 800) and key.left() == 0
    sent = {"max_tokens": 4000, "max_output_tokens": 10, "longest": 801}
    assert held.clipped(sent, {"max_tokens": "longest"}) == {"max_tokens": 800, "max_output_tokens": 10, "longest": 800}


@pytest.mark.parametrize("name", ["n_predict", "max_new_tokens", "num_predict"])
async def test_a_backends_own_limit_is_reserved_and_lowered_beside_the_usual_one(budgets: Budgets, name: str) -> None:
    key = Key(budgets, tokens_per_day=1000)
    held = await key.reserve({**BODY, "max_tokens": None, name: 5000})
    sent = held.limited({**BODY, "max_tokens": None, name: 5000})
    assert (sent["max_tokens"], sent[name]) == (800, 800) and key.left() == 0


@pytest.mark.parametrize("name", ["n", "best_of", "candidate_count", "num_return_sequences"])
@pytest.mark.parametrize("four", [4, 4.0, "4"])
async def test_a_number_of_answers_counts_however_json_writes_it(budgets: Budgets, name: str, four: object) -> None:
    key = Key(budgets, tokens_per_day=10_000)
    await key.reserve({**BODY, "max_tokens": 1000.0, name: four})
    assert 10_000 - INPUT - 4 * 1000 - key.left() in (0, 1)  # a string is a token of input too


async def test_what_is_left_is_divided_among_the_answers(budgets: Budgets) -> None:
    held = await Key(budgets, tokens_per_day=1000).reserve({**BODY, "max_tokens": 5000, "n": 3})
    assert held.limit == (1000 - INPUT) // 3


async def test_an_answer_of_less_than_256_tokens_is_refused_unless_it_was_asked_for(budgets: Budgets) -> None:
    key = Key(budgets, tokens_per_day=INPUT + 255)
    with pytest.raises(BudgetSpent, match="needs 456; send less"):
        await key.reserve({**BODY, "max_tokens": 5000})
    assert (await key.reserve({**BODY, "max_tokens": 200})).limit == 200
    assert (await Key(budgets, tokens_per_minute=INPUT + 256).reserve({**BODY, "max_tokens": 5000})).limit == 256


@pytest.mark.parametrize("fields", [{"thinking": {"type": "enabled", "budget_tokens": 900}}, {"gateway_thinking": 900}])
async def test_an_answer_that_has_no_room_for_its_thoughts_is_refused(budgets: Budgets, fields: Json) -> None:
    body = {**BODY, "max_tokens": 5000, **fields}
    with pytest.raises(BudgetSpent):
        await Key(budgets, tokens_per_day=INPUT + 900).reserve(body)
    assert (await Key(budgets, tokens_per_day=INPUT + 901).reserve(body)).limit == 901


async def test_a_stream_reserves_a_slice_and_extends_before_it_is_spent(budgets: Budgets) -> None:
    key = Key(budgets, tokens_per_day=20_000)
    held = await key.reserve({**BODY, "max_tokens": 3000, "stream": True})
    assert key.left() == 20_000 - INPUT - 1024
    assert not held.wrote(1500) and held.wrote(40)  # 770 tokens: a quarter of the slice is left
    assert await held.extend() and key.left() == 20_000 - INPUT - 2048
    assert held.wrote(4000 - 1540) and await held.extend()
    assert key.left() == 20_000 - INPUT - 3000  # all that its upstream may make


async def test_a_stream_within_its_limit_is_not_cut_for_a_count_that_is_too_high(budgets: Budgets) -> None:
    held = await Key(budgets, tokens_per_day=INPUT + 300).reserve({**BODY, "max_tokens": 300, "stream": True})
    assert held.wrote(1200) and await held.extend()  # 300 tokens of four bytes
    assert held.wrote(2000) and not await held.extend()  # no tokenizer makes 300 of that


async def test_thoughts_that_nobody_sees_are_reserved_at_once(budgets: Budgets) -> None:
    body = {**BODY, "max_tokens": 3000, "stream": True}
    for fields in ({"reasoning_effort": "low"}, {"thinking": {"type": "enabled"}}, {"gateway_thinking": 1}):
        key = Key(budgets, tokens_per_day=20_000)
        held = await key.reserve({**body, **fields})
        assert key.left() == 20_000 - INPUT - 3000
        async with held:
            pass
    await key.reserve(body)
    assert key.left() == 20_000 - INPUT - 1024
    await key.use(90, 900, {**BODY, "max_tokens": 900}, written=40)
    left = key.left()
    await key.reserve(body)
    assert left - key.left() >= 3000  # it has been seen to think


FAILURES: list[tuple[BaseException, int]] = [(UpstreamRefused("no", status=400, code="x"), 1000)]
FAILURES += [(each, 1000 - RESERVED) for each in (UpstreamTimeout("late"), asyncio.CancelledError(), GeneratorExit())]


@pytest.mark.parametrize(("error", "left"), FAILURES)
async def test_a_call_without_an_answer_costs_what_it_reserved_if_its_upstream_may_have_worked(
    budgets: Budgets, error: BaseException, left: int
) -> None:
    key = Key(budgets, tokens_per_day=1000)
    with pytest.raises(type(error)):
        async with await key.reserve():
            raise error
    assert key.left() == left


@pytest.mark.parametrize(
    "told", [{"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 1, "completion_tokens": 1}]
)
async def test_usage_that_no_tokenizer_counts_is_not_believed(budgets: Budgets, told: Json) -> None:
    key = Key(budgets, tokens_per_day=1000)
    async with await key.reserve() as held:
        held.answered(told, 160)
    assert key.left() == 1000 - INPUT - 80


async def test_what_an_upstream_uses_beyond_its_limit_is_counted_and_told(
    budgets: Budgets, metrics: Metrics, caplog: pytest.LogCaptureFixture
) -> None:
    key = Key(budgets, tokens_per_day=1000)
    with caplog.at_level("WARNING", "gateway"):
        await key.use(100, 700, written=2800)
    assert key.left() == 200
    assert metrics.registry.get_sample_value("gateway_budget_overrun_tokens_total", {"model": "SvcLLM"}) == 500
    assert "budget_overrun" in caplog.text


async def test_a_day_that_is_used_up_is_not_worth_a_wait_and_ends_at_midnight(budgets: Budgets, now: Clock) -> None:
    key = Key(budgets, tokens_per_day=RESERVED)
    await key.reserve()
    with pytest.raises(BudgetSpent, match=r"300 tokens a day; it has used 300") as refusal:
        await key.reserve()
    assert refusal.value.retry_after_s == 13.5 * 3600 - 20
    assert (refusal.value.status, refusal.value.code, refusal.value.retryable) == (429, "insufficient_quota", False)
    now.now_s += refusal.value.retry_after_s
    assert await key.reserve()


async def test_a_minute_that_is_used_up_is_worth_waiting_for(budgets: Budgets, now: Clock) -> None:
    key = Key(budgets, tokens_per_minute=RESERVED)
    await key.reserve()
    with pytest.raises(BudgetSpent, match="300 tokens a minute") as refusal:
        await key.reserve()
    assert (refusal.value.code, refusal.value.retryable) == ("rate_limit_exceeded", True)
    assert refusal.value.retry_after_s == 40 + 60  # all of it must have passed by
    now.now_s += 100
    assert await key.reserve()


async def test_of_the_minute_before_counts_what_lies_within_the_last_60_seconds(budgets: Budgets, now: Clock) -> None:
    key = Key(budgets, tokens_per_minute=2 * RESERVED)
    for _ in range(2):
        await key.reserve()
    assert key.left("tokens-minute") == 0
    now.now_s += 41  # the next minute of the clock, a second old
    with pytest.raises(BudgetSpent) as refusal:
        await key.reserve()
    assert refusal.value.retry_after_s is not None
    assert refusal.value.retry_after_s == pytest.approx(29, abs=0.5)  # half of the two has passed by then
    now.now_s += refusal.value.retry_after_s + 0.2  # what the rounding up of a token takes
    await key.reserve()
    assert 0 <= key.left("tokens-minute") < 5
    now.now_s += 1
    with pytest.raises(BudgetSpent):
        await key.reserve()


async def test_waiting_as_long_as_a_refusal_says_is_enough(budgets: Budgets, now: Clock) -> None:
    key, refused = Key(budgets, tokens_per_minute=5 * RESERVED // 2), 0
    for _ in range(40):
        now.now_s += 7
        try:
            await key.reserve()
        except BudgetSpent as refusal:
            refused += 1
            assert refusal.retry_after_s is not None
            now.now_s += refusal.retry_after_s + 0.5  # what the rounding up of a token takes
            await key.reserve()
    assert refused > 10


async def test_a_call_that_is_larger_than_the_whole_budget_is_told_to_send_less(budgets: Budgets) -> None:
    with pytest.raises(BudgetSpent, match="this request alone needs 300; send less") as refusal:
        await Key(budgets, tokens_per_minute=100).reserve()
    assert not refusal.value.retryable


async def test_spend_is_reserved_at_the_dearest_prices_and_settled_by_the_model_that_answered(budgets: Budgets) -> None:
    key = Key(budgets, spend_per_month=1.0)
    for _ in range(2):
        async with await key.reserve({**BODY, "model": "cheap", "max_tokens": 70_000}) as held:
            held._stats.model = "SvcLLM"
            cached = {"prompt_tokens_details": {"cached_tokens": 200_000}}
            held.answered({"prompt_tokens": 300_000, "completion_tokens": 10_000, **cached}, 40_000)
    # each: 100,000 at 1.0, 200,000 at 0.1 and 10,000 at 10.0 a million: 0.22
    assert (await key.reserve({**BODY, "max_tokens": 60_000})).limit == 55_975  # 0.56 less 200 tokens of cache writes
    with pytest.raises(BudgetSpent, match="USD 1 a month; it has used 1"):
        await key.reserve()


async def test_a_call_that_ends_in_the_next_period_is_settled_in_its_own(budgets: Budgets, now: Clock) -> None:
    key = Key(budgets, tokens_per_minute=RESERVED)
    async with await key.reserve() as held:
        now.now_s += 40
        with pytest.raises(BudgetSpent):
            await key.reserve()
        held._stats.attempts = 0  # nobody was asked: it used nothing
    await key.reserve()
    assert key.left("tokens-minute") == 0


class TestUsers:
    """Within a key each user has a budget of its own."""

    async def test_the_key_binds_them_together(self, budgets: Budgets) -> None:
        key = Key(budgets, per_user_tokens_per_day=2 * RESERVED, tokens_per_day=3 * RESERVED)
        await key.reserve({**BODY, "user": "ann"})
        await key.reserve({**BODY, "user": "ann"})
        held = await key.reserve({**BODY, "user": "bob"})
        with pytest.raises(BudgetSpent, match="900 tokens a day; it has used 900"):
            await key.reserve({**BODY, "user": "bob"})
        async with held:
            held.answered({"prompt_tokens": 50, "completion_tokens": 10}, 40)
        assert (key.left(), key.left("user-tokens-day")) == (3 * RESERVED - 660, 2 * RESERVED - 60)

    async def test_their_spend_is_in_money(self, budgets: Budgets) -> None:
        key = Key(budgets, per_user_spend_per_day=0.002)
        await key.reserve({**BODY, "user": "ann"})
        with pytest.raises(BudgetSpent, match=r"USD 0\.002 a day for one user"):
            await key.reserve({**BODY, "user": "ann"})
        with pytest.raises(NoPrice):
            await key.reserve({**BODY, "model": "free", "user": "ann"})

    async def test_too_many_of_them_share_one(self, budgets: Budgets, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("gateway.access.budgets.MOST_USERS", 3)
        key = Key(budgets, per_user_tokens_per_day=RESERVED)
        for number in range(4):
            await key.reserve({**BODY, "user": f"user {number}"})
        with pytest.raises(BudgetSpent):
            await key.reserve({**BODY, "user": "user 9"})
        other = Budgets(budgets.counters, Limits(), PRICES, models, budgets._now)  # another worker
        with pytest.raises(BudgetSpent):
            await Key(other, per_user_tokens_per_day=RESERVED).reserve({**BODY, "user": "user 1"})
        await Key(other, per_user_tokens_per_day=2 * RESERVED).reserve({**BODY, "user": "user 1"})


ACCOUNTS = [
    ("ann", "ann"),
    ("user_1f_account_9b-2c_session_77", "9b-2c"),
    ("user_1f_account__session_77", "user_1f"),
    ('{"device_id":"d1","account_uuid":"a1","session_id":"s1"}', "a1"),
    ('{"device_id":"d1","account_uuid":"","session_id":"s1"}', "d1"),
    ("{no json", "{no json"),
]


@pytest.mark.parametrize(("user", "account"), ACCOUNTS)
def test_of_what_anthropics_clients_send_the_account_is_the_user(user: str, account: str) -> None:
    assert account_of(user) == account


async def test_keys_without_budgets_reserve_nothing(budgets: Budgets) -> None:
    assert budgets.of(caller(), {}) is None and budgets.of(caller(tool_calls_per_day=5), {}) is None


def test_a_cost_is_a_whole_number_of_billionths() -> None:
    assert PRICES.cost("SvcLLM", Used(1_000_000, 0, 0)) == NANO
    assert PRICES.cost("SvcLLM", Used(4, 1, 0, written_tokens=2)) == 100 + 2 * 1_250 + 1_000
    assert PRICES.cost("cheap", Used(1, 0, 0)) == 100 and PRICES.cost("unknown", Used(10**9)) == 0
