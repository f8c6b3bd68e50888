"""Counting many amounts at once equals counting each."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from gateway.metrics import BulkHistogram

BOUNDS = (0.001, 0.5, 1, 30)
AMOUNTS = st.lists(st.one_of(st.sampled_from(BOUNDS), st.floats(0, 100)), max_size=20)


def lines(registry: CollectorRegistry) -> list[str]:
    text = generate_latest(registry).decode()
    return [line for line in text.splitlines() if not line.startswith("#") and "_created" not in line]


@given(AMOUNTS)
def test_many_amounts_are_counted_as_one_by_one(amounts: list[float]) -> None:
    registries = CollectorRegistry(), CollectorRegistry()
    bulk = BulkHistogram("x", "x", buckets=BOUNDS, registry=registries[0])
    naive = Histogram("x", "x", buckets=BOUNDS, registry=registries[1])
    bulk.observe_many(amounts)
    for amount in amounts:
        naive.observe(amount)
    (*buckets, count, total), (*naive_buckets, naive_count, naive_total) = map(lines, registries)
    assert buckets == naive_buckets and count == naive_count
    assert abs(float(total.split()[1]) - float(naive_total.split()[1])) < 1e-9
