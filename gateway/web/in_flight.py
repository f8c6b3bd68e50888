"""What is being served right now: the cap on it, and its end when the server must stop.

At the end of a drain every request still running is cancelled with a mark, so that its caller gets an error in the
interface's own form instead of a cut connection. Knows nothing of signals: the supervisor says when.
"""

import asyncio

from aiohttp import web

from gateway.errors import Overloaded


class InFlight:
    def __init__(self, most: int) -> None:
        self._most = most
        self._tasks: dict[asyncio.Task[object], bool] = {}
        self._emptied = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.draining = False

    def __len__(self) -> int:
        return len(self._tasks)

    def enter(self) -> asyncio.Task[object]:
        """Count the current task in, to the end of its answer: `leave` must follow."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()  # once: it costs a system call each time
        task = asyncio.current_task(self._loop)
        assert task is not None
        self._tasks[task] = False
        return task

    def leave(self, task: asyncio.Task[object]) -> None:
        del self._tasks[task]
        if not self._tasks:
            self._emptied.set()

    async def wait_empty(self, limit_s: float) -> None:
        """Wait until nothing runs, at most `limit_s`."""
        if not self._tasks:
            return
        self._emptied.clear()
        try:
            async with asyncio.timeout(limit_s):
                await self._emptied.wait()
        except TimeoutError:
            return

    def check_room(self) -> None:
        """Raises Overloaded when more are in flight than the cap."""
        if len(self._tasks) > self._most:
            raise Overloaded(f"the gateway serves {self._most} requests at once; try again", retry_after_s=1)

    def stop_all(self) -> int:
        """Cancel what still runs, marked. Returns how many."""
        for task in self._tasks:
            self._tasks[task] = True
            task.cancel()
        return len(self._tasks)

    def take_back(self) -> Overloaded | None:
        """In an `except CancelledError`: the error to answer with if it was `stop_all` that cancelled, else None."""
        task = asyncio.current_task()
        if task is None or not self._tasks.get(task):
            return None
        self._tasks[task] = False
        task.uncancel()
        return Overloaded("the gateway is shutting down", code="shutting_down", retry_after_s=1)


IN_FLIGHT = web.AppKey("in_flight", InFlight)
