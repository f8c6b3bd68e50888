"""The requests being served right now: their number, the cap on it by key, and their end when the server must stop.

At the end of a drain every request still running is cancelled with a mark, so that its caller gets an error in the
interface's own form instead of a cut connection; so is a stream whose key is valid no more.

Theory of operation, for each task that serves a request:

| state    | entered by                         | left by                                                   |
|----------|------------------------------------|-----------------------------------------------------------|
| running  | `enter`, in the task itself        | `leave` (gone), `stop_all` (stopped)                      |
| stopped  | `stop_all`, `end_streams`          | `take_back` in the task (answering), `leave` (gone)       |
| answering| `take_back`: cancellation undone   | `leave` (gone)                                            |

Invariants: the task that called `enter` calls `leave` exactly once, and `take_back` only in `except CancelledError`.
`take_back` returns None for a cancellation by anybody else (a client that left): that one must be raised again.
Everything runs on one event loop; nothing here may be called from another thread.
"""

import asyncio
import math
from collections.abc import Callable

from gateway.errors import GatewayError, Overloaded, Unauthenticated
from gateway.resilience.fair_queue import HALF, FairQueue

_SPARE_PART = 4
"""One in so many requests is served beyond the cap, for keys that have less than their share when one key fills the
cap. A quarter more memory at the worst."""

_LOOK_S = 0.025
"""Pause between two looks whether requests have ended."""


class InFlight:
    """One for an application. `draining` is set by the runner when it stops accepting connections."""

    def __init__(self, cap: int, share: float = HALF) -> None:
        """`cap`: requests served at once (`server.max_in_flight`). `share`: the part of them that is one key's due
        (`limits.in_flight_share`, see `resilience.fair_queue`)."""
        self._cap = cap
        places = FairQueue(cap, share=share, spare=max(1, cap // _SPARE_PART))
        self._take = places.take
        self.give_back = places.release
        """Called with the key when the request that `take_place` counted has ended."""
        self._tasks: dict[asyncio.Task[object], int] = {}
        self._stopped: dict[asyncio.Task[object], GatewayError] = {}
        self._streams: dict[asyncio.Task[object], str] = {}
        self._count = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self.draining = False

    def __len__(self) -> int:
        return len(self._tasks)

    def enter(self) -> asyncio.Task[object]:
        """Count the current task as serving a request. Returns the task; call `leave` with it after the answer."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()  # once: it costs a system call each time
        task = asyncio.current_task(self._loop)
        assert task is not None
        self._count += 1
        self._tasks[task] = self._count
        return task

    def leave(self, task: asyncio.Task[object]) -> None:
        """The task's request was answered, or its client has left."""
        del self._tasks[task]
        self._stopped.pop(task, None)
        self._streams.pop(task, None)

    def note_stream(self, key_id: str) -> None:
        """The current task sends a stream for a key until it leaves."""
        task = asyncio.current_task()
        if task is not None and task in self._tasks:
            self._streams[task] = key_id

    def end_streams(self, is_live: Callable[[str], bool]) -> None:
        """Stop the streams of keys that are valid no more."""
        for task, key_id in list(self._streams.items()):
            if not is_live(key_id):
                del self._streams[task]
                self._stop(task, Unauthenticated("this API key was revoked or has expired"))

    def _stop(self, task: "asyncio.Task[object]", reason: GatewayError) -> None:
        self._stopped[task] = reason
        task.cancel()

    async def wait(self, limit_s: float, *, current_alone: bool = False) -> None:
        """Wait until no request runs, or none that runs at the call, at most `limit_s` seconds."""
        last = self._count if current_alone else math.inf
        for _ in range(round(limit_s / _LOOK_S)):
            if all(number > last for number in self._tasks.values()):
                return
            await asyncio.sleep(_LOOK_S)

    def take_place(self, key_id: str) -> None:
        """Count the current request against the cap, for its key; `give_back` must follow. Raises Overloaded; then
        nothing is counted."""
        if not self._take(key_id):
            raise Overloaded(f"the gateway serves {self._cap} requests at once; try again", retry_after_s=1)

    def stop_all(self) -> int:
        """Cancel and mark every running task. Returns how many there were."""
        for task in self._tasks:
            self._stop(task, Overloaded("the gateway is shutting down", code="shutting_down", retry_after_s=1))
        return len(self._tasks)

    def take_back(self) -> GatewayError | None:
        """In `except CancelledError`: the error to answer with if this task was stopped here, else None."""
        task = asyncio.current_task()
        reason = self._stopped.pop(task, None) if task is not None else None
        if task is not None and reason is not None:
            task.uncancel()
        return reason
