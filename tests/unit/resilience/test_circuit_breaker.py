"""The circuit breaker: what opens it, what the probe decides, and outcomes that come late."""

from dataclasses import replace

from gateway.resilience.circuit_breaker import BreakerPolicy, CircuitBreaker
from tests.support.clocks import Clock

POLICY = BreakerPolicy(window_s=10, first_rest_s=5, longest_rest_s=20, probe_limit_s=30)


def breaker(clock: Clock, **rules: int | bool) -> CircuitBreaker:
    return CircuitBreaker(replace(POLICY, **rules), clock)  # type: ignore[arg-type]


def test_without_a_rule_it_never_opens() -> None:
    one = breaker(Clock())
    for _ in range(100):
        one.failed()
    assert one.take() and not one.is_open


def test_a_success_breaks_a_row_but_not_a_count_within_the_window() -> None:
    row, window = breaker(Clock(), failures_in_a_row=3), breaker(Clock(), failures_in_window=3)
    for one in (row, window):
        for _ in range(3):
            one.failed()
            one.succeeded()
    assert not row.is_open
    assert window.is_open, "the success after the last failure was not a probe's"


def test_failures_outside_the_window_do_not_count() -> None:
    clock = Clock()
    one = breaker(clock, failures_in_window=3)
    for _ in range(6):
        one.failed()
        clock.now_s += 5.1
    assert not one.is_open


def test_a_probe_without_an_outcome_is_given_up_after_its_limit() -> None:
    clock = Clock()
    one = breaker(clock, failures_in_a_row=1)
    one.failed()
    clock.now_s += 5
    assert one.take() and not one.take() and one.wait_s == 30
    clock.now_s += 30
    assert one.take()


def test_outcomes_of_calls_begun_before_it_opened_count_only_where_the_policy_says_so() -> None:
    clock = Clock()
    strict, lenient = breaker(clock, failures_in_a_row=1), breaker(clock, failures_in_a_row=1, late_outcomes_count=True)
    for one in (strict, lenient):
        one.failed()
    clock.now_s += 4
    for one in (strict, lenient):
        one.failed()
    assert (strict.wait_s, lenient.wait_s) == (1, 10)
    for one in (strict, lenient):
        one.succeeded()
    assert (strict.is_open, lenient.is_open) == (True, False)


def test_the_last_failure_is_remembered_after_it_has_closed() -> None:
    clock = Clock()
    one = breaker(clock, failures_in_a_row=1)
    assert not one.has_failed_within(1e9)
    one.failed()
    clock.now_s += 5
    assert one.take()
    one.succeeded()
    assert not one.is_open and one.has_failed_within(6) and not one.has_failed_within(5)
