"""The tool calls that run right now, so that `notifications/cancelled` can reach them.

Best effort within one process. Requests are told apart by who sent them and by their id; where two with one name run
at once (several agents on one key and host), neither is cancelled: rather work for nothing than stop another's call.
"""

import asyncio
from collections.abc import Hashable


class RunningCall:
    """`cancelled` is True once its client has asked for the end, `expired` once its time is up, at `ends_at_s`."""

    __slots__ = ("cancelled", "ends_at_s", "expired", "task")

    def __init__(self, task: "asyncio.Task[object]", ends_at_s: float) -> None:
        self.task = task
        self.ends_at_s = ends_at_s
        self.cancelled = False
        self.expired = False

    def expire(self) -> None:
        if not (self.cancelled or self.expired):
            self.expired = True
            self.task.cancel()

    def cancel(self) -> bool:
        if self.cancelled or self.expired:
            return False
        self.cancelled = True
        self.task.cancel()
        return True

    def take_back(self) -> bool:
        """In an `except CancelledError`: whether the client's notification, or the time, alone cancelled."""
        return (self.cancelled or self.expired) and self.task.uncancel() == 0


class RunningCalls:
    """Bounded: over `most` calls, further ones run but cannot be cancelled by a notification.

    `longest_call_s` is a backstop: tools have shorter budgets of their own. One timer looks after all calls, so that a
    call may last a tenth longer.
    """

    def __init__(self, most: int = 10_000, longest_call_s: float = 180) -> None:
        self._most = most
        self.longest_call_s = longest_call_s
        self._running: set[RunningCall] = set()
        self._named: dict[Hashable, list[RunningCall]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def enter(self, key: Hashable) -> RunningCall:
        """Count the current task in as the call named `key`; `leave` must follow."""
        task = asyncio.current_task()
        assert task is not None
        loop = task.get_loop()
        call = RunningCall(task, loop.time() + self.longest_call_s)
        self._running.add(call)
        if len(self._named) < self._most or key in self._named:
            self._named.setdefault(key, []).append(call)
        if self._timer is None:
            self._timer = loop.call_later(self.longest_call_s / 10, self._look, loop)
        return call

    def leave(self, key: Hashable, call: RunningCall) -> None:
        self._running.discard(call)
        calls = self._named.get(key, [])
        if call in calls:
            calls.remove(call)
            if not calls:
                del self._named[key]

    def cancel(self, key: Hashable) -> bool:
        """Whether one call was meant and is being cancelled."""
        calls = self._named.get(key, [])
        return len(calls) == 1 and calls[0].cancel()

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        for call in list(self._running):
            if call.ends_at_s <= loop.time():
                call.expire()
        if self._running:
            self._timer = loop.call_later(self.longest_call_s / 10, self._look, loop)
