"""A child process: its jobs, its limits, its death, its restart and its end, with a real process."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import pytest

from gateway.child.client import Child, ChildDied, ChildLimits, ChildNotStarted
from gateway.child.restart_policy import RestartPolicy
from tests.support.waiting import until

MakeChild = Callable[..., Child]


@pytest.fixture
async def make_child() -> AsyncIterator[MakeChild]:
    made: list[Child] = []

    def make(mode: str = "", limits: ChildLimits | None = None, restarts: RestartPolicy | None = None) -> Child:
        made.append(Child([sys.executable, "-m", "tests.support.scripted_child", mode], limits, restarts))
        return made[-1]

    yield make
    for child in made:
        await asyncio.wait_for(child.close(), 10)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_a_job_starts_the_process_and_gets_its_answer_with_a_body_of_megabytes(make_child: MakeChild) -> None:
    child = make_child()
    assert child.pid is None
    body = os.urandom(3_000_000)
    answer = await child.ask({"do": "echo", "text": "é"}, body)
    assert answer == ({"text": "é"}, body) and child.hello == {"version": 3} and child.jobs == 1
    pid = child.pid
    assert (await child.ask({"do": "echo"})).head == {"text": ""} and child.pid == pid


async def test_a_job_streams_more_messages_than_its_caller_reads_at_once(make_child: MakeChild) -> None:
    async with aclosing(make_child().stream({"do": "count", "to": 200})) as messages:
        heads = [message.head async for message in messages]
    assert heads == [*({"number": number} for number in range(200)), {"count": 200}]


async def test_answers_come_in_any_order_and_reach_their_own_jobs(make_child: MakeChild) -> None:
    child = make_child()
    held = asyncio.create_task(child.ask({"do": "hold"}))
    bodies = {str(number): bytes([number]) * 300_000 for number in range(20)}
    echoes = [asyncio.create_task(child.ask({"do": "echo", "text": text}, body)) for text, body in bodies.items()]
    answers = [await asyncio.wait_for(each, 10) for each in echoes]
    assert {answer.head["text"]: answer.body for answer in answers} == bodies and (await held).head == {"text": "held"}


async def test_what_a_library_prints_does_not_get_into_the_protocol(make_child: MakeChild) -> None:
    assert (await make_child().ask({"do": "print"})).head == {"printed": True}


@pytest.mark.parametrize(("do", "reason"), [("exit", "died"), ("cpu", "cpu"), ("abort", "memory")])
async def test_a_death_has_a_reason_and_the_next_job_a_new_process(make_child: MakeChild, do: str, reason: str) -> None:
    child = make_child()
    with pytest.raises(ChildDied) as died:
        await child.ask({"do": do})
    assert died.value.reason == reason and (await child.ask({"do": "echo", "text": "again"})).head == {"text": "again"}


async def test_a_job_may_have_so_much_memory_and_no_more(make_child: MakeChild) -> None:
    assert (await make_child().ask({"do": "memory"})).head == {"refused": "memory"}


async def test_a_silent_job_ends_its_process_and_counts_as_its_death(make_child: MakeChild) -> None:
    restarts = RestartPolicy(first_pause_s=30)
    child = make_child("", ChildLimits(message_s=0.3), restarts)
    await child.start()
    pid = child.pid
    with pytest.raises(ChildDied) as died:
        await child.ask({"do": "hang"})
    assert died.value.reason == "too long" and pid is not None and is_gone(pid)
    await until(lambda: restarts.wait_s > 0, 5)


async def test_a_job_that_says_it_is_alive_is_not_silent_but_ends_with_its_own_limit(make_child: MakeChild) -> None:
    child = make_child("", ChildLimits(message_s=0.35, job_s=1.2))
    assert (await child.ask({"do": "alive", "times": 5})).head == {"ok": True}
    with pytest.raises(ChildDied, match="too long"):
        await child.ask({"do": "alive", "times": 40})


async def test_a_caller_that_leaves_has_its_job_cancelled_and_the_process_goes_on(make_child: MakeChild) -> None:
    child = make_child("", ChildLimits(cancel_s=5))
    async with aclosing(child.stream({"do": "until cancelled"})) as messages:
        async for message in messages:
            assert message.head == {"begun": True}
            break
    pid = child.pid
    assert (await child.ask({"do": "echo", "text": "next"})).head == {"text": "next"} and child.pid == pid


@pytest.mark.parametrize("cancel_s", [0.0, 0.2])
async def test_a_job_that_heeds_no_cancelling_loses_its_process(make_child: MakeChild, cancel_s: float) -> None:
    child = make_child("", ChildLimits(cancel_s=cancel_s))
    async with aclosing(child.stream({"do": "hang"})) as messages:
        await anext(messages)
        pid = child.pid
    assert pid is not None and is_gone(pid)
    assert (await child.ask({"do": "echo", "text": "next"})).head == {"text": "next"}


async def test_a_cancelled_task_ends_its_job_in_time(make_child: MakeChild) -> None:
    child = make_child()
    await child.start()
    task = asyncio.create_task(child.ask({"do": "hang"}))
    await asyncio.wait({task}, timeout=0.2)
    task.cancel()
    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_process_that_cannot_serve_says_why(make_child: MakeChild) -> None:
    with pytest.raises(ChildNotStarted) as failed:
        await make_child("failed").ask({"do": "echo"})
    assert failed.value.about == {"message": "no model"}


@pytest.mark.parametrize("mode", ["crash", "silent"])
async def test_a_process_that_ends_or_hangs_at_its_start_is_told_and_paused(make_child: MakeChild, mode: str) -> None:
    child = make_child(mode, ChildLimits(start_s=0.5, pause_s=0), RestartPolicy(first_pause_s=30))
    with pytest.raises(ChildNotStarted, match="did not start"):
        await child.start()
    with pytest.raises(ChildNotStarted, match="started again shortly"):
        await child.ask({"do": "echo"})


async def test_a_command_that_does_not_exist_is_told() -> None:
    with pytest.raises(ChildNotStarted, match="No such file"):
        await Child(["/does/not/exist"]).start()


async def test_a_pause_within_the_limit_is_waited_for(make_child: MakeChild) -> None:
    child = make_child("", ChildLimits(pause_s=1), RestartPolicy(first_pause_s=0.3))
    with pytest.raises(ChildDied):
        await child.ask({"do": "exit"})
    assert (await child.ask({"do": "echo"})).head == {"text": ""}


async def test_an_idle_process_ends_and_comes_back_with_the_next_job(make_child: MakeChild) -> None:
    child = make_child("", ChildLimits(idle_s=0.2))
    await child.ask({"do": "echo"})
    pid = child.pid
    assert pid is not None
    await until(lambda: child.pid is None and is_gone(pid), 5)
    assert (await child.ask({"do": "echo"})).head == {"text": ""} and child.pid != pid


async def test_an_answer_above_the_limit_ends_the_process(make_child: MakeChild) -> None:
    with pytest.raises(ChildDied):
        await make_child("", ChildLimits(message_bytes=100_000)).ask({"do": "large", "size": 200_000})


async def test_a_process_whose_input_is_closed_ends_and_a_closed_client_starts_none(make_child: MakeChild) -> None:
    child = make_child("", ChildLimits(grace_s=5))
    await child.start()
    pid = child.pid
    waiting = asyncio.create_task(child.ask({"do": "hang"}))
    await asyncio.wait({waiting}, timeout=0.2)
    await child.close()
    assert pid is not None and is_gone(pid)
    with pytest.raises(ChildDied):
        await waiting
    with pytest.raises(ChildNotStarted, match="being ended"):
        await child.ask({"do": "echo"})
