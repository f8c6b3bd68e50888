"""A call is cancelled in whichever process it runs, and only where exactly one fits."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from gateway.domain import Json
from gateway.mcp.running_calls import Cancellations, RunningCalls
from gateway.shared_state.bus import Bus
from tests.support.waiting import until


class Line:
    """A bus between processes of this test: what one sends, the others hear."""

    def __init__(self, has_others: bool = True) -> None:
        self.has_others = has_others
        self.silent = 0
        """Further processes, which never answer."""
        self.ends: list[Callable[[Json], None]] = []
        self.kinds: list[str] = []

    def end(self) -> Bus:
        """The bus as one process sees it."""
        line = self

        class End:
            has_others = line.has_others

            def listen(self, listener: Callable[[Json], None]) -> None:
                self.own = listener
                line.ends.append(listener)

            def send(self, message: Json, reached: Callable[[int], None] | None = None) -> None:
                line.kinds.append(message["kind"])
                for each in line.ends:
                    if each != self.own:
                        each(message)
                if reached is not None:
                    reached(len(line.ends) - 1 + line.silent)

        return cast(Bus, End())


class Process:
    """One process, with the calls that run in it."""

    def __init__(self, line: Line) -> None:
        self.running = RunningCalls()
        self.cancellations = Cancellations(self.running, line.end())
        self.ended = 0

    def begin(self, client: str, call_id: str | int) -> "asyncio.Task[None]":
        return asyncio.create_task(self._call(client, call_id))

    async def _call(self, client: str, call_id: str | int) -> None:
        call = self.running.enter(lambda: client, call_id)
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.ended += 1
            raise
        finally:
            self.running.leave(call)


async def ended(tasks: "list[asyncio.Task[None]]", limit_s: float = 1) -> int:
    """How many of the tasks end within the limit; the others are ended."""
    done, pending = await asyncio.wait(tasks, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return len(done)


@pytest.mark.parametrize("at", [0, 1, 2])
async def test_the_one_call_that_fits_ends_wherever_it_runs(at: int) -> None:
    line = Line()
    processes = [Process(line) for _ in range(3)]
    tasks = [processes[at].begin("client", 7), processes[at].begin("client", "7"), processes[0].begin("other", 7)]
    await asyncio.sleep(0)
    processes[0].cancellations.cancel("client", 7)
    assert await ended(tasks) == 1 and tasks[0].cancelled()


async def test_no_call_ends_where_two_processes_have_one_that_fits() -> None:
    line = Line()
    first, second = Process(line), Process(line)
    tasks = [first.begin("client", 7), second.begin("client", 7)]
    await asyncio.sleep(0)
    first.cancellations.cancel("client", 7)
    assert await ended(tasks, 0.3) == 0 and line.kinds == ["calls?", "calls"]


async def test_no_call_ends_while_a_process_has_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.mcp.running_calls._LIMIT_S", 0.05)
    line = Line()
    line.silent = 1
    first, _ = Process(line), Process(line)
    tasks = [first.begin("client", 7)]
    await asyncio.sleep(0)
    first.cancellations.cancel("client", 7)
    assert first.cancellations.waiting == 1
    await until(lambda: first.cancellations.waiting == 0, 5)
    assert await ended(tasks, 0) == 0 and line.kinds == ["calls?", "calls"]


async def test_a_single_process_asks_nobody() -> None:
    line = Line(has_others=False)
    process = Process(line)
    tasks = [process.begin("client", 7)]
    await asyncio.sleep(0)
    process.cancellations.cancel("client", 7)
    assert await ended(tasks) == 1 and line.kinds == []
