"""Calls that the gateway makes by itself are counted for the key that they are made for, by the rules of requests."""

from pathlib import Path

import pytest

from gateway.access.budgets import Budgets, OwnUse
from gateway.access.usage import PriceList, UsageBook
from gateway.config.settings import Limits, Price
from gateway.domain import Caller, Json, RequestStats
from gateway.errors import BudgetSpent
from gateway.metrics import Metrics
from gateway.shared_state.memory import MemoryCounters
from gateway.shared_state.sqlite_state import StateFile

PRICES = PriceList([Price("SvcOCR", input_per_million=1.0, output_per_million=10.0)])
BODY: Json = {"model": "SvcOCR", "messages": [{"role": "user", "content": "x" * 185}], "max_tokens": 100}
CALLER = Caller("key1", "one", frozenset(), tokens_per_day=400)


class Made:
    def __init__(self, folder: Path) -> None:
        self.usage = UsageBook(StateFile(folder / "state.sqlite3"), PRICES, keep_days=30)
        self.metrics = Metrics()
        budgets = Budgets(MemoryCounters(), Limits(), PRICES, lambda name: [name])
        self.own = OwnUse({"key1": CALLER}.get, budgets, self.usage, self.metrics)

    async def call(self, key_id: str, prompt: int, completion: int) -> None:
        stats = RequestStats(key_id=key_id)
        async with self.own.charged(stats):
            if stats.spend is None:
                stats.model, stats.attempts, stats.input_tokens = "SvcOCR", 1, prompt
                return
            async with await stats.spend.reserve(BODY, stats) as held:
                stats.model, stats.attempts = "SvcOCR", 1
                held.answered({"prompt_tokens": prompt, "completion_tokens": completion})

    def rows(self) -> dict[tuple[str, str], list[int]]:
        return {(row[0], row[1]): counts[:4] for (_, row), counts in self.usage._rows.items()}


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


async def test_a_call_counts_in_budget_usage_and_metrics_and_is_no_request(made: Made) -> None:
    await made.call("key1", 100, 40)
    await made.call("key1", 100, 80)
    assert made.rows() == {("key1", "SvcOCR"): [0, 200, 0, 120]}
    assert made.metrics.registry.get_sample_value("gateway_tokens_total", {"model": "SvcOCR", "kind": "input"}) == 200
    with pytest.raises(BudgetSpent, match="400 tokens a day"):
        await made.call("key1", 1, 1)  # 320 are used, and this may use 200 more
    assert made.rows() == {("key1", "SvcOCR"): [0, 200, 0, 120]}


async def test_the_gateways_own_work_and_keys_that_are_gone_have_no_budget(made: Made) -> None:
    await made.call("", 900, 0)
    await made.call("gone", 900, 0)
    assert made.rows() == {("gone", "SvcOCR"): [0, 900, 0, 0]}
