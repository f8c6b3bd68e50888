"""Work in slices lets others run between, and gives the same result."""

import time

from gateway.resilience.slices import Steps, all_steps, in_slices
from tests.support.loop_turns import turns_of_others


def _sum(count: int) -> Steps[int]:
    total = 0
    for number in range(count):
        end_s = time.perf_counter() + 0.0005
        while time.perf_counter() < end_s:
            pass
        total += number
        yield
    return total


async def test_others_run_between_the_slices_of_long_work() -> None:
    async with turns_of_others() as turns:
        assert await in_slices(_sum(100)) == all_steps(_sum(100)) == 4_950
    assert turns.count > 10


async def test_work_of_no_step_gives_its_result_at_once() -> None:
    assert await in_slices(_sum(0)) == 0
