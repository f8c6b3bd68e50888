"""A limit on work runs while there is work, and stands still while the work waits for its turn."""

import asyncio

import pytest

from gateway.resilience.fair_queue import FairQueue, WorkTime, waiting


async def until(reached: float) -> None:
    """Return when the loop's clock is past a time, without a sleep of its own."""
    loop = asyncio.get_running_loop()
    passed = loop.create_future()
    loop.call_at(reached, passed.set_result, None)
    await passed


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_work_that_takes_longer_is_ended() -> None:
    with pytest.raises(TimeoutError):
        async with WorkTime(0.01):
            await until(now() + 30)


async def test_waiting_for_a_turn_is_no_work() -> None:
    queue, order = FairQueue(1), list[str]()
    await queue.acquire("other")

    async def read() -> None:
        async with WorkTime(0.02):
            await queue.acquire("mine")
            order.append("read")
            queue.release("mine")

    reading = asyncio.create_task(read())
    await until(now() + 0.1)
    assert not reading.done()
    queue.release("other")
    await asyncio.wait_for(reading, 10)
    assert order == ["read"]


async def test_the_work_after_the_wait_has_what_was_left_of_its_time() -> None:
    began = now()
    with pytest.raises(TimeoutError):
        async with WorkTime(0.05):
            with waiting():
                await until(now() + 0.1)
            await until(now() + 30)
    assert now() - began >= 0.14


async def test_the_parts_of_one_work_share_its_time() -> None:
    clock = WorkTime(0.05)
    async with clock:
        await until(now() + 0.04)
    await until(now() + 0.05)  # between the parts nothing runs
    with pytest.raises(TimeoutError):
        async with clock:
            await until(now() + 30)


async def test_a_limit_around_another_stands_still_with_it_and_a_wait_without_limits_is_just_a_wait() -> None:
    async with WorkTime(0.02), WorkTime(0.02):
        with waiting(), waiting():
            await until(now() + 0.06)
    with waiting():
        await until(now() + 0.001)


async def test_work_that_is_called_off_while_it_waits_is_called_off() -> None:
    queue = FairQueue(1)
    await queue.acquire("other")

    async def read() -> None:
        async with WorkTime(5):
            await queue.acquire("mine")

    reading = asyncio.create_task(read())
    await until(now() + 0.01)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    queue.release("other")
    assert len(queue) == 0
