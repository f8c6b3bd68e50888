"""The index's one writing thread: works are taken in turns of a few milliseconds, dealt out by key.

| who waits                        | is served                                            |
|----------------------------------|------------------------------------------------------|
| the first work of each key       | a turn, then every other key that waits has one      |
| further works of the same key    | when those before them are done                      |
| what is submitted to the thread  | between two turns                                    |

So a small write behind another key's flood waits for one turn for each of its own. The thread goes from turn to turn
by itself: if the event loop dealt them out, each turn would wait for the loop and for the thread to be woken, which on
a busy machine takes longer than the turn. Knows no database.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

_PAUSE_S = 0.0005
"""The thread sleeps so long after a turn, so that the event loop runs, which waits for Python's lock. Chosen: a turn
takes 2 to 4 ms. At half the system's own rounding decides, at double long pages take a quarter longer."""

TakeTurn = Callable[[], bool]
"""Does some of a work; whether any is left."""


class TurnWriter:
    """`executor`: the thread, for what is done at once. `work` after `close` is cancelled."""

    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor(1, "index-write")
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[tuple[TakeTurn, Future[None]]]] = {}

    async def work(self, take: TakeTurn, key: str) -> None:
        """Call `take` in the thread until nothing is left, in turn with other keys. Raises what it raises."""
        done: Future[None] = Future()
        with self._lock:
            is_idle = not self._waiting
            self._waiting.setdefault(key, deque()).append((take, done))
        if is_idle:
            self._go_on()
        await asyncio.wrap_future(done)

    def close(self) -> None:
        """Wait for the turn that is being taken; works that are left are cancelled."""
        self.executor.shutdown(wait=True, cancel_futures=True)
        self._cancel_all()

    def _go_on(self) -> None:
        try:
            self.executor.submit(self._take_turn)
        except RuntimeError:  # closed
            self._cancel_all()

    def _cancel_all(self) -> None:
        with self._lock:
            left = [done for works in self._waiting.values() for _, done in works]
            self._waiting.clear()
        for done in left:
            done.cancel()

    def _take_turn(self) -> None:
        """One turn of the first work of the key that waits longest."""
        with self._lock:
            key = next(iter(self._waiting))
            take, done = self._waiting[key][0]
        is_left = False
        if not done.cancelled():
            try:
                is_left = take()
                error = None
            except BaseException as raised:
                error = raised
            if not is_left:
                _finish(done, error)
        with self._lock:
            works = self._waiting.pop(key)
            if not is_left:
                works.popleft()
            if works:
                self._waiting[key] = works  # behind all other keys
            is_more = bool(self._waiting)
        if is_more:
            time.sleep(_PAUSE_S)
            self._go_on()


def _finish(done: Future[None], error: BaseException | None) -> None:
    if done.set_running_or_notify_cancel():
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
