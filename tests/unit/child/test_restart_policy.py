"""The restart policy: quick at first, growing pauses for what keeps dying, and when the first start is given up."""

from gateway.child.restart_policy import RestartPolicy


def test_the_first_deaths_cost_the_first_pause_and_then_pauses_grow() -> None:
    policy = RestartPolicy(first_pause_s=0.2)
    assert [policy.record_death(0.1) for _ in range(12)] == [0.2, 0.2, 0.2, 0.2, 0.5, 1, 2, 5, 10, 30, 30, 30]


def test_a_process_that_ran_for_the_whole_window_starts_from_the_beginning() -> None:
    policy = RestartPolicy()
    for _ in range(9):
        policy.record_death(0)
    assert policy.record_death(60) == 0 and policy.record_death(0) == 0


def test_pauses_do_not_empty_the_window() -> None:
    """Deaths are counted in running time: the pauses of a process that cannot start stay long."""
    now = [0.0]
    policy = RestartPolicy(clock=lambda: now[0])
    for _ in range(10):
        now[0] += 0.1 + policy.record_death(0.1)
    for _ in range(10):
        pause_s = policy.record_death(0.1)
        now[0] += 0.1 + pause_s
        assert pause_s == 30


def test_a_crash_every_twenty_seconds_costs_no_pause() -> None:
    policy = RestartPolicy()
    assert {policy.record_death(20) for _ in range(50)} == {0}


def test_the_next_start_waits_for_what_is_left_of_the_pause() -> None:
    now = [100.0]
    policy = RestartPolicy(longest_pause_s=1, clock=lambda: now[0])
    assert policy.wait_s == 0
    for _ in range(7):
        policy.record_death(0)
    assert policy.wait_s == 1
    now[0] += 0.75
    assert policy.wait_s == 0.25
    now[0] += 1
    assert policy.wait_s == 0


def test_only_a_process_that_was_never_ready_is_given_up() -> None:
    early, late, patient = RestartPolicy(give_up_after=2), RestartPolicy(give_up_after=2), RestartPolicy()
    late.record_ready()
    for policy in (early, late, patient):
        policy.record_death(0)
    assert not early.has_given_up
    for policy in (early, late, patient):
        policy.record_death(0)
    assert (early.has_given_up, late.has_given_up, patient.has_given_up) == (True, False, False)
