"""Work in a thread that ends soon after its waiter has left. Knows no work.

A thread cannot be interrupted: it goes on when the task that waits for it is cancelled. Long work calls `go_on` between
its steps.
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import TypeVar

T = TypeVar("T")


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
