"""The bounded cache: in entries, in weight, in time, and in which order entries go."""

import random

from gateway.resilience.bounded_cache import BoundedCache
from tests.support.clocks import Clock


def test_the_entry_written_longest_ago_goes_first_and_with_lru_the_one_used_longest_ago() -> None:
    plain: BoundedCache[str, int] = BoundedCache(2)
    lru: BoundedCache[str, int] = BoundedCache(2, lru=True)
    for cache in (plain, lru):
        cache.put("a", 1)
        cache.put("b", 2)
        assert cache.get("a") == 1
        cache.put("c", 3)
    assert (plain.get("a"), plain.get("b"), plain.get("c")) == (None, 2, 3)
    assert (lru.get("a"), lru.get("b"), lru.get("c")) == (1, None, 3)


def test_weight_is_bounded_and_a_value_heavier_than_the_cache_pushes_nothing_out() -> None:
    cache: BoundedCache[str, int] = BoundedCache(9, max_weight=10)
    cache.put("a", 1, weight=4)
    cache.put("b", 2, weight=4)
    cache.put("huge", 3, weight=11)
    assert (cache.get("a"), cache.get("b"), cache.get("huge")) == (1, 2, None)
    cache.put("c", 3, weight=4)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (None, 2, 3)
    cache.put("b", 3, weight=11)
    assert cache.get("b") is None, "the former value must not outlive the newer one"


def test_every_entry_that_leaves_is_reported_once() -> None:
    clock, dropped = Clock(), []
    cache: BoundedCache[str, int] = BoundedCache(
        2, ttl_s=10, on_drop=lambda key, value: dropped.append((key, value)), clock=clock
    )
    cache.put("a", 1)
    cache.put("a", 2)
    cache.put("b", 3)
    cache.put("c", 4)
    cache.remove("b")
    cache.remove("b")
    clock.now_s += 10
    cache.get("c")
    assert dropped == [("a", 1), ("a", 2), ("b", 3), ("c", 4)]


def test_it_holds_what_a_plain_list_of_entries_would_hold() -> None:
    """The naive form: a list in order of age, searched from end to end."""
    draw, clock = random.Random(7), Clock()
    cache: BoundedCache[int, int] = BoundedCache(5, ttl_s=10, max_weight=20, lru=True, clock=clock)
    naive: list[tuple[int, int, float, int]] = []  # key, value, expiry, weight
    for step in range(5000):
        clock.now_s += draw.random()
        key, weight = draw.randrange(8), draw.randrange(9)
        if draw.random() < 0.5:
            naive = [entry for entry in naive if entry[0] != key]
            naive.append((key, step, clock.now_s + 10, weight))
            cache.put(key, step, weight=weight)
            while len(naive) > 5 or sum(entry[3] for entry in naive) > 20 or naive[0][2] <= clock.now_s:
                naive.pop(0)
        else:
            hits = [entry for entry in naive if entry[0] == key]
            naive = [entry for entry in naive if entry[0] != key] + [e for e in hits if e[2] > clock.now_s]
            expected = hits[0][1] if hits and hits[0][2] > clock.now_s else None
            assert cache.get(key) == expected
        assert len(cache) == len(naive)
