"""A limit on the time of work, which does not run while the work waits for its turn.

`async with WorkTime(30)` ends what runs inside after 30 seconds of work, with TimeoutError. `waiting` stops the clocks
of the task around it; `FairQueue.acquire` is where that happens, so every queue does it. How long a turn is waited for
is the queue's own limit. A clock may be entered several times, one after the other, for the parts of one piece of work.
For one event loop. Knows neither queues nor what the work is.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType

_running: ContextVar[tuple["WorkTime", ...]] = ContextVar("work_time", default=())


class WorkTime:
    """`limit_s`: seconds of work, over all parts."""

    def __init__(self, limit_s: float) -> None:
        self._left_s = limit_s
        self._since_s = 0.0
        self._pauses = 0
        self._timeout: asyncio.Timeout | None = None
        self._token: Token[tuple[WorkTime, ...]] | None = None

    async def __aenter__(self) -> None:
        self._timeout = asyncio.timeout(max(0.0, self._left_s))
        await self._timeout.__aenter__()
        self._since_s = asyncio.get_running_loop().time()
        self._token = _running.set((*_running.get(), self))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._timeout is not None and self._token is not None
        _running.reset(self._token)
        timeout, self._timeout = self._timeout, None
        self._left_s -= asyncio.get_running_loop().time() - self._since_s
        await timeout.__aexit__(kind, error, trace)

    def _stop(self) -> None:
        self._pauses += 1
        if self._pauses == 1 and self._timeout is not None:
            self._left_s -= asyncio.get_running_loop().time() - self._since_s
            self._timeout.reschedule(None)

    def _go_on(self) -> None:
        self._pauses -= 1
        if self._pauses == 0 and self._timeout is not None:
            self._since_s = asyncio.get_running_loop().time()
            self._timeout.reschedule(self._since_s + max(0.0, self._left_s))


@contextmanager
def waiting() -> Iterator[None]:
    """The clocks of the work around it stand still inside."""
    clocks = [clock for clock in _running.get() if clock._timeout is not None and not clock._timeout.expired()]
    for clock in clocks:
        clock._stop()
    try:
        yield
    finally:
        for clock in clocks:
            clock._go_on()
