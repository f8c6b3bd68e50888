"""The shared cache: who makes room, what a budget keeps, and that an owner alone has everything."""

import random

import pytest

from gateway.resilience.bounded_cache import SharedCache
from tests.support.clocks import Clock


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
    assert not cache.put(("a", "huge"), 1, weight=101)
    assert held(cache, "a") == list(range(10))


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
