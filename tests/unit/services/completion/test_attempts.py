"""What closes an upstream off and for whom, the retry budget, weights."""

from collections import Counter

import pytest

from gateway.services.completion import attempts
from gateway.services.completion.attempts import RetryBudget, UpstreamHealth, upstream_breaker, weighted_order
from tests.support.clocks import Clock


def test_half_of_twenty_faults_open_it_but_old_ones_do_not_count() -> None:
    clock = Clock()
    breaker = upstream_breaker(clock)
    for _ in range(9):
        breaker.succeeded()
        breaker.failed()
    assert breaker.take()
    clock.now_s += 11
    breaker.succeeded()
    breaker.failed()
    assert breaker.take()
    for _ in range(10):
        breaker.succeeded()
        breaker.failed()
    assert not breaker.take()


def test_retries_are_a_tenth_of_the_requests_and_three_a_second() -> None:
    clock = Clock()
    budget = RetryBudget(clock)
    assert [budget.take() for _ in range(4)] == [True, True, True, False]
    for _ in range(20):
        budget.request()
    assert [budget.take() for _ in range(3)] == [True, True, False]
    clock.now_s += 60
    assert [budget.take() for _ in range(4)] == [True, True, True, False]


def test_weights_are_shares_and_weight_zero_comes_last() -> None:
    firsts = Counter(weighted_order([("a", 3), ("b", 1), ("c", 0)])[0] for _ in range(2000))
    assert 2.2 < firsts["a"] / firsts["b"] < 4.2 and "c" not in firsts


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> UpstreamHealth:
    return UpstreamHealth(clock)


def test_bad_answers_to_one_caller_close_the_upstream_for_that_caller_alone(health: UpstreamHealth) -> None:
    for _ in range(50):
        health.answered_badly("poisoned")
    assert health.wait_s("poisoned") > 0 and not health.take("poisoned")
    assert health.take("other") and health.take("third")


def test_bad_answers_to_several_callers_close_nothing_for_those_who_got_none(health: UpstreamHealth) -> None:
    for number in range(50):
        health.answered_badly(f"key{number % 2}")
    assert health.wait_s("key0") > 0 and health.take("third") and not health.is_open
    assert health.take("key0", is_last=True), "with nowhere else to go a refusal helps nobody"


def test_no_number_of_bad_answers_closes_the_last_upstream(health: UpstreamHealth) -> None:
    for number in range(200):
        health.answered_badly(f"key{number % 20}")
        assert health.take(f"key{number % 20}", is_last=True)


@pytest.mark.parametrize("callers", [1, 2, 5])
def test_an_upstream_that_never_answers_is_closed_to_all(health: UpstreamHealth, clock: Clock, callers: int) -> None:
    for number in range(5):
        assert health.take(f"key{number % callers}", is_last=True)
        health.was_silent(f"key{number % callers}")
    assert not health.take("other", is_last=True) and health.wait_s("other", is_last=True) == 5
    clock.now_s += 5
    assert health.take("other", is_last=True) and not health.take("third", is_last=True), "one probe"
    health.succeeded("other")
    assert health.take("third", is_last=True)


def test_a_caller_whose_calls_alone_are_silent_does_not_close_it_for_others(health: UpstreamHealth) -> None:
    for _ in range(30):
        health.succeeded("other")
        for _ in range(attempts.MOST_OF_ONE):
            health.was_silent("slow")
    assert health.take("other", is_last=True)


def test_a_bad_answer_ends_a_row_of_silent_calls(health: UpstreamHealth) -> None:
    for number in range(4):
        health.was_silent(f"key{number}")
    health.answered_badly("other")
    health.was_silent("key4")
    assert health.take("other", is_last=True)


def test_a_caller_is_let_through_again_after_its_rest(health: UpstreamHealth, clock: Clock) -> None:
    for _ in range(5):
        health.answered_badly("one")
    clock.now_s += 5
    assert health.take("one") and not health.take("one")
    health.release("one")
    assert health.take("one")
    health.succeeded("one")
    assert health.take("one") and health.take("one")


def test_a_probe_that_fails_doubles_the_rest_whoever_made_it(health: UpstreamHealth, clock: Clock) -> None:
    for _ in range(5):
        health.was_silent("one")
    rests = []
    for _ in range(4):
        rests.append(health.wait_s("two", is_last=True))
        clock.now_s += rests[-1]
        assert health.take("one", is_last=True)
        health.was_silent("one")
    assert rests == [5, 10, 20, 30]
