"""Work in a thread ends when nobody waits for it any more."""

import asyncio
import threading

import pytest

from gateway.resilience.single_flight import NobodyWaits, go_on, in_thread


async def test_work_whose_waiter_has_left_ends_at_its_next_step() -> None:
    begun, left, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        left.wait(10)
        try:
            for _ in range(100):
                go_on()
        except NobodyWaits:
            ended.set()
            raise

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    left.set()
    assert await asyncio.to_thread(ended.wait, 10)
    go_on()


async def test_its_result_and_its_error_reach_the_waiter() -> None:
    def failing() -> None:
        go_on()
        raise ValueError("no")

    assert await in_thread(lambda: 3) == 3
    with pytest.raises(ValueError, match="no"):
        await in_thread(failing)
