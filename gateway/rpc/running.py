"""The tool calls that run right now, so that `notifications/cancelled` can reach them.

Best effort within one process. Requests are told apart by who sent them and by their id; where two with one name run
at once (several agents on one key and host), neither is cancelled: rather work for nothing than stop another's call.
"""

import asyncio
from collections.abc import Hashable


class RunningCall:
    """`cancelled` is True once its client has asked for the end, `expired` once its time is up."""

    __slots__ = ("cancelled", "expired", "task", "timer")

    def __init__(self, task: "asyncio.Task[object]") -> None:
        self.task = task
        self.cancelled = False
        self.expired = False
        self.timer: asyncio.TimerHandle | None = None

    def expire(self) -> None:
        if not self.cancelled:
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

    `longest_call_s` is a backstop: tools have shorter budgets of their own.
    """

    def __init__(self, most: int = 10_000, longest_call_s: float = 180) -> None:
        self._most = most
        self.longest_call_s = longest_call_s
        self._calls: dict[Hashable, list[RunningCall]] = {}

    def enter(self, key: Hashable) -> RunningCall:
        """Count the current task in as the call named `key`; `leave` must follow."""
        task = asyncio.current_task()
        assert task is not None
        call = RunningCall(task)
        call.timer = task.get_loop().call_later(self.longest_call_s, call.expire)
        if len(self._calls) < self._most or key in self._calls:
            self._calls.setdefault(key, []).append(call)
        return call

    def leave(self, key: Hashable, call: RunningCall) -> None:
        if call.timer is not None:
            call.timer.cancel()
        calls = self._calls.get(key, [])
        if call in calls:
            calls.remove(call)
            if not calls:
                del self._calls[key]

    def cancel(self, key: Hashable) -> bool:
        """Whether one call was meant and is being cancelled."""
        calls = self._calls.get(key, [])
        return len(calls) == 1 and calls[0].cancel()
