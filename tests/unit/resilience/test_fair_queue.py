"""The fair queue: whom it serves next, what a share binds, what the spare slots are for, and jobs that leave."""

import asyncio
from collections.abc import Sequence

import pytest

from gateway.resilience.fair_queue import FairQueue, QueueFull, WorkTime, waiting


async def served(queue: FairQueue, arrivals: Sequence[str]) -> list[str]:
    """The order in which jobs that arrive in this order are served, each of which ends when the loop turns."""
    order: list[str] = []

    async def job(key: str) -> None:
        async with queue.hold(key):
            order.append(key)
            await asyncio.sleep(0)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for key in arrivals:
            group.create_task(job(key))
    return order


async def test_a_key_that_is_alone_may_hold_every_slot() -> None:
    queue = FairQueue(4, share=0.25, spare=2)
    assert [queue.take("a") for _ in range(5)] == [True, True, True, True, False]


async def test_jobs_of_two_keys_are_served_in_turn_whoever_came_first() -> None:
    assert (await served(FairQueue(1), ["a"] * 6 + ["b"] * 3)) == ["a", "b", "a", "b", "a", "b", "a", "a", "a"]


async def test_jobs_of_one_key_keep_their_order() -> None:
    queue, order = FairQueue(1), []

    async def job(number: int) -> None:
        async with queue.hold("a"):
            order.append(number)

    await asyncio.gather(*(job(number) for number in range(20)))
    assert order == list(range(20))


async def test_another_key_has_a_spare_slot_when_one_key_holds_all() -> None:
    queue = FairQueue(4, spare=2)
    assert all(queue.take("a") for _ in range(4)) and queue.take("b") and queue.take("c")
    assert not queue.take("d"), "the spare slots are bounded too"
    assert not queue.take("a")


async def test_the_greedy_key_gets_no_ordinary_slot_while_a_spare_one_is_in_use() -> None:
    queue = FairQueue(2, spare=2)
    assert queue.take("a") and queue.take("a") and queue.take("b")
    queue.release("a")
    assert not queue.take("a"), "b's slot is an ordinary one from now on"
    queue.release("b")
    assert queue.take("a")


@pytest.mark.parametrize(("share", "others"), [(0.25, 2), (0.5, 4), (1.0, 4)])
async def test_a_share_or_an_even_part_is_what_a_key_may_have_of_the_spare_slots(share: float, others: int) -> None:
    queue = FairQueue(8, share=share, spare=8)
    assert all(queue.take("flood") for _ in range(8)) and sum(queue.take("other") for _ in range(8)) == others


async def test_a_freed_slot_goes_to_the_key_with_the_fewest() -> None:
    queue = FairQueue(3)
    assert queue.take("a") and queue.take("a") and queue.take("b")
    order: list[str] = []

    async def wait_for(key: str) -> None:
        await queue.acquire(key)
        order.append(key)

    tasks = [asyncio.create_task(wait_for(key)) for key in ("a", "b", "c")]
    await asyncio.sleep(0)
    for key in ("a", "a", "b"):
        queue.release(key)
    await asyncio.gather(*tasks)
    assert order[0] == "c"


async def test_a_key_is_greedy_that_asks_for_more_than_its_due_beside_another() -> None:
    queue = FairQueue(4, share=0.5, spare=2)
    assert all(queue.take("a") for _ in range(3)) and not queue.is_greedy("a") and queue.take("b")
    assert queue.is_greedy("a") and not queue.is_greedy("b")
    queue.release("a")
    assert not queue.is_greedy("a"), "two of four slots are its due"
    waiting = [asyncio.create_task(queue.acquire("a")) for _ in range(3)]
    await asyncio.sleep(0)
    assert queue.is_greedy("a"), "what waits counts"
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_full_queue_still_takes_a_key_that_has_less_than_its_due() -> None:
    queue = FairQueue(1, max_waiting=4)
    assert queue.take("a")
    flood = [asyncio.create_task(queue.acquire("a")) for _ in range(4)]
    await asyncio.sleep(0)
    with pytest.raises(QueueFull):
        await queue.acquire("a")
    small = asyncio.create_task(queue.acquire("b"))
    await asyncio.sleep(0)
    assert queue.waiting == 5
    queue.release("a")
    async with asyncio.timeout(5):
        await small
    for task in flood:
        task.cancel()
    await asyncio.gather(*flood, return_exceptions=True)
    assert queue.waiting == 0


async def test_a_job_that_leaves_passes_its_turn_on() -> None:
    queue = FairQueue(1)
    assert queue.take("a")
    leaving, staying = (asyncio.create_task(queue.acquire("b")) for _ in range(2))
    await asyncio.sleep(0)
    queue.release("a")
    leaving.cancel()  # in the same turn of the loop in which it was given the slot
    async with asyncio.timeout(5):
        await staying
    queue.release("b")
    assert len(queue) == 0 and queue.waiting == 0 and queue.take("a")


async def test_after_any_history_of_calls_nothing_is_left_behind() -> None:
    queue = FairQueue(2, spare=1)
    tasks = [asyncio.create_task(served(queue, [f"key{n % 5}"] * (n % 7))) for n in range(30)]
    await asyncio.sleep(0)
    for task in tasks[::3]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(queue) == 0 and queue.waiting == 0


# --- limits on work, which stand still while it waits -----------------------------------------------------------------


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
