"""Bounded caches: entries, weight, time and order; who makes room in a shared one, and what a budget keeps."""

import random

import pytest

from gateway.resilience.bounded_cache import BoundedCache, SharedCache
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


def shared(budget: float = 40, max_entries: int = 100, clock: Clock | None = None) -> SharedCache[str, int]:
    return SharedCache(
        max_entries, 100, budget=budget, ttl_s=10, on_drop=lambda key, value: None, clock=clock or Clock()
    )


def held(cache: SharedCache[str, int], owner: str) -> list[int]:
    return [number for number in range(200) if cache.get((owner, str(number))) is not None]


def fill(cache: SharedCache[str, int], owner: str, count: int, weight: float) -> None:
    for number in range(count):
        cache.put((owner, str(number)), number, weight=weight)


def test_an_owner_that_is_alone_fills_the_whole_cache() -> None:
    cache = shared()
    fill(cache, "a", 12, 10)
    assert held(cache, "a") == list(range(2, 12))


def test_a_flood_takes_nothing_that_is_within_a_budget() -> None:
    cache = shared()
    fill(cache, "small", 4, 10)
    fill(cache, "flood", 50, 20)
    assert held(cache, "small") == [0, 1, 2, 3] and len(held(cache, "flood")) == 3


def test_a_small_owner_that_comes_late_gets_its_budget_back_from_the_flood() -> None:
    cache = shared()
    fill(cache, "flood", 10, 10)
    fill(cache, "small", 4, 10)
    assert held(cache, "small") == [0, 1, 2, 3] and held(cache, "flood") == list(range(4, 10))


def test_an_entry_above_the_budget_is_not_stored_at_the_cost_of_others() -> None:
    cache = shared(budget=25)
    for owner in "abcd":
        fill(cache, owner, 1, 25)
    assert not cache.put(("e", "0"), 0, weight=30)
    assert not held(cache, "e") and all(held(cache, owner) == [0] for owner in "abcd")


def test_more_owners_than_budgets_still_get_in_and_then_make_room_themselves() -> None:
    cache = shared(budget=50)
    for owner in "abcde":
        fill(cache, owner, 5, 10)
    assert all(held(cache, owner) for owner in "abcde") and len(cache) == 10


def test_many_small_entries_of_one_owner_do_not_crowd_out_another() -> None:
    cache = shared(max_entries=10)
    fill(cache, "small", 3, 0)
    fill(cache, "flood", 100, 0)
    assert held(cache, "small") == [0, 1, 2] and len(cache) == 10


def test_expired_entries_make_room_first() -> None:
    clock = Clock()
    cache = shared(clock=clock)
    fill(cache, "old", 4, 10)
    clock.now_s += 8
    fill(cache, "flood", 6, 10)
    clock.now_s += 4
    assert cache.put(("new", "0"), 0, weight=40)
    assert held(cache, "flood") == list(range(6)) and held(cache, "new") == [0]


def test_an_entry_larger_than_the_cache_is_not_stored_and_costs_nothing() -> None:
    cache = shared()
    fill(cache, "a", 10, 10)
    assert not cache.put(("a", "huge"), 1, weight=101) and held(cache, "a") == list(range(10))


@pytest.mark.parametrize("seed", range(5))
def test_it_never_holds_more_than_it_may_and_reports_every_entry_that_leaves(seed: int) -> None:
    chance, dropped, stored = random.Random(seed), 0, 0

    def note(key: tuple[str, str], value: int) -> None:
        nonlocal dropped
        dropped += 1

    cache: SharedCache[str, int] = SharedCache(20, 100, budget=30, ttl_s=10, on_drop=note, clock=Clock())
    for number in range(500):
        before = len(cache) + dropped
        cache.put((chance.choice("abcd"), str(number)), number, weight=chance.uniform(0, 40))
        stored += len(cache) + dropped - before
        assert len(cache) <= 20
    assert stored == dropped + len(cache)
