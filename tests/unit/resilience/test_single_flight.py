"""Single flight: one task for equal questions, and what happens to it when callers leave."""

import asyncio
import gc
import threading

import pytest

from gateway.resilience.single_flight import NobodyWaits, SingleFlight, go_on, in_thread


class Question:
    """Waits for `gate`, then answers, or fails when `error` is set; counts how often it was started and cancelled."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.started = self.cancelled = 0
        self.error: Exception | None = None

    async def __call__(self) -> int:
        self.started += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error
        return self.started


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_equal_questions_share_a_task_and_other_questions_do_not() -> None:
    flights: SingleFlight[str, int] = SingleFlight()
    question, other = Question(), Question()
    calls = [asyncio.create_task(flights.run("a", question)) for _ in range(3)]
    calls.append(asyncio.create_task(flights.run("b", other)))
    await settle()
    assert len(flights) == 2
    question.gate.set()
    other.gate.set()
    assert await asyncio.gather(*calls) == [1, 1, 1, 1] and (question.started, other.started, len(flights)) == (1, 1, 0)
    assert await flights.run("a", question) == 2, "a result is not remembered"


async def test_all_callers_get_the_failure_and_the_next_one_starts_anew() -> None:
    flights: SingleFlight[str, int] = SingleFlight()
    question = Question()
    question.error = ValueError("broken")
    calls = [asyncio.create_task(flights.run("a", question)) for _ in range(2)]
    await settle()
    question.gate.set()
    assert [type(each) for each in await asyncio.gather(*calls, return_exceptions=True)] == [ValueError] * 2
    question.error = None
    assert await flights.run("a", question) == 2


async def test_the_task_ends_with_its_last_caller_and_not_before() -> None:
    flights: SingleFlight[str, int] = SingleFlight()
    question = Question()
    first, last = (asyncio.create_task(flights.run("a", question)) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    assert question.cancelled == 0
    last.cancel()
    await settle()
    assert (question.cancelled, len(flights)) == (1, 0)


async def test_a_caller_who_comes_while_a_task_is_being_cancelled_gets_a_new_one() -> None:
    flights: SingleFlight[str, int] = SingleFlight()
    question = Question()
    left = asyncio.create_task(flights.run("a", question))
    await settle()
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left  # the task itself has not seen its cancellation yet
    question.gate.set()
    assert await flights.run("a", question) == 2


async def test_a_failure_that_nobody_waits_for_leaves_no_complaint() -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    flights: SingleFlight[str, int] = SingleFlight()

    async def fails_when_cancelled() -> int:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("while cleaning up") from None
        return 0

    call = asyncio.create_task(flights.run("a", fails_when_cancelled))
    await settle()
    call.cancel()
    await settle()
    gc.collect()
    await settle()
    assert complaints == []


# --- work in a thread, which ends when nobody waits for it ------------------------------------------------------------


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
