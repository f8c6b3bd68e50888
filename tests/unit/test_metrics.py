"""The metrics count what they say, at once or one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from gateway.metrics import BulkHistogram

BOUNDS = (0.001, 0.1, 1, 10)


def shown(amounts: list[float], *, at_once: bool) -> bytes:
    registry = CollectorRegistry()
    histogram = BulkHistogram("seconds", "Test", ["endpoint"], buckets=BOUNDS, registry=registry).labels("chat")
    if at_once:
        histogram.observe_many(amounts)
    else:
        for amount in amounts:
            histogram.observe(amount)
    return b"\n".join(line for line in generate_latest(registry).splitlines() if b"_created" not in line)


@pytest.mark.slow
@given(st.lists(st.sampled_from([0.0, *BOUNDS, 0.0625, 0.5, 2.0, 11.0, 1e9]), max_size=20))
def test_many_amounts_at_once_count_like_one_after_the_other(amounts: list[float]) -> None:
    assert shown(amounts, at_once=True) == shown(amounts, at_once=False)
