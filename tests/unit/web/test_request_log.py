"""Finished requests in, sums of them out: in the metrics, and in the book of usage."""

from pathlib import Path
from typing import Any

import pytest

from gateway.access.usage import PriceList, UsageBook, read_usage
from gateway.calls.call import Finished
from gateway.domain import RequestStats
from gateway.metrics import Metrics
from gateway.shared_state.sqlite_state import StateFile
from gateway.web.request_log import Recorder


def finished(**stats: Any) -> Finished:
    used = RequestStats(key_id="abc")
    for name, value in stats.items():
        setattr(used, name, value)
    return Finished(used, "req_1", "chat", "POST", 200, 0.5, 0)


REQUESTS = [
    finished(model="big", attempts=2, input_tokens=10, cached_tokens=4, output_tokens=5),
    finished(model="big", attempts=1, input_tokens=1, output_tokens=2),
    finished(model="small", attempts=1, input_tokens=7),
    finished(model="big", attempts=1, input_tokens=3, tools={"websearch-search": 2}),
    finished(tool="websearch-search", tools={"websearch-search": 1}),
    finished(tool="websearch-search", tools={"websearch-search": 1}, outcome="tool_error"),
    finished(),
]


@pytest.fixture
async def recorded(tmp_path: Path) -> tuple[Metrics, dict[tuple[str, str], Any]]:
    """The metrics and the usage, by model and tool, of REQUESTS in one group."""
    path = tmp_path / "state.sqlite3"
    file = StateFile(path)
    usage, metrics = UsageBook(file, PriceList([]), 400), Metrics()
    recorder = Recorder(metrics, usage)
    for each in REQUESTS:
        recorder.add(each)
    recorder.flush()
    await usage.write()
    await file.close()
    rows = {(row["model"], row["tool"]): row for row in read_usage(path, "2000-01-01", ("model", "tool"))}
    return metrics, rows


async def test_a_group_counts_as_its_requests_would_one_by_one(recorded: tuple[Metrics, Any]) -> None:
    value = recorded[0].registry.get_sample_value
    assert value("gateway_requests_total", {"endpoint": "chat", "status": "2xx"}) == len(REQUESTS)
    for model, kind, tokens in (("big", "input", 14), ("big", "output", 7), ("small", "input", 7)):
        assert value("gateway_tokens_total", {"model": model, "kind": kind}) == tokens
    assert value("gateway_upstream_retries_total", {"model": "big"}) == 1
    assert value("gateway_upstream_retries_total", {"model": "small"}) is None
    assert value("gateway_tool_calls_total", {"tool": "websearch-search", "outcome": "ok"}) == 3
    assert value("gateway_tool_calls_total", {"tool": "websearch-search", "outcome": "tool_error"}) == 1
    assert value("gateway_tool_duration_seconds_count", {"tool": "websearch-search"}) == 2


async def test_usage_is_summed_by_model_and_tool_and_both_count_with_the_model(recorded: tuple[Metrics, Any]) -> None:
    names = ("requests", "input_tokens", "cached_tokens", "output_tokens", "tool_calls")
    assert {key: tuple(row[name] for name in names) for key, row in recorded[1].items()} == {
        ("big", ""): (3, 14, 4, 7, 0), ("small", ""): (1, 7, 0, 0, 0), ("big", "websearch-search"): (0, 0, 0, 0, 2),
        ("", "websearch-search"): (2, 0, 0, 0, 2), ("", ""): (1, 0, 0, 0, 0),
    }  # fmt: skip
