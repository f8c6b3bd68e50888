"""The tool calls that run right now, so that `notifications/cancelled` can reach them.

Best effort within one process. Requests are told apart by who sent them and by their id; where two with one name run
at once (several agents on one key and host), neither is cancelled: rather work for nothing than stop another's call.
"""

import asyncio
from collections.abc import Hashable


class RunningCall:
    """`cancelled` is True once its client has asked for the end."""

    __slots__ = ("cancelled", "task")

    def __init__(self, task: "asyncio.Task[object]") -> None:
        self.task = task
        self.cancelled = False

    def take_back(self) -> bool:
        """In an `except CancelledError`: whether it was the client's notification alone that cancelled."""
        return self.cancelled and self.task.uncancel() == 0


class RunningCalls:
    """Bounded: over `most` calls, further ones run but cannot be cancelled by a notification."""

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._calls: dict[Hashable, list[RunningCall]] = {}

    def enter(self, key: Hashable) -> RunningCall:
        """Count the current task in as the call named `key`; `leave` must follow."""
        task = asyncio.current_task()
        assert task is not None
        call = RunningCall(task)
        if len(self._calls) < self._most or key in self._calls:
            self._calls.setdefault(key, []).append(call)
        return call

    def leave(self, key: Hashable, call: RunningCall) -> None:
        calls = self._calls.get(key, [])
        if call in calls:
            calls.remove(call)
            if not calls:
                del self._calls[key]

    def cancel(self, key: Hashable) -> bool:
        """Whether one call was meant and is being cancelled."""
        calls = self._calls.get(key, [])
        if len(calls) != 1 or calls[0].cancelled:
            return False
        calls[0].cancelled = True
        calls[0].task.cancel()
        return True
