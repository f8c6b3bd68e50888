"""Single flight: callers that ask the same question at the same time share one task.

The task is cancelled when its last caller leaves; a caller that leaves earlier disturbs nobody. Results and exceptions
are shared while the task runs and are not stored afterwards: see `bounded_cache`.

`in_thread` runs work in a thread and ends soon after its waiter has left. A thread cannot be interrupted: it goes on
when the task that waits for it is cancelled. Long work calls `go_on` between its steps.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class SingleFlight(Generic[K, T]):
    """Running tasks by key. For one event loop."""

    def __init__(self) -> None:
        self._flights: dict[K, _Flight[T]] = {}

    def __len__(self) -> int:
        """Tasks that run."""
        return len(self._flights)

    async def run(self, key: K, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of the running task of `key`, or of a new task made by `start`. Raises what the task raises.

        Every caller receives the same object, so callers that change it must copy it first.
        """
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(start()))
            flight.task.add_done_callback(partial(self._land, key, flight))
        flight.callers += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.callers -= 1
            if not flight.callers:
                self._remove(key, flight)
                flight.task.cancel()
            del flight  # its task has the error, whose traceback leads here: a circle for the garbage collector

    def _land(self, key: K, flight: "_Flight[T]", task: "asyncio.Task[T]") -> None:
        self._remove(key, flight)
        if not task.cancelled():
            task.exception()  # marks it as retrieved: every caller may have left

    def _remove(self, key: K, flight: "_Flight[T]") -> None:
        """Let the next caller start anew. Without this a caller could join a task that is being cancelled."""
        if self._flights.get(key) is flight:
            del self._flights[key]


class _Flight(Generic[T]):
    __slots__ = ("callers", "task")

    def __init__(self, task: "asyncio.Task[T]") -> None:
        self.task = task
        self.callers = 0


class NobodyWaits(Exception):
    """Nobody waits for the work any more."""


class _Waiter:
    __slots__ = ("has_left",)

    def __init__(self) -> None:
        self.has_left = False


_waiter: ContextVar[_Waiter | None] = ContextVar("waiter", default=None)


def go_on() -> None:
    """Call it between two steps of the work. Raises NobodyWaits; never where nobody has begun it with `in_thread`."""
    waiter = _waiter.get()
    if waiter is not None and waiter.has_left:
        raise NobodyWaits


async def in_thread(work: Callable[[], T]) -> T:
    """The result of the work, done in a thread. Raises what it raises."""
    waiter, context = _Waiter(), copy_context()
    context.run(_waiter.set, waiter)
    try:
        return await asyncio.get_running_loop().run_in_executor(None, context.run, work)
    except asyncio.CancelledError:
        waiter.has_left = True
        raise
