"""How long a worker was silent, in the time in which the supervisor could have heard it."""

from gateway.runtime.workers import Silence


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_silence_adds_up_until_something_is_heard() -> None:
    clock = Clock()
    silence = Silence(0.25, clock)
    for _ in range(8):
        clock.now_s += 0.25
        silence.tick()
    assert silence.seconds == 2
    silence.heard()
    assert silence.seconds == 0


def test_time_in_which_the_supervisor_itself_did_not_run_counts_for_little() -> None:
    clock = Clock()
    silence = Silence(0.25, clock)
    clock.now_s += 60
    silence.tick()
    assert silence.seconds == 0.5
